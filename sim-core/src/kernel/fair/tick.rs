//! The tick: has the running entity had its share?

use crate::id::{CpuId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::kernel::pelt::Update;
use crate::observe::{Decision, Observer, Share, Shares, TickPreempt, TickRule};
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
            if hrtick || (!armed && self.cfs_rqs[q.index()].nr_running > 1) {
                self.check_preempt_tick(cpu, curr, se, hrtick, now, o);
            }
            level = self.entities[se.index()].parent;
        }
    }

    /// The high-resolution tick needs no comparison: the slice is over.
    ///
    /// Mirrors: `check_preempt_tick()`, `entity_tick()`, v4.19–v6.5; core.md §6.2, §6.4.
    fn check_preempt_tick<O: Observer>(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        se: EntityId,
        hrtick: bool,
        now: Instant,
        o: &mut O,
    ) {
        let d = self.tick_decision(curr, se, hrtick);
        if O::DECISIONS {
            o.decision(now, &Decision::TickPreempt(d));
        }
        if self.hooks.tick_preempt(&d) {
            self.resched_curr(cpu, now, o);
            if d.rule == TickRule::SliceUsed {
                // Current had its time: it must not win by an old favour.
                self.clear_buddies(se);
            }
        }
    }

    fn tick_decision(&mut self, curr: TaskId, se: EntityId, hrtick: bool) -> TickPreempt {
        let q = self.entities[se.index()].cfs_rq;
        let mut slice = self.sched_slice(q, se);
        if self.config.rules.slice_capped_by_latency && !hrtick {
            slice = slice.min(self.config.tunables.latency_ns);
        }
        let (e, queue) = (&self.entities[se.index()], &self.cfs_rqs[q.index()]);
        let left = queue.tree.leftmost();
        let lead = left.map(|l| e.vruntime.wrapping_sub(self.entities[l.index()].vruntime) as i64);
        let rule = if hrtick {
            TickRule::Hrtick
        } else {
            TickRule::of_tick(e.ran(), slice, self.config.tunables.min_granularity_ns, lead)
        };
        TickPreempt {
            cpu: queue.cpu,
            entity: se,
            curr,
            ran: Nanos(e.ran()),
            slice: Nanos(slice),
            nr_running: queue.nr_running,
            weight: e.load.weight,
            load: queue.load.weight,
            above: self.shares_above(se),
            period_nr: self.period_nr(q, se),
            floor: self.slice_floor(q, se),
            left,
            lead: lead.unwrap_or(0),
            rule,
            preempt: rule.preempts(),
        }
    }

    fn shares_above(&self, se: EntityId) -> Shares {
        let mut shares = Shares::new();
        let mut level = self.entities[se.index()].parent;
        while let Some(x) = level {
            let e = &self.entities[x.index()];
            shares.push(Share { weight: e.load.weight, load: self.cfs_rqs[e.cfs_rq.index()].load.weight });
            level = e.parent;
        }
        shares
    }
}
