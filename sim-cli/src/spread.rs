//! What a run did with several CPUs, as a report: migrations, balancing, waiting beside idle CPUs.

use crate::text;
use serde::Serialize;
use sim_core::kernel::domains::Domains;
use sim_core::machine::topology::Topology;
use sim_core::observe::{Attempts, LEVELS, MigrateReason, Near, Spread};
use sim_core::{CpuId, Nanos};
use std::collections::BTreeMap;

/// Names of the kinds of CPUs for which balancing is done, in the order of the counters.
const KINDS: [&str; 3] = ["idle", "busy", "newly_idle"];

/// What several CPUs did.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SpreadReport {
    /// Changes of CPU by reason; `fork` counts new tasks that start elsewhere than their parents.
    pub(crate) migrations: BTreeMap<&'static str, u64>,
    pub(crate) wakeups_on_previous_cpu: Option<f64>,
    pub(crate) idle_entries: u64,
    pub(crate) idle_entries_while_waiting: u64,
    /// Time for which a CPU idled while a task waited, by how near the nearest such CPU was.
    pub(crate) waiting_beside_idle_ns: BTreeMap<&'static str, u64>,
    /// The same however near: the integral of min(idle CPUs, waiting tasks).
    pub(crate) wasted_cpu_time_ns: u64,
    /// Core time with two threads of a core busy.
    pub(crate) shared_core_ns: u64,
    pub(crate) cpus: Vec<CpuTime>,
    pub(crate) balancing: Vec<Level>,
}

/// Where one CPU's time went.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CpuTime {
    pub(crate) cpu: u32,
    pub(crate) busy_ns: u64,
    pub(crate) idle_ns: u64,
}

/// Balancing attempts of one level, for one kind of CPU.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Level {
    pub(crate) level: String,
    pub(crate) cpu: &'static str,
    #[serde(flatten)]
    pub(crate) attempts: Attempts,
}

/// What `spread` saw in `span` of simulated time.
pub(crate) fn report(spread: &Spread, topology: &Topology, domains: &Domains, span: Nanos) -> SpreadReport {
    let cpus = topology.online().iter().map(|cpu| {
        let idle = spread.idle_time[cpu.index()];
        CpuTime { cpu: cpu.0, busy_ns: span.saturating_sub(idle).0, idle_ns: idle.0 }
    });
    SpreadReport {
        migrations: MigrateReason::ALL.into_iter().map(|r| (r.name(), spread.migrations[r])).collect(),
        wakeups_on_previous_cpu: spread.on_previous_cpu(),
        idle_entries: spread.idle_entries,
        idle_entries_while_waiting: spread.idle_entries_while_waiting,
        waiting_beside_idle_ns: Near::ALL.into_iter().map(|n| (n.name(), spread.wasted(n).0)).collect(),
        wasted_cpu_time_ns: spread.wasted_in_all().0,
        shared_core_ns: spread.shared_core_time().0,
        cpus: cpus.collect(),
        balancing: balancing(spread, topology, domains),
    }
}

fn balancing(spread: &Spread, topology: &Topology, domains: &Domains) -> Vec<Level> {
    let lowest = topology.online().lowest().unwrap_or(CpuId(0));
    let names: Vec<String> = domains.chain(lowest).map(|(_, sd)| sd.level.to_string()).collect();
    let mut levels = Vec::new();
    for level in 0..LEVELS {
        for (kind, cpu) in KINDS.into_iter().enumerate() {
            let attempts = spread.attempts[level][kind];
            if attempts.tried > 0 {
                let level = names.get(level).cloned().unwrap_or_else(|| format!("level {level}"));
                levels.push(Level { level, cpu, attempts });
            }
        }
    }
    levels
}

impl SpreadReport {
    /// As tables for people.
    pub(crate) fn text(&self) -> String {
        let ns = |v: u64| text::duration(v as f64);
        let names = MigrateReason::ALL.map(MigrateReason::name);
        let heads = [vec!["migrations by reason"], names.to_vec()].concat();
        let counts = names.iter().map(|name| self.migrations[name].to_string());
        let mut out = text::table(&heads, vec![["".to_owned()].into_iter().chain(counts).collect()]);
        out += "\n";
        let near = Near::ALL.map(Near::name).map(|n| format!("{n} {}", ns(self.waiting_beside_idle_ns[n])));
        out += &format!(
            "a task waited while a CPU idled: {} in all (nearest idle CPU in the same {})\n",
            ns(self.wasted_cpu_time_ns),
            near.join(", ")
        );
        let share = self.wakeups_on_previous_cpu.map_or_else(|| "-".to_owned(), text::percent);
        out += &format!("wake-ups on the previous CPU: {share}\n");
        out += &format!(
            "idle entries: {}, of which {} while a task waited\n",
            self.idle_entries, self.idle_entries_while_waiting
        );
        if self.shared_core_ns > 0 {
            out += &format!("core time with two threads busy: {}\n", ns(self.shared_core_ns));
        }
        let busy: u64 = self.cpus.iter().map(|c| c.busy_ns).sum();
        let all: u64 = busy + self.cpus.iter().map(|c| c.idle_ns).sum::<u64>();
        if all > 0 {
            out += &format!("CPUs busy: {}\n", text::percent(busy as f64 / all as f64));
        }
        if !self.balancing.is_empty() {
            out += "\n";
            out += &text::table(
                &["balancing", "for a CPU", "tried", "balanced", "failed", "active", "tasks moved"],
                self.balancing.iter().map(Level::row).collect::<Vec<_>>(),
            );
        }
        out
    }
}

impl Level {
    fn row(&self) -> Vec<String> {
        let a = &self.attempts;
        let counts = [a.tried, a.balanced, a.failed, a.active, a.moved].map(|n| n.to_string());
        [vec![self.level.clone(), self.cpu.replace('_', " ")], counts.to_vec()].concat()
    }
}
