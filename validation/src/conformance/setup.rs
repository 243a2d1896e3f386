//! The kernel a trace is followed on, and what is known beside the trace.

use super::follow::Follow;
use crate::capture::Capture;
use crate::capture::spec::ObjectKind;
use crate::capture::trace::{ReadStats, Trace, TraceKind};
use crate::simulate::{Experiment, Inexpressible};
use sim_core::kernel::{Kernel, KernelConfig, Policy};
use sim_core::{CpuMask, TaskId};
use std::collections::BTreeMap;
use thiserror::Error;

/// A tick's switch follows within this on one CPU; else the same task was picked again.
pub(super) const SWITCH_FOLLOWS_NS: u64 = 12_000;

/// What is known of a task beside the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Traits {
    /// Its nice value.
    pub(super) nice: i8,
    /// Its policy.
    pub(super) policy: Policy,
    /// CPUs it may use; none for all.
    pub(super) cpus: Option<CpuMask>,
    /// Until it has this name, it has not changed them itself.
    pub(super) name: Option<String>,
}

/// How a trace is followed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The kernel and its machine.
    pub config: KernelConfig,
    /// A tick's stamp modulo the tick's period; none if not known: ticks are then not asked.
    pub tick_phase_ns: Option<u64>,
    /// Whether tasks wake others synchronously (pipes and sockets do, futexes do not), if known.
    pub sync_wakeups: Option<bool>,
    /// By pid.
    pub(super) traits: BTreeMap<u32, Traits>,
    /// What to add to a stamp to get the model's time.
    pub(super) shift: i64,
    /// How much later than its stamp a wake-up samples the clock.
    pub(super) wake_lag_ns: u64,
    /// How many times as long as one stamp the way from a clock's sample to its stamp may take: on the CPUs of an emulator,
    /// which executes them in turn, once for each.
    pub(super) lag_stamps: u64,
    /// Events before this are passed over, and those after the second.
    pub(super) span: (u64, u64),
    /// Tasks waiting when the trace begins are to be taken from it.
    pub(super) from_the_start: bool,
}

/// Why a trace cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// An event names a CPU that the machine does not have.
    #[error("line {line}: CPU {cpu}; the machine has the CPUs {allowed}")]
    Cpu {
        /// Its line.
        line: u64,
        /// As named.
        cpu: u32,
        /// Online CPUs.
        allowed: String,
    },
    /// Stamps go back.
    #[error("line {line}: its time lies before that of the event above it; sort the trace by time")]
    Order {
        /// Its line.
        line: u64,
    },
}

impl Setup {
    /// A trace's setup with nothing known but `config`, and what `prios` says of the tasks' priorities by pid.
    pub fn new(config: KernelConfig, prios: &BTreeMap<u32, u32>) -> Setup {
        let traits = prios.iter().filter_map(|(pid, prio)| {
            let nice = i8::try_from(i64::from(*prio) - 120).ok().filter(|n| (-20..=19).contains(n))?;
            Some((*pid, Traits { nice, policy: Policy::Normal, cpus: None, name: None }))
        });
        Setup {
            traits: traits.collect(),
            config,
            tick_phase_ns: None,
            sync_wakeups: None,
            shift: 0,
            wake_lag_ns: 0,
            lag_stamps: 1,
            span: (0, u64::MAX),
            from_the_start: true,
        }
    }

    /// Checks that the trace fits the machine.
    pub(super) fn check(&self, trace: &Trace, stats: &ReadStats) -> Result<(), SetupError> {
        let online = self.config.topology.online();
        let mut last = 0;
        for (i, event) in trace.events.iter().enumerate() {
            let line = stats.line_of(i);
            let named = match event.kind {
                TraceKind::Wakeup { target_cpu, .. } => [event.cpu, target_cpu, event.cpu],
                TraceKind::Migrate { from, to, .. } => [event.cpu, from, to],
                _ => [event.cpu; 3],
            };
            let bad =
                named.into_iter().find(|c| *c >= self.config.cpus || !online.contains(sim_core::CpuId(*c)));
            if let Some(cpu) = bad {
                return Err(SetupError::Cpu { line, cpu, allowed: online.to_string() });
            }
            if event.at_ns < last {
                return Err(SetupError::Order { line });
            }
            last = event.at_ns;
        }
        Ok(())
    }
}

