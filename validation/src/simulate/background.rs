//! Kernel threads: they wake when the trace says, since timers outside the workload wake them, and run for the capture
//! machine's constant time.

use crate::capture::{Capture, clock::TICK_NS, trace::TraceKind};
use sim_core::kernel::Policy;
use sim_core::program::{Action, Program, TaskSpec};
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

/// The background tasks of a capture: its kernel threads, on several CPUs without the stoppers, which the simulator then
/// wakes itself. `to_sim` turns a trace stamp into simulated time.
pub(super) fn background(capture: &Capture, to_sim: impl Fn(u64) -> Option<Instant>) -> Vec<TaskSpec> {
    let mut wakes: BTreeMap<u32, (String, Vec<Instant>)> = BTreeMap::new();
    for event in &capture.trace.events {
        let TraceKind::Wakeup { task, .. } = event.kind else { continue };
        let name = capture.trace.name(task);
        let measured = capture.result.tasks.iter().any(|t| t.pid == name.pid);
        let stopper = capture.meta.smp > 1 && name.comm.starts_with("migration/");
        if measured || name.comm == "wl" || name.pid == 0 || stopper {
            continue;
        }
        let since_tick = capture.clock.since_tick(event.at_ns);
        // Right after its tick, whatever the path's length was in the trace.
        let at = since_tick
            .filter(|ns| *ns < SOFTIRQ_NS.min(TICK_NS))
            .map_or(event.at_ns, |ns| event.at_ns - ns + 1);
        if let Some(at) = to_sim(at) {
            wakes.entry(name.pid).or_insert_with(|| (name.comm.clone(), Vec::new())).1.push(at);
        }
    }
    let bound = |name: &str| bound_to(name, capture.meta.smp);
    wakes.into_values().map(|(name, times)| kernel_thread(bound(&name), name, times)).collect()
}

/// A thread that has been there since before the driver.
fn kernel_thread(cpu: Option<CpuId>, name: String, times: Vec<Instant>) -> TaskSpec {
    let never = Instant(u64::MAX / 2);
    let mut times = times.into_iter();
    let program: Box<dyn Program> = Box::new(move |_: &_| Action::SleepUntil(times.next().unwrap_or(never)));
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
