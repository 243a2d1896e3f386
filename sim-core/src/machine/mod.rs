//! The machine model: how fast work goes and what things cost. Knows nothing of run queues. Deviates: D-005.

mod ablation;
pub mod cache;
mod costs;
mod draw;
pub mod frequency;
mod host;
pub mod idle;
mod interference;
mod nic;
mod smt;
pub mod topology;
mod work;

pub use ablation::{MECHANISMS, Mechanism, UnknownMechanism};
pub use cache::CacheConfig;
pub use costs::{Cost, Costs, Estimated, Preset, UnknownCost};
pub use draw::Draw;
pub use frequency::FrequencyConfig;
pub use host::{Demand, ExitCosts, HaltPoll, HostConfig, OtherGuest};
pub use interference::{Interference, NonTaskKind, SourceKind};
pub use nic::NicConfig;
pub use smt::SmtConfig;
pub use work::{IpcConfig, WorkClass, WorkKind};

use crate::id::CpuId;
use crate::time::{Instant, Nanos};
use idle::IdleConfig;
use serde::Serialize;

/// Full capacity of a CPU.
pub const CAPACITY_SCALE: u32 = 1024;

/// Full speed, work of 1 ns in 1 ns, in the units in which work and speed are counted. A multiple of [`CAPACITY_SCALE`], so
/// that a CPU of any capacity has an exact speed.
pub const FULL_SPEED: u32 = 1 << 16;

/// A CPU changes speed at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SpeedChange {
    /// When.
    pub at: Instant,
    /// The CPU.
    pub cpu: CpuId,
    /// New speed, in 1024ths of full speed; at least 1.
    pub speed: u32,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineConfig {
    /// Costs of what kernel and hardware do.
    pub costs: Costs,
    /// When the tick grid starts: ticks come at this point plus multiples of the period.
    pub tick_phase: Nanos,
    /// What takes CPUs away from tasks.
    pub interference: Vec<Interference>,
    /// Busy CPUs share one rate of instructions, as in an emulator that counts them: paths of the kernel take as many times
    /// longer as CPUs are busy when they begin. Work measured by CPU time or by speed does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared_rate: bool,
    /// The handlers of ticks that several CPUs have at once begin up to this much after their timers, by chance: nothing
    /// orders interrupts of different CPUs.
    #[serde(skip_serializing_if = "together")]
    pub tick_scatter: Nanos,
    /// Work is what a real machine recorded: the delay from an interrupt to the switch it causes is part of it, and the
    /// interrupted task makes progress in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recorded_work: bool,
    /// When CPUs keep ticking though idle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_ticks: Vec<KeptTicks>,
    /// Planned changes of speed; all CPUs start at full speed.
    pub speed_changes: Vec<SpeedChange>,
    /// The host on which the CPUs are threads; none for a machine of metal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostConfig>,
    /// The network card; unless described, [`NicConfig::typical`] where one is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic: Option<NicConfig>,
    /// Idle states.
    #[serde(skip_serializing_if = "IdleConfig::is_off")]
    pub idle: IdleConfig,
    /// Clock frequency.
    #[serde(skip_serializing_if = "FrequencyConfig::is_off")]
    pub frequency: FrequencyConfig,
    /// Threads that share a core.
    #[serde(skip_serializing_if = "SmtConfig::is_off")]
    pub smt: SmtConfig,
    /// Caches.
    #[serde(skip_serializing_if = "CacheConfig::is_off")]
    pub cache: CacheConfig,
    /// Instructions per cycle, for reports.
    #[serde(skip)]
    pub ipc: IpcConfig,
}

/// Ticks are not scattered.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn together(scatter: &Nanos) -> bool {
    scatter.is_zero()
}

/// A CPU does not stop its tick in idle for some time: in a kernel, because RCU callbacks or an idle governor ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeptTicks {
    /// The CPU.
    pub cpu: CpuId,
    /// From here on.
    pub from: Instant,
    /// Up to here, this point excluded.
    pub until: Instant,
}

impl MachineConfig {
    /// An undisturbed machine with these costs; ticks at multiples of the period.
    pub fn new(costs: Costs) -> MachineConfig {
        MachineConfig {
            costs,
            tick_phase: Nanos::ZERO,
            interference: Vec::new(),
            shared_rate: false,
            tick_scatter: Nanos::ZERO,
            recorded_work: false,
            kept_ticks: Vec::new(),
            speed_changes: Vec::new(),
            host: None,
            nic: None,
            idle: IdleConfig::default(),
            frequency: FrequencyConfig::default(),
            smt: SmtConfig::default(),
            cache: CacheConfig::default(),
            ipc: IpcConfig::default(),
        }
    }

    /// Whether the speed of work depends on anything but plan and capacity.
    pub fn has_pace(&self) -> bool {
        !(self.frequency.is_off() && self.smt.is_off() && self.cache.is_off())
    }
}
