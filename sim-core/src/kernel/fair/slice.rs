//! How long an entity may run when others wait.

use crate::id::{CfsRqId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::{Hooks, Slice};
use crate::kernel::weight::calc_delta_fair;

impl<H: Hooks> Kernel<H> {
    /// The time in which each of `nr_running` entities should run once, ns.
    ///
    /// Mirrors: `__sched_period()`, v4.19–v6.5.
    fn sched_period(&self, nr_running: u64) -> u64 {
        let t = &self.config.tunables;
        if nr_running > t.nr_latency { nr_running * t.min_granularity_ns } else { t.latency_ns }
    }

    /// An entity's share of the period, ns; one that is not queued counts as if it were.
    ///
    /// Mirrors: `sched_slice()`, v4.19–v6.5; core.md §4.2.
    pub(in crate::kernel) fn sched_slice(&mut self, q: CfsRqId, se: EntityId) -> u64 {
        let floor = self.load_floor();
        let queue = &self.cfs_rqs[q.index()];
        let cpu = queue.cpu;
        let nr = if self.config.features.enabled(Feature::AltPeriod) {
            self.cfs_rqs[self.rqs[cpu.index()].cfs.index()].h_nr_running
        } else {
            queue.nr_running
        };
        let mut slice = self.sched_period(u64::from(nr) + u64::from(!self.entities[se.index()].on_rq));
        let mut level = Some(se);
        while let Some(x) = level {
            let e = &self.entities[x.index()];
            let (weight, on_rq, parent) = (e.load.weight, e.on_rq, e.parent);
            let load = &mut self.cfs_rqs[e.cfs_rq.index()].load;
            slice = if on_rq {
                load.calc_delta(slice, weight, floor)
            } else {
                let mut with_it = *load;
                with_it.add(weight);
                with_it.calc_delta(slice, weight, floor)
            };
            level = parent;
        }
        if self.config.features.enabled(Feature::BaseSlice) {
            slice = slice.max(self.slice_floor(q, se));
        }
        self.hooks.slice(&Slice { cpu, entity: se, task: self.entities[se.index()].task, slice })
    }

    /// A task's slice as things stand, ns: what `sched_rr_get_interval(2)` rounds to ticks.
    pub fn slice_of(&mut self, task: TaskId) -> u64 {
        let se = self.tasks[task.index()].se;
        self.sched_slice(self.entities[se.index()].cfs_rq, se)
    }

    fn slice_floor(&self, q: CfsRqId, se: EntityId) -> u64 {
        let queue = &self.cfs_rqs[q.index()];
        let idle_beside_others = self.entities[se.index()].idle && queue.nr_running != queue.idle_nr_running;
        if self.config.rules.idle_min_granularity && idle_beside_others {
            self.config.tunables.idle_min_granularity_ns
        } else {
            self.config.tunables.min_granularity_ns
        }
    }

    /// A slice in virtual time.
    ///
    /// Mirrors: `sched_vslice()`.
    pub(super) fn sched_vslice(&mut self, q: CfsRqId, se: EntityId) -> u64 {
        let slice = self.sched_slice(q, se);
        let floor = self.load_floor();
        calc_delta_fair(slice, &mut self.entities[se.index()].load, floor)
    }
}
