//! The `[[at]]` tables: what changes while the run goes on.

use super::group::{CpuController, GroupPath, GroupSpec};
use super::kernel::KernelSpec;
use crate::schema::{Names, PlainName};
use crate::units::{CpuList, Duration, Whole, duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::kernel::Policy;
use std::collections::BTreeMap;

/// The most `[[at]]` tables of a scenario.
pub(super) const MAX_CHANGES: usize = 10_000;
/// The most changes of single tasks in a scenario: every setting counts once for each instance of its task.
pub(super) const MAX_TASK_CHANGES: usize = 1_000_000;

/// `[[at]]`: changes at one time. They are made in this order: settings, hotplug, groups, tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ChangeSpec {
    /// When.
    #[serde(with = "duration", rename(serialize = "time_ns"))]
    #[schemars(with = "Duration")]
    pub time: Nanos,
    /// Kernel settings written then: tunables, `features`, `sched_tunable_scaling`, `sched_autogroup_enabled`.
    #[serde(default)]
    pub set: KernelSpec,
    /// A CPU goes off line and comes back: tunables are scaled anew. What happens to its tasks meanwhile is not simulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hotplug: bool,
    /// Writes to files of groups.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<GroupPath, GroupSpec>")]
    pub group: BTreeMap<String, GroupSpec>,
    /// Changes of tasks by the name of their table: of all its instances, not of their children.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<PlainName, TaskChange>")]
    pub task: BTreeMap<String, TaskChange>,
}

/// What changes about tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct TaskChange {
    /// nice −20 … 19.
    #[serde(
        default,
        deserialize_with = "crate::units::optional_whole::<_, _, -20, 19>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Whole<i8, -20, 19>>")]
    pub nice: Option<i8>,
    /// Policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Names<Policy>>")]
    pub policy: Option<Policy>,
    /// CPUs they may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// Group they move to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupPath>,
    /// How late their sleeps may end.
    #[serde(rename(serialize = "timer_slack_ns"), skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<Duration>,
}

impl TaskChange {
    /// How many settings change.
    pub(super) fn settings(&self) -> usize {
        usize::from(self.nice.is_some())
            + usize::from(self.policy.is_some())
            + usize::from(self.cpus.is_some())
            + usize::from(self.group.is_some())
            + usize::from(self.timer_slack.is_some())
    }
}

impl ChangeSpec {
    /// A key of `set` that cannot change while the kernel runs.
    pub(super) fn fixed_setting(&self) -> Option<&'static str> {
        let s = &self.set;
        [
            ("profile", s.profile.is_some()),
            ("hz", s.hz.is_some()),
            ("preempt", s.preempt.is_some()),
            ("skew_tick", s.skew_tick.is_some()),
            ("irq_time_accounting", s.irq_time_accounting.is_some()),
            ("steal_time_accounting", s.steal_time_accounting.is_some()),
            ("rewrite_tunable_scaling", s.rewrite_tunable_scaling),
        ]
        .into_iter()
        .find_map(|(key, given)| given.then_some(key))
    }

    /// The groups it writes to, with what is written.
    pub(crate) fn group_writes(&self) -> impl Iterator<Item = (&str, CpuController)> {
        self.group.iter().map(|(path, spec)| (path.as_str(), spec.cpu))
    }
}
