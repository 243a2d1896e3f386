//! Balancing by a CPU that is about to idle.

use super::rules::NewidleGate;
use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::domains::{DomainFlags, DomainId};
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::observe::{IdleType, Observer};
use crate::time::Instant;
use rand::Rng;
use std::sync::Arc;

/// Probabilities are counted in parts of this.
const CERTAIN: u32 = 1024;

impl<H: Hooks> Kernel<H> {
    /// A CPU without fair tasks looks for some; true if it has any now.
    ///
    /// Mirrors: `idle_balance()`, `newidle_balance()`, v4.19–v6.5; smp.md §4.6.
    pub(in crate::kernel) fn newidle_balance<O: Observer>(
        &mut self,
        cpu: CpuId,
        now: Instant,
        o: &mut O,
    ) -> bool {
        if self.rqs.len() == 1 {
            return false;
        }
        let rq = &mut self.rqs[cpu.index()];
        rq.balance.idle_stamp = rq.clock;
        if self.config.rules.balance.newidle_leaves_for_wakeup && !rq.wake_list.is_empty() {
            return false;
        }
        let mut next = self.jiffies(now) + u64::from(self.config.hz);
        let skipped = !self.newidle_pays(cpu);
        if skipped {
            if let Some(lowest) = self.domains.cpu(cpu).lowest {
                next = next.min(self.idle_due(lowest));
            }
        } else {
            self.refresh_blocked_load(cpu, now);
            self.newidle_pass(cpu, &mut next, now, o);
        }
        let pulled = self.h_nr_running(cpu) > 0;
        let rq = &mut self.rqs[cpu.index()].balance;
        rq.next_balance = rq.next_balance.min(next);
        if pulled {
            rq.idle_stamp = 0;
        } else if skipped || self.config.rules.balance.nohz_newidle_deferred {
            self.nohz_newidle_balance(cpu, now, o);
        }
        pulled
    }

    /// Whether some CPU has tasks to spare and the expected idle time is long enough to look for them.
    fn newidle_pays(&self, cpu: CpuId) -> bool {
        let least = match self.config.rules.balance.newidle_gate {
            NewidleGate::MigrationCost => self.config.tunables.migration_cost_ns,
            NewidleGate::LowestDomainCost => {
                self.domains.cpu(cpu).lowest.map_or(0, |sd| self.balancing.domain(sd).max_newidle_lb_cost)
            }
        };
        self.balancing.overload && self.rqs[cpu.index()].balance.avg_idle >= least
    }

    /// When an idle CPU would balance a domain next.
    fn idle_due(&self, sd: DomainId) -> u64 {
        self.balancing.domain(sd).last_balance + self.sd_balance_interval(sd, false)
    }

    /// Tries one domain after the other, as far as the expected idle time reaches.
    fn newidle_pass<O: Observer>(&mut self, cpu: CpuId, next: &mut u64, now: Instant, o: &mut O) {
        let domains = Arc::clone(&self.domains);
        let avg_idle = self.rqs[cpu.index()].balance.avg_idle;
        let mut cost = 0;
        for (sd, domain) in domains.chain(cpu) {
            *next = (*next).min(self.idle_due(sd));
            if avg_idle < cost + self.balancing.domain(sd).max_newidle_lb_cost {
                break;
            }
            if domain.flags.has(DomainFlags::BALANCE_NEWIDLE)
                && let Some(weight) = self.draw_newidle(cpu, sd)
            {
                let before = self.work_ns;
                let moved = self.load_balance(cpu, sd, IdleType::NewlyIdle, now, o).moved;
                let took = self.work_ns - before;
                self.update_newidle_cost(sd, took, now);
                self.balancing.domain_mut(sd).newidle.count(if moved > 0 { weight } else { 0 });
                cost += took;
            }
            let rq = &self.rqs[cpu.index()];
            let stop_for_wakeup = self.config.rules.balance.newidle_leaves_for_wakeup;
            if rq.nr_running > 0 || stop_for_wakeup && !rq.wake_list.is_empty() {
                break;
            }
        }
        let rq = &mut self.rqs[cpu.index()].balance;
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(cost);
    }

    /// Whether a domain is tried at all: always, but by chance in proportion to past success under `NI_RANDOM`. Then a success
    /// counts for the attempts left out: the answer is its weight.
    fn draw_newidle(&mut self, cpu: CpuId, sd: DomainId) -> Option<u32> {
        if !self.config.features.enabled(Feature::NiRandom) {
            return Some(1);
        }
        let chance = 1 + self.balancing.domain(sd).newidle.ratio;
        let drawn = (self.balancing.random[cpu.index()].next_u64() % u64::from(CERTAIN)) as u32;
        if drawn < chance {
            return Some((CERTAIN + chance / 2) / chance);
        }
        self.balancing.domain_mut(sd).newidle.count(0);
        None
    }

    fn update_newidle_cost(&mut self, sd: DomainId, took: u64, now: Instant) {
        let again = self.jiffies(now) + u64::from(self.config.hz);
        let after_change = self.config.rules.balance.cost_decays_after_change;
        let sd = self.balancing.domain_mut(sd);
        if took > sd.max_newidle_lb_cost {
            sd.max_newidle_lb_cost = took;
            if after_change {
                sd.next_decay = again;
            }
        }
    }
}
