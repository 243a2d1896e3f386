//! Tasks come, change and go: creation, fork, nice, policy, affinity.

use super::fair::Enqueue;
use super::hooks::Hooks;
use super::pelt::SchedAvg;
use super::runqueue::SchedClass;
use super::select::{SelectFor, WakeeFlips};
use super::stop::StopWork;
use super::task::{SchedTask, TaskState};
use super::task_list::TaskLinks;
use super::weight::LoadWeight;
use super::{Kernel, Policy, entity::SchedEntity};
use crate::cpumask::CpuMask;
use crate::id::{CpuId, EntityId, GroupId, TaskId};
use crate::observe::{Event, MigrateReason, Observer};
use crate::time::Instant;

/// What a task is born with.
#[derive(Clone, Debug)]
pub struct TaskParams {
    /// nice −20 … 19.
    pub nice: i8,
    /// Policy.
    pub policy: Policy,
    /// CPUs it may use; at least one of the machine's.
    pub cpus_allowed: CpuMask,
    /// Group.
    pub group: GroupId,
}

impl<H: Hooks> Kernel<H> {
    /// Creates a task that has always been asleep, with vruntime 0, last seen on its lowest allowed CPU. Its first
    /// wake-up places it like any sleeper's.
    pub fn add_task(&mut self, params: &TaskParams) -> TaskId {
        let cpu = params.cpus_allowed.lowest_and(self.topology.online());
        let cpu = cpu.expect("a task may use a CPU that is online");
        self.new_task(params, cpu, TaskState::Sleeping)
    }

    fn new_task(&mut self, params: &TaskParams, cpu: CpuId, state: TaskState) -> TaskId {
        let id = TaskId::new(self.tasks.len());
        let se = EntityId::new(self.entities.len());
        let tg = &self.groups[params.group.index()];
        let parent = tg.se.get(cpu.index()).copied();
        self.entities.push(SchedEntity {
            load: LoadWeight::of_task(params.nice, params.policy),
            on_rq: false,
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            vruntime: 0,
            parent,
            depth: parent.map_or(0, |p| self.entities[p.index()].depth + 1),
            cfs_rq: tg.cfs_rq[cpu.index()],
            my_q: None,
            task: Some(id),
            idle: params.policy == Policy::Idle,
            avg: SchedAvg::default(),
            runnable_weight: LoadWeight::of_task(params.nice, params.policy).weight,
        });
        self.tasks.push(SchedTask {
            state,
            class: SchedClass::Fair,
            policy: params.policy,
            nice: params.nice,
            se,
            cpu,
            on_cpu: false,
            cpus_allowed: params.cpus_allowed.clone(),
            group: params.group,
            cgroup: params.group,
            autogroup: None,
            nvcsw: 0,
            nivcsw: 0,
            kthread: false,
            in_iowait: false,
            wakee_flips: WakeeFlips::default(),
            recent_used_cpu: cpu,
            links: TaskLinks::default(),
        });
        id
    }

    /// A running task creates a child: nice, policy, affinity and group are inherited.
    ///
    /// Mirrors: `sched_fork()`, `task_fork_fair()`, v4.19–v6.5.
    pub fn sched_fork<O: Observer>(&mut self, parent: TaskId, now: Instant, o: &mut O) -> TaskId {
        let p = &self.tasks[parent.index()];
        let params = TaskParams {
            nice: p.nice,
            policy: p.policy,
            cpus_allowed: p.cpus_allowed.clone(),
            group: p.group,
        };
        let (cpu, cgroup, autogroup, flips) = (p.cpu, p.cgroup, p.autogroup, p.wakee_flips);
        let child = self.new_task(&params, cpu, TaskState::New);
        let c = &mut self.tasks[child.index()];
        (c.cgroup, c.autogroup, c.wakee_flips) = (cgroup, autogroup, flips);
        let group = self.effective_group(child);
        self.set_task_group(child, group);
        self.init_entity_runnable_average(self.tasks[child.index()].se);
        self.task_fork_fair(child, now, o);
        o.event(now, &Event::Fork { parent: Some(parent), child });
        child
    }

