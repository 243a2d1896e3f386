//! `[machine.host]`: the host on which the scenario's CPUs are threads.

use super::super::kernel::KernelSpec;
use super::{CostsSpec, MachineSpec};
use crate::dist::Dist;
use crate::schema::TemplateName;
use crate::units::{CpuList, Duration, Name, Whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::cpumask::MAX_CPUS;

/// `[machine.host]`: the machine becomes a virtual one. Its CPUs are threads of a host with a kernel of its own, on which
/// other guests may run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub struct HostSpec {
    /// The host's kernel.
    #[serde(skip_serializing_if = "is_default")]
    pub kernel: KernelSpec,
    /// The host's machine.
    #[serde(skip_serializing_if = "is_default")]
    pub machine: Box<MachineSpec>,
    /// The host's costs; unless given, those of bare metal.
    #[serde(skip_serializing_if = "is_default")]
    pub costs: CostsSpec,
    /// Host CPUs for each virtual CPU, or once for all; unless given, they may use all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<CpuList>,
    /// `halt_poll_ns`: how long the host polls at most for a halted virtual CPU; 0ns switches polling off.
    #[serde(rename(serialize = "halt_poll_ns"), skip_serializing_if = "Option::is_none")]
    pub halt_poll: Option<Duration>,
    /// `halt_poll_ns_grow`: by what the limit of a virtual CPU grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Whole<u32, 0, 1000>>")]
    pub halt_poll_grow: Option<Whole<u32, 0, 1000>>,
    /// `halt_poll_ns_grow_start`: its first limit above 0.
    #[serde(rename(serialize = "halt_poll_grow_start_ns"), skip_serializing_if = "Option::is_none")]
    pub halt_poll_grow_start: Option<Duration>,
    /// `halt_poll_ns_shrink`: by what the limit is divided after a long halt; 0 resets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Whole<u32, 0, 1000>>")]
    pub halt_poll_shrink: Option<Whole<u32, 0, 1000>>,
    /// Leaving the guest when it halts.
    #[serde(rename(serialize = "exit_ns"), skip_serializing_if = "Option::is_none")]
    pub exit: Option<Duration>,
    /// From the halted virtual CPU's thread seeing an interrupt to the guest's first instruction.
    #[serde(rename(serialize = "wake_ns"), skip_serializing_if = "Option::is_none")]
    pub wake: Option<Duration>,
    /// From sending an interrupt to a halted virtual CPU until its thread hears of it.
    #[serde(rename(serialize = "kick_ns"), skip_serializing_if = "Option::is_none")]
    pub kick: Option<Duration>,
    /// The other guests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guest: Vec<GuestSpec>,
}

/// `[[machine.host.guest]]`: other guests of the host. Each of their virtual CPUs wants a host CPU all the time, or runs
/// and sleeps in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct GuestSpec {
    /// Name.
    #[schemars(with = "TemplateName")]
    pub name: Name,
    /// How many such guests.
    #[serde(default = "one")]
    #[schemars(with = "Option<Whole<u32, 1, 10_000>>")]
    pub count: Whole<u32, 1, 10_000>,
    /// Virtual CPUs of each.
    #[schemars(with = "Whole<u32, 1, { MAX_CPUS as i64 }>")]
    pub vcpus: Whole<u32, 1, { MAX_CPUS as i64 }>,
    /// Host CPUs they may use; unless given, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// How long each virtual CPU runs in a turn; unless given, it never stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Dist>,
    /// How long it then sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Dist>,
}

fn one() -> Whole<u32, 1, 10_000> {
    Whole(1)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
