//! What can happen to the CPU: the operations of `sim_core::kernel::Kernel`, after core.md §1.5, §2.3, §5.5, §6–§8.

use crate::model::{Entity, Knobs, Model, Queue, ROOT, State, Switches, Task};
use crate::queue::Leave;
use crate::version::version;
use crate::weight::Weight;
use sim_core::kernel::Policy;

/// How the previous task left, as counted by §6.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Left {
    WasIdle,
    Involuntary,
    Voluntary,
}

impl Model {
    /// An idle CPU with the boot values of a machine with `cpus` CPUs (§2.1).
    pub(crate) fn new(profile: &str, cpus: u128) -> Model {
        let version = version(profile);
        let factor = 1 + u128::from(cpus.min(8).ilog2());
        let knobs = Knobs {
            lat: 6_000_000 * factor,
            mingran: 750_000 * factor,
            idle_mingran: 750_000,
            wugran: 1_000_000 * factor,
            child_runs_first: false,
            nrlat: 8,
        };
        let switches = Switches {
            gentle_fair_sleepers: true,
            start_debit: true,
            next_buddy: false,
            last_buddy: true,
            wakeup_preemption: true,
            alt_period: version.alt_period_and_base_slice,
            base_slice: version.alt_period_and_base_slice,
        };
        Model {
            version,
            knobs,
            switches,
            entities: vec![],
            queues: vec![Queue::default()],
            tasks: vec![],
            now: 0,
            skip_sample: false,
            curr: None,
            need_resched: false,
            insertions: 0,
        }
    }

    fn add_entity(&mut self, weight: Weight, queue: usize, idle: bool) -> usize {
        self.entities.push(Entity {
            v: 0,
            s: 0,
            p: 0,
            exec_start: 0,
            weight,
            queue,
            owns: None,
            task: None,
            on_rq: false,
            inserted: None,
            idle,
        });
        self.entities.len() - 1
    }

    /// A group whose members queue on the queue returned, below the queue given.
    pub(crate) fn add_group(&mut self, above: usize, shares: u128, idle: bool) -> usize {
        // core.md §9.3: shares are clamped to 2 … 262144, in stored units.
        let shares = if idle { shares } else { shares.clamp(2 << 10, 262_144 << 10) };
        let e = self.add_entity(Weight::computed(shares), above, idle);
        self.queues.push(Queue { owner: Some(e), ..Queue::default() });
        let q = self.queues.len() - 1;
        self.entities[e].owns = Some(q);
        q
    }

    /// A task that has always been asleep.
    pub(crate) fn add_task(&mut self, nice: i8, policy: Policy, queue: usize) -> usize {
        let entity = self.add_entity(Weight::of_task(nice, policy), queue, policy == Policy::Idle);
        let state = State::Sleeping;
        self.tasks.push(Task { entity, state, nice, policy, voluntary: 0, involuntary: 0 });
        self.entities[entity].task = Some(self.tasks.len() - 1);
        self.tasks.len() - 1
    }

    /// §5.5, steps 1 to 4.
    pub(crate) fn sched_fork(&mut self, parent: usize, now: u128) -> usize {
        let Task { nice, policy, entity, .. } = self.tasks[parent];
        let child = self.add_task(nice, policy, self.entities[entity].queue);
        self.tasks[child].state = State::New;
        let e = self.tasks[child].entity;
        let q = self.entities[e].queue;
        self.now = now;
        let curr = self.queues[q].curr;
        if let Some(c) = curr {
            self.update_curr(q);
            self.entities[e].v = self.v(c);
        }
        self.place_entity(e, true);
        if let Some(c) = curr.filter(|c| self.knobs.child_runs_first && self.v(*c) < self.v(e)) {
            let (vc, ve) = (self.v(c), self.v(e));
            self.entities[c].v = ve;
            self.entities[e].v = vc;
            self.need_resched = true;
        }
        self.entities[e].v -= self.queues[q].minv;
        child
    }

    /// §5.5, step 5.
    pub(crate) fn wake_up_new_task(&mut self, child: usize, now: u128) {
        self.now = now;
        self.tasks[child].state = State::Running;
        self.enqueue_task(child, false);
        self.check_preempt_curr(child, true);
    }

