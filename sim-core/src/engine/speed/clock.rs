//! Clocks: each core asks for one, its package grants what turbo allows.

use super::Simulation;
use crate::engine::queue::Happening;
use crate::id::CpuId;
use crate::kernel::hooks::Hooks;
use crate::machine::frequency::{Arch, ClockCounters, FrequencyConfig, Governor, Sugov};
use crate::machine::topology::Topology;
use crate::observe::Observer;

/// The clock of one CPU.
#[derive(Debug)]
pub(super) struct Clock {
    /// What it asks for, by `schedutil`.
    pub(super) sugov: Sugov,
    /// How often it went idle.
    pub(super) idle_calls: u64,
    /// Since the last tick.
    pub(super) counters: ClockCounters,
}

impl Clock {
    pub(super) fn new(config: &FrequencyConfig) -> Clock {
        let sugov = Sugov::new(config.resolve_khz(config.min_khz));
        Clock { sugov, idle_calls: 0, counters: ClockCounters::default() }
    }
}

/// The clock of one core.
#[derive(Debug, Default)]
pub(super) struct CoreClock {
    pub(super) khz: u32,
    /// It is in an idle state of C3 or deeper.
    deep: bool,
    /// It left one and has not been given its clock yet.
    ramping: bool,
    /// Which of its idle periods: guards the timer of its deep state.
    idle_generation: u32,
    /// Which of its ways out of a deep state: guards the timer of its ramp.
    ramp_generation: u32,
}

impl CoreClock {
    pub(super) fn new(config: &FrequencyConfig) -> CoreClock {
        let khz = match config.governor {
            None => config.max_khz(),
            Some(Governor::Schedutil { .. }) => config.resolve_khz(config.min_khz),
            Some(Governor::Fixed { khz }) => khz.min(config.max_khz()),
            Some(Governor::Powersave { start_khz, .. }) if config.deep_after.is_some() => start_khz,
            Some(Governor::Performance | Governor::Powersave { .. }) => config.limit_khz(usize::MAX),
        };
        CoreClock { khz, deep: config.deep_after.is_some(), ..CoreClock::default() }
    }

    pub(super) fn factor(&self, config: &FrequencyConfig) -> u32 {
        if config.is_off() { crate::machine::FULL_SPEED } else { config.factor(self.khz) }
    }
}

/// What the cores of a package share.
#[derive(Debug, Default)]
pub(super) struct PackageClock {
    cores: Vec<u32>,
    active: usize,
    /// It will act on what has changed.
    pending: bool,
}

