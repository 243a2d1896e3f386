//! The state of one CPU, and everything that can be read off it by looking through all entities.

use crate::version::Version;
use crate::weight::{Weight, calc_delta, calc_delta_fair};
use sim_core::kernel::Policy;

/// A task or a group's presence on the CPU.
#[derive(Clone, Debug)]
pub(crate) struct Entity {
    /// v: exact, never wrapped.
    pub(crate) v: i128,
    /// S.
    pub(crate) s: u128,
    /// P.
    pub(crate) p: u128,
    pub(crate) exec_start: u128,
    pub(crate) weight: Weight,
    pub(crate) queue: usize,
    /// The queue of a group entity.
    pub(crate) owns: Option<usize>,
    pub(crate) task: Option<usize>,
    pub(crate) on_rq: bool,
    /// When it was put into the tree, if it is there.
    pub(crate) inserted: Option<u64>,
    pub(crate) idle: bool,
}

/// Q of core.md, without what can be counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    pub(crate) minv: i128,
    pub(crate) curr: Option<usize>,
    pub(crate) next: Option<usize>,
    pub(crate) last: Option<usize>,
    pub(crate) skip: Option<usize>,
    /// The group entity on the queue above; none for the root queue.
    pub(crate) owner: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    New,
    Running,
    Sleeping,
    Dead,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) entity: usize,
    pub(crate) state: State,
    pub(crate) nice: i8,
    pub(crate) policy: Policy,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// Effective tunables, ns, and nrlat.
#[derive(Clone, Debug)]
pub(crate) struct Knobs {
    pub(crate) lat: u128,
    pub(crate) mingran: u128,
    pub(crate) idle_mingran: u128,
    pub(crate) wugran: u128,
    pub(crate) child_runs_first: bool,
    pub(crate) nrlat: u128,
}

/// Feature switches that matter on one CPU.
#[derive(Clone, Debug)]
pub(crate) struct Switches {
    pub(crate) gentle_fair_sleepers: bool,
    pub(crate) start_debit: bool,
    pub(crate) next_buddy: bool,
    pub(crate) last_buddy: bool,
    pub(crate) wakeup_preemption: bool,
    pub(crate) alt_period: bool,
    pub(crate) base_slice: bool,
}

/// One CPU.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) version: Version,
    pub(crate) knobs: Knobs,
    pub(crate) switches: Switches,
    pub(crate) entities: Vec<Entity>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) tasks: Vec<Task>,
    /// The clock as last sampled.
    pub(crate) now: u128,
    pub(crate) skip_sample: bool,
    pub(crate) curr: Option<usize>,
    pub(crate) need_resched: bool,
    pub(crate) insertions: u64,
}

/// The root queue.
pub(crate) const ROOT: usize = 0;

impl Model {
    /// Entities on a queue, the running one included.
    pub(crate) fn on(&self, q: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.entities.len()).filter(move |e| self.entities[*e].queue == q && self.entities[*e].on_rq)
    }
    /// Q.nr.
    pub(crate) fn nr(&self, q: usize) -> u128 {
        self.on(q).count() as u128
    }
    /// Q.idle_nr.
    pub(crate) fn idle_nr(&self, q: usize) -> u128 {
        self.on(q).filter(|e| self.entities[*e].idle).count() as u128
    }
    /// Q.h_nr.
    pub(crate) fn h_nr(&self, q: usize) -> u128 {
        self.on(q).map(|e| self.entities[e].owns.map_or(1, |below| self.h_nr(below))).sum()
    }
    /// Q.load.
    pub(crate) fn load(&self, q: usize) -> u128 {
        self.on(q).map(|e| self.entities[e].weight.stored).sum()
    }
    /// The tree in order: by v, first come first among equals (§3.3).
    pub(crate) fn tree(&self, q: usize) -> Vec<usize> {
        let mut all: Vec<usize> = self.on(q).filter(|e| self.entities[*e].inserted.is_some()).collect();
        all.sort_by_key(|e| (self.entities[*e].v, self.entities[*e].inserted));
        all
    }
    pub(crate) fn leftmost(&self, q: usize) -> Option<usize> {
        self.tree(q).first().copied()
    }
    /// The entity one level up.
    pub(crate) fn parent(&self, e: usize) -> Option<usize> {
        self.queues[self.entities[e].queue].owner
    }
    /// e, its group entity, and so on up to the root queue.
    pub(crate) fn upward(&self, e: usize) -> Vec<usize> {
        let mut path = vec![e];
        if let Some(parent) = self.parent(e) {
            path.extend(self.upward(parent));
        }
        path
    }
    pub(crate) fn v(&self, e: usize) -> i128 {
        self.entities[e].v
    }
    /// `calc_delta_fair` of this kernel.
    pub(crate) fn delta_fair(&self, delta: u128, e: usize) -> u128 {
        calc_delta_fair(delta, self.entities[e].weight, self.version.weight_floor)
    }

    /// `sched_slice(Q, e)` (§4.2).
    pub(crate) fn sched_slice(&self, e: usize) -> u128 {
        let q = self.entities[e].queue;
        let counted = if self.switches.alt_period { self.h_nr(ROOT) } else { self.nr(q) };
        let n = counted + u128::from(!self.entities[e].on_rq);
        let period = if n > self.knobs.nrlat { n * self.knobs.mingran } else { self.knobs.lat };
        let mut slice = period;
        for x in self.upward(e) {
            let own = self.entities[x].weight.stored;
            let mut load = self.load(self.entities[x].queue);
            if !self.entities[x].on_rq {
                load += own;
            }
            slice = calc_delta(slice, own, Weight::computed(load), self.version.weight_floor);
        }
        if !self.switches.base_slice {
            return slice;
        }
        let beside_others = self.nr(q) != self.idle_nr(q);
        let idle_floor = self.version.idle_granularity && self.entities[e].idle && beside_others;
        slice.max(if idle_floor { self.knobs.idle_mingran } else { self.knobs.mingran })
    }

    /// `sched_vslice`.
    pub(crate) fn sched_vslice(&self, e: usize) -> u128 {
        self.delta_fair(self.sched_slice(e), e)
    }

    /// `wakeup_preempt_entity(a, b)` (§7.3): should b preempt a?
    pub(crate) fn wakeup_preempt_entity(&self, a: usize, b: usize) -> i32 {
        let d = self.v(a) - self.v(b);
        let granularity = self.delta_fair(self.knobs.wugran, b) as i128;
        if d <= 0 { -1 } else { i32::from(d > granularity) }
    }
}
