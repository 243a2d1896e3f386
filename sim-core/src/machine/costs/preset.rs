//! Sets of costs by name.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A set of costs by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Everything at zero: the textbook scheduler.
    Zero,
    /// A current x86 server.
    BareMetal,
    /// A virtual machine on one: interrupts and idle exits cost VM exits.
    Guest,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 3] = [Preset::Zero, Preset::BareMetal, Preset::Guest];
    /// Name on the command line and in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::Zero => "zero",
            Preset::BareMetal => "bare-metal",
            Preset::Guest => "guest",
        }
    }
    /// What the machine is.
    pub const fn about(self) -> &'static str {
        match self {
            Preset::Zero => "nothing costs anything: the textbook scheduler",
            Preset::BareMetal => "a current x86 server",
            Preset::Guest => "a virtual machine on one: interrupts and idle exits cost VM exits",
        }
    }
    /// Looks a preset up by name.
    pub fn by_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|p| p.name() == name)
    }
}

impl FromStr for Preset {
    type Err = String;
    fn from_str(name: &str) -> Result<Preset, String> {
        Preset::by_name(name).ok_or_else(|| {
            let all: Vec<_> = Preset::ALL.iter().map(|p| p.name()).collect();
            format!("'{name}' is not a preset of costs: allowed are {}", all.join(", "))
        })
    }
}
