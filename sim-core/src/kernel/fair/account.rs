//! Charging run time: `update_curr`, `min_vruntime`.

use crate::id::CfsRqId;
use crate::kernel::Kernel;
use crate::kernel::entity::{max_vruntime, min_vruntime};
use crate::kernel::hooks::Hooks;
use crate::kernel::weight::calc_delta_fair;
use crate::observe::{Event, Observer};
use crate::time::{Instant, Nanos};

impl<H: Hooks> Kernel<H> {
    /// The task clock of the CPU a queue belongs to, ns.
    pub(in crate::kernel) fn clock_task(&self, q: CfsRqId) -> u64 {
        self.rqs[self.cfs_rqs[q.index()].cpu.index()].clock_task
    }

    /// Charges a queue's running entity up to the task clock.
    ///
    /// Mirrors: `update_curr()`, v4.19–v6.5.
    pub(in crate::kernel) fn update_curr<O: Observer>(&mut self, q: CfsRqId, now: Instant, o: &mut O) {
        let Some(curr) = self.cfs_rqs[q.index()].curr else { return };
        let clock = self.clock_task(q);
        let floor = self.load_floor();
        let e = &mut self.entities[curr.index()];
        let delta = clock.wrapping_sub(e.exec_start);
        if (delta as i64) <= 0 {
            return;
        }
        e.exec_start = clock;
        e.sum_exec_runtime += delta;
        e.vruntime = e.vruntime.wrapping_add(calc_delta_fair(delta, &mut e.load, floor));
        if let Some(task) = e.task {
            let event = Event::StatRuntime { task, runtime: Nanos(delta), vruntime: e.vruntime };
            o.event(now, &event);
        }
        self.update_min_vruntime(q);
    }

    /// Raises the queue's floor to the smallest vruntime present.
    ///
    /// Mirrors: `update_min_vruntime()`, v4.19–v6.5.
    pub(in crate::kernel) fn update_min_vruntime(&mut self, q: CfsRqId) {
        let queue = &self.cfs_rqs[q.index()];
        let v = |e: crate::id::EntityId| self.entities[e.index()].vruntime;
        let curr = queue.curr.filter(|e| self.entities[e.index()].on_rq).map(v);
        let left = queue.tree.leftmost().map(v);
        let candidate = match (curr, left) {
            (Some(a), Some(b)) => min_vruntime(a, b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => return,
        };
        let queue = &mut self.cfs_rqs[q.index()];
        queue.min_vruntime = max_vruntime(queue.min_vruntime, candidate);
    }
}