    /// Makes a forked task runnable for the first time.
    ///
    /// Mirrors: `wake_up_new_task()`.
    pub fn wake_up_new_task<O: Observer>(&mut self, child: TaskId, now: Instant, o: &mut O) -> CpuId {
        assert_eq!(self.tasks[child.index()].state, TaskState::New, "woken as new once only");
        let cpu = self.select_task_rq(child, SelectFor::Fork, now, o);
        if cpu != self.tasks[child.index()].cpu {
            // A new task's vruntime is relative already: only its queue changes.
            self.move_to_cpu(child, cpu, MigrateReason::Fork, now, o);
        }
        self.update_rq_clock(cpu, now);
        self.post_init_entity_util_avg(child);
        self.tasks[child.index()].state = TaskState::Runnable;
        self.enqueue_task_fair(child, Enqueue::default(), now, o);
        self.add_nr_running(cpu);
        self.report_wakeup(child, cpu, true, now, o);
        cpu
    }

    /// The running task of a CPU is about to sleep; [`Kernel::schedule`] takes it off.
    pub fn set_sleeping(&mut self, task: TaskId) {
        debug_assert!(self.tasks[task.index()].on_cpu, "only a running task goes to sleep");
        self.tasks[task.index()].state = TaskState::Sleeping;
    }

    /// The running task of a CPU is about to sleep until input or output is done.
    ///
    /// Mirrors: `io_schedule_prepare()`.
    pub fn set_in_iowait(&mut self, task: TaskId) {
        self.tasks[task.index()].in_iowait = true;
    }

    /// Whether a task that waited for input or output was woken up on this CPU since the last time this was asked.
    pub fn take_cpufreq_iowait(&mut self, cpu: CpuId) -> bool {
        std::mem::take(&mut self.rqs[cpu.index()].cpufreq_iowait)
    }

    /// The running task of a CPU ends; [`Kernel::schedule`] takes it off.
    pub fn set_dead(&mut self, task: TaskId) {
        debug_assert!(self.tasks[task.index()].on_cpu, "only a running task exits");
        self.tasks[task.index()].state = TaskState::Dead;
    }

    /// Changes nice.
    ///
    /// Mirrors: `set_user_nice()`, `prio_changed_fair()`, v4.19–v6.5.
    pub fn set_user_nice<O: Observer>(&mut self, task: TaskId, nice: i8, now: Instant, o: &mut O) {
        if self.tasks[task.index()].nice != nice {
            let policy = self.tasks[task.index()].policy;
            self.change_weight(task, nice, policy, now, o);
        }
    }

    /// Changes the policy among the fair ones.
    ///
    /// Mirrors: `__sched_setscheduler()` for a task that stays in the fair class.
    pub fn set_policy<O: Observer>(&mut self, task: TaskId, policy: Policy, now: Instant, o: &mut O) {
        if self.tasks[task.index()].policy != policy {
            let nice = self.tasks[task.index()].nice;
            self.change_weight(task, nice, policy, now, o);
        }
    }

    /// Dequeue, change, enqueue; then reschedule or check preemption (core.md §1.5).
    fn change_weight<O: Observer>(
        &mut self,
        task: TaskId,
        nice: i8,
        policy: Policy,
        now: Instant,
        o: &mut O,
    ) {
        let t = &self.tasks[task.index()];
        let (cpu, running, worse) = (t.cpu, t.on_cpu, nice > t.nice);
        let se = t.se;
        self.update_rq_clock(cpu, now);
        let queued = self.entities[se.index()].on_rq;
        if queued {
            self.dequeue_task_fair(task, super::fair::Dequeue::Save, now, o);
        }
        if running {
            self.put_prev_task_fair(task, now, o);
        }
        let t = &mut self.tasks[task.index()];
        (t.nice, t.policy) = (nice, policy);
        self.reweight_averages(self.entities[se.index()].cfs_rq, se, |e| {
            e.load = LoadWeight::of_task(nice, policy);
            e.runnable_weight = e.load.weight;
            e.idle = policy == Policy::Idle;
        });
        if queued {
            self.enqueue_task_fair(task, Enqueue::default(), now, o);
        }
        if running {
            self.set_next_task_fair(task);
        }
        if queued && self.cfs_rqs[self.rqs[cpu.index()].cfs.index()].nr_running > 1 {
            if running && worse {
                self.resched_curr(cpu, now, o);
            } else if !running {
                self.check_preempt_curr(task, cpu, false, now, o);
            }
        }
    }

