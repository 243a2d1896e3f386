//! Changes from outside while a run goes on: what an administrator does, at no cost to the simulated CPUs.

use super::Simulation;
use super::config::SimError;
use super::queue::Happening;
use crate::cpumask::CpuMask;
use crate::id::{GroupId, TaskId};
use crate::kernel::Policy;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::kernel::tunables::{Tunable, TunableScaling};
use crate::observe::Observer;
use crate::time::{Instant, Nanos};

/// One change. A change of a task that has ended does nothing, as the system call would fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// A write to a tunable.
    Tunable(Tunable, u64),
    /// A write to `tunable_scaling`.
    Scaling(TunableScaling),
    /// A write to the features file.
    Feature(Feature, bool),
    /// A write to `sched_autogroup_enabled`; it acts on tasks moved or forked from then on.
    Autogroup(bool),
    /// A CPU goes off line and comes back, or scheduling domains are rebuilt: tunables are scaled anew. What it does to
    /// the CPU's tasks meanwhile is not simulated.
    Hotplug,
    /// `setpriority(2)` on a task.
    Nice(TaskId, i8),
    /// `sched_setscheduler(2)` on a task, among the fair policies.
    Policy(TaskId, Policy),
    /// `sched_setaffinity(2)` on a task.
    Affinity(TaskId, CpuMask),
    /// A write of the task to `cgroup.procs`.
    Attach(TaskId, GroupId),
    /// A write to `timerslack_ns` of a task.
    TimerSlack(TaskId, Nanos),
    /// A write to a group's weight, in stored shares.
    GroupShares(GroupId, u64),
    /// A write to a group's `cpu.idle`.
    GroupIdle(GroupId, bool),
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Plans a change. Changes at one instant are made in the order in which they were planned, before anything else
    /// happens then.
    pub fn at(&mut self, at: Instant, control: Control) {
        let row = self.timeline.len() as u32;
        self.timeline.push(control);
        self.queue.push(at.max(self.now), Happening::Control(row));
    }

    pub(super) fn on_control(&mut self, row: u32) -> Result<(), SimError> {
        let control = self.timeline[row as usize].clone();
        self.check_control(&control).and_then(|()| self.apply(control)).map_err(|what| {
            let at = self.now;
            SimError::Timeline { at, what }
        })?;
        self.observer.configured(self.now, &self.kernel.config);
        self.settle(Nanos::ZERO);
        Ok(())
    }

    /// Refuses changes of what does not exist.
    fn check_control(&self, control: &Control) -> Result<(), String> {
        let (task, group) = match control {
            Control::Nice(t, _) | Control::Policy(t, _) | Control::Affinity(t, _) => (Some(*t), None),
            Control::TimerSlack(t, _) => (Some(*t), None),
            Control::Attach(t, g) => (Some(*t), Some(*g)),
            Control::GroupShares(g, _) | Control::GroupIdle(g, _) => (None, Some(*g)),
            _ => (None, None),
        };
        if let Some(t) = task.filter(|t| t.index() >= self.tasks.len()) {
            return Err(format!("there is no task {}: there are {}", t.index(), self.tasks.len()));
        }
        if let Some(g) = group.filter(|g| g.index() >= self.kernel.nr_groups()) {
            return Err(format!("there is no group {}: there are {}", g.index(), self.kernel.nr_groups()));
        }
        match control {
            Control::Feature(f, _) if !self.kernel.config.features.has(*f) => {
                Err(format!("this kernel has no feature {}", f.name()))
            }
            Control::Nice(_, n) if !(-20..=19).contains(n) => Err(format!("nice {n}: allowed is -20..=19")),
            Control::Affinity(_, m) if !m.intersects(self.kernel.topology().online()) => {
                Err(format!("affinity {m}: online are CPUs {}", self.kernel.topology().online()))
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, control: Control) -> Result<(), String> {
        let ended = |t: TaskId| self.infos[t.index()].end.is_some();
        match control {
            Control::Nice(t, _) | Control::Policy(t, _) | Control::Affinity(t, _) if ended(t) => {
                return Ok(());
            }
            Control::Attach(t, _) | Control::TimerSlack(t, _) if ended(t) => return Ok(()),
            _ => {}
        }
        let (k, now, o) = (&mut self.kernel, self.now, &mut self.observer);
        let config = &mut k.config;
        match control {
            Control::Tunable(t, value) => {
                config.tunables.write(&config.rules, t, value).map_err(|e| e.to_string())?;
            }
            Control::Scaling(scaling) => config.tunables.write_scaling(scaling),
            Control::Feature(feature, on) => config.features.set(feature, on),
            Control::Autogroup(on) => config.autogroup = on,
            Control::Hotplug => config.tunables.update_sysctl(config.tunables.online_cpus()),
            Control::Nice(t, nice) => k.set_user_nice(t, nice, now, o),
            Control::Policy(t, policy) => k.set_policy(t, policy, now, o),
            Control::Affinity(t, mask) => {
                o.affinity(t, &mask);
                k.set_cpus_allowed(t, &mask, now, o);
            }
            Control::Attach(t, group) => k.attach_to_group(t, group, now, o),
            Control::TimerSlack(t, slack) => self.set_timer_slack(t, slack),
            Control::GroupShares(g, shares) => {
                k.set_group_shares(g, shares, now, o).map_err(|e| e.to_string())?;
            }
            Control::GroupIdle(g, idle) => k.set_group_idle(g, idle, now, o).map_err(|e| e.to_string())?,
        }
        Ok(())
    }
}
