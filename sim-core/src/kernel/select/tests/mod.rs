//! Placement on a real kernel brought into the states of smp.md §9.3 and §9.4.

mod fork;
mod posted;
mod rules;
mod wake;

use super::SelectFor;
use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::{Kernel, KernelConfig, Policy, Profile, Schedule, TaskParams};
use crate::machine::topology::{LogicalCpu, MachinePreset, Topology, TopologyDesc};
use crate::observe::{Decision, Event, Observer, Select};
use crate::time::Instant;
use std::sync::Arc;

/// Load of a task of nice 0 that never sleeps.
const FULL: u64 = 1024;

/// Keeps the last placement.
#[derive(Default)]
struct Last(Option<Select>);

impl Observer for Last {
    const DECISIONS: bool = true;
    fn event(&mut self, _: Instant, _: &Event) {}
    fn decision(&mut self, _: Instant, d: &Decision) {
        if let Decision::Select(s) = d {
            self.0 = Some(*s);
        }
    }
}

/// A kernel whose state is set directly.
struct Rig {
    k: Kernel,
    now: Instant,
}

impl Rig {
    fn on(profile: &str, topology: Topology) -> Rig {
        let mut config = KernelConfig::on(Profile::by_name(profile).unwrap(), Arc::new(topology));
        config.autogroup = false;
        Rig { k: Kernel::new(config, super::super::hooks::NoHooks), now: Instant(10_000_000_000) }
    }

    /// i7-8700: siblings i, i + 6.
    fn i7(profile: &str) -> Rig {
        Rig::on(profile, MachinePreset::by_name("i7-8700").unwrap().topology())
    }

    /// Four virtual CPUs, each a socket of its own.
    fn vm4(profile: &str) -> Rig {
        let cpu = |i| LogicalCpu { llc: Some(i), package: i, ..LogicalCpu::alone(CpuId(i)) };
        Rig::on(profile, Topology::new(TopologyDesc::new((0..4).map(cpu).collect())).unwrap())
    }

    fn task(&mut self, cpu: u32, policy: Policy) -> TaskId {
        let cpus_allowed = CpuMask::one(CpuId(cpu));
        let t = self.k.add_task(&TaskParams { nice: 0, policy, cpus_allowed, group: GroupId::ROOT });
        self.k.tasks[t.index()].cpus_allowed = self.k.all_cpus();
        t
    }

    /// A task that runs on a CPU and may use all.
    fn running(&mut self, cpu: u32) -> TaskId {
        self.running_as(cpu, Policy::Normal)
    }

    fn running_as(&mut self, cpu: u32, policy: Policy) -> TaskId {
        let t = self.task(cpu, policy);
        let all = std::mem::replace(&mut self.k.tasks[t.index()].cpus_allowed, CpuMask::one(CpuId(cpu)));
        self.k.try_to_wake_up(t, CpuId(cpu), None, false, self.now, &mut ());
        self.k.schedule(CpuId(cpu), self.now, Schedule::Preempt, &mut ());
        assert_eq!(self.k.rq(CpuId(cpu)).curr, Some(t), "CPU {cpu} was idle");
        self.k.tasks[t.index()].cpus_allowed = all;
        t
    }

    /// One hog on each of these CPUs.
    fn hogs(&mut self, cpus: impl IntoIterator<Item = u32>) {
        for cpu in cpus {
            let t = self.running(cpu);
            self.task_avg(t, FULL, FULL);
            self.cpu_avg(cpu, FULL, FULL, FULL);
        }
    }

    /// A task asleep since it ran on a CPU; its load is not yet part of that CPU's.
    fn sleeper(&mut self, prev: u32, load: u64) -> TaskId {
        let t = self.task(prev, Policy::Normal);
        self.k.tasks[t.index()].recent_used_cpu = CpuId(prev);
        self.task_avg(t, load, load);
        t
    }

    fn task_avg(&mut self, task: TaskId, load: u64, util: u64) {
        let se = self.k.tasks[task.index()].se;
        let avg = &mut self.k.entities[se.index()].avg;
        (avg.load_avg, avg.util_avg, avg.last_update) = (load, util, self.now.0);
    }

    /// Runnable load, load with sleepers, utilisation of a CPU.
    fn cpu_avg(&mut self, cpu: u32, runnable: u64, load: u64, util: u64) {
        let q = self.k.rq(CpuId(cpu)).cfs;
        let queue = &mut self.k.cfs_rqs[q.index()];
        (queue.avg.runnable_avg, queue.avg.load_avg, queue.avg.util_avg) = (runnable, load, util);
        queue.pelt.last_h_load_update = None;
    }

    /// Load a sleeper left behind on its previous CPU, which kernels from 5.5 on see.
    fn blocked(&mut self, cpu: u32, load: u64) {
        let q = self.k.rq(CpuId(cpu)).cfs;
        let queue = &mut self.k.cfs_rqs[q.index()];
        queue.avg.load_avg += load;
        queue.pelt.last_h_load_update = None;
    }

    fn idle_cores(&mut self, any: bool) {
        self.k.llc_shared[0].has_idle_cores = any;
    }

    fn select(&mut self, task: TaskId, why: SelectFor) -> Select {
        let mut last = Last::default();
        let cpu = self.k.select_task_rq(task, why, self.now, &mut last);
        let d = last.0.unwrap();
        assert_eq!(d.chosen, cpu);
        d
    }

    fn wake(&mut self, task: TaskId, by: u32, waker: Option<TaskId>, sync: bool) -> Select {
        self.select(task, SelectFor::Wake { by: CpuId(by), waker, sync })
    }
}

/// Profiles of a column of smp.md §9: from the first to the last named, in the order of [`PROFILES`].
///
/// [`PROFILES`]: crate::kernel::PROFILES
fn profiles(from: &str, to: &str) -> Vec<&'static str> {
    let names: Vec<&str> = crate::kernel::PROFILES.iter().map(|p| p.name).collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    names[at(from)..=at(to)].to_vec()
}
