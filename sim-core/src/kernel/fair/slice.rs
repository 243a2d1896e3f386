//! How long an entity may run when others wait.

use crate::id::{CfsRqId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::{Hooks, Slice};
use crate::kernel::weight::calc_delta_fair;
use crate::observe::SliceFloor;

impl<H: Hooks> Kernel<H> {
    /// An entity's share of the period, ns; one that is not queued counts as if it were.
    ///
    /// Mirrors: `sched_slice()`, v4.19–v6.5; core.md §4.2.
    pub(in crate::kernel) fn sched_slice(&mut self, q: CfsRqId, se: EntityId) -> u64 {
        let floor = self.load_floor();
        let cpu = self.cfs_rqs[q.index()].cpu;
        let mut slice = self.config.tunables.period(u64::from(self.period_nr(q, se)));
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
        slice = slice.max(self.config.tunables.slice_floor(self.slice_floor(q, se)));
        self.hooks.slice(&Slice { cpu, entity: se, task: self.entities[se.index()].task, slice })
    }

    /// A task's slice as things stand, ns: what `sched_rr_get_interval(2)` rounds to ticks.
    pub fn slice_of(&mut self, task: TaskId) -> u64 {
        let se = self.tasks[task.index()].se;
        self.sched_slice(self.entities[se.index()].cfs_rq, se)
    }

    /// Among how many the period is divided.
    pub(super) fn period_nr(&self, q: CfsRqId, se: EntityId) -> u32 {
        let queue = &self.cfs_rqs[q.index()];
        let nr = if self.config.features.enabled(Feature::AltPeriod) {
            self.cfs_rqs[self.rqs[queue.cpu.index()].cfs.index()].h_nr_running
        } else {
            queue.nr_running
        };
        nr + u32::from(!self.entities[se.index()].on_rq)
    }

    pub(super) fn slice_floor(&self, q: CfsRqId, se: EntityId) -> SliceFloor {
        if !self.config.features.enabled(Feature::BaseSlice) {
            return SliceFloor::None;
        }
        let queue = &self.cfs_rqs[q.index()];
        let idle_beside_others = self.entities[se.index()].idle && queue.nr_running != queue.idle_nr_running;
        if self.config.rules.idle_min_granularity && idle_beside_others {
            SliceFloor::IdleMinGranularity
        } else {
            SliceFloor::MinGranularity
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
