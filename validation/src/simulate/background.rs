//! Kernel threads: they wake when the trace says, since timers outside the workload wake them, and run for the capture
//! machine's constant time.

use crate::capture::{Capture, clock::TICK_NS, trace::TraceKind};
use sim_core::kernel::Policy;
use sim_core::program::{Action, Program, ProgramContext, TaskSpec};
use sim_core::{CpuId, CpuMask, GroupId, Instant};
use std::collections::BTreeMap;

/// A softirq runs at the end of its tick's interrupt: a wake-up this close after a tick is part of it.
const SOFTIRQ_NS: u64 = 10_000;

/// The CPU a thread is bound to: `ksoftirqd/2`, `kworker/2:1H`, but not `kworker/u8:0`.
fn bound_to(name: &str, cpus: u32) -> Option<CpuId> {
    let (_, rest) = name.split_once('/')?;
    let digits = rest.split(':').next()?;
    digits.parse().ok().filter(|c| *c < cpus).map(CpuId)
}

/// The kernel threads of a capture.
pub(super) struct Background {
    /// Each with the CPU it is bound to.
    pub(super) threads: Vec<(Option<CpuId>, TaskSpec)>,
    /// Workers free the stacks of tasks that have exited: those of several CPUs are then woken by exits.
    pub(super) workers_follow_exits: bool,
}

impl Background {
    /// Whether a thread is the worker that follows the exits on a CPU.
    pub(super) fn follows_exits(&self, cpu: Option<CpuId>, spec: &TaskSpec) -> bool {
        self.workers_follow_exits && cpu.is_some() && is_worker(&spec.name)
    }
}

/// On several CPUs without the stoppers, which the simulator then wakes itself. `to_sim` turns a trace stamp into simulated
/// time.
pub(super) fn background(capture: &Capture, to_sim: impl Fn(u64) -> Option<Instant>) -> Background {
    let mut wakes: BTreeMap<u32, (String, Vec<Instant>)> = BTreeMap::new();
    let mut dead = vec![false; capture.meta.smp as usize];
    let (mut exits, mut followed) = (0u32, 0u32);
    for event in &capture.trace.events {
        let after_exit = dead.get_mut(event.cpu as usize).is_some_and(std::mem::take);
        if let TraceKind::Switch { prev_state, .. } = &event.kind
            && prev_state.starts_with(['X', 'Z'])
        {
            exits += 1;
            dead[event.cpu as usize] = true;
        }
        let TraceKind::Wakeup { task, .. } = event.kind else { continue };
        let name = capture.trace.name(task);
        let measured = capture.result.tasks.iter().any(|t| t.pid == name.pid);
        let stopper = capture.meta.smp > 1 && name.comm.starts_with("migration/");
        if measured || name.comm == "wl" || name.pid == 0 || stopper {
            continue;
        }
        let freeing = capture.meta.smp > 1 && after_exit && is_worker(&name.comm);
        followed += u32::from(freeing);
        let since_tick = capture.clock.since_tick(event.at_ns);
        // Right after its tick, whatever the path's length was in the trace.
        let at = since_tick
            .filter(|ns| *ns < SOFTIRQ_NS.min(TICK_NS))
            .map_or(event.at_ns, |ns| event.at_ns - ns + 1);
        let times = &mut wakes.entry(name.pid).or_insert_with(|| (name.comm.clone(), Vec::new())).1;
        times.extend(to_sim(at).filter(|_| !freeing));
    }
    let bound = |name: &str| bound_to(name, capture.meta.smp);
    let threads = wakes
        .into_values()
        .map(|(name, times)| (bound(&name), kernel_thread(bound(&name), name, times)))
        .collect();
    Background { threads, workers_follow_exits: followed * 2 > exits }
}

/// A worker thread of normal priority.
fn is_worker(name: &str) -> bool {
    name.starts_with("kworker/") && !name.ends_with('H') && !name.starts_with("kworker/u")
}

/// A thread that has been there since before the driver.
fn kernel_thread(cpu: Option<CpuId>, name: String, times: Vec<Instant>) -> TaskSpec {
    let never = Instant(u64::MAX / 2);
    let mut times = times.into_iter();
    let mut until = Instant::ZERO;
    let program: Box<dyn Program> = Box::new(move |cx: &ProgramContext| {
        // Woken early, it has the same time still before it.
        if cx.now >= until {
            until = times.next().unwrap_or(never);
        }
        Action::SleepUntil(until)
    });
    let (path, start) = (format!("kernel/{name}"), Instant::ZERO);
    TaskSpec {
        name,
        path,
        start,
        nice: 0,
        policy: Policy::Normal,
        affinity: cpu.map(CpuMask::one),
        group: GroupId::ROOT,
        program,
    }
}
