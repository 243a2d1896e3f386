//! The `[task.NAME]` tables.

use super::group::{GroupPath, MAX_SESSION};
use super::schema::program_schema;
use super::step::Step;
use super::step_reader::program;
use crate::schema::{Names, PlainName, is_default};
use crate::units::{Bytes, CpuList, Duration, Whole, check_name, duration, optional_whole, whole};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::kernel::Policy;
use sim_core::machine::{WorkClass, WorkKind};
use std::fmt;

/// The most tasks a scenario may start with.
pub(super) const MAX_TASKS: i64 = 100_000;

/// Tasks that run the same program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct TaskDef {
    /// Name of the table, shown in reports.
    #[serde(skip_deserializing)]
    pub name: String,
    /// How many of them. Instance `i` has the path `NAME#i`.
    #[serde(default = "one", deserialize_with = "whole::<_, _, 1, MAX_TASKS>")]
    #[schemars(with = "Whole<u32, 1, MAX_TASKS>")]
    pub count: u32,
    /// nice −20 … 19.
    #[serde(default, deserialize_with = "whole::<_, _, -20, 19>")]
    #[schemars(with = "Whole<i8, -20, 19>")]
    pub nice: i8,
    /// Scheduling policy.
    #[serde(default)]
    #[schemars(with = "Names<Policy>")]
    pub policy: Policy,
    /// CPUs the tasks may use; all without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// When the tasks first become runnable.
    #[serde(default, with = "duration", rename(serialize = "start_ns"))]
    #[schemars(with = "Duration")]
    pub start: Nanos,
    /// The task group, as a path.
    #[serde(default)]
    pub group: GroupPath,
    /// The session, which counts where autogroups are enabled; without it, that of the system's first process.
    #[serde(
        default,
        deserialize_with = "optional_whole::<_, _, 1, MAX_SESSION>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Whole<u32, 1, MAX_SESSION>>")]
    pub session: Option<u32>,
    /// How late sleeps may end; without it, the cost `timer_slack`.
    #[serde(rename(serialize = "timer_slack_ns"), skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<Duration>,
    /// What limits their speed: compute or memory.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "Names<WorkClass>")]
    pub class: WorkClass,
    /// What they use again and again, for caches; nothing unless given.
    #[serde(rename(serialize = "working_set_bytes"), skip_serializing_if = "Option::is_none")]
    pub working_set: Option<Bytes>,
    /// The process whose threads these tasks are; without it each is a process of its own. Switches between threads of one
    /// process cost less.
    #[serde(default, deserialize_with = "process", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PlainName>")]
    pub process: Option<String>,
    /// What the tasks do. A task ends after the last step.
    #[serde(deserialize_with = "program")]
    #[schemars(schema_with = "program_schema")]
    pub program: Vec<Step>,
}

impl TaskDef {
    /// What kind of work the tasks do.
    pub(super) fn kind(&self) -> WorkKind {
        WorkKind { class: self.class, working_set: self.working_set.map_or(0, |b| b.0) }
    }
}

fn process<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(d)?;
    check_name(&name, false).map_err(D::Error::custom)?;
    Ok(Some(name))
}

fn one() -> u32 {
    1
}

/// Reads the tables of all tasks, in the order of the file.
pub(super) fn tasks<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<TaskDef>, D::Error> {
    d.deserialize_map(TasksVisitor)
}

struct TasksVisitor;

impl<'de> Visitor<'de> for TasksVisitor {
    type Value = Vec<TaskDef>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tables of tasks, like [task.hog]")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<TaskDef>, A::Error> {
        let mut tasks = Vec::new();
        while let Some(TaskName(name)) = map.next_key()? {
            let task: TaskDef = map.next_value()?;
            tasks.push(TaskDef { name, ..task });
        }
        Ok(tasks)
    }
}

struct TaskName(String);

impl<'de> Deserialize<'de> for TaskName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<TaskName, D::Error> {
        let text = String::deserialize(d)?;
        check_name(&text, false).map_err(D::Error::custom)?;
        Ok(TaskName(text))
    }
}
