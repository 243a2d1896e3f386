//! Where the tasks of a spec start. On a machine with several CPUs they all wake at T0 by timer interrupts of several CPUs at
//! once, which race for the same idle CPUs; who wins is the captured machine's own.

use crate::capture::Capture;
use crate::capture::trace::TraceKind;
use sim_core::kernel::hooks::Hooks;
use sim_core::observe::{Select, SelectReason};
use sim_core::{CpuId, TaskId};

/// Where tasks start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Where the simulator's rules put them.
    Free,
    /// When forked and at their first wake-up, where the capture shows them.
    AsCaptured,
}

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
        let first = |pid: u32, first_of_all: bool| {
            capture.trace.events.iter().find_map(|e| match e.kind {
                TraceKind::Wakeup { task, target_cpu, new }
                    if new == first_of_all && capture.trace.pid(task) == pid =>
                {
                    Some(CpuId(target_cpu)).filter(|c| c.0 < capture.meta.smp)
                }
                _ => None,
            })
        };
        let cpus = pids.into_iter().map(|pid| [first(pid, true), first(pid, false)]).collect();
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

impl Hooks for StartHooks {
    fn select(&mut self, d: &Select) -> CpuId {
        self.captured(d).unwrap_or(d.chosen)
    }
}
