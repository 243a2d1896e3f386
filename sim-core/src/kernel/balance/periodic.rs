//! Balancing at ticks: which domains are due, and how intervals follow from the outcome.

use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::domains::{DomainFlags, DomainId};
use crate::kernel::hooks::Hooks;
use crate::observe::{IdleType, Observer};
use crate::time::Instant;
use std::sync::Arc;

/// Milliseconds as ticks, rounded up.
pub(super) const fn ms_to_jiffies(ms: u64, hz: u32) -> u64 {
    (ms * hz as u64).div_ceil(1000)
}

/// Longest time between two passes of a CPU without a due domain, s.
const LONGEST_WAIT: u64 = 60;

impl<H: Hooks> Kernel<H> {
    /// A tick asks whether the CPU's domains are due, and whether an idle CPU should balance for all idle ones. The
    /// balancing itself runs right after the tick's interrupt; here at once.
    ///
    /// Mirrors: `trigger_load_balance()`, `run_rebalance_domains()`, v4.19–v6.5; smp.md §4.1.
    pub(in crate::kernel) fn trigger_load_balance<O: Observer>(
        &mut self,
        cpu: CpuId,
        now: Instant,
        o: &mut O,
    ) {
        if self.domains.cpu(cpu).lowest.is_none() {
            return;
        }
        let rq = &self.rqs[cpu.index()];
        let idle = idle_type(rq.is_idle());
        let due = self.jiffies(now) >= rq.balance.next_balance;
        if idle == IdleType::NotIdle {
            self.nohz_balancer_kick(cpu, now);
        }
        if due {
            self.refresh_blocked_load(cpu, now);
            self.rebalance_domains(cpu, idle, now, o);
        }
    }

    /// Balances those domains of a CPU whose interval has passed, the smallest first.
    ///
    /// Mirrors: `rebalance_domains()`, v4.19–v6.5; smp.md §4.1.
    pub(super) fn rebalance_domains<O: Observer>(
        &mut self,
        cpu: CpuId,
        mut idle: IdleType,
        now: Instant,
        o: &mut O,
    ) {
        let domains = Arc::clone(&self.domains);
        let jiffy = self.jiffies(now);
        let mut next = jiffy + LONGEST_WAIT * u64::from(self.config.hz);
        let (mut decayed, mut cost, mut goes_on) = (false, 0, true);
        for (sd, _) in domains.chain(cpu) {
            decayed |= self.decay_newidle_cost(sd, jiffy);
            cost += self.balancing.domain(sd).max_newidle_lb_cost;
            if !goes_on {
                if decayed {
                    continue;
                }
                break;
            }
            let busy = self.balances_as_busy(cpu, idle);
            if jiffy >= self.balancing.domain(sd).last_balance + self.sd_balance_interval(sd, busy) {
                let attempt = self.load_balance(cpu, sd, idle, now, o);
                goes_on = attempt.goes_on;
                if attempt.moved > 0 {
                    idle = idle_type(self.rqs[cpu.index()].is_idle());
                }
                self.balancing.domain_mut(sd).last_balance = jiffy;
            }
            let busy = self.balances_as_busy(cpu, idle);
            let due = self.balancing.domain(sd).last_balance + self.sd_balance_interval(sd, busy);
            next = next.min(due);
        }
        let migration_cost = self.config.tunables.migration_cost_ns;
        let rq = &mut self.rqs[cpu.index()].balance;
        if decayed {
            rq.max_idle_balance_cost = migration_cost.max(cost);
        }
        rq.next_balance = next;
    }

    /// One attempt at each domain of a CPU, due or not, until tasks have moved: for a driver that follows a trace and knows
    /// only which attempts moved something.
    pub fn balance_now<O: Observer>(&mut self, cpu: CpuId, idle: IdleType, now: Instant, o: &mut O) {
        let domains = Arc::clone(&self.domains);
        self.refresh_blocked_load(cpu, now);
        for (sd, domain) in domains.chain(cpu) {
            if idle == IdleType::NewlyIdle && !domain.flags.has(DomainFlags::BALANCE_NEWIDLE) {
                continue;
            }
            let attempt = self.load_balance(cpu, sd, idle, now, o);
            if attempt.moved > 0 || !attempt.goes_on {
                break;
            }
        }
    }

    fn balances_as_busy(&self, cpu: CpuId, idle: IdleType) -> bool {
        idle != IdleType::Idle && !(self.config.rules.balance.sched_idle_not_busy && self.sched_idle_cpu(cpu))
    }

    /// Ticks between two attempts.
    ///
    /// Mirrors: `get_sd_balance_interval()`, v4.19–v6.5.
    pub(super) fn sd_balance_interval(&self, sd: DomainId, busy: bool) -> u64 {
        let factor = if busy { u64::from(self.domains.domain(sd).busy_factor) } else { 1 };
        let ms = self.balancing.domain(sd).balance_interval * factor;
        let shorter = busy && self.config.rules.balance.busy_interval_less_one;
        let interval = ms_to_jiffies(ms, self.config.hz).saturating_sub(u64::from(shorter));
        interval.clamp(1, self.balancing.max_lb_interval)
    }

    /// Lets the cost of newly-idle attempts decay by about 1 % a second; true if it was time.
    fn decay_newidle_cost(&mut self, sd: DomainId, jiffy: u64) -> bool {
        let hz = u64::from(self.config.hz);
        let sd = self.balancing.domain_mut(sd);
        let due = jiffy > sd.next_decay;
        if due {
            sd.max_newidle_lb_cost = sd.max_newidle_lb_cost * 253 / 256;
            sd.next_decay = jiffy + hz;
        }
        due
    }
}

const fn idle_type(idle: bool) -> IdleType {
    if idle { IdleType::Idle } else { IdleType::NotIdle }
}
