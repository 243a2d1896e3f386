//! The clock that load is tracked by (smp.md §2.3).

use super::SchedAvg;
use super::avg::Scale;
use super::decay::{LOAD_AVG_MAX, MIN_DIVIDER};
use super::state::CAPACITY_SCALE;
use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::time::Instant;

/// A booted machine's clock is never 0, which stands for "not attached": load tracking sees it one period later, which
/// leaves the period boundaries where they are.
const BOOT: u64 = 1 << 20;

impl<H: Hooks> Kernel<H> {
    /// Whether load is tracked: on one CPU nothing but `schedutil` reads it.
    pub(in crate::kernel) fn tracks_load(&self) -> bool {
        self.rqs.len() > 1 || self.config.schedutil
    }

    /// Advances the PELT clock with the task clock: slower on a small or slow CPU, and at once to the task clock when idle.
    ///
    /// Mirrors: `update_rq_clock_pelt()`, v5.1–v6.5.
    pub(in crate::kernel) fn update_rq_clock_pelt(&mut self, cpu: CpuId, delta: u64) {
        let rq = &mut self.rqs[cpu.index()];
        if rq.curr.is_none() {
            rq.pelt.clock_pelt = rq.clock_task;
        } else {
            let delta = delta * rq.pelt.cpu_scale / CAPACITY_SCALE;
            rq.pelt.clock_pelt += delta * rq.pelt.freq_scale / CAPACITY_SCALE;
        }
    }

    /// A CPU is about to idle: its PELT clock catches up. If it was busy all the time, the lag is no idle time.
    ///
    /// Mirrors: `update_idle_rq_clock_pelt()`, v5.1–v6.5.
    pub(in crate::kernel) fn update_idle_rq_clock_pelt(&mut self, cpu: CpuId) {
        let util_sum = self.root_avg(cpu).util_sum;
        let rq = &mut self.rqs[cpu.index()];
        if util_sum >= MIN_DIVIDER * CAPACITY_SCALE - LOAD_AVG_MAX {
            rq.pelt.lost_idle_time += rq.clock_task - rq.pelt.clock_pelt;
        }
        rq.pelt.clock_pelt = rq.clock_task;
    }

    /// Now, for the averages of a CPU.
    ///
    /// Mirrors: `cfs_rq_clock_pelt()`, `rq_clock_pelt()`; before 5.1 the task clock.
    pub(super) fn pelt_now(&self, cpu: CpuId) -> u64 {
        let rq = &self.rqs[cpu.index()];
        let clock = if self.config.rules.pelt.scaled_clock {
            rq.pelt.clock_pelt - rq.pelt.lost_idle_time
        } else {
            rq.clock_task
        };
        BOOT + clock
    }

    /// What [`Kernel::pelt_now`] would be if an idle CPU's clock were sampled now.
    ///
    /// Mirrors: the estimate in `migrate_se_pelt_lag()`, v6.0–v6.5.
    pub(super) fn pelt_now_of_idle(&self, cpu: CpuId, now: Instant) -> u64 {
        self.pelt_now(cpu) + now.0.saturating_sub(self.rqs[cpu.index()].clock)
    }

    /// Units in which a CPU's time counts.
    pub(super) fn pelt_scale(&self, cpu: CpuId) -> Scale {
        let (rules, rq) = (&self.config.rules.pelt, &self.rqs[cpu.index()].pelt);
        let runnable = if rules.runnable_is_time { CAPACITY_SCALE } else { 1 };
        if rules.scaled_clock {
            return Scale { freq: CAPACITY_SCALE, cpu: CAPACITY_SCALE, runnable };
        }
        Scale { freq: rq.freq_scale, cpu: rq.cpu_scale, runnable }
    }

    /// Tells how fast a CPU runs now, of 1024. Kernels without frequency invariance on x86 do not hear it.
    ///
    /// Mirrors: `arch_scale_freq_capacity()`, x86 from 5.7 on.
    pub fn set_freq_scale(&mut self, cpu: CpuId, scale: u64) {
        if self.config.rules.pelt.frequency_invariance {
            self.rqs[cpu.index()].pelt.freq_scale = scale.clamp(1, CAPACITY_SCALE);
        }
    }

    /// Sets a CPU's capacity at full speed, of 1024, and the hardware threads of its core.
    ///
    /// Mirrors: `arch_scale_cpu_capacity()`; before 5.1 threads share a core's capacity plus 15 % (`smt_gain`).
    pub fn set_cpu_scale(&mut self, cpu: CpuId, scale: u64, threads: u32) {
        /// Capacity of a core with several threads.
        const SMT_GAIN: u64 = 1178;
        let shared = self.config.rules.pelt.smt_gain && threads > 1;
        let pelt = &mut self.rqs[cpu.index()].pelt;
        pelt.cpu_scale = scale.clamp(1, CAPACITY_SCALE);
        pelt.capacity_orig = if shared { SMT_GAIN / u64::from(threads) } else { pelt.cpu_scale };
        pelt.capacity = pelt.capacity_orig;
        self.balancing.sums.mark(cpu);
    }

    pub(super) fn root_avg(&self, cpu: CpuId) -> &SchedAvg {
        &self.cfs_rqs[self.rqs[cpu.index()].cfs.index()].avg
    }
}