    /// Changes the CPUs a task may use. A waiting task on a forbidden CPU moves at once, a running one
    /// is moved by its CPU's stopper thread.
    ///
    /// Mirrors: `__set_cpus_allowed_ptr()`, v4.19–v6.5.
    pub fn set_cpus_allowed<O: Observer>(&mut self, task: TaskId, mask: &CpuMask, now: Instant, o: &mut O) {
        let t = &mut self.tasks[task.index()];
        t.cpus_allowed.clone_from(mask);
        let cpu = t.cpu;
        if mask.contains(cpu) || t.state != TaskState::Runnable {
            return;
        }
        let on_cpu = t.on_cpu;
        let to = self.any_cpu_of(mask);
        if on_cpu {
            self.stop_one_cpu(cpu, StopWork::MigrateTask { task, to, reason: MigrateReason::Affinity });
        } else {
            self.update_rq_clock(cpu, now);
            self.deactivate(task, now, o);
            self.attach(task, to, MigrateReason::Affinity, now, o);
        }
    }

    /// Moves a task that waits for its CPU to another it may use, whatever the rules say: for a driver that follows a
    /// trace. False if it does not wait.
    ///
    /// Mirrors: `move_queued_task()`.
    pub fn move_queued_task<O: Observer>(
        &mut self,
        task: TaskId,
        to: CpuId,
        reason: MigrateReason,
        now: Instant,
        o: &mut O,
    ) -> bool {
        let t = &self.tasks[task.index()];
        let waits = t.state == TaskState::Runnable && !t.on_cpu && t.cpu != to;
        if waits {
            self.update_rq_clock(t.cpu, now);
            self.deactivate(task, now, o);
            self.attach(task, to, reason, now, o);
        }
        waits
    }

    /// The CPU of a mask for a task that has to leave its own: the lowest, or the next after the last one answered so. The
    /// kernel remembers that one on each CPU that changes masks, this model once. Deviates: D-003.
    ///
    /// Mirrors: `cpumask_any()`, `cpumask_any_and_distribute()`.
    fn any_cpu_of(&mut self, mask: &CpuMask) -> CpuId {
        let online = self.topology.online();
        let last = self.last_distributed.filter(|_| self.config.rules.affinity_distributes);
        let next = last
            .and_then(|last| online.iter_and(mask).find(|c| *c > last))
            .or_else(|| mask.lowest_and(online));
        self.last_distributed = next;
        next.expect("a task may use a CPU that is online")
    }

    /// Takes a runnable task off its queue to move it.
    pub(super) fn deactivate<O: Observer>(&mut self, task: TaskId, now: Instant, o: &mut O) {
        let cpu = self.tasks[task.index()].cpu;
        self.dequeue_task_fair(task, super::fair::Dequeue::Move, now, o);
        self.sub_nr_running(cpu);
    }

    /// Mirrors: `attach_task()`: enqueue on another CPU, then check preemption.
    pub(super) fn attach<O: Observer>(
        &mut self,
        task: TaskId,
        cpu: CpuId,
        reason: MigrateReason,
        now: Instant,
        o: &mut O,
    ) {
        self.move_to_cpu(task, cpu, reason, now, o);
        self.update_rq_clock(cpu, now);
        self.enqueue_task_fair(task, Enqueue::default(), now, o);
        self.add_nr_running(cpu);
        self.check_preempt_curr(task, cpu, false, now, o);
    }
}
