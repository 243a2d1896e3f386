//! What predictions have been held against real kernels for, and whether one lies beyond.

use serde::Deserialize;
use sim_core::SimConfig;
use std::collections::BTreeMap;

/// The data.
const ENVELOPE: &str = include_str!("../envelope.json");

/// What the bars on captures cover (`validation/envelope.json`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// What it is.
    pub about: String,
    /// Profiles with captures.
    pub kernels: Vec<String>,
    /// Profiles that differ little from one with captures.
    pub near: BTreeMap<String, String>,
    /// The most CPUs of a captured machine.
    pub cpus: u32,
    /// The most memory nodes.
    pub nodes: usize,
}

impl Envelope {
    /// The project's own; none if its file is broken, which a test excludes.
    pub fn own() -> Option<Envelope> {
        serde_json::from_str(ENVELOPE).ok()
    }

    /// How a run lies beyond, in words; empty when it does not.
    pub fn beyond(&self, config: &SimConfig) -> Vec<String> {
        let mut beyond = Vec::new();
        let (kernel, machine) = (&config.kernel, &config.machine);
        let profile = kernel.profile;
        if !self.kernels.iter().any(|k| k == profile) && !self.near.contains_key(profile) {
            beyond.push(format!("kernel {profile} (captures: {})", self.kernels.join(", ")));
        }
        if kernel.cpus > self.cpus {
            beyond.push(format!("{} CPUs (captures: up to {})", kernel.cpus, self.cpus));
        }
        let nodes = kernel.topology.nodes().len();
        if nodes > self.nodes {
            beyond.push(format!("{nodes} memory nodes"));
        }
        let parts = [
            ("idle states", !machine.idle.is_off()),
            ("clocks", !machine.frequency.is_off()),
            ("shared cores", !machine.smt.is_off()),
            ("caches", !machine.cache.is_off()),
            ("a host", machine.host.is_some()),
            ("interference", !machine.interference.is_empty()),
        ];
        beyond.extend(parts.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()));
        beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::find_captures;
    use sim_core::Limits;
    use sim_core::kernel::{KernelConfig, Profile};
    use sim_core::machine::{CacheConfig, Costs, MachineConfig, Preset};
    use std::path::Path;

    fn config(profile: &str, cpus: u32) -> SimConfig {
        SimConfig {
            kernel: KernelConfig::new(Profile::by_name(profile).unwrap(), cpus),
            machine: MachineConfig::new(Costs::preset(Preset::BareMetal)),
            duration: None,
            limits: Limits::default(),
        }
    }

    #[test]
    fn what_lies_beyond_is_named() {
        let envelope = Envelope::own().unwrap();
        assert!(envelope.beyond(&config("5.7", 8)).is_empty());
        assert!(envelope.beyond(&config("6.1", 1)).is_empty());
        let mut far = config("4.19", 16);
        far.machine.cache = CacheConfig::I7_8700;
        let words = envelope.beyond(&far).join("; ");
        assert!(
            words.contains("kernel 4.19") && words.contains("16 CPUs") && words.contains("caches"),
            "{words}"
        );
    }

    /// Every profile named has captures, and every kernel with captures is named.
    #[test]
    fn the_data_are_those_of_the_captures() {
        let envelope = Envelope::own().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let mut kernels: Vec<String> = find_captures(&root)
            .unwrap()
            .iter()
            // KIND/KERNEL/…
            .filter_map(|p| Some(p.strip_prefix(&root).ok()?.iter().nth(1)?.to_string_lossy().into_owned()))
            .map(|k| if k == "5.10" || k == "6.1" { format!("{k}-debian") } else { k })
            .collect();
        kernels.sort();
        kernels.dedup();
        let mut named = envelope.kernels.clone();
        named.sort();
        assert_eq!(kernels, named);
    }
}
