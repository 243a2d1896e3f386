//! The scenario's task groups as groups of cgroup v2.

use super::Refusal;
use crate::capture::spec::Group;
use sim_workloads::scenario::{CpuController, Scenario};
use std::collections::BTreeMap;

/// Every group named anywhere, parents first.
pub(super) fn groups(scenario: &Scenario) -> Result<Vec<Group>, Refusal> {
    let mut weights: BTreeMap<String, Option<u32>> = BTreeMap::new();
    let used = scenario.tasks.iter().map(|t| t.group.0.as_str());
    for path in scenario.groups.keys().map(String::as_str).chain(used) {
        let path = path.trim_start_matches('/');
        let ends = path.match_indices('/').map(|(i, _)| i).chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            weights.entry(path[..end].to_owned()).or_default();
        }
    }
    for (path, group) in &scenario.groups {
        let no = |key: &str, what: &str| Err(Refusal::new(&["group", path, "cpu", key], what));
        let weight = match group.cpu {
            CpuController::Default | CpuController::Idle(false) => None,
            CpuController::Weight(weight) => Some(weight as u32),
            CpuController::WeightNice(_) => {
                return no("weight", "captures know cpu.weight only: write the weight as a number");
            }
            CpuController::Shares(_) => return no("shares", "the guest has cgroup v2: write cpu.weight"),
            CpuController::Idle(true) => return no("idle", "captures do not know cpu.idle"),
        };
        if let Some(entry) = weights.get_mut(path.trim_start_matches('/')) {
            *entry = weight;
        }
    }
    for task in &scenario.tasks {
        let below = format!("{}/", task.group.0.trim_start_matches('/'));
        if below.len() > 1 && weights.keys().any(|path| path.starts_with(&below)) {
            let what = format!(
                "the group {} has groups below it: cgroup v2 then allows no tasks in it",
                task.group.0
            );
            return Err(Refusal::new(&["task", &task.name, "group"], what));
        }
    }
    if let Some(path) = weights.keys().find(|path| path.contains(':')) {
        return Err(Refusal::new(
            &["group"],
            format!("the group /{path} has a ':' in its name: allowed are letters, digits and _ - . + @"),
        ));
    }
    Ok(weights.into_iter().map(|(path, weight)| Group { path, weight, max: None }).collect())
}
