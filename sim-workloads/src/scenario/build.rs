//! From a scenario to the objects and tasks of a run.

use super::change::TaskChange;
use super::{ChangeSpec, CpuController, Scenario, TaskDef};
use crate::build::{Builder, NewGroup};
use crate::script::{Linker, Script};
use sim_core::kernel::features::Feature;
use sim_core::kernel::weight::shares_from_nice;
use sim_core::program::{Objects, TaskSpec};
use sim_core::{Control, GroupId, Instant, TaskId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

impl Scenario {
    /// Objects, groups, tasks and changes of one run under `seed`. Task `i` of a table has the path `NAME#i`; a child's
    /// path is its parent's, `/`, its name, and its number among the parent's children of that name.
    pub fn build(&self, seed: u64) -> Builder {
        let mut builder = Builder::new(seed);
        let groups = self.build_groups(&mut builder);
        let sessions = self.build_sessions(&mut builder);
        let mut objects = Objects::default();
        let mut linker = Linker::new(&self.objects, &mut objects, &groups);
        let group_of = |path: &str| groups.get(path).copied().unwrap_or(GroupId::ROOT);
        let mut processes = BTreeMap::new();
        for task in &self.tasks {
            let per_instance = task.per_instance();
            let mut shared = None;
            for i in 0..task.count {
                let code = match &shared {
                    Some(code) => Arc::clone(code),
                    None => linker.compile(&task.program, i),
                };
                if !per_instance {
                    shared = Some(Arc::clone(&code));
                }
                let id = TaskId::new(builder.tasks.len());
                let session = task.session.and_then(|s| sessions.get(&s.to_string()));
                builder.sessions.extend(session.map(|group| (id, *group)));
                let process = task.process.as_ref().map(|name| (id, number_of(&mut processes, name)));
                builder.processes.extend(process);
                builder.timer_slack.extend(task.timer_slack.map(|slack| (id, slack.0)));
                builder.kinds.push((id, task.kind()));
                let path = format!("{}#{i}", task.name);
                builder.add_task(TaskSpec {
                    name: task.name.clone(),
                    path: path.clone(),
                    start: Instant(task.start.0),
                    nice: task.nice,
                    policy: task.policy,
                    affinity: task.cpus.as_ref().map(|cpus| cpus.0.clone()),
                    group: group_of(&task.group.0),
                    program: Box::new(Script::new(code, seed, path)),
                });
            }
        }
        let instances = self.instances();
        for change in &self.changes {
            let at = Instant(change.time.0);
            let controls = controls(change, &groups, &instances);
            builder.timeline.extend(controls.into_iter().map(|control| (at, control)));
        }
        builder.objects = objects;
        self.workload.models().for_each(|model| model.build(&mut builder));
        builder
    }

    fn build_groups(&self, builder: &mut Builder) -> BTreeMap<String, GroupId> {
        let mut ids = BTreeMap::new();
        for path in self.all_groups() {
            let cpu = self.groups.get(&path).map_or(CpuController::Default, |g| g.cpu);
            let parent = path.rfind('/').and_then(|end| ids.get(&path[..end])).copied();
            let parent = parent.unwrap_or(GroupId::ROOT);
            let id = builder.add_group(NewGroup { parent, shares: cpu.shares(), idle: cpu.idle() });
            ids.insert(path, id);
        }
        ids
    }

    fn build_sessions(&self, builder: &mut Builder) -> BTreeMap<String, GroupId> {
        let numbers = self.session_numbers().into_iter();
        let autogroup =
            |nice| NewGroup { parent: GroupId::ROOT, shares: shares_from_nice(nice), idle: false };
        numbers.map(|(number, nice)| (number, builder.add_group(autogroup(nice)))).collect()
    }

    /// The instances of every task table.
    fn instances(&self) -> BTreeMap<&str, Range<usize>> {
        let mut next = 0;
        let range = |def: &TaskDef| {
            let first = next;
            next += def.count as usize;
            first..next
        };
        self.tasks.iter().map(|def| def.name.as_str()).zip(self.tasks.iter().map(range)).collect()
    }
}

/// The number of a process, which its first thread gives it.
fn number_of<'a>(processes: &mut BTreeMap<&'a str, u32>, name: &'a str) -> u32 {
    let next = processes.len() as u32;
    *processes.entry(name).or_insert(next)
}

/// The single changes of an `[[at]]` table, in order.
fn controls(
    change: &ChangeSpec,
    groups: &BTreeMap<String, GroupId>,
    instances: &BTreeMap<&str, Range<usize>>,
) -> Vec<Control> {
    let mut all: Vec<Control> =
        change.set.tunables.iter().map(|(tunable, value)| Control::Tunable(*tunable, *value)).collect();
    all.extend(change.set.tunable_scaling.map(Control::Scaling));
    all.extend(change.set.features.iter().filter_map(|word| {
        let bare = word.strip_prefix("NO_").unwrap_or(word);
        Feature::by_name(bare).map(|feature| Control::Feature(feature, bare == word))
    }));
    all.extend(change.set.autogroup.map(Control::Autogroup));
    all.extend(change.hotplug.then_some(Control::Hotplug));
    for (path, cpu) in change.group_writes() {
        let id = groups.get(path).copied().unwrap_or(GroupId::ROOT);
        match cpu {
            CpuController::Default => {}
            CpuController::Idle(idle) => all.push(Control::GroupIdle(id, idle)),
            weight => all.push(Control::GroupShares(id, weight.shares())),
        }
    }
    let named = |(name, task)| instances.get(String::as_str(name)).map(|range| (range.clone(), task));
    let mut tasks: Vec<(Range<usize>, &TaskChange)> = change.task.iter().filter_map(named).collect();
    // As the tables of the tasks stand in the file.
    tasks.sort_by_key(|(range, _)| range.start);
    for (range, task) in tasks {
        for id in range.map(TaskId::new) {
            all.extend(task.nice.map(|nice| Control::Nice(id, nice)));
            all.extend(task.policy.map(|policy| Control::Policy(id, policy)));
            all.extend(task.cpus.as_ref().map(|cpus| Control::Affinity(id, cpus.0.clone())));
            let group = |path: &str| groups.get(path).copied().unwrap_or(GroupId::ROOT);
            all.extend(task.group.as_ref().map(|path| Control::Attach(id, group(&path.0))));
            all.extend(task.timer_slack.map(|slack| Control::TimerSlack(id, slack.0)));
        }
    }
    all
}