impl PackageClock {
    pub(super) fn all(topology: &Topology, config: &FrequencyConfig) -> Vec<PackageClock> {
        let mut packages: Vec<PackageClock> =
            topology.packages().iter().map(|_| PackageClock::default()).collect();
        for (i, core) in topology.cores().iter().enumerate() {
            let cpu = core.iter().find(|c| topology.online().contains(*c)).and_then(|c| topology.cpu(c));
            if let Some(cpu) = cpu {
                let package = &mut packages[cpu.package as usize];
                package.cores.push(i as u32);
                package.active += usize::from(config.deep_after.is_none());
            }
        }
        packages
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// A thread has something to run: its core is active from now on.
    pub(super) fn thread_busy(&mut self, cpu: CpuId) {
        if self.pace.cores[self.pace.core_of(cpu)].busy == 1 {
            self.set_core_deep(cpu, false);
        }
        self.request_clocks(cpu);
    }

    /// A thread has nothing to run.
    pub(super) fn thread_idle(&mut self, cpu: CpuId) {
        let core = self.pace.core_of(cpu);
        self.pace.cpus[cpu.index()].clock.idle_calls += 1;
        if self.pace.cores[core].busy > 0 {
            return self.request_clocks(cpu);
        }
        if let Some(after) = self.config.machine.frequency.deep_after {
            let generation = self.pace.cores[core].clock.idle_generation;
            let at = self.now.saturating_add(after);
            self.queue.push(at, Happening::CoreTimer { cpu, ramp: false, generation });
        }
    }

    /// The core of a CPU enters an idle state of C3 or deeper, or has left it.
    pub(in crate::engine) fn set_core_deep(&mut self, cpu: CpuId, deep: bool) {
        let core = self.pace.core_of(cpu);
        let clock = &mut self.pace.cores[core].clock;
        clock.idle_generation = clock.idle_generation.wrapping_add(1);
        if self.config.machine.frequency.is_off() || std::mem::replace(&mut clock.deep, deep) == deep {
            return;
        }
        let package = &mut self.pace.packages[self.pace.cpus[cpu.index()].package as usize];
        if deep {
            package.active -= 1;
        } else {
            package.active += 1;
            self.start_ramp(cpu);
        }
        self.request_clocks(cpu);
    }

    /// Under a hardware governor a core leaves a deep idle state at a low clock.
    fn start_ramp(&mut self, cpu: CpuId) {
        if let Some(Governor::Powersave { start_khz, ramp }) = self.config.machine.frequency.governor {
            let core = self.pace.core_of(cpu);
            let clock = &mut self.pace.cores[core].clock;
            (clock.khz, clock.ramping) = (start_khz, true);
            clock.ramp_generation = clock.ramp_generation.wrapping_add(1);
            let generation = clock.ramp_generation;
            let at = self.now.saturating_add(ramp);
            self.queue.push(at, Happening::CoreTimer { cpu, ramp: true, generation });
        }
    }

    /// A core that left a deep state has run at the low clock for long enough; or an idle one has idled for long enough to
    /// be in a deep state.
    pub(in crate::engine) fn on_core_timer(&mut self, cpu: CpuId, ramp: bool, generation: u32) {
        let core = self.pace.core_of(cpu);
        let clock = &mut self.pace.cores[core].clock;
        if ramp && clock.ramp_generation == generation {
            clock.ramping = false;
            self.request_clocks(cpu);
        } else if !ramp && clock.idle_generation == generation {
            self.core_flushed(cpu);
            self.set_core_deep(cpu, true);
        }
    }

    /// A request or the limit of a CPU's package may have changed: the package will act on it.
    pub(super) fn request_clocks(&mut self, cpu: CpuId) {
        let frequency = &self.config.machine.frequency;
        let number = self.pace.cpus[cpu.index()].package;
        let package = &self.pace.packages[number as usize];
        let differs =
            |core: &u32| self.clock_for(*core as usize) != self.pace.cores[*core as usize].clock.khz;
        if frequency.is_off() || package.pending || !package.cores.iter().any(differs) {
            return;
        }
        if frequency.latency.is_zero() {
            return self.grant_clocks(number);
        }
        let at = self.now.saturating_add(frequency.latency);
        self.pace.packages[number as usize].pending = true;
        self.queue.push(at, Happening::Clocks { package: number });
    }

    /// The clock that a core should have now.
    fn clock_for(&self, core: usize) -> u32 {
        let frequency = &self.config.machine.frequency;
        let c = &self.pace.cores[core];
        let Some(first) = c.threads.first().filter(|_| c.busy > 0) else { return c.clock.khz };
        let package = self.pace.cpus[first.index()].package as usize;
        let limit = frequency.limit_khz(self.pace.packages[package].active);
        match frequency.governor {
            None => frequency.max_khz(),
            Some(Governor::Fixed { .. }) => c.clock.khz,
            Some(Governor::Powersave { start_khz, .. }) if c.clock.ramping => start_khz.min(limit),
            Some(Governor::Performance | Governor::Powersave { .. }) => limit,
            Some(Governor::Schedutil { .. }) => {
                let busy = c.threads.iter().map(|t| &self.pace.cpus[t.index()]).filter(|t| t.class.is_some());
                busy.map(|t| t.clock.sugov.requested_khz).max().unwrap_or(c.clock.khz).min(limit)
            }
        }
    }

    /// The package gives its cores the clocks they should have.
    pub(in crate::engine) fn grant_clocks(&mut self, package: u32) {
        self.pace.packages[package as usize].pending = false;
        for i in 0..self.pace.packages[package as usize].cores.len() {
            let core = self.pace.packages[package as usize].cores[i] as usize;
            let khz = self.clock_for(core);
            if std::mem::replace(&mut self.pace.cores[core].clock.khz, khz) != khz {
                self.clock_changed(core);
            }
        }
    }

    /// The clock of a core has changed.
    fn clock_changed(&mut self, core: usize) {
        self.respeed_core(core);
        if self.config.machine.frequency.arch == Arch::Arm {
            self.tell_clock(core);
        }
    }
}
