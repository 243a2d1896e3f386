//! Where the time of every CPU went, and what sources of interference took.

use crate::text;
use serde::Serialize;
use sim_core::kernel::hooks::NoHooks;
use sim_core::machine::{MachineConfig, SourceKind};
use sim_core::observe::{Metrics, Observer, Spent, Walltime};
use sim_core::{CpuId, Nanos, Simulation};
use std::collections::BTreeMap;

/// Up to this many CPUs each has its own row in the text; beyond, all share one.
const MAX_CPU_ROWS: usize = 16;

/// Where the time of every CPU went.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WalltimeReport {
    cpus: Vec<CpuTime>,
    sources: Vec<SourceTime>,
}

/// One CPU: the parts add up to the total.
#[derive(Debug, Clone, Serialize)]
struct CpuTime {
    cpu: u32,
    total_ns: u64,
    #[serde(flatten)]
    spent_ns: BTreeMap<String, u64>,
}

/// What a source of interference took from one CPU.
#[derive(Debug, Clone, Serialize)]
struct SourceTime {
    source: String,
    kind: SourceKind,
    cpu: u32,
    time_ns: u64,
}

/// Whether a machine has parts that make it worth telling.
pub(crate) fn is_wanted(machine: &MachineConfig) -> bool {
    machine.host.is_some() || !machine.interference.is_empty()
}

/// What `walltime` and, for threads of sources, `metrics` saw.
pub(crate) fn report<O: Observer>(
    walltime: &Walltime,
    metrics: &Metrics,
    simulation: &Simulation<O, NoHooks>,
) -> WalltimeReport {
    let config = simulation.config();
    let online = config.kernel.topology.online();
    let cpus = online.iter().map(|cpu| CpuTime {
        cpu: cpu.0,
        total_ns: walltime.total(cpu).0,
        spent_ns: Spent::ALL.map(|on| (format!("{}_ns", on.name()), walltime.spent(cpu, on).0)).into(),
    });
    let mut sources = Vec::new();
    for (i, source) in config.machine.interference.iter().enumerate() {
        let thread = |cpu: CpuId| {
            simulation.interference_thread(i, cpu).map_or(Nanos::ZERO, |t| metrics.task(t).cpu_time)
        };
        sources.extend(source.cpus.iter().map(|cpu| SourceTime {
            source: source.name.clone(),
            kind: source.kind,
            cpu: cpu.0,
            time_ns: (walltime.taken_by(i, cpu) + thread(cpu)).0,
        }));
    }
    WalltimeReport { cpus: cpus.collect(), sources }
}

impl WalltimeReport {
    /// As tables for people.
    pub(crate) fn text(&self) -> String {
        let heads = [vec!["CPU time by CPU"], Spent::ALL.map(Spent::name).to_vec()].concat();
        let percent = |part: u64, all: u64| {
            if part == 0 { "-".to_owned() } else { text::percent(part as f64 / all.max(1) as f64) }
        };
        let cells = |label: String, of: &dyn Fn(&str) -> u64, all: u64| -> Vec<String> {
            let parts = Spent::ALL.map(|on| percent(of(&format!("{}_ns", on.name())), all));
            [label].into_iter().chain(parts).collect()
        };
        let all: u64 = self.cpus.iter().map(|c| c.total_ns).sum();
        let sum = |key: &str| self.cpus.iter().map(|c| c.spent_ns[key]).sum();
        let mut rows = Vec::new();
        if self.cpus.len() > 1 && self.cpus.len() <= MAX_CPU_ROWS {
            rows.extend(
                self.cpus.iter().map(|c| cells(c.cpu.to_string(), &|key| c.spent_ns[key], c.total_ns)),
            );
        }
        rows.push(cells("all".to_owned(), &sum, all));
        let heads: Vec<String> = heads.iter().map(|h| h.replace('_', " ")).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut out = text::table(&heads, rows);
        if !self.sources.is_empty() {
            out += "\n";
            out += &text::table(&["interference", "kind", "CPUs", "CPU time"], self.source_rows());
        }
        out
    }

    /// One row a source: its CPUs together.
    fn source_rows(&self) -> Vec<Vec<String>> {
        let mut rows: Vec<(&SourceTime, usize, u64)> = Vec::new();
        for s in &self.sources {
            match rows.last_mut().filter(|(first, ..)| first.source == s.source) {
                Some((_, cpus, time)) => (*cpus, *time) = (*cpus + 1, *time + s.time_ns),
                None => rows.push((s, 1, s.time_ns)),
            }
        }
        let row = |(s, cpus, time): (&SourceTime, usize, u64)| {
            let kind = format!("{:?}", s.kind).to_lowercase();
            vec![s.source.clone(), kind, cpus.to_string(), text::duration(time as f64)]
        };
        rows.into_iter().map(row).collect()
    }
}
