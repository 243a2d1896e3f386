//! Rules switched on by name on top of a profile: any of [`changes`], so that one change can be
//! tried alone, and rules older than every profile.

use super::KernelConfig;
use super::changes::changes;
use super::rules::Rules;
use thiserror::Error;

/// A rule that no profile has.
#[derive(Debug)]
pub struct RuleSwitch {
    /// Name, unlike that of any change.
    pub id: &'static str,
    /// What it does, and which kernels had it.
    pub what: &'static str,
    /// How it changes the rules.
    pub apply: fn(&mut Rules),
}

/// Rules older than 4.19, as the reports on them describe them. None was read in source.
pub const SWITCHES: &[RuleSwitch] = &[
    RuleSwitch {
        id: "forced-newly-idle-only",
        what: "a CPU takes tasks from an overloaded group whatever the average loads only when it is newly idle, not when \
               it idles already (up to 4.14; balancing by average load, so up to 5.4)",
        apply: |r| r.balance.forced_newly_idle_only = true,
    },
    RuleSwitch {
        id: "numa-groups-from-lowest-cpu",
        what: "groups of a NUMA domain are laid from its lowest CPU on, not from the CPU the domain belongs to (up to 4.1)",
        apply: |r| r.numa_groups_from_lowest_cpu = true,
    },
];

/// A name that is neither a change nor a switch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{found:.60}' is not a rule: allowed are {} and the changes that 'cfsim kernel diff 4.19 6.5' lists",
    SWITCHES.iter().map(|s| s.id).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownRule {
    /// The name.
    pub found: String,
}

impl KernelConfig {
    /// Switches a rule on. Switches of features that change with it go back to their defaults.
    ///
    /// # Errors
    /// When there is no rule of this name.
    pub fn switch_rule(&mut self, name: &str) -> Result<(), UnknownRule> {
        let change = changes().map(|c| (c.id, c.apply));
        let mut known = change.chain(SWITCHES.iter().map(|s| (s.id, s.apply)));
        let (id, apply) =
            known.find(|(id, _)| *id == name).ok_or_else(|| UnknownRule { found: name.to_owned() })?;
        apply(&mut self.rules);
        self.rules.applied.push(id);
        self.features = self.rules.features;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Profile;
    use crate::kernel::rules::PipeWake;

    #[test]
    fn names_are_unique() {
        assert!(SWITCHES.iter().all(|s| changes().all(|c| c.id != s.id)));
    }

    #[test]
    fn changes_and_switches_apply_alone_and_others_are_refused() {
        let mut config = KernelConfig::new(Profile::by_name("5.4").unwrap(), 2);
        config.switch_rule("pipe-exclusive-wake").unwrap();
        config.switch_rule("forced-newly-idle-only").unwrap();
        assert_eq!(config.rules.pipe_wake, PipeWake::Exclusive);
        assert!(config.rules.balance.forced_newly_idle_only);
        let message = config.switch_rule("no-such").unwrap_err().to_string();
        assert!(
            message.contains("'no-such'") && message.contains("numa-groups-from-lowest-cpu"),
            "{message}"
        );
    }
}
