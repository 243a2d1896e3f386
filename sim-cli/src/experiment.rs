//! Runs scenarios: one seed, or many on all cores.

use crate::failure::Failure;
use crate::idle::{self, IdleReport};
use crate::load::Loaded;
use crate::pace::{self, PaceReport};
use crate::schedule_digest::ScheduleDigest;
use crate::spread::{self, SpreadReport};
use crate::waits::{self, UnfinishedTask};
use crate::walltime::{self, WalltimeReport};
use rayon::prelude::*;
use sim_core::engine::TaskInfo;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::{IdleStats, Metrics, PaceMetrics, Spread, TaskMetrics, Walltime};
use sim_core::{End, Nanos};
use sim_workloads::model::{Headline, Ran};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Up to this many tasks each has its own row; beyond, tasks of one name share one.
const MAX_TASK_ROWS: usize = 20;

/// Which tasks share a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GroupBy {
    /// By task up to 20 tasks, by name beyond.
    Auto,
    /// Every task has its own row.
    Task,
    /// Tasks with the same name share a row.
    Name,
}

/// One task, or all tasks of one name.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) count: usize,
    pub(crate) metrics: TaskMetrics,
    /// When the last of them ended, if all did.
    pub(crate) completion: Option<Nanos>,
}

/// What one run did.
#[derive(Debug, Clone)]
pub(crate) struct RunResult {
    pub(crate) seed: u64,
    pub(crate) rows: Vec<Row>,
    pub(crate) total: Row,
    /// Simulated time that statistics cover.
    pub(crate) span: Nanos,
    /// Simulated time at the end.
    pub(crate) end_time: Nanos,
    pub(crate) events: u64,
    pub(crate) context_switches: u64,
    pub(crate) nontask: Nanos,
    /// What several CPUs did; none on a machine with one.
    pub(crate) spread: Option<SpreadReport>,
    /// Where the CPUs' time went; none on an undisturbed machine of metal.
    pub(crate) walltime: Option<WalltimeReport>,
    /// What idle states were used; none on a machine without them.
    pub(crate) idle: Option<IdleReport>,
    /// How fast work went; none where nothing but switches and interrupts takes time.
    pub(crate) pace: Option<PaceReport>,
    /// What the workload models' real programs would have printed.
    pub(crate) headlines: Vec<(&'static Headline, f64)>,
    pub(crate) digest: u64,
    pub(crate) ended_by: &'static str,
    /// Paths of tasks that wait for what never comes.
    pub(crate) stalled: Vec<String>,
    /// Who waits for whom for ever, in words.
    pub(crate) deadlock: Option<String>,
    /// The tasks that have not ended.
    pub(crate) unfinished: Vec<UnfinishedTask>,
}

/// Runs a scenario under one seed.
pub(crate) fn run(loaded: &Loaded, seed: u64, group_by: GroupBy) -> Result<RunResult, Failure> {
    let builder = loaded.document.scenario.build(seed);
    let warmup = loaded.resolved.warmup;
    let topology = Arc::clone(&loaded.resolved.config.kernel.topology);
    let several = topology.online().count() > 1;
    let spread = several.then(|| Spread::new(warmup, &topology));
    let config = loaded.config(seed)?;
    let machine = config.machine.clone();
    let stats = || IdleStats::new(warmup, topology.nr_cpu_ids(), machine.idle.states.len());
    let stats = (!machine.idle.is_off()).then(stats);
    let pace = machine.has_pace().then(|| PaceMetrics::new(warmup, &machine, topology.nr_cpu_ids()));
    let accounts = || Walltime::new(warmup, topology.nr_cpu_ids() as u32);
    let accounts = walltime::is_wanted(&machine).then(accounts);
    let observer = ((Metrics::new(warmup), ScheduleDigest::default()), (spread, (stats, (pace, accounts))));
    let mut simulation = builder.simulation(config, observer, NoHooks);
    let outcome = simulation.run().map_err(|error| Failure::run(seed, error, &simulation))?;
    let (spread, (_, (_, accounts))) = &mut simulation.observer.1;
    spread.iter_mut().for_each(|s| s.finish(outcome.at));
    accounts.iter_mut().for_each(|a| a.finish(outcome.at));
    let ((metrics, digest), (spread, (stats, (pace, accounts)))) = &simulation.observer;
    let span = Nanos(outcome.at.0).saturating_sub(warmup);
    let spread = spread.as_ref().map(|s| spread::report(s, &topology, simulation.kernel().domains(), span));
    let tasks = simulation.tasks();
    let all: Vec<usize> = (0..tasks.len()).filter(|i| !tasks[*i].kthread).collect();
    let groups = groups(tasks, group_by);
    let pace = pace.as_ref().map(|p| pace::report(p, &machine, &topology, &groups));
    let (ended_by, stalled) = match &outcome.end {
        End::AllExited => ("all_exited", Vec::new()),
        End::Duration => ("duration", Vec::new()),
        End::Stalled(ids) => ("stalled", ids.iter().map(|t| tasks[t.index()].path.clone()).collect()),
    };
    let ran = Ran::new(tasks, metrics, warmup, outcome.at);
    let headlines = loaded.document.scenario.workload.models().flat_map(|model| model.results(&ran));
    Ok(RunResult {
        seed,
        headlines: headlines.collect(),
        rows: groups.iter().map(|(label, members)| row(label.clone(), members, tasks, metrics)).collect(),
        total: row("total".to_owned(), &all, tasks, metrics),
        span,
        end_time: Nanos(outcome.at.0),
        events: outcome.events,
        context_switches: metrics.context_switches(),
        nontask: metrics.nontask(),
        spread,
        walltime: accounts.as_ref().map(|a| walltime::report(a, metrics, &simulation)),
        idle: stats.as_ref().map(|stats| idle::report(stats, &machine.idle, &topology)),
        pace,
        digest: digest.value(),
        ended_by,
        stalled,
        deadlock: waits::deadlock(&simulation),
        unfinished: waits::unfinished(&simulation),
    })
}

/// Runs a scenario under `runs` seeds from its own on, on all cores; results in the order of seeds.
pub(crate) fn run_seeds(loaded: &Loaded, runs: u32, group_by: GroupBy) -> Result<Vec<RunResult>, Failure> {
    seeds(loaded, runs)
        .into_par_iter()
        .map(|seed| run(loaded, seed, group_by))
        .collect::<Vec<_>>()
        .into_iter()
        .collect()
}

/// The seeds of `runs` runs: the scenario's own and those that follow.
pub(crate) fn seeds(loaded: &Loaded, runs: u32) -> Vec<u64> {
    (0..u64::from(runs)).map(|i| loaded.resolved.seed.wrapping_add(i)).collect()
}

/// What should be checked before the results are trusted; equal warnings of several seeds are one.
pub(crate) fn warnings(results: &[RunResult]) -> Vec<String> {
    /// Deadlocks differ in their times: so many are told in full.
    const TOLD: usize = 3;
    let mut warnings = Vec::new();
    let deadlocks = || results.iter().filter_map(|r| r.deadlock.clone());
    warnings.extend(deadlocks().take(TOLD));
    if deadlocks().count() > TOLD {
        warnings.push(format!("{} of {} runs have a deadlock", deadlocks().count(), results.len()));
    }
    for result in results {
        if result.span.is_zero() {
            warnings.push("the run ended before the warm-up was over: nothing was counted".to_owned());
        }
    }
    warnings.sort();
    warnings.dedup();
    warnings
}

/// Labels of the rows, with the tasks of each.
fn groups(tasks: &[TaskInfo], group_by: GroupBy) -> Vec<(String, Vec<usize>)> {
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, task) in tasks.iter().enumerate().filter(|(_, t)| !t.kthread) {
        names.entry(&task.name).or_default().push(i);
    }
    let by_name = match group_by {
        GroupBy::Auto => tasks.len() > MAX_TASK_ROWS,
        GroupBy::Task => false,
        GroupBy::Name => true,
    };
    if by_name {
        let mut groups: Vec<_> =
            names.into_iter().map(|(name, members)| (name.to_owned(), members)).collect();
        groups.sort_by_key(|(_, members)| members[0]);
        return groups;
    }
    let alone = |task: &TaskInfo| names[task.name.as_str()].len() == 1;
    let label = |task: &TaskInfo| if alone(task) { task.name.clone() } else { task.path.clone() };
    let scenario = tasks.iter().enumerate().filter(|(_, t)| !t.kthread);
    scenario.map(|(i, task)| (label(task), vec![i])).collect()
}

fn row(label: String, members: &[usize], tasks: &[TaskInfo], metrics: &Metrics) -> Row {
    let ends: Option<Vec<u64>> = members.iter().map(|i| tasks[*i].end.map(|at| at.0)).collect();
    Row {
        label,
        count: members.len(),
        metrics: Metrics::sum(members.iter().map(|i| &metrics.tasks()[*i])),
        completion: ends.and_then(|ends| ends.into_iter().max()).map(Nanos),
    }
}
