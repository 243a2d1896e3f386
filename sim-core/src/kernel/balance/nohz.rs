//! Balancing for CPUs whose tick is stopped: a busy CPU's tick kicks one idle CPU, which balances for all of them.

use super::periodic::ms_to_jiffies;
use super::rules::NohzNext;
use super::state::NohzFlags;
use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::observe::{IdleType, Observer};
use crate::time::Instant;

/// Blocked load of idle CPUs is refreshed at most so often, ms (`LOAD_AVG_PERIOD`).
const BLOCKED_REFRESH_MS: u64 = 32;

impl<H: Hooks> Kernel<H> {
    /// The tick of an idle CPU is stopped: others balance for it from now on.
    ///
    /// Mirrors: `nohz_balance_enter_idle()`, v4.19–v6.5; smp.md §4.5.
    pub(in crate::kernel) fn nohz_balance_enter_idle(&mut self, cpu: CpuId) {
        let domains = self.domains.cpu(cpu);
        if domains.lowest.is_none() {
            return;
        }
        let rq = &mut self.rqs[cpu.index()].balance;
        rq.has_blocked_load = true;
        let nohz = &mut self.balancing.nohz;
        if !std::mem::replace(&mut rq.nohz_tick_stopped, true) {
            nohz.idle_mask.insert(cpu);
            nohz.needs_update |= self.config.rules.balance.nohz_needs_update;
            if let Some(llc) = domains.llc {
                self.llc_shared[llc.index()].nr_busy_cpus -= 1;
            }
        }
        nohz.has_blocked = true;
    }

    /// The first tick of a CPU that is busy again.
    ///
    /// Mirrors: `nohz_balance_exit_idle()`, v4.19–v6.5.
    fn nohz_balance_exit_idle(&mut self, cpu: CpuId) {
        if std::mem::take(&mut self.rqs[cpu.index()].balance.nohz_tick_stopped) {
            self.balancing.nohz.idle_mask.remove(cpu);
            if let Some(llc) = self.domains.cpu(cpu).llc {
                self.llc_shared[llc.index()].nr_busy_cpus += 1;
            }
        }
    }

    /// A busy CPU's tick: should an idle CPU balance, or refresh load, for all tickless ones?
    ///
    /// Mirrors: `nohz_balancer_kick()`, v4.19–v6.5; smp.md §4.5.
    pub(super) fn nohz_balancer_kick(&mut self, cpu: CpuId, now: Instant) {
        self.nohz_balance_exit_idle(cpu);
        if self.balancing.nohz.idle_mask.is_empty() {
            return;
        }
        let jiffy = self.jiffies(now);
        let nohz = &self.balancing.nohz;
        let balance = jiffy >= nohz.next_balance && self.wants_idle_balance(cpu);
        let stats = balance || nohz.has_blocked && jiffy > nohz.next_blocked;
        let flags = NohzFlags { balance, stats, next: nohz.needs_update };
        if flags != NohzFlags::NONE {
            self.kick_ilb(flags, jiffy);
        }
    }

    /// Whether a busy CPU has something for idle CPUs.
    fn wants_idle_balance(&self, cpu: CpuId) -> bool {
        let domains = self.domains.cpu(cpu);
        let pct = domains.lowest.map_or(100, |sd| u64::from(self.domains.domain(sd).imbalance_pct));
        let reduced = self.h_nr_running(cpu) >= 1 && self.has_reduced_capacity(cpu, pct);
        let llc_busy = domains.llc.is_some_and(|llc| self.llc_shared[llc.index()].nr_busy_cpus > 1);
        self.rqs[cpu.index()].nr_running >= 2 || reduced || llc_busy
    }

