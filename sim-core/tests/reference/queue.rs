//! Charging, enqueueing, dequeueing and placing: core.md §3 and §5, and the buddies of §7.4.

use crate::model::{Model, Queue};
use sim_core::kernel::Policy;

/// Why an entity leaves its queue.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Leave {
    /// SLEEP.
    Sleep,
    /// SAVE without MOVE.
    Save,
    /// SAVE and MOVE.
    Move,
}

/// Which buddy.
#[derive(Clone, Copy)]
pub(crate) enum Buddy {
    Next,
    Last,
    Skip,
}

impl Queue {
    pub(crate) fn buddy(&mut self, which: Buddy) -> &mut Option<usize> {
        match which {
            Buddy::Next => &mut self.next,
            Buddy::Last => &mut self.last,
            Buddy::Skip => &mut self.skip,
        }
    }
}

impl Model {
    /// §3.1.
    pub(crate) fn update_curr(&mut self, q: usize) {
        let Some(c) = self.queues[q].curr else { return };
        if self.now <= self.entities[c].exec_start {
            return;
        }
        let d = self.now - self.entities[c].exec_start;
        let dv = self.delta_fair(d, c) as i128;
        let e = &mut self.entities[c];
        e.exec_start = self.now;
        e.s += d;
        e.v += dv;
        self.update_min_vruntime(q);
    }

    /// §3.2.
    fn update_min_vruntime(&mut self, q: usize) {
        let c = self.queues[q].curr.filter(|c| self.entities[*c].on_rq).map(|c| self.v(c));
        let l = self.leftmost(q).map(|l| self.v(l));
        if let Some(candidate) = c.into_iter().chain(l).min() {
            self.queues[q].minv = self.queues[q].minv.max(candidate);
        }
    }

    pub(crate) fn insert(&mut self, e: usize) {
        self.insertions += 1;
        self.entities[e].inserted = Some(self.insertions);
    }

    /// §5.1.
    fn enqueue_entity(&mut self, e: usize, wakeup: bool) {
        let q = self.entities[e].queue;
        let is_curr = self.queues[q].curr == Some(e);
        if !wakeup && is_curr {
            self.entities[e].v += self.queues[q].minv;
        }
        self.update_curr(q);
        if !wakeup && !is_curr {
            self.entities[e].v += self.queues[q].minv;
        }
        if wakeup {
            self.place_entity(e, false);
        }
        if !is_curr {
            self.insert(e);
        }
        self.entities[e].on_rq = true;
    }

    /// §5.1, last paragraph.
    pub(crate) fn enqueue_task(&mut self, task: usize, wakeup: bool) {
        let mut wakeup = wakeup;
        for e in self.upward(self.tasks[task].entity) {
            if self.entities[e].on_rq {
                break;
            }
            self.enqueue_entity(e, wakeup);
            wakeup = true;
        }
    }

    /// §5.2.
    fn dequeue_entity(&mut self, e: usize, sleep: bool, save: bool) {
        let q = self.entities[e].queue;
        self.update_curr(q);
        self.clear_buddies(e);
        self.entities[e].inserted = None;
        self.entities[e].on_rq = false;
        if !sleep {
            self.entities[e].v -= self.queues[q].minv;
        }
        if !save {
            self.update_min_vruntime(q);
        }
    }

    /// §5.2, last paragraph.
    pub(crate) fn dequeue_task(&mut self, task: usize, leave: Leave) {
        let mut sleep = leave == Leave::Sleep;
        for e in self.upward(self.tasks[task].entity) {
            self.dequeue_entity(e, sleep, leave == Leave::Save);
            if self.nr(self.entities[e].queue) > 0 {
                if leave == Leave::Sleep
                    && let Some(parent) = self.parent(e)
                {
                    self.set_buddy(Buddy::Next, parent);
                }
                break;
            }
            sleep = true;
        }
    }

    /// §5.3.
    pub(crate) fn place_entity(&mut self, e: usize, initial: bool) {
        let q = self.entities[e].queue;
        let mut base = self.queues[q].minv;
        if initial {
            if self.switches.start_debit {
                base += self.sched_vslice(e) as i128;
            }
        } else {
            let idle = self.version.idle_granularity && self.entities[e].idle;
            let mut thresh = if idle { self.knobs.mingran } else { self.knobs.lat };
            if self.switches.gentle_fair_sleepers {
                thresh >>= 1;
            }
            base -= thresh as i128;
        }
        let since = self.entities[e].exec_start;
        let forgotten = since != 0 && self.now > since && self.now - since > 9_007_199_254_740_992;
        let v = self.v(e);
        self.entities[e].v = if self.version.long_sleeper && forgotten { base } else { v.max(base) };
    }

    /// §7.4: setting.
    pub(crate) fn set_buddy(&mut self, which: Buddy, e: usize) {
        let refuses = |policy| policy == Policy::Idle && !matches!(which, Buddy::Skip);
        if self.entities[e].task.is_some_and(|t| refuses(self.tasks[t].policy)) {
            return;
        }
        for e in self.upward(e) {
            let idle = self.version.idle_groups && self.entities[e].idle;
            if !matches!(which, Buddy::Skip) && (idle || !self.entities[e].on_rq) {
                return;
            }
            let q = self.entities[e].queue;
            *self.queues[q].buddy(which) = Some(e);
        }
    }

    /// §7.4: clearing.
    pub(crate) fn clear_buddies(&mut self, e: usize) {
        for which in [Buddy::Next, Buddy::Last, Buddy::Skip] {
            for e in self.upward(e) {
                let q = self.entities[e].queue;
                let buddy = self.queues[q].buddy(which);
                if *buddy != Some(e) {
                    break;
                }
                *buddy = None;
            }
        }
    }
}
