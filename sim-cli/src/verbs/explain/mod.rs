//! `cfsim explain`: why the scheduler did what it did.
//!
//! Every decision of the kernel model has a number, its order of occurrence in the run. A run repeats exactly, so a number
//! names the same decision every time.

#[cfg(test)]
mod edges;
mod effect;
mod instead;
mod limits;
mod report;
mod sentence;
mod state;
#[cfg(test)]
mod tests;
mod watch;
mod words;

use crate::args::ScenarioArgs;
use crate::failure::Failure;
use crate::load::Loaded;
use crate::output::{self, Format, Talk};
use crate::simulate;
use clap::{ArgGroup, Args};
use effect::{Side, Tape};
use instead::{Once, Wish};
use report::{ExplainReport, Part};
use sim_core::kernel::Kernel;
use sim_core::kernel::hooks::{Hooks, NoHooks};
use sim_core::observe::{Metrics, Observer, Pick, Select};
use sim_core::{CpuId, EntityId, Instant, Nanos, Outcome, Simulation};
use watch::{Entry, Standing, Wanted, Watch};

/// Tell why tasks were placed, preempted, picked or left waiting
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("question").required(true).args(["at", "task", "decision"]), after_help = "\
Examples:
  cfsim explain scenarios/hog-and-sleeper.toml --at 100ms
  cfsim explain scenarios/hog-and-sleeper.toml --task sleeper --to 100ms
  cfsim explain scenarios/hog-and-sleeper.toml --decision 12
  cfsim explain scenarios/hog-and-sleeper.toml --decision 12 --instead no-preempt

Decisions are numbered in the order in which they occur; the numbers stay the same as long as the scenario, its
settings and the seed do. --instead runs the scenario twice, once with that decision made otherwise, and prints what
this changes to the end:
  preempt, no-preempt   for the preemption check of a wake-up or a tick
  'pick NAME'           for a pick: another runnable task of that queue
  'place OFFSET'        for a placement: a vruntime relative to min_vruntime, like 'place -12ms'
  'cpu N'               for the choice of a CPU
  stay                  for a move by load balancing")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// How everything stands at this simulated time, and why
    #[arg(long, value_name = "TIME")]
    at: Option<Nanos>,
    /// The story of the tasks with this name or path
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Start of the story
    #[arg(long, value_name = "TIME", requires = "task", conflicts_with_all = ["at", "decision"])]
    from: Option<Nanos>,
    /// End of the story
    #[arg(long, value_name = "TIME", requires = "task", conflicts_with_all = ["at", "decision"])]
    to: Option<Nanos>,
    /// One decision
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    decision: Option<u64>,
    /// Run again with that decision made otherwise, and print what it changes
    #[arg(long, value_name = "WHAT", requires = "decision", conflicts_with_all = ["at", "task"], value_parser = str::parse::<Wish>)]
    instead: Option<Wish>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn main(args: &ExplainArgs, talk: Talk) -> Result<(), Failure> {
    let loaded = args.scenario.load()?.drawn()?;
    talk.progress(&format!("explaining {}", args.scenario.scenario.display()));
    output::print(&explain(args, &loaded)?, args.format)
}

fn explain(args: &ExplainArgs, loaded: &Loaded) -> Result<ExplainReport, Failure> {
    match (args.at, &args.task, args.decision) {
        (Some(at), _, _) => at_time(loaded, at),
        (_, Some(name), _) => story(loaded, name, args.from, args.to),
        (_, _, Some(number)) => one_decision(loaded, number, args.instead.as_ref()),
        _ => Err(Failure::Usage("one of --at, --task and --decision is needed".to_owned())),
    }
}

fn run<O: Observer, H: Hooks>(
    loaded: &Loaded,
    simulation: &mut Simulation<O, H>,
) -> Result<Outcome, Failure> {
    let seed = loaded.resolved.seed;
    simulation.run().map_err(|error| Failure::run(seed, error, simulation))
}

fn at_time(loaded: &Loaded, at: Nanos) -> Result<ExplainReport, Failure> {
    let watch = Watch::new(Wanted::Last);
    let mut simulation = simulate::prepare(loaded, loaded.resolved.seed, Some(at), watch, NoHooks);
    let outcome = run(loaded, &mut simulation)?;
    let names = loaded.document.scenario.group_names();
    simulation.observer.book.groups = simulation.observer.book.group_paths(simulation.kernel(), &names);
    let mut report = ExplainReport::new(loaded, &simulation.observer);
    if outcome.at.0 < at.0 {
        report.note(format!("the run ends at {}, before the time asked for", outcome.at));
    }
    let watch = &simulation.observer;
    let told = |task: sim_core::TaskId| {
        let record = watch.last[task.index()]?;
        Some((record.number, report::said(watch, &record)))
    };
    report.part = Part::State(state::state(simulation.kernel(), watch, outcome.at, told));
    Ok(report)
}

