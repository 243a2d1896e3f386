//! Placement of a wakee: at its waker's side or near its previous CPU.

use super::rules::RecentUsedCpu;
use super::wake_affine::AffineLoads;
use super::wakee::{WakeeFlips, wake_wide, wake_wide_coupled};
use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::domains::{DomainFlags, DomainId};
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::observe::{Affine, AffineRule, Flips, Select, SelectRule};
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Mirrors: `select_task_rq_fair()` for a wake-up, v4.19–v6.5; smp.md §3.1.
    pub(super) fn select_for_wake(
        &mut self,
        d: &mut Select,
        by: CpuId,
        waker: Option<TaskId>,
        now: Instant,
    ) -> (CpuId, SelectRule) {
        // An interrupt wakes in the name of the task it interrupted.
        let current = waker.or(self.rqs[by.index()].curr);
        let flips = self.note_wakee(by, current, d.task, now);
        d.flips = Some(flips);
        let want_affine = !flips.wide && self.tasks[d.task.index()].cpus_allowed.contains(by);
        let (affine, slow) = self.domains_for_wake(by, d.prev, want_affine);
        if let Some(sd) = affine.filter(|_| by != d.prev) {
            d.target = self.wake_affine(d, by, current, sd, now);
        }
        let choice = match slow {
            Some(sd) => (self.find_idlest_cpu(d, sd, by, DomainFlags::BALANCE_WAKE, now), SelectRule::Idlest),
            None => self.select_idle_sibling(d, by, waker, now),
        };
        if want_affine
            && self.config.rules.select.recent_used_cpu == RecentUsedCpu::Target
            && let Some(current) = current
        {
            self.tasks[current.index()].recent_used_cpu = by;
        }
        choice
    }

    /// Counts the waker's change of wakee and compares how often both change.
    fn note_wakee(&mut self, by: CpuId, current: Option<TaskId>, wakee: TaskId, now: Instant) -> Flips {
        let (jiffies, hz) = (self.jiffies(now), self.config.hz);
        let of_waker: &mut WakeeFlips = match current {
            Some(t) => &mut self.tasks[t.index()].wakee_flips,
            None => &mut self.rqs[by.index()].idle_task_flips,
        };
        let (changed, before) = of_waker.record(wakee, jiffies, hz);
        let waker = of_waker.flips;
        let factor = self.domains.cpu(by).llc_size;
        let coupled = self.config.rules.select.wakee_flips_coupled;
        let of_wakee = &mut self.tasks[wakee.index()].wakee_flips;
        if coupled && changed {
            of_wakee.couple(before, factor);
        }
        let wakee = of_wakee.flips;
        let rule = if coupled { wake_wide_coupled } else { wake_wide };
        Flips { waker, wakee, factor, wide: rule(waker, wakee, factor) }
    }

    /// The domain that holds waker and previous CPU, if the wakee may be pulled; else the one to search the slow way (only
    /// where CPUs differ in capacity).
    fn domains_for_wake(
        &self,
        by: CpuId,
        prev: CpuId,
        want_affine: bool,
    ) -> (Option<DomainId>, Option<DomainId>) {
        let mut slow = None;
        for (id, sd) in self.domains.chain(by) {
            if want_affine && sd.flags.has(DomainFlags::WAKE_AFFINE) && sd.span.contains(prev) {
                return (Some(id), None);
            }
            if sd.flags.has(DomainFlags::BALANCE_WAKE) {
                slow = Some(id);
            } else if !want_affine {
                break;
            }
        }
        (None, slow)
    }

    /// The waker's CPU or the previous one.
    ///
    /// Mirrors: `wake_affine()`, v4.19–v6.5; smp.md §3.3.
    fn wake_affine(
        &mut self,
        d: &mut Select,
        by: CpuId,
        current: Option<TaskId>,
        sd: DomainId,
        now: Instant,
    ) -> CpuId {
        let prev = d.prev;
        let idle = self.config.features.enabled(Feature::WaIdle);
        if let Some((rule, cpu)) = self.wake_affine_idle(by, prev, d.sync).filter(|_| idle) {
            d.affine = Some(Affine { rule, weight: None });
            return cpu;
        }
        if !self.config.features.enabled(Feature::WaWeight) {
            d.affine = Some(Affine { rule: AffineRule::None, weight: None });
            return prev;
        }
        let pct = self.domains.domain(sd).imbalance_pct;
        let waker_load = match current {
            Some(w) if d.sync => Some(self.task_h_load(w, now)),
            None if d.sync => Some(0),
            _ => None,
        };
        let loads = AffineLoads {
            this_load: self.cpu_load(by),
            waker_load,
            task_load: self.task_h_load(d.task, now),
            prev_load: self.cpu_load(prev),
            this_capacity: self.capacity_of(by),
            prev_capacity: self.capacity_of(prev),
            imbalance_pct: self.config.features.enabled(Feature::WaBias).then_some(pct),
        };
        let (weight, rule, pull) = loads.weigh();
        d.affine = Some(Affine { rule, weight: Some(weight) });
        if pull { by } else { prev }
    }

    /// Mirrors: `wake_affine_idle()`, v4.19–v6.5.
    fn wake_affine_idle(&self, by: CpuId, prev: CpuId, sync: bool) -> Option<(AffineRule, CpuId)> {
        let prev_idle = self.available_idle_cpu(prev);
        if self.available_idle_cpu(by) && self.domains.share_cache(by, prev) {
            return Some((AffineRule::ThisIdle, if prev_idle { prev } else { by }));
        }
        if sync && self.rqs[by.index()].nr_running == 1 {
            return Some((AffineRule::SyncAlone, by));
        }
        let answer = (AffineRule::PrevIdle, prev);
        (self.config.rules.select.wake_affine_prev_idle && prev_idle).then_some(answer)
    }
}
