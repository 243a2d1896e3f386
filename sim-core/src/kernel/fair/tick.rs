//! The tick: has the running entity had its share?

use crate::id::{CfsRqId, CpuId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::kernel::pelt::Update;
use crate::observe::{Decision, Observer, TickPreempt, TickRule};
use crate::time::{Instant, Nanos};

impl<H: Hooks> Kernel<H> {
    /// Mirrors: `task_tick_fair()`, v4.19–v6.5.
    pub(in crate::kernel) fn task_tick_fair<O: Observer>(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        hrtick: bool,
        now: Instant,
        o: &mut O,
    ) {
        let armed =
            self.rqs[cpu.index()].hrtick.is_some() && !self.config.features.enabled(Feature::DoubleTick);
        let mut level = Some(self.tasks[curr.index()].se);
        while let Some(se) = level {
            let q = self.entities[se.index()].cfs_rq;
            // entity_tick()
            self.update_curr(q, now, o);
            self.update_load_avg(q, se, Update::Publish);
            self.update_cfs_group(se, now, o);
            if hrtick {
                self.hrtick_preempt(cpu, curr, q, se, now, o);
            } else if !armed && self.cfs_rqs[q.index()].nr_running > 1 {
                self.check_preempt_tick(cpu, curr, q, se, now, o);
            }
            level = self.entities[se.index()].parent;
        }
    }

    /// The slice is over by the high-resolution tick, which needs no comparison.
    fn hrtick_preempt<O: Observer>(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        q: CfsRqId,
        se: EntityId,
        now: Instant,
        o: &mut O,
    ) {
        let slice = self.sched_slice(q, se);
        let d = self.tick_decision(curr, se, slice, TickRule::Hrtick, 0);
        if O::DECISIONS {
            o.decision(now, &Decision::TickPreempt(d));
        }
        if self.hooks.tick_preempt(&d) {
            self.resched_curr(cpu, now, o);
        }
    }

    /// Mirrors: `check_preempt_tick()`, v4.19–v6.5; core.md §6.2.
    fn check_preempt_tick<O: Observer>(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        q: CfsRqId,
        se: EntityId,
        now: Instant,
        o: &mut O,
    ) {
        let mut slice = self.sched_slice(q, se);
        if self.config.rules.slice_capped_by_latency {
            slice = slice.min(self.config.tunables.latency_ns);
        }
        let ran = self.entities[se.index()].ran();
        let (rule, lead) = self.tick_rule(q, se, ran, slice);
        let d = self.tick_decision(curr, se, slice, rule, lead);
        if O::DECISIONS {
            o.decision(now, &Decision::TickPreempt(d));
        }
        if self.hooks.tick_preempt(&d) {
            self.resched_curr(cpu, now, o);
            if rule == TickRule::SliceUsed {
                // Current had its time: it must not win by an old favour.
                self.clear_buddies(se);
            }
        }
    }

    fn tick_decision(
        &self,
        curr: TaskId,
        se: EntityId,
        slice: u64,
        rule: TickRule,
        lead: i64,
    ) -> TickPreempt {
        let e = &self.entities[se.index()];
        let queue = &self.cfs_rqs[e.cfs_rq.index()];
        TickPreempt {
            cpu: queue.cpu,
            entity: se,
            curr,
            ran: Nanos(e.ran()),
            slice: Nanos(slice),
            nr_running: queue.nr_running,
            weight: e.load.weight,
            load: queue.load.weight,
            left: queue.tree.leftmost(),
            lead,
            rule,
            preempt: matches!(rule, TickRule::SliceUsed | TickRule::AheadByMoreThanSlice | TickRule::Hrtick),
        }
    }

    fn tick_rule(&self, q: CfsRqId, se: EntityId, ran: u64, slice: u64) -> (TickRule, i64) {
        if ran > slice {
            return (TickRule::SliceUsed, 0);
        }
        if ran < self.config.tunables.min_granularity_ns {
            return (TickRule::BelowMinGranularity, 0);
        }
        let Some(left) = self.cfs_rqs[q.index()].tree.leftmost() else { return (TickRule::NotAhead, 0) };
        let (v, left) = (self.entities[se.index()].vruntime, self.entities[left.index()].vruntime);
        let lead = v.wrapping_sub(left) as i64;
        match lead {
            ..0 => (TickRule::NotAhead, lead),
            // A virtual difference against a real slice: the kernel's own quirk.
            _ if lead.unsigned_abs() > slice => (TickRule::AheadByMoreThanSlice, lead),
            _ => (TickRule::WithinSlice, lead),
        }
    }
}