    /// Interrupts the lowest-numbered idle CPU.
    ///
    /// Mirrors: `kick_ilb()`, v4.19–v6.5.
    fn kick_ilb(&mut self, flags: NohzFlags, jiffy: u64) {
        let nohz = &mut self.balancing.nohz;
        match self.config.rules.balance.nohz_next {
            NohzNext::Advance => nohz.next_balance += 1,
            NohzNext::NextJiffy if flags.balance => nohz.next_balance = jiffy + 1,
            NohzNext::NextJiffy => {}
        }
        let Some(ilb) = nohz.idle_mask.iter().find(|c| self.rqs[c.index()].is_idle()) else { return };
        let pending = &mut self.rqs[ilb.index()].balance.nohz_flags;
        if *pending == NohzFlags::NONE {
            self.nohz_kicks.push(ilb);
        }
        pending.balance |= flags.balance;
        pending.stats |= flags.stats;
        pending.next |= flags.next;
    }

    /// A kicked CPU balances for the tickless idle CPUs and itself, unless it is busy by now.
    ///
    /// Mirrors: `nohz_csd_func()`, `nohz_idle_balance()`, v4.19–v6.5; smp.md §4.5.
    pub fn nohz_balance<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        let rq = &mut self.rqs[cpu.index()];
        let flags = std::mem::replace(&mut rq.balance.nohz_flags, NohzFlags::NONE);
        if rq.is_idle() && flags != NohzFlags::NONE {
            self.balancing.for_others = true;
            self.nohz_idle_balance(cpu, flags, true, now, o);
            self.balancing.for_others = false;
        }
    }

    /// Goes through the tickless idle CPUs; `itself` says that the CPU's own load and domains belong to it.
    ///
    /// Mirrors: `_nohz_idle_balance()`, v4.19–v6.5.
    pub(super) fn nohz_idle_balance<O: Observer>(
        &mut self,
        cpu: CpuId,
        flags: NohzFlags,
        itself: bool,
        now: Instant,
        o: &mut O,
    ) {
        let jiffy = self.jiffies(now);
        let mut pass = Pass { flags, has_blocked: false, next_balance: None };
        if flags.stats {
            self.balancing.nohz.has_blocked = false;
        }
        if flags.next {
            self.balancing.nohz.needs_update = false;
        }
        let mut others = std::mem::take(&mut self.balancing.others);
        others.copy_from(&self.balancing.nohz.idle_mask);
        let ring = self.config.rules.balance.nohz_ring_order;
        if !ring {
            others.remove(cpu);
        }
        let start = if ring { CpuId(cpu.0 + 1) } else { CpuId(0) };
        let mut finished = true;
        for other in others.iter_wrap(start) {
            if !self.rqs[other.index()].is_idle() {
                continue;
            }
            if self.rqs[cpu.index()].need_resched {
                pass.has_blocked |= flags.stats;
                self.balancing.nohz.needs_update |= flags.next;
                finished = false;
                break;
            }
            self.balance_for(other, &mut pass, now, o);
        }
        self.balancing.others = others;
        if finished {
            if !ring && itself {
                self.refresh_blocked_load(cpu, now);
                pass.has_blocked |= self.rqs[cpu.index()].balance.has_blocked_load;
                if flags.balance {
                    self.rebalance_domains(cpu, IdleType::Idle, now, o);
                    pass.due_at(self.rqs[cpu.index()].balance.next_balance);
                }
            }
            if flags.stats {
                self.balancing.nohz.next_blocked = jiffy + ms_to_jiffies(BLOCKED_REFRESH_MS, self.config.hz);
            }
        }
        self.balancing.nohz.has_blocked |= pass.has_blocked;
        if let Some(next) = pass.next_balance {
            self.balancing.nohz.next_balance = next;
        }
    }

    fn balance_for<O: Observer>(&mut self, cpu: CpuId, pass: &mut Pass, now: Instant, o: &mut O) {
        if pass.flags.stats {
            self.update_nohz_stats(cpu, now);
            pass.has_blocked |= self.rqs[cpu.index()].balance.has_blocked_load;
        }
        if pass.flags.balance && self.jiffies(now) >= self.rqs[cpu.index()].balance.next_balance {
            self.update_rq_clock(cpu, now);
            self.cpu_load_update(cpu, now);
            self.rebalance_domains(cpu, IdleType::Idle, now, o);
        }
        pass.due_at(self.rqs[cpu.index()].balance.next_balance);
    }

    /// Refreshes the blocked load of a tickless idle CPU, at most once a tick.
    ///
    /// Mirrors: `update_nohz_stats()`, v4.19–v6.5.
    pub(super) fn update_nohz_stats(&mut self, cpu: CpuId, now: Instant) {
        let rq = &self.rqs[cpu.index()].balance;
        if rq.has_blocked_load && rq.nohz_tick_stopped && self.jiffies(now) > rq.last_blocked_update {
            self.refresh_blocked_load(cpu, now);
        }
    }

    /// Brings a CPU's averages up to date and notes whether sleeping tasks have left any load.
    ///
    /// Mirrors: `update_blocked_averages()`, `update_blocked_load_status()`, v4.19–v6.5.
    pub(super) fn refresh_blocked_load(&mut self, cpu: CpuId, now: Instant) {
        self.update_blocked_averages(cpu, now);
        let avg = &self.cfs_rqs[self.rqs[cpu.index()].cfs.index()].avg;
        let done = avg.load_avg == 0 && avg.util_avg == 0;
        let jiffy = self.jiffies(now);
        let rq = &mut self.rqs[cpu.index()].balance;
        rq.last_blocked_update = jiffy;
        rq.has_blocked_load &= !done;
    }

    /// A CPU that found nothing to pull may refresh the blocked load of the tickless idle ones: at once up to 5.12, later
    /// from its idle loop.
    ///
    /// Mirrors: `nohz_newidle_balance()`, v4.19–v6.5; smp.md §4.5.
    pub(super) fn nohz_newidle_balance<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        let nohz = &self.balancing.nohz;
        let due = nohz.has_blocked && self.jiffies(now) >= nohz.next_blocked;
        let rq = &mut self.rqs[cpu.index()].balance;
        if !due || rq.avg_idle < self.config.tunables.migration_cost_ns {
            return;
        }
        if self.config.rules.balance.nohz_newidle_deferred {
            rq.nohz_newidle = true;
        } else {
            self.nohz_idle_balance(cpu, NohzFlags::STATS, false, now, o);
        }
    }

    /// The idle task has become current.
    ///
    /// Mirrors: `nohz_run_idle_balance()`, `tick_nohz_idle_stop_tick()`, v4.19–v6.5. Without idle states the tick
    /// stops at once. Deviates: D-123.
    pub(in crate::kernel) fn enter_idle<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        let rq = &mut self.rqs[cpu.index()];
        if std::mem::take(&mut rq.balance.nohz_newidle) && !rq.need_resched {
            self.nohz_idle_balance(cpu, NohzFlags::STATS, false, now, o);
        }
        let stops = self.config.tick_stops_at_once && !self.rqs[cpu.index()].balance.keeps_idle_tick;
        if self.config.nohz && stops {
            self.nohz_balance_enter_idle(cpu);
        }
    }

    /// Says whether a CPU without idle states is to keep its tick when it next idles. Then it balances for itself.
    pub fn keep_idle_tick(&mut self, cpu: CpuId, keep: bool) {
        self.rqs[cpu.index()].balance.keeps_idle_tick = keep;
    }

    /// An idle CPU ticks from now on.
    pub fn restart_idle_tick(&mut self, cpu: CpuId) {
        self.nohz_balance_exit_idle(cpu);
    }

    /// The idle loop of a CPU stops its tick.
    ///
    /// Mirrors: `tick_nohz_stop_tick()`, v4.19–v6.5.
    pub fn tick_nohz_stop(&mut self, cpu: CpuId) {
        self.nohz_balance_enter_idle(cpu);
    }
}

/// One pass over the tickless idle CPUs.
struct Pass {
    flags: NohzFlags,
    has_blocked: bool,
    /// When the first of them is due again.
    next_balance: Option<u64>,
}

impl Pass {
    fn due_at(&mut self, jiffy: u64) {
        self.next_balance = Some(self.next_balance.map_or(jiffy, |n| n.min(jiffy)));
    }
}
