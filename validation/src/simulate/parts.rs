//! Parts of an experiment: the captured kernel, the spec's groups and objects.

use super::experiment::Inexpressible;
use super::program::Handle;
use crate::capture::meta::Meta;
use crate::capture::spec::{ObjectKind, Spec, Step};
use crate::capture::tunables::Tunables as CapturedTunables;
use sim_core::GroupId;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::weight::shares_from_cgroup_weight;
use sim_core::kernel::{KernelConfig, PreemptModel, Profile};
use sim_core::program::Objects;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The spec's groups by path, each created by `add` below another with its stored shares. A group without a weight has the
/// default of 100.
pub(crate) fn add_groups(
    spec: &Spec,
    mut add: impl FnMut(GroupId, u64) -> GroupId,
) -> BTreeMap<String, GroupId> {
    let mut groups = BTreeMap::new();
    for g in &spec.groups {
        let above = g.path.rsplit_once('/').and_then(|(parent, _)| groups.get(parent));
        let above = above.copied().unwrap_or(GroupId::ROOT);
        let shares = shares_from_cgroup_weight(u64::from(g.weight.unwrap_or(DEFAULT_WEIGHT)));
        groups.insert(g.path.clone(), add(above, shares));
    }
    groups
}

/// `cpu.weight` of a group that sets none.
const DEFAULT_WEIGHT: u32 = 100;

/// Boot values, then the capture's writes in their order, then checked against what was read back.
///
/// # Errors
/// [`Inexpressible`] when the kernel, its machine or a setting is not known.
pub(crate) fn kernel(meta: &Meta, tunables: &CapturedTunables) -> Result<KernelConfig, Inexpressible> {
    let profile = Profile::by_name(meta.profile()?)?;
    let setting = |e: String| Inexpressible::Setting(e);
    let mut k = match (meta.smp, &meta.layout) {
        (1, _) => KernelConfig::new(profile, 1),
        (cpus, None) => return Err(Inexpressible::NoLayout(cpus)),
        (_, Some(layout)) => KernelConfig::on(profile, Arc::new(layout.topology()?)),
    };
    for rule in &meta.rules {
        k.switch_rule(rule).map_err(|e| setting(e.to_string()))?;
    }
    // A task that exits leaves its autogroup, which takes it off its queue and back.
    k.rules.exit_requeues &= tunables.has_autogroups;
    k.tunables = Tunables::boot(meta.smp);
    for write in &meta.set {
        let (name, value) = write.split_once('=').unwrap_or((write, ""));
        if name == "tunable_scaling" {
            k.tunables.rewrite_scaling();
        } else if let (Ok(tunable), Ok(value)) = (name.parse::<Tunable>(), value.parse::<u64>()) {
            k.tunables.write(&k.rules, tunable, value).map_err(|e| setting(e.to_string()))?;
        }
    }
    for (name, on) in &tunables.features {
        let word = format!("{}{name}", if *on { "" } else { "NO_" });
        k.features.write(&word).map_err(|e| setting(e.to_string()))?;
    }
    let read = tunables;
    let same = read.latency_ns == k.tunables.latency_ns
        && read.min_granularity_ns == k.tunables.min_granularity_ns
        && read.wakeup_granularity_ns == k.tunables.wakeup_granularity_ns;
    if !same {
        return Err(setting("read back differently from what was written".to_owned()));
    }
    k.tunables.child_runs_first = u64::from(read.child_runs_first);
    k.preempt = match read.preempt.as_deref() {
        Some("none") => PreemptModel::None,
        Some("full") => PreemptModel::Full,
        _ => PreemptModel::Voluntary,
    };
    Ok(k)
}

/// The spec's objects, and each as tasks name it.
pub(super) fn objects(spec: &Spec) -> (Objects, Vec<Handle>) {
    let mut objects = Objects::default();
    let handles = spec.objects.iter().enumerate().map(|(i, o)| match o.kind {
        ObjectKind::Semaphore => Handle::Semaphore(objects.add_semaphore(&o.name, 0)),
        ObjectKind::Pipe => Handle::Pipe(objects.add_pipe(&o.name, Objects::PIPE_CAPACITY, 0)),
        ObjectKind::Barrier => {
            let parties = spec.tasks.iter().find_map(|t| parties(&t.body, i)).unwrap_or(1);
            Handle::Barrier(objects.add_barrier(&o.name, parties.max(1)))
        }
    });
    let handles = handles.collect();
    (objects, handles)
}

/// How many tasks a barrier waits for, as its first use says.
fn parties(steps: &[Step], object: usize) -> Option<u32> {
    steps.iter().find_map(|s| match s {
        Step::Barrier(o, n) if usize::from(o.0) == object => Some(*n),
        Step::Loop(_, b) | Step::For(_, b) | Step::Fork(b) | Step::Jobs { body: b, .. } => parties(b, object),
        _ => None,
    })
}