/// A kernel that stands where the trace begins to be followed, how to follow it, and its tasks by pid.
type Ready = (Kernel<Follow>, Setup, Vec<(u32, TaskId)>);

pub(super) fn of_capture(capture: &Capture) -> Result<Ready, Inexpressible> {
    let experiment = Experiment::new(capture)?;
    let mut setup = Setup::new(experiment.kernel().clone(), &BTreeMap::new());
    setup.tick_phase_ns = Some(capture.clock.tick_phase_ns.unwrap_or(0));
    setup.sync_wakeups = sync_wakeups(capture);
    let end = crate::measure::timeline(capture)?.end_ns();
    if capture.meta.smp > 1 {
        setup.traits = traits(capture);
        setup.span = (0, end);
        setup.lag_stamps = u64::from(capture.meta.smp);
        let kernel = Kernel::new(setup.config.clone(), Follow::default());
        return Ok((kernel, setup, Vec::new()));
    }
    let (kernel, by_name) = experiment.prelude(Follow::default())?;
    let named = capture.trace.tasks.iter();
    let tasks = named.filter_map(|t| Some((t.pid, *by_name.get(&t.comm)?))).collect();
    setup.shift = experiment.t0_ns() as i64 - capture.clock.t0_ns as i64;
    setup.wake_lag_ns = experiment.machine().wake_clock_lag_ns;
    setup.span = (capture.clock.t0_ns.saturating_sub(SWITCH_FOLLOWS_NS), end);
    setup.from_the_start = false;
    Ok((kernel, setup, tasks))
}

fn traits(capture: &Capture) -> BTreeMap<u32, Traits> {
    let mut pids: Vec<u32> = capture.result.top_level().map(|t| t.pid).collect();
    // The driver forks in the spec's order.
    pids.sort_unstable();
    let of = |task: &crate::capture::spec::Task| Traits {
        nice: task.nice,
        policy: task.policy,
        cpus: task.cpus.clone(),
        name: Some(task.name.clone()),
    };
    pids.into_iter().zip(capture.spec.tasks.iter().map(of)).collect()
}

/// Pipes wake synchronously, futexes do not; unknown if the workload has both.
fn sync_wakeups(capture: &Capture) -> Option<bool> {
    let mut kinds = capture.spec.objects.iter().map(|o| o.kind == ObjectKind::Pipe);
    let first = kinds.next().unwrap_or(false);
    kinds.all(|k| k == first).then_some(first)
}

/// How far apart the switches that one phase of the tick explains may lie, ns.
const WINDOW_NS: u64 = 20_000;
/// So many switches must agree on a phase.
const LEAST_SWITCHES: usize = 8;

/// The phase of the ticks by the trace itself: involuntary switches that no wake-up asked for follow ticks. None when there
/// are too few of them.
pub fn tick_phase(trace: &Trace, tick_ns: u64) -> Option<u64> {
    let mut woken = BTreeMap::new();
    let mut phases = Vec::new();
    for event in &trace.events {
        match &event.kind {
            TraceKind::Switch { prev, prev_state, .. } => {
                let asked = woken.remove(&event.cpu).is_some();
                if prev_state.starts_with('R') && trace.pid(*prev) != 0 && !asked {
                    phases.push(event.at_ns % tick_ns);
                }
            }
            TraceKind::Wakeup { target_cpu, .. } => drop(woken.insert(*target_cpu, ())),
            _ => {}
        }
    }
    phases.sort_unstable();
    let count = |from: u64| phases.iter().filter(|p| (**p + tick_ns - from) % tick_ns < WINDOW_NS).count();
    let best = phases.iter().copied().max_by_key(|p| (count(*p), std::cmp::Reverse(*p)))?;
    // The switch follows its tick by about this.
    let delay = super::tick::REPICK_NS;
    (count(best) >= LEAST_SWITCHES && count(best) * 2 > phases.len())
        .then_some((best + tick_ns - delay) % tick_ns)
}
