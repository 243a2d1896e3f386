//! The domains' part of `cfsim topology show`.

use crate::text;
use serde::Serialize;
use sim_core::kernel::domains::{DomainFlags, Domains, Level, SchedDomain, SchedGroup};
use sim_core::machine::topology::Topology;
use sim_core::{CpuId, CpuMask};

/// The most groups of a domain that a line shows.
const SHOWN_GROUPS: usize = 16;

#[derive(Debug, Serialize)]
pub(super) struct DomainsReport {
    /// Domains that are the same for several CPUs, once.
    domains: Vec<DomainReport>,
    by_cpu: Vec<CpuReport>,
}

#[derive(Debug, Serialize)]
struct DomainReport {
    level: Level,
    /// Its CPUs.
    cpus: String,
    /// The CPUs whose domain it is.
    of: String,
    /// Position of the domain around it.
    parent: Option<usize>,
    flags: DomainFlags,
    min_interval_ms: u32,
    max_interval_ms: u32,
    busy_factor: u32,
    imbalance_pct: u32,
    cache_nice_tries: u32,
    imb_numa_nr: Option<u32>,
    /// In the order the lowest of `of` walks them.
    groups: Vec<GroupReport>,
    #[serde(skip)]
    weight: u32,
    #[serde(skip)]
    owners: CpuMask,
}

#[derive(Debug, Serialize)]
struct GroupReport {
    cpus: String,
    weight: u32,
    balance_mask: String,
    balance_cpu: u32,
    child_flags: DomainFlags,
    cores: u32,
}

#[derive(Debug, Serialize)]
struct CpuReport {
    cpu: u32,
    /// Positions of its domains, smallest first.
    domains: Vec<usize>,
    llc_size: u32,
    llc_id: u32,
}

impl DomainsReport {
    pub(super) fn new(topology: &Topology, domains: &Domains, only: Option<CpuId>) -> DomainsReport {
        let mut report = DomainsReport { domains: Vec::new(), by_cpu: Vec::new() };
        for cpu in topology.online().iter().filter(|c| only.is_none_or(|o| o == *c)) {
            // Largest first, so that the domain around it is known.
            let mut positions = Vec::new();
            for (_, d) in domains.chain(cpu).rev() {
                positions.push(report.position(domains, d, positions.last().copied()));
            }
            positions.reverse();
            let cpu_domains = domains.cpu(cpu);
            let (llc_size, llc_id) = (cpu_domains.llc_size, cpu_domains.llc_id.0);
            report.by_cpu.push(CpuReport { cpu: cpu.0, domains: positions, llc_size, llc_id });
        }
        for d in &mut report.domains {
            d.of = d.owners.to_string();
        }
        report
    }

    /// Where a domain is in the list, which it joins at its first CPU.
    fn position(&mut self, domains: &Domains, d: &SchedDomain, parent: Option<usize>) -> usize {
        let lowest = d.span.to_string();
        let same = |r: &DomainReport| {
            r.level == d.level && r.parent == parent && r.flags == d.flags && r.cpus == lowest
        };
        let found = self.domains.iter().rposition(same);
        let position = found.unwrap_or_else(|| {
            self.domains.push(DomainReport::new(domains, d, lowest, parent));
            self.domains.len() - 1
        });
        self.domains[position].owners.insert(d.cpu);
        position
    }

    pub(super) fn text(&self) -> String {
        if self.domains.is_empty() {
            return "none: there is nothing to balance with\n".to_owned();
        }
        let mut out = format!("{}\n{}\n", self.levels(), self.flags());
        self.tree(&mut out, None, 0);
        out
    }

    /// A row for each level and set of numbers.
    fn levels(&self) -> String {
        let mut rows: Vec<(Vec<String>, u32)> = Vec::new();
        for d in &self.domains {
            let row = d.parameters();
            match rows.iter_mut().find(|(known, _)| *known == row) {
                Some((_, count)) => *count += 1,
                None => rows.push((row, 1)),
            }
        }
        let rows = rows.into_iter().map(|(mut row, count)| {
            row.insert(1, count.to_string());
            row
        });
        let head = ["level", "domains", "CPUs", "interval", "busy", "imbalance", "tries", "numa"];
        text::table(&head, rows)
    }

    /// Flags of each level, where they differ on lines of their own.
    fn flags(&self) -> String {
        let mut lines: Vec<(Level, DomainFlags)> = self.domains.iter().map(|d| (d.level, d.flags)).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(*line));
        lines.dedup();
        lines.iter().map(|(level, flags)| format!("{level:<8} {flags}\n")).collect()
    }

    fn tree(&self, out: &mut String, parent: Option<usize>, depth: usize) {
        for (i, d) in self.domains.iter().enumerate().filter(|(_, d)| d.parent == parent) {
            let groups: Vec<String> =
                d.groups.iter().take(SHOWN_GROUPS).map(|g| format!("{{{}}}", g.cpus)).collect();
            let more = d.groups.len().saturating_sub(SHOWN_GROUPS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let of = if d.of == d.cpus { String::new() } else { format!(" of {}", d.of) };
            let indent = "  ".repeat(depth);
            *out += &format!("{indent}{} {}{of}: {}{more}\n", d.level, d.cpus, groups.join(" "));
            self.tree(out, Some(i), depth + 1);
        }
    }
}

impl DomainReport {
    fn new(domains: &Domains, d: &SchedDomain, cpus: String, parent: Option<usize>) -> DomainReport {
        DomainReport {
            level: d.level,
            cpus,
            of: String::new(),
            parent,
            flags: d.flags,
            min_interval_ms: d.min_interval_ms,
            max_interval_ms: d.max_interval_ms,
            busy_factor: d.busy_factor,
            imbalance_pct: d.imbalance_pct,
            cache_nice_tries: d.cache_nice_tries,
            imb_numa_nr: d.imb_numa_nr,
            groups: domains.groups(d).map(|g| GroupReport::from(domains.group(g))).collect(),
            weight: d.weight,
            owners: CpuMask::default(),
        }
    }

    fn parameters(&self) -> Vec<String> {
        vec![
            self.level.to_string(),
            self.weight.to_string(),
            format!("{}-{} ms", self.min_interval_ms, self.max_interval_ms),
            format!("x{}", self.busy_factor),
            format!("{} %", self.imbalance_pct),
            self.cache_nice_tries.to_string(),
            self.imb_numa_nr.map_or("-".to_owned(), |n| n.to_string()),
        ]
    }
}

impl From<&SchedGroup> for GroupReport {
    fn from(g: &SchedGroup) -> GroupReport {
        GroupReport {
            cpus: g.cpus.to_string(),
            weight: g.weight,
            balance_mask: g.balance_mask.to_string(),
            balance_cpu: g.balance_cpu.0,
            child_flags: g.child_flags,
            cores: g.cores,
        }
    }
}
