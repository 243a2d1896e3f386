//! Checks of groups, sessions and changes against the rest of the scenario.

use super::change::{MAX_CHANGES, MAX_TASK_CHANGES, TaskChange};
use super::check::{Path, Result, check_cpus, inconsistent, path};
use super::error::{ErrorKind, Problem};
use super::group::{GroupPath, MAX_GROUPS};
use super::node::Segment;
use super::{ChangeSpec, Scenario};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use std::collections::{BTreeMap, BTreeSet};

/// The first contradiction found.
pub(super) fn check(scenario: &Scenario) -> Result<()> {
    for group in scenario.groups.keys() {
        let at = path(&["group", group]);
        check_path(group, &at)?;
        if group == "/" {
            return inconsistent(at, "the root group has no weight: write groups below it, like \"/a\"");
        }
    }
    let groups = scenario.all_groups().len() + scenario.session_numbers().len();
    if groups > MAX_GROUPS {
        let message = format!("{groups} groups and sessions: at most {MAX_GROUPS} are allowed");
        return Err((path(&["group"]), Problem::new(ErrorKind::Limit, message)));
    }
    for task in &scenario.tasks {
        scenario.check_group(&task.group, path(&["task", &task.name, "group"]))?;
    }
    let numbers = scenario.session_numbers();
    if let Some(unused) = scenario.sessions.keys().find(|s| !numbers.contains_key(s.as_str())) {
        return inconsistent(path(&["session", unused]), format!("no task is in session '{unused}'"));
    }
    if scenario.changes.len() > MAX_CHANGES {
        let message = format!("{} changes: at most {MAX_CHANGES} are allowed", scenario.changes.len());
        return Err((path(&["at"]), Problem::new(ErrorKind::Limit, message)));
    }
    let counts: BTreeMap<&str, usize> =
        scenario.tasks.iter().map(|t| (t.name.as_str(), t.count as usize)).collect();
    for (i, change) in scenario.changes.iter().enumerate() {
        check_change(scenario, &counts, i, change)?;
    }
    let single = |(name, task): (&String, &TaskChange)| task.settings() * counts[name.as_str()];
    let all: usize = scenario.changes.iter().flat_map(|change| change.task.iter().map(single)).sum();
    if all > MAX_TASK_CHANGES {
        let message = format!("{all} changes of single tasks: at most {MAX_TASK_CHANGES} are allowed");
        return Err((path(&["at"]), Problem::new(ErrorKind::Limit, message)));
    }
    Ok(())
}

fn check_path(text: &str, at: &Path) -> Result<()> {
    let reader: StrDeserializer<'_, Error> = text.into_deserializer();
    match GroupPath::deserialize(reader) {
        Ok(_) => Ok(()),
        Err(e) => Err((at.clone(), Problem::new(ErrorKind::BadValue, e.to_string()))),
    }
}

fn check_change(
    scenario: &Scenario,
    counts: &BTreeMap<&str, usize>,
    i: usize,
    change: &ChangeSpec,
) -> Result<()> {
    let at = |keys: &[&str]| -> Path {
        [Segment::from("at"), Segment::from(i)].into_iter().chain(path(keys)).collect()
    };
    if let Some(key) = change.fixed_setting() {
        let help = if key == "rewrite_tunable_scaling" { ": write sched_tunable_scaling" } else { "" };
        return inconsistent(at(&["set", key]), format!("{key} cannot change while the kernel runs{help}"));
    }
    for group in change.group.keys() {
        check_path(group, &at(&["group", group]))?;
        scenario.check_group(&GroupPath(group.clone()), at(&["group", group]))?;
        if group == "/" {
            return inconsistent(at(&["group", group]), "the root group has no weight");
        }
    }
    for (name, task) in &change.task {
        if !counts.contains_key(name.as_str()) {
            let names: Vec<&str> = scenario.tasks.iter().map(|t| t.name.as_str()).collect();
            return Err((at(&["task", name]), Problem::unknown("task", name, &names)));
        }
        check_cpus(scenario, task.cpus.as_ref().map(|c| &c.0), at(&["task", name, "cpus"]))?;
        if let Some(group) = &task.group {
            scenario.check_group(group, at(&["task", name, "group"]))?;
        }
    }
    Ok(())
}

impl Scenario {
    /// Paths of all groups, parents first; those on the way to a written one exist too.
    pub(super) fn all_groups(&self) -> BTreeSet<String> {
        let paths = self.groups.keys().map(|path| GroupPath(path.clone()));
        paths.flat_map(|path| path.ancestry().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// What the groups of a run are called, the root group first: by [`sim_core::GroupId`].
    pub fn group_names(&self) -> Vec<String> {
        let sessions = self.session_numbers().into_keys().map(|n| format!("/autogroup-{n}"));
        std::iter::once("/".to_owned()).chain(self.all_groups()).chain(sessions).collect()
    }

    /// The sessions tasks are in, with the nice levels of their autogroups.
    pub(super) fn session_numbers(&self) -> BTreeMap<String, i8> {
        let number = |n: u32| {
            let name = n.to_string();
            let nice = self.sessions.get(&name).map_or(0, |s| s.nice);
            (name, nice)
        };
        self.tasks.iter().filter_map(|t| t.session).map(number).collect()
    }

    /// Refuses a group that is not there.
    pub(super) fn check_group(&self, group: &GroupPath, at: Path) -> Result<()> {
        let below = format!("{}/", group.0);
        let has_child =
            || self.groups.range(below.clone()..).next().is_some_and(|(path, _)| path.starts_with(&below));
        if group.0 == "/" || self.groups.contains_key(&group.0) || has_child() {
            return Ok(());
        }
        let groups = self.all_groups();
        if groups.is_empty() {
            let message = format!("there is no group '{0}': add [group.\"{0}\"]", group.0);
            return Err((at, Problem::new(ErrorKind::UnknownName, message)));
        }
        let names: Vec<&str> = groups.iter().map(String::as_str).collect();
        Err((at, Problem::unknown("group", &group.0, &names)))
    }
}
