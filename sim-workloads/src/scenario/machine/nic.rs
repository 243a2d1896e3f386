//! `[machine.nic]`: the network card between this machine and others.

use crate::units::{CpuList, Duration, Whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::machine::NicConfig;
use sim_core::machine::topology::Topology;
use sim_core::{CpuId, Nanos};

/// The longest time that a card or a line may take.
const MAX_TIME: Nanos = Nanos::from_secs(1);

/// A network card, its line and the kernel's budgets for it. What is not given is that of a 10 Gbit/s card with a receive
/// queue for each CPU, up to 8.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub struct NicSpec {
    /// CPUs that are interrupted, a receive queue each; the first 8 unless given. Connections take the queues in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// Frames that a queue holds (`ethtool -g`); 512 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<Whole<u32, 1, 65_536>>,
    /// From the first frame to the interrupt (`ethtool -C rx-usecs`); 20 us unless given, likely 3 to 50.
    #[serde(rename(serialize = "rx_usecs_ns"), skip_serializing_if = "Option::is_none")]
    pub rx_usecs: Option<Duration>,
    /// Frames after which the interrupt comes at once (`ethtool -C rx-frames`); any number unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_frames: Option<Whole<u32, 0, 65_536>>,
    /// Rate of the line, 10^6 bits/s; 10000 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_rate: Option<Whole<u32, 1, 1_000_000>>,
    /// From the other machine to this one, one way; 10 us unless given, likely 5 to 30.
    #[serde(rename(serialize = "latency_ns"), skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Whether full segments of one connection that come together are merged (`ethtool -K gro`); on unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
    /// `net.core.netdev_budget`: frames per round of the receiving softirq; 300 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub netdev_budget: Option<Whole<u32, 1, 1_000_000>>,
    /// `net.core.netdev_budget_usecs`: time per round; 2 ms unless given.
    #[serde(rename(serialize = "netdev_budget_usecs_ns"), skip_serializing_if = "Option::is_none")]
    pub netdev_budget_usecs: Option<Duration>,
    /// `net.core.dev_weight`: frames per poll of a queue; 64 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev_weight: Option<Whole<u32, 1, 65_536>>,
}

impl NicSpec {
    /// The machine's part; a mistake comes with its key.
    pub(crate) fn config(&self, topology: &Topology) -> Result<NicConfig, (&'static str, String)> {
        let online = topology.online();
        let typical = NicConfig::typical(online.iter().count() as u32);
        let queues: Vec<CpuId> = match &self.cpus {
            Some(cpus) => cpus.0.iter().collect(),
            None => online.iter().take(NicConfig::QUEUES as usize).collect(),
        };
        if let Some(cpu) = queues.iter().find(|cpu| !online.contains(**cpu)) {
            let message = format!("CPU {} is beyond the machine, which has CPUs {online}", cpu.0);
            return Err(("cpus", message));
        }
        if queues.is_empty() {
            return Err(("cpus", "no CPU: a card has a receive queue at least".to_owned()));
        }
        let time = |key, given: Option<Duration>, default: Nanos| match given {
            Some(Duration(long)) if long > MAX_TIME => {
                Err((key, format!("{long}: at most {MAX_TIME} is allowed")))
            }
            given => Ok(given.map_or(default, |d| d.0)),
        };
        Ok(NicConfig {
            queues,
            ring: self.ring.map_or(typical.ring, |n| n.0),
            rx_usecs: time("rx_usecs", self.rx_usecs, typical.rx_usecs)?,
            rx_frames: self.rx_frames.map_or(typical.rx_frames, |n| n.0),
            line_mbit: self.line_rate.map_or(typical.line_mbit, |n| n.0),
            latency: time("latency", self.latency, typical.latency)?,
            gro: self.gro.unwrap_or(typical.gro),
            budget: self.netdev_budget.map_or(typical.budget, |n| n.0),
            budget_time: time("netdev_budget_usecs", self.netdev_budget_usecs, typical.budget_time)?,
            weight: self.dev_weight.map_or(typical.weight, |n| n.0),
        })
    }
}
