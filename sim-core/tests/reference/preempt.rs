//! Preemption at wake-up: core.md §7.2.

use crate::model::Model;
use crate::queue::Buddy;
use sim_core::kernel::Policy;

impl Model {
    /// `check_preempt_curr`, and the clock rule of §3.1.
    pub(crate) fn check_preempt_curr(&mut self, wakee: usize, fork: bool) {
        match self.curr {
            None => self.need_resched = true,
            Some(curr) => {
                self.check_preempt_wakeup(curr, wakee, fork);
                if self.need_resched && self.entities[self.tasks[curr].entity].on_rq {
                    self.skip_sample = true;
                }
            }
        }
    }

    /// The numbered rows of §7.2.
    fn check_preempt_wakeup(&mut self, curr: usize, wakee: usize, fork: bool) {
        let (se, pse) = (self.tasks[curr].entity, self.tasks[wakee].entity);
        let scale = self.nr(self.entities[se].queue) >= self.knobs.nrlat;
        if curr == wakee {
            return; // 1
        }
        let marked = self.switches.next_buddy && scale && !fork;
        if marked {
            self.set_buddy(Buddy::Next, pse); // 3
        }
        if self.need_resched {
            return; // 4
        }
        let (curr_policy, policy) = (self.tasks[curr].policy, self.tasks[wakee].policy);
        if curr_policy == Policy::Idle && policy != Policy::Idle {
            return self.preempt(se, scale); // 5
        }
        if policy != Policy::Normal || !self.switches.wakeup_preemption {
            return; // 6
        }
        let (se, pse) = self.find_matching(se, pse); // 7
        if self.version.idle_groups {
            match (self.entities[se].idle, self.entities[pse].idle) {
                (true, false) => return self.preempt(se, scale), // 8
                (false, true) => return,                         // 9
                _ => {}
            }
        }
        self.update_curr(self.entities[se].queue); // 10
        if self.wakeup_preempt_entity(se, pse) == 1 {
            if !marked {
                self.set_buddy(Buddy::Next, pse);
            }
            self.preempt(se, scale); // 11
        }
    }

    /// The paragraph after the table.
    fn preempt(&mut self, se: usize, scale: bool) {
        self.need_resched = true;
        let task = self.entities[se].task.is_some();
        if self.entities[se].on_rq && self.switches.last_buddy && scale && task {
            self.set_buddy(Buddy::Last, se);
        }
    }

    /// The pair of ancestors that share a queue.
    fn find_matching(&self, se: usize, pse: usize) -> (usize, usize) {
        let (up, other) = (self.upward(se), self.upward(pse));
        let queue = |e: &usize| self.entities[*e].queue;
        let pairs = up.iter().flat_map(|a| other.iter().map(move |b| (*a, *b)));
        pairs.into_iter().find(|(a, b)| queue(a) == queue(b)).expect("both reach the root queue")
    }
}