fn story(
    loaded: &Loaded,
    name: &str,
    from: Option<Nanos>,
    to: Option<Nanos>,
) -> Result<ExplainReport, Failure> {
    let (start, end) = (from.unwrap_or(Nanos::ZERO), to.unwrap_or(Nanos::MAX));
    if start > end {
        return Err(Failure::Usage("--to lies before --from: there is nothing to tell".to_owned()));
    }
    let wanted = Wanted::Task { name: name.to_owned(), from: Instant(start.0), to: Instant(end.0) };
    let mut simulation = simulate::prepare(loaded, loaded.resolved.seed, to, Watch::new(wanted), NoHooks);
    run(loaded, &mut simulation)?;
    let names = loaded.document.scenario.group_names();
    simulation.observer.book.groups = simulation.observer.book.group_paths(simulation.kernel(), &names);
    let watch = &simulation.observer;
    if watch.nobody() {
        let some = watch.book.tasks.iter().take(10).map(|t| t.path.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("no task is called '{name}': there are {some}")));
    }
    let mut report = ExplainReport::new(loaded, watch);
    if watch.dropped > 0 {
        let dropped = watch.dropped;
        report.note(format!("{dropped} more entries are left out: narrow the span with --from and --to"));
    }
    report.part = Part::Story(report::entries(watch));
    Ok(report)
}

type Seen = (Watch, (Metrics, Tape));

fn observers(number: u64) -> Seen {
    // The decision may lie in the warm-up: everything counts.
    (Watch::new(Wanted::Number(number)), (Metrics::new(Nanos::ZERO), Tape::from_decision(number)))
}

fn one_decision(loaded: &Loaded, number: u64, wish: Option<&Wish>) -> Result<ExplainReport, Failure> {
    let seed = loaded.resolved.seed;
    let mut as_is = simulate::prepare(loaded, seed, None, observers(number), NoHooks);
    let outcome = run(loaded, &mut as_is)?;
    let names = loaded.document.scenario.group_names();
    as_is.observer.0.book.groups = as_is.observer.0.book.group_paths(as_is.kernel(), &names);
    let (watch, (metrics, tape)) = &as_is.observer;
    let Some(Entry::Decision(record)) = watch.kept.first() else {
        return Err(Failure::Usage(format!("there is no decision {number}: the run has {}", watch.count)));
    };
    let mut report = ExplainReport::new(loaded, watch);
    report.part = Part::Decision(report::entries(watch));
    let Some(wish) = wish else { return Ok(report) };
    let may_pick = |d: &Pick, entity| may_pick(watch, as_is.kernel(), d, entity);
    let may_use = |d: &Select, cpu: CpuId| as_is.kernel().task(d.task).cpus_allowed.contains(cpu);
    let once = Once::new(record, wish, &watch.book, may_pick, may_use).map_err(Failure::Usage)?;
    let mut other = simulate::prepare(loaded, seed, None, observers(number), once);
    let other_outcome = run(loaded, &mut other)?;
    let (_, (other_metrics, other_tape)) = &other.observer;
    let before = Side { tasks: as_is.tasks(), metrics, tape, end: outcome.at };
    let after =
        Side { tasks: other.tasks(), metrics: other_metrics, tape: other_tape, end: other_outcome.at };
    report.effect = Some(effect::effect(&wish.to_string(), &watch.book, &before, &after));
    Ok(report)
}

/// Whether an entity could be picked: it competed on that CPU, in the group of the fairest choice.
fn may_pick<H: Hooks>(watch: &Watch, kernel: &Kernel<H>, d: &Pick, entity: EntityId) -> bool {
    let Some(task) = watch.book.task_of(entity) else { return false };
    let same_group =
        watch.book.task_of(d.left).is_some_and(|left| kernel.task(left).group == kernel.task(task).group);
    let runnable = watch.snapshot.get(task.index()).is_some_and(|s| {
        s.cpu == d.cpu
            && match s.standing {
                Standing::Waiting => true,
                Standing::Running => d.curr == Some(entity),
                _ => false,
            }
    });
    same_group && runnable
}
