//! Wakeup preemption: is the wakee so far behind that it must run now?

use super::wakeup_gran::Asked;
use crate::id::{CpuId, EntityId, TaskId};
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::kernel::rules::{IdleEntities, WakeupGran};
use crate::kernel::weight::calc_delta_fair;
use crate::kernel::{Kernel, Policy};
use crate::observe::{Decision, Observer, PreemptRule, WakeupPreempt};
use crate::time::{Instant, Nanos};

/// How far one entity lies behind another, against the granularity.
pub(super) struct Lead {
    /// vruntime difference: positive when the candidate is behind.
    pub(super) vdiff: i64,
    /// Wakeup granularity in the candidate's units, ns.
    pub(super) granularity: u64,
}

impl Lead {
    /// More than a granularity behind: it preempts.
    pub(super) const fn exceeds(&self) -> bool {
        self.vdiff > 0 && self.vdiff.unsigned_abs() > self.granularity
    }
}

impl<H: Hooks> Kernel<H> {
    /// Compares candidate `b` with `a`. The granularity is scaled by the candidate: light ones preempt less easily.
    ///
    /// Mirrors: `wakeup_preempt_entity()`, v4.19–v6.5.
    pub(super) fn wakeup_preempt_entity(&mut self, a: EntityId, b: EntityId, asked: Asked) -> Lead {
        let vdiff = self.entities[a.index()].vruntime.wrapping_sub(self.entities[b.index()].vruntime) as i64;
        let (floor, gran) = (self.load_floor(), self.wakeup_gran(a, asked));
        Lead { vdiff, granularity: calc_delta_fair(gran, &mut self.entities[b.index()].load, floor) }
    }

    /// Mirrors: `check_preempt_wakeup()`, v4.19–v6.5; the rows of core.md §7.2.
    pub(in crate::kernel) fn check_preempt_wakeup<O: Observer>(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        wakee: TaskId,
        fork: bool,
        now: Instant,
        o: &mut O,
    ) {
        let (se, pse) = (self.tasks[curr.index()].se, self.tasks[wakee.index()].se);
        let q = self.entities[se.index()].cfs_rq;
        let scale = u64::from(self.cfs_rqs[q.index()].nr_running) >= self.config.tunables.nr_latency;
        let mut next_marked = false;
        if curr != wakee && self.config.features.enabled(Feature::NextBuddy) && scale && !fork {
            self.set_next_buddy(pse);
            next_marked = true;
        }
        let (se_level, pse_level) = self.find_matching_se(se, pse);
        let (rule, preempt, lead) = self.wakeup_rule(cpu, curr, wakee, se_level, pse_level, now, o);
        let (vdiff, granularity) = lead.map_or((0, 0), |l| (l.vdiff, l.granularity));
        let ran = self.entities[se.index()].ran();
        let d = WakeupPreempt {
            cpu,
            curr: Some(curr),
            wakee,
            entity: pse_level,
            lead: vdiff,
            granularity,
            weight: self.entities[pse_level.index()].load.weight,
            curr_ran: Nanos(ran),
            rule,
            preempt,
        };
        if O::DECISIONS {
            o.decision(now, &Decision::WakeupPreempt(d));
        }
        if !self.hooks.wakeup_preempt(&d, ran) {
            return;
        }
        if rule == PreemptRule::Granularity && !next_marked {
            self.set_next_buddy(pse_level);
        }
        self.resched_curr(cpu, now, o);
        let last = self.entities[se_level.index()].on_rq && self.entities[se_level.index()].task.is_some();
        if last && scale && self.config.features.enabled(Feature::LastBuddy) {
            self.set_last_buddy(se_level);
        }
    }

    /// The first row that applies, and its verdict.
    #[expect(clippy::too_many_arguments, reason = "the kernel's own inputs, one by one")]
    fn wakeup_rule<O: Observer>(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        wakee: TaskId,
        se: EntityId,
        pse: EntityId,
        now: Instant,
        o: &mut O,
    ) -> (PreemptRule, bool, Option<Lead>) {
        use PreemptRule as R;
        let policy = |t: TaskId| self.tasks[t.index()].policy;
        if curr == wakee {
            return (R::WakeeIsCurr, false, None);
        }
        if self.rqs[cpu.index()].need_resched {
            return (R::AlreadyResched, false, None);
        }
        if policy(curr) == Policy::Idle && policy(wakee) != Policy::Idle {
            return (R::CurrPolicyIdle, true, None);
        }
        if policy(wakee) != Policy::Normal {
            return (R::WakeePolicy, false, None);
        }
        if !self.config.features.enabled(Feature::WakeupPreemption) {
            return (R::FeatureOff, false, None);
        }
        if self.config.rules.idle_entities == IdleEntities::EveryLevel {
            match (self.entities[se.index()].idle, self.entities[pse.index()].idle) {
                (true, false) => return (R::IdleEntity, true, None),
                (false, true) => return (R::WakeeEntityIdle, false, None),
                _ => {}
            }
        }
        let charged = match self.config.rules.wakeup_gran {
            // The first patch of that series.
            WakeupGran::ByQueueLength => self.tasks[curr.index()].se,
            _ => se,
        };
        self.update_curr(self.entities[charged.index()].cfs_rq, now, o);
        if self.config.rules.preempt_after_min_run
            && self.entities[se.index()].ran() < self.config.tunables.min_granularity_ns
        {
            return (R::MinimumRun, false, None);
        }
        let lead = self.wakeup_preempt_entity(se, pse, Asked::AtWakeup { curr });
        (R::Granularity, lead.exceeds(), Some(lead))
    }
}
