//! `sched_yield(2)`.

use crate::id::CpuId;
use crate::kernel::hooks::Hooks;
use crate::kernel::{Kernel, Policy};
use crate::observe::Observer;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// The running task of a CPU asks to be passed over once; the caller then calls [`Kernel::schedule`]. Its vruntime
    /// does not change.
    ///
    /// Mirrors: `yield_task_fair()`, v4.19–v6.5; core.md §8.5.
    pub fn sched_yield<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        let Some(curr) = self.rqs[cpu.index()].curr else { return };
        if self.rqs[cpu.index()].nr_running == 1 {
            return;
        }
        let se = self.tasks[curr.index()].se;
        self.clear_buddies(se);
        if self.tasks[curr.index()].policy != Policy::Batch {
            self.update_rq_clock(cpu, now);
            let q = self.entities[se.index()].cfs_rq;
            self.update_curr(q, now, o);
            self.rqs[cpu.index()].skip_clock_update = true;
        }
        self.set_skip_buddy(se);
    }
}
