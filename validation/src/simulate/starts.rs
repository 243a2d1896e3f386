//! Where the tasks of a spec start. On a machine with several CPUs they all wake at T0 by timer interrupts of several CPUs at
//! once, which race for the same idle CPUs; who wins is the captured machine's own.

use crate::capture::Capture;
use crate::capture::trace::TraceKind;
use sim_core::kernel::hooks::Hooks;
use sim_core::observe::{Select, SelectReason};
use sim_core::{CpuId, Nanos, TaskId};

/// Where tasks start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Where the simulator's rules put them.
    Free,
    /// When forked and at their first wake-up, where the capture shows them.
    AsCaptured,
}

/// How long the race lasts: the interrupts of eight CPUs, each some slices of the emulator long, one after the other, and
/// what newly idle CPUs then pull.
const RACE: Nanos = Nanos::from_micros(200);

/// Overrides the placement of the driver's children at their fork and their first wake-up.
#[derive(Debug, Default)]
pub(super) struct StartHooks {
    /// By child: at its fork, at its first wake-up.
    cpus: Vec<[Option<CpuId>; 2]>,
    /// Children forked so far, and whether their first wake-up is over.
    children: Vec<(TaskId, bool)>,
    /// The first fork is that of the driver itself.
    driver_forked: bool,
}

impl StartHooks {
    pub(super) fn new(capture: &Capture, starts: Starts) -> StartHooks {
        if starts == Starts::Free {
            return StartHooks::default();
        }
        let mut pids: Vec<u32> = capture.result.top_level().map(|t| t.pid).collect();
        pids.sort_unstable();
        let cpus = pids
            .into_iter()
            .map(|pid| {
                [true, false].map(|new| start_of(capture, pid, new).filter(|c| c.0 < capture.meta.smp))
            })
            .collect();
        StartHooks { cpus, ..StartHooks::default() }
    }

    fn captured(&mut self, d: &Select) -> Option<CpuId> {
        match d.reason {
            SelectReason::Fork if !self.driver_forked => {
                self.driver_forked = true;
                None
            }
            SelectReason::Fork => {
                let cpu = self.cpus.get(self.children.len())?[0];
                self.children.push((d.task, false));
                cpu
            }
            SelectReason::Wake => {
                let child = self.children.iter().position(|(task, _)| *task == d.task)?;
                if std::mem::replace(&mut self.children[child].1, true) { None } else { self.cpus[child][1] }
            }
            SelectReason::Exec => None,
        }
    }
}

/// Where a task starts when it is `new`, or when it wakes for the first time: then where the race leaves it, if it is moved
/// once more before it has slept again.
fn start_of(capture: &Capture, pid: u32, new: bool) -> Option<CpuId> {
    let mut of_task = capture.trace.events.iter().filter(|e| match e.kind {
        TraceKind::Wakeup { task, .. } | TraceKind::Migrate { task, .. } => capture.trace.pid(task) == pid,
        _ => false,
    });
    let (at, cpu) = of_task.find_map(|e| match e.kind {
        TraceKind::Wakeup { target_cpu, new: n, .. } if n == new => Some((e.at_ns, target_cpu)),
        _ => None,
    })?;
    if new {
        return Some(CpuId(cpu));
    }
    let moves = of_task.take_while(|e| e.at_ns < at + RACE.0).map_while(|e| match e.kind {
        TraceKind::Migrate { to, .. } => Some(to),
        _ => None,
    });
    Some(CpuId(moves.last().unwrap_or(cpu)))
}

impl Hooks for StartHooks {
    fn select(&mut self, d: &Select) -> CpuId {
        self.captured(d).unwrap_or(d.chosen)
    }
}