    /// §7.1. False when there was nothing to wake.
    pub(crate) fn try_to_wake_up(&mut self, task: usize, now: u128) -> bool {
        if self.tasks[task].state != State::Sleeping {
            return false;
        }
        let queued = self.entities[self.tasks[task].entity].on_rq;
        self.tasks[task].state = State::Running;
        if self.curr == Some(task) {
            return true; // Step 1: the only CPU there is wakes its own current task.
        }
        self.now = now;
        if !queued {
            self.enqueue_task(task, true);
        }
        self.check_preempt_curr(task, false);
        true
    }

    /// §6.1.
    pub(crate) fn scheduler_tick(&mut self, now: u128) {
        self.now = now;
        if let Some(curr) = self.curr {
            for e in self.upward(self.tasks[curr].entity) {
                self.entity_tick(e);
            }
        }
    }

    /// `__schedule`; `called` by the task itself, or else a preemption. Gives the next task and how the other left.
    pub(crate) fn schedule(&mut self, called: bool, now: u128) -> (Option<usize>, Left) {
        if !self.skip_sample {
            self.now = now;
        }
        self.skip_sample = false;
        let prev = self.curr;
        let blocks = prev.filter(|p| called && self.tasks[*p].state != State::Running);
        if let Some(p) = blocks {
            self.dequeue_task(p, Leave::Sleep);
        }
        let next = self.pick_next_task();
        self.need_resched = false;
        self.curr = next;
        let left = match (prev, blocks) {
            (None, _) => Left::WasIdle,
            (_, Some(_)) => Left::Voluntary,
            _ => Left::Involuntary,
        };
        if let Some(p) = prev.filter(|_| prev != next) {
            match left {
                Left::Voluntary => self.tasks[p].voluntary += 1,
                _ => self.tasks[p].involuntary += 1,
            }
        }
        (next, left)
    }

    /// §8.5, without the call of schedule() that follows.
    pub(crate) fn sched_yield(&mut self, now: u128) {
        let Some(curr) = self.curr.filter(|_| self.h_nr(ROOT) > 1) else { return };
        let e = self.tasks[curr].entity;
        self.clear_buddies(e);
        if self.tasks[curr].policy != Policy::Batch {
            self.now = now;
            self.update_curr(self.entities[e].queue);
            self.skip_sample = true;
        }
        self.set_buddy(crate::queue::Buddy::Skip, e);
    }

    /// §1.5: nice and policy.
    pub(crate) fn change(&mut self, task: usize, nice: i8, policy: Policy, now: u128) {
        let t = &self.tasks[task];
        if (t.nice, t.policy) == (nice, policy) {
            return;
        }
        let (e, worse, running) = (t.entity, nice > t.nice, self.curr == Some(task));
        let queued = self.entities[e].on_rq;
        self.now = now;
        if queued {
            self.dequeue_task(task, Leave::Save);
        }
        if running {
            self.upward(e).into_iter().for_each(|e| self.put_prev_entity(e));
        }
        self.tasks[task].nice = nice;
        self.tasks[task].policy = policy;
        self.entities[e].weight = Weight::of_task(nice, policy);
        self.entities[e].idle = policy == Policy::Idle;
        if queued {
            self.enqueue_task(task, false);
        }
        if running {
            self.upward(e).into_iter().for_each(|e| self.set_next_entity(e));
        }
        if !queued || self.nr(ROOT) == 1 {
            return;
        }
        if !running {
            self.check_preempt_curr(task, false);
        } else if worse {
            self.need_resched = true;
        }
    }

    /// The current task begins to exit. Not in core.md: traces of 5.10 and 6.1 show that it is moved from its group to its
    /// group, as by §5.4.
    pub(crate) fn begin_exit(&mut self, task: usize, now: u128) {
        let e = self.tasks[task].entity;
        if !self.version.exit_requeues || self.tasks[task].state == State::Dead {
            return;
        }
        self.now = now;
        self.dequeue_task(task, Leave::Move);
        self.upward(e).into_iter().for_each(|e| self.put_prev_entity(e));
        self.enqueue_task(task, false);
        self.upward(e).into_iter().for_each(|e| self.set_next_entity(e));
        self.need_resched = true;
    }

    /// §2.3: `nrlat` after a write to the latency or a granularity, where it follows writes.
    pub(crate) fn after_write(&mut self) {
        if self.version.sysctls {
            self.recompute_nrlat();
        }
    }

    /// §2.3: what a write to tunable_scaling does.
    pub(crate) fn recompute_nrlat(&mut self) {
        self.knobs.nrlat = self.knobs.lat.div_ceil(self.knobs.mingran);
    }
}
