//! A host: the machine on which the simulated CPUs are threads.

use super::{Draw, MachineConfig};
use crate::cpumask::CpuMask;
use crate::kernel::KernelConfig;
use crate::time::Nanos;
use serde::Serialize;

/// The host of a virtual machine: a machine and a kernel of its own. The simulated system is its guest, CPU by CPU; other
/// guests compete with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostConfig {
    /// The host's kernel, on the host's topology.
    pub kernel: KernelConfig,
    /// The host's machine: costs, ticks, interference. It has no host itself.
    pub machine: Box<MachineConfig>,
    /// Which host CPUs the thread of each of the guest's CPUs may use, by the guest's CPU.
    pub vcpus: Vec<CpuMask>,
    /// How the host waits for an interrupt before it lets a halted virtual CPU's thread sleep.
    pub halt_poll: HaltPoll,
    /// What leaving and entering the guest costs.
    pub exits: ExitCosts,
    /// The other guests.
    pub guests: Vec<OtherGuest>,
}

/// Polling by the host for a halted virtual CPU (parameters of the `kvm` module). A virtual CPU's own limit starts at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HaltPoll {
    /// `halt_poll_ns`: the longest polling; none at 0.
    #[serde(rename = "max_ns")]
    pub max: Nanos,
    /// `halt_poll_ns_grow`: a limit that was too short is multiplied by this.
    pub grow: u32,
    /// `halt_poll_ns_grow_start`: the first limit above 0.
    #[serde(rename = "grow_start_ns")]
    pub grow_start: Nanos,
    /// `halt_poll_ns_shrink`: after a long halt the limit is divided by this; 0 resets it.
    pub shrink: u32,
}

impl HaltPoll {
    /// No polling.
    pub const OFF: HaltPoll = HaltPoll { max: Nanos::ZERO, ..HaltPoll::X86 };
    /// The defaults on x86; smp.md §5.6.
    pub const X86: HaltPoll = HaltPoll { max: Nanos(200_000), grow: 2, grow_start: Nanos(10_000), shrink: 0 };

    /// A virtual CPU's limit after a halt of `halted`.
    ///
    /// Mirrors: the adaptation described in the kernel's `halt-polling` documentation; smp.md §5.6.
    #[must_use]
    pub fn adapted(&self, limit: Nanos, halted: Nanos) -> Nanos {
        if halted > self.max {
            return Nanos(limit.0.checked_div(u64::from(self.shrink)).unwrap_or(0));
        }
        if halted <= limit {
            return limit;
        }
        Nanos(limit.0.saturating_mul(u64::from(self.grow))).max(self.grow_start).min(self.max)
    }
}

/// What virtualisation adds. Deviates: D-192.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExitCosts {
    /// Leaving the guest when it halts.
    #[serde(rename = "exit_ns")]
    pub exit: Nanos,
    /// From the halted virtual CPU's thread seeing the interrupt to the guest's first instruction, beside the host's own
    /// wake-up and switch.
    #[serde(rename = "wake_ns")]
    pub wake: Nanos,
    /// From sending an interrupt to a halted virtual CPU until its thread hears of it. One that executes is interrupted at
    /// the guest's own cost of an interrupt.
    #[serde(rename = "kick_ns")]
    pub kick: Nanos,
}

impl ExitCosts {
    /// Free.
    pub const ZERO: ExitCosts = ExitCosts { exit: Nanos::ZERO, wake: Nanos::ZERO, kick: Nanos::ZERO };
    /// A current x86 host: a round trip takes 1000 to 2000 cycles, here 1500 at 3 GHz, half of it each way, and all of it for
    /// who sends an interrupt; one seen while the host polls takes 2 to 5 us in all, here 2 us beside the exits (smp.md §8,
    /// not certain).
    pub const X86: ExitCosts = ExitCosts { exit: Nanos(250), wake: Nanos(2_000), kick: Nanos(500) };
}

/// Guests of the host beside the simulated one. Deviates: D-190.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherGuest {
    /// Name.
    pub name: String,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Which host CPUs their threads may use.
    pub cpus: CpuMask,
    /// What each of them wants.
    pub demand: Demand,
}

/// What a virtual CPU of another guest wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// All of a host CPU's time.
    Constant,
    /// It runs and sleeps in turns.
    OnOff {
        /// CPU time of a turn.
        run: Draw,
        /// How long it then sleeps.
        sleep: Draw,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 0 over `grow_start` by doubling to the longest; a halt longer than that resets it.
    #[test]
    fn the_limit_grows_and_shrinks() {
        let p = HaltPoll::X86;
        let us = Nanos::from_micros;
        let mut limit = Nanos::ZERO;
        let limits = [(5, 10), (8, 10), (15, 20), (30, 40), (150, 80), (150, 160), (170, 200), (201, 0)];
        for (halted, expected) in limits {
            limit = p.adapted(limit, us(halted));
            assert_eq!(limit, us(expected), "after {halted} us");
        }
        assert_eq!(HaltPoll { shrink: 2, ..p }.adapted(us(100), us(300)), us(50));
        assert_eq!(HaltPoll::OFF.adapted(Nanos::ZERO, us(1)), Nanos::ZERO);
    }
}
