//! Clocks and the kernel: what it is told of them, and what `schedutil` asks for.

use super::Simulation;
use crate::id::CpuId;
use crate::kernel::KernelConfig;
use crate::kernel::hooks::Hooks;
use crate::machine::frequency::{Arch, FrequencyConfig, Governor, next_khz};
use crate::observe::Observer;
use crate::time::Nanos;

impl FrequencyConfig {
    /// Tells a kernel's configuration what its machine's clocks ask of it.
    pub(in crate::engine) fn configure(&self, kernel: &mut KernelConfig) {
        kernel.schedutil = matches!(self.governor, Some(Governor::Schedutil { .. }));
        kernel.rules.pelt.frequency_invariance |= !self.is_off() && self.arch == Arch::Arm;
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Tells the kernel the clocks of a machine that starts.
    pub(in crate::engine) fn tell_clocks(&mut self) {
        let frequency = &self.config.machine.frequency;
        if !frequency.is_off() && frequency.arch == Arch::Arm {
            (0..self.pace.cores.len()).for_each(|core| self.tell_clock(core));
        }
    }

    /// Mirrors: `arch_set_freq_scale()`, arm64.
    pub(super) fn tell_clock(&mut self, core: usize) {
        let c = &self.pace.cores[core];
        let scale = u64::from(c.clock.khz) * 1024 / u64::from(self.config.machine.frequency.max_khz());
        for thread in &c.threads {
            self.kernel.set_freq_scale(*thread, scale);
        }
    }

    /// Before a tick the kernel reads how fast its CPU ran.
    pub(in crate::engine) fn clock_tick(&mut self, cpu: CpuId) {
        let frequency = &self.config.machine.frequency;
        if frequency.is_off() || frequency.arch != Arch::X86 {
            return;
        }
        let (base, turbo_4core) = (frequency.base_khz, frequency.limit_khz(4));
        self.sync_burst(cpu);
        let scale = self.pace.cpus[cpu.index()].clock.counters.scale(turbo_4core, base);
        if let Some(scale) = scale {
            self.kernel.set_freq_scale(cpu, scale);
        }
    }

    /// The load averages of a CPU have been updated: `schedutil` may ask for another clock.
    ///
    /// Mirrors: `cpufreq_update_util()`, `sugov_update_single()`, v4.19–v6.5.
    pub(in crate::engine) fn cpufreq_update(&mut self, cpu: CpuId) {
        let frequency = &self.config.machine.frequency;
        let Some(Governor::Schedutil { rate_limit }) = frequency.governor else { return };
        let rules = &self.config.kernel.rules;
        let tick = Nanos(self.config.kernel.tick_ns());
        let clock = &mut self.pace.cpus[cpu.index()].clock;
        clock.sugov.boost.note(self.kernel.take_cpufreq_iowait(cpu), self.now, tick);
        if !clock.sugov.may_change(self.now, rate_limit) {
            return;
        }
        let (util, max) = self.kernel.cpufreq_util(cpu);
        let util = clock.sugov.boost.apply(util, max);
        let invariant = rules.pelt.frequency_invariance;
        let reference = if invariant { frequency.max_khz() } else { clock.sugov.requested_khz };
        let khz = next_khz(util, max, reference, rules.schedutil_margin_on_util);
        if clock.sugov.request(frequency.resolve_khz(khz), clock.idle_calls, self.now) {
            self.request_clocks(cpu);
        }
    }
}
