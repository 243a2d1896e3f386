//! `[machine.smt]` and `[machine.ipc]`: threads that share a core, and instructions per cycle.

use crate::units::{Share, optional_number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::machine::{FULL_SPEED, IpcConfig, SmtConfig};

/// Threads that share a core: the table switches it on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub struct SmtSpec {
    /// Speed of a task that computes while another thread of its core is busy, 0.3 to 1 of full speed; 0.625 unless given.
    #[serde(deserialize_with = "optional_number::<_, 300, 1000>", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share<300, 1000>>")]
    pub compute: Option<f64>,
    /// The same of a task that waits for memory; 0.75 unless given.
    #[serde(deserialize_with = "optional_number::<_, 300, 1000>", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share<300, 1000>>")]
    pub memory: Option<f64>,
}

impl SmtSpec {
    /// The machine's part.
    pub(crate) fn config(&self) -> SmtConfig {
        let SmtConfig { compute, memory } = SmtConfig::TYPICAL;
        SmtConfig {
            compute: self.compute.map_or(compute, parts_of_full_speed),
            memory: self.memory.map_or(memory, parts_of_full_speed),
        }
    }
}

/// A share of full speed in the engine's units.
pub(super) fn parts_of_full_speed(share: f64) -> u32 {
    (share * f64::from(FULL_SPEED)).round() as u32
}

/// Instructions per cycle on an undisturbed core with warm caches, 0.01 to 16. Only the figures of reports depend on them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub struct IpcSpec {
    /// Of a task that computes; 2 unless given.
    #[serde(deserialize_with = "optional_number::<_, 10, 16_000>", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share<10, 16_000>>")]
    pub compute: Option<f64>,
    /// Of a task that waits for memory; 0.7 unless given.
    #[serde(deserialize_with = "optional_number::<_, 10, 16_000>", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share<10, 16_000>>")]
    pub memory: Option<f64>,
}

impl IpcSpec {
    /// The machine's part.
    pub(crate) fn config(&self) -> IpcConfig {
        let IpcConfig { compute, memory } = IpcConfig::default();
        let thousandths = |ipc: f64| (ipc * 1000.0).round() as u32;
        IpcConfig {
            compute: self.compute.map_or(compute, thousandths),
            memory: self.memory.map_or(memory, thousandths),
        }
    }
}
