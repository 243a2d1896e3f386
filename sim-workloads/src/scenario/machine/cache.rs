//! `[machine.cache]`: sizes of caches, and how fast a working set comes back into them.

use super::smt::parts_of_full_speed;
use crate::units::{Bytes, Share, Whole, optional_number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::machine::CacheConfig;

/// A bandwidth in MB/s.
type Bandwidth = Option<Whole<u32, 1, 10_000_000>>;

/// Caches: the table switches them on. What is not given is that of an i7-8700.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub struct CacheSpec {
    /// Private caches of a core (the second level); 256 KiB unless given.
    #[serde(rename(serialize = "private_bytes"), skip_serializing_if = "Option::is_none")]
    pub private: Option<Bytes>,
    /// A last-level cache, at least as large; 12 MiB unless given.
    #[serde(rename(serialize = "llc_bytes"), skip_serializing_if = "Option::is_none")]
    pub llc: Option<Bytes>,
    /// How fast a working set comes from the last-level cache, MB/s; 25600 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llc_bandwidth: Bandwidth,
    /// The same from the memory of the node, at most that of the cache; 7900 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bandwidth: Bandwidth,
    /// The same from the memory of another node, at most that of the node; 3900 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_bandwidth: Bandwidth,
    /// Speed of a task while it loads its working set, 0 to 0.99 of what it would be: how the time that takes is spread;
    /// 0.5 unless given.
    #[serde(deserialize_with = "optional_number::<_, 0, 990>", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Share<0, 990>>")]
    pub cold_speed: Option<f64>,
}

impl CacheSpec {
    /// The machine's part; a mistake comes with its key.
    pub(crate) fn config(&self) -> Result<CacheConfig, (&'static str, String)> {
        let typical = CacheConfig::I7_8700;
        let bandwidth = |given: Bandwidth, typical| given.map_or(typical, |w| w.0);
        let config = CacheConfig {
            private_bytes: self.private.map_or(typical.private_bytes, |b| b.0),
            llc_bytes: self.llc.map_or(typical.llc_bytes, |b| b.0),
            llc_mb_s: bandwidth(self.llc_bandwidth, typical.llc_mb_s),
            memory_mb_s: bandwidth(self.memory_bandwidth, typical.memory_mb_s),
            remote_mb_s: bandwidth(self.remote_bandwidth, typical.remote_mb_s),
            cold_speed: self.cold_speed.map_or(typical.cold_speed, parts_of_full_speed),
            kept_in_idle: false,
        };
        let faster = |key, is: u32, than: &str, max: u32| {
            let message = format!("{is} MB/s is more than the {max} MB/s of {than}");
            if is > max { Err((key, message)) } else { Ok(()) }
        };
        if config.llc_bytes < config.private_bytes {
            let (llc, private) = (config.llc_bytes, config.private_bytes);
            let message = format!("{llc} bytes are less than the {private} bytes of the private caches");
            return Err(("llc", message));
        }
        faster("memory_bandwidth", config.memory_mb_s, "the last-level cache", config.llc_mb_s)?;
        faster("remote_bandwidth", config.remote_mb_s, "the node's own memory", config.memory_mb_s)?;
        Ok(config)
    }
}
