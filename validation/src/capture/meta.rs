//! `meta.json`: which kernel, which machine, which settings.

use super::layout::Layout;
use serde::{Deserialize, Serialize};
use sim_core::kernel::Profile;
use thiserror::Error;

/// What a capture says of itself. Fields of the file that do not bear on the experiment are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// File name of the kernel image.
    pub kernel: String,
    /// `/proc/version` of the guest.
    pub version: String,
    /// How virtual time went: `icount` counts instructions.
    pub mode: String,
    /// Number of CPUs.
    pub smp: u32,
    /// Seed of the emulator.
    pub seed: u64,
    /// Settings changed for this capture: `min_granularity_ns=10000000`, `features=NO_LAST_BUDDY`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Rules by name that the kernel has besides its profile's: what a patch to it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// How its CPUs hang together, where it has several. The lab keeps it beside the captures of one boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// A kernel for which the simulator has no profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "no profile for the kernel '{found:.120}': known are Debian's 5.10 and 6.1, and mainline's of `cfsim kernel list`"
)]
pub struct UnknownKernel {
    /// Its version string.
    pub found: String,
}

impl Meta {
    /// The name of the simulator's profile for this kernel.
    ///
    /// # Errors
    /// [`UnknownKernel`] when there is none.
    pub fn profile(&self) -> Result<&'static str, UnknownKernel> {
        let release = self.version.strip_prefix("Linux version ").unwrap_or(&self.version);
        let mut parts = release.split(['.', '-', ' ']);
        match (parts.next(), parts.next(), self.version.contains("Debian")) {
            (Some("5"), Some("10"), true) => Ok("5.10-debian"),
            (Some("6"), Some("1"), true) => Ok("6.1-debian"),
            // Stable releases and late release candidates behave as their mainline in what is modelled. Deviates: D-252.
            (Some(major), Some(minor), _) => Profile::by_name(&format!("{major}.{minor}"))
                .map(|profile| profile.name)
                .map_err(|_| UnknownKernel { found: self.version.clone() }),
            _ => Err(UnknownKernel { found: self.version.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_profile() {
        let meta = |version: &str| {
            let json = format!(
                r#"{{"kernel":"k","version":"{version}","mode":"icount","smp":1,"seed":1,"set":["latency_ns=1"],"more":[1]}}"#
            );
            serde_json::from_str::<Meta>(&json).unwrap()
        };
        assert_eq!(
            meta("Linux version 5.10.0-46-cloud-amd64 (gcc) #1 SMP Debian 5.10.262-1").profile(),
            Ok("5.10-debian")
        );
        assert_eq!(
            meta("Linux version 6.1.0-57-cloud-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3").profile(),
            Ok("6.1-debian")
        );
        assert_eq!(meta("Linux version 5.5.0-rc5 (lab@lab) (gcc) #1 SMP 2024-01-01").profile(), Ok("5.5"));
        assert_eq!(meta("Linux version 5.4.59 (lab@lab)").profile(), Ok("5.4"));
        assert!(meta("Linux version 6.10.0 Debian").profile().is_err());
        assert_eq!(meta("Linux version 6.1.77 (me@here) (gcc) #3 SMP").profile(), Ok("6.1"));
        assert!(meta("Linux version 4.4.0 (x)").profile().is_err());
        assert_eq!(meta("x").set, ["latency_ns=1"]);
    }
}
