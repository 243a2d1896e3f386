//! Idle states and the governors that choose among them, in the kernel's integer arithmetic (smp.md §5). Knows neither the
//! engine nor run queues.

mod governor;
mod haltpoll;
mod ladder;
mod menu;
mod rules;
mod state;
mod state_table;
mod tables;
mod teo;
mod teo_bins;
#[cfg(test)]
mod tests;

pub use governor::{Ask, Governor, GovernorKind, Pick, Slept};
pub use haltpoll::Haltpoll;
pub use ladder::Ladder;
pub use menu::Menu;
pub use rules::{IdleRules, PollLimit, TeoForm};
pub use state::{ExitTime, IdleState, Table};
pub use state_table::StateTable;
pub use tables::TABLES;
pub use teo::Teo;
pub use teo_bins::TeoBins;

use crate::id::CpuId;
use crate::time::Nanos;
use serde::Serialize;

/// The part of a state's worst case that leaving it takes, in 1024ths: three quarters.
///
/// Source: tables hold worst cases; measured wake-ups from C6 of clients are well below them (20 to 60 µs of 85), those of
/// servers nearer to them. A parameter with the range 0.5 to 1; not certain. Deviates: D-170.
pub const LATENCY_PART: u32 = 768;

/// The most states of a CPU (`CPUIDLE_STATE_MAX`).
pub const MAX_STATES: usize = 10;

/// What a latency limit is without any (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`).
pub const NO_LATENCY_LIMIT: Nanos = Nanos::from_secs(2_000);

/// Idle states of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdleConfig {
    /// States of every CPU, the shallowest first; none: waking an idle CPU takes one cost whatever it does, and an idle CPU
    /// stops its tick at once (D-123).
    pub states: Vec<IdleState>,
    /// Which governor chooses.
    pub governor: GovernorKind,
    /// The longest exit latency anyone allows (`/dev/cpu_dma_latency`).
    pub latency_limit: Nanos,
    /// The longest of single CPUs (`pm_qos_resume_latency_us`).
    pub cpu_latency_limits: Vec<(CpuId, Nanos)>,
    /// The interval of the kernel's own timers on a CPU: what a governor takes for the next timer is never further away. They
    /// do not fire here (D-172).
    ///
    /// Source: the soft-lockup watchdog's timer comes every 2/5 of `watchdog_thresh`, 10 s by default
    /// (Documentation/admin-guide/lockup-watchdogs.rst).
    pub kernel_timer: Nanos,
    /// From the write of the flag word to a polling CPU's notice of it.
    ///
    /// Source: 0.1 to 0.3 µs to see the flag.
    pub poll_notice: Nanos,
    /// Starting a stopped tick again.
    ///
    /// Source: about 1 µs of kernel time.
    pub tick_restart: Nanos,
}

impl Default for IdleConfig {
    fn default() -> IdleConfig {
        IdleConfig {
            states: Vec::new(),
            governor: GovernorKind::Menu,
            latency_limit: NO_LATENCY_LIMIT,
            cpu_latency_limits: Vec::new(),
            kernel_timer: Nanos::from_secs(4),
            poll_notice: Nanos(200),
            tick_restart: Nanos::from_micros(1),
        }
    }
}

impl IdleConfig {
    /// The states of a named table with its governor.
    pub fn of(table: &StateTable) -> IdleConfig {
        IdleConfig { states: table.states(LATENCY_PART), governor: table.governor, ..IdleConfig::default() }
    }

    /// Whether idle CPUs have no states.
    pub fn is_off(&self) -> bool {
        self.states.is_empty()
    }

    /// States cost nothing to leave; governors still see their latencies.
    pub(super) fn leave_at_once(&mut self) {
        self.poll_notice = Nanos::ZERO;
        self.states.iter_mut().for_each(|state| state.exit = ExitTime::Nothing);
    }

    /// The longest exit latency allowed to a CPU.
    pub fn limit_of(&self, cpu: CpuId) -> Nanos {
        let own = self.cpu_latency_limits.iter().filter(|(c, _)| *c == cpu).map(|(_, l)| *l);
        own.chain([self.latency_limit]).min().unwrap_or(NO_LATENCY_LIMIT)
    }
}
