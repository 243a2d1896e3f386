//! Rules switched on or off by name on top of a profile: any of [`changes`], so that one change can be tried alone or left
//! out, patches that were posted, and rules older than every profile.

use super::KernelConfig;
use super::changes::{changes, posted};
use super::rules::Rules;
use thiserror::Error;

/// A rule that no profile has.
#[derive(Debug)]
pub struct RuleSwitch {
    /// Name, unlike that of any change.
    pub id: &'static str,
    /// What it does, and which kernels had it or where it was posted.
    pub what: &'static str,
    /// How it changes the rules.
    pub apply: fn(&mut Rules),
}

/// Rules older than 4.19, as the reports on them describe them. None was read in source.
const OLDER: &[RuleSwitch] = &[
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

/// All rules that no profile has.
pub fn switches() -> impl Iterator<Item = &'static RuleSwitch> {
    OLDER.iter().chain(posted::PATCHES)
}

/// A name that switches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownRule {
    /// Neither a change nor a switch.
    #[error(
        "'{found:.60}' is not a rule: allowed are {}, and the changes that 'cfsim kernel diff 4.19 6.5' lists, with 'no-' in \
         front to leave one out",
        switches().map(|s| s.id).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The name.
        found: String,
    },
    /// A change to leave out that the profile does not have.
    #[error("'{found}' leaves out what this kernel does not have")]
    Absent {
        /// The name.
        found: String,
    },
}

impl KernelConfig {
    /// Switches a rule on, or with `no-` in front of a change of the profile, off. Switches of features that change with it go
    /// back to their defaults.
    ///
    /// # Errors
    /// When there is no rule of this name, or the kernel does not have the one to leave out.
    pub fn switch_rule(&mut self, name: &str) -> Result<(), UnknownRule> {
        if let Some((id, apply)) = known(name) {
            apply(&mut self.rules);
            self.rules.applied.push(id);
        } else if let Some((id, _)) = name.strip_prefix("no-").and_then(known) {
            if !self.rules.applied.contains(&id) {
                return Err(UnknownRule::Absent { found: name.to_owned() });
            }
            let kept = self.rules.applied.iter().copied().filter(|a| *a != id);
            let mut rules = Rules::v4_19();
            for (id, apply) in kept.filter_map(known) {
                apply(&mut rules);
                rules.applied.push(id);
            }
            self.rules = rules;
        } else {
            return Err(UnknownRule::Unknown { found: name.to_owned() });
        }
        self.features = self.rules.features;
        Ok(())
    }
}

/// A change by its full name, and what it does.
type Known = (&'static str, fn(&mut Rules));

/// A rule by name, and how to apply it.
fn known(name: &str) -> Option<Known> {
    let change = changes().map(|c| (c.id, c.apply));
    change.chain(switches().map(|s| (s.id, s.apply))).find(|(id, _)| *id == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Profile;
    use crate::kernel::rules::PipeWake;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = changes().map(|c| c.id).chain(switches().map(|s| s.id)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]));
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

    /// Leaving the last change of a profile out gives the profile before it; what was switched on stays.
    #[test]
    fn a_change_can_be_left_out() {
        let mut config = KernelConfig::new(Profile::by_name("5.15").unwrap(), 2);
        config.switch_rule("moveforward").unwrap();
        config.switch_rule("no-wake-avg-idle").unwrap();
        let mut expected = Profile::by_name("5.15").unwrap().rules();
        expected.preempt_after_min_run = true;
        expected.select.scan_budget = crate::kernel::rules::ScanBudget::AvgIdle;
        expected.applied = config.rules.applied.clone();
        assert_eq!(config.rules, expected);
        assert!(!config.rules.applied.contains(&"wake-avg-idle"));
        assert!(config.rules.applied.contains(&"moveforward"));
        let refused = config.switch_rule("no-imb-numa-nr").unwrap_err();
        assert_eq!(refused, UnknownRule::Absent { found: "no-imb-numa-nr".to_owned() });
    }
}
