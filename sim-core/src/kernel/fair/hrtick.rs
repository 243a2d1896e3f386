//! HRTICK: a timer at the end of the running task's slice.

use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::observe::Observer;
use crate::time::Instant;

/// The timer is never set nearer than this, ns.
const MIN_DELAY_NS: u64 = 10_000;

impl<H: Hooks> Kernel<H> {
    /// Sets the timer to the end of a task's slice, if others wait; a slice that is over asks for a reschedule at once.
    ///
    /// Mirrors: `hrtick_start_fair()`, `hrtick_start()`, v4.19–v6.5; core.md §6.4.
    pub(super) fn hrtick_start_fair<O: Observer>(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        now: Instant,
        o: &mut O,
    ) {
        let root = self.rqs[cpu.index()].cfs;
        if !self.config.features.enabled(Feature::Hrtick) || self.cfs_rqs[root.index()].h_nr_running <= 1 {
            return;
        }
        let se = self.tasks[task.index()].se;
        let slice = self.sched_slice(self.entities[se.index()].cfs_rq, se);
        let Some(left) = slice.checked_sub(self.entities[se.index()].ran()) else {
            if self.rqs[cpu.index()].curr == Some(task) {
                self.resched_curr(cpu, now, o);
            }
            return;
        };
        let at = Instant(now.0.saturating_add(left.max(MIN_DELAY_NS)));
        self.rqs[cpu.index()].hrtick = Some(at);
        self.newly_hrtick.push(cpu);
    }

    /// Tasks came or went: the running task's slice has changed. With many of them it is not worth the trouble.
    ///
    /// Mirrors: `hrtick_update()`, v4.19–v6.5.
    pub(super) fn hrtick_update<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        if !self.config.features.enabled(Feature::Hrtick) {
            return;
        }
        let Some(curr) = self.rqs[cpu.index()].curr.filter(|c| self.is_fair(*c)) else { return };
        let q = self.task_entity(curr).cfs_rq;
        if u64::from(self.cfs_rqs[q.index()].nr_running) < self.config.tunables.nr_latency {
            self.hrtick_start_fair(cpu, curr, now, o);
        }
    }

    /// CPUs whose high-resolution tick was armed since the last call; the time is in [`Rq::hrtick`]. The driver must call
    /// [`Kernel::hrtick`] then, unless it has been armed anew or cleared.
    ///
    /// [`Rq::hrtick`]: crate::kernel::runqueue::Rq::hrtick
    pub fn take_hrtick(&mut self) -> Option<CpuId> {
        self.newly_hrtick.pop()
    }

    /// The high-resolution tick of a CPU.
    ///
    /// Mirrors: `hrtick()`.
    pub fn hrtick<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        if self.rqs[cpu.index()].hrtick.is_none() {
            return;
        }
        self.update_rq_clock(cpu, now);
        self.tick_of_current(cpu, true, now, o);
        self.rqs[cpu.index()].hrtick = None;
    }
}
