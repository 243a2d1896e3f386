//! Buddies: entities that the picker prefers or passes over, within a granularity.

use crate::id::{CfsRqId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::Policy;
use crate::kernel::hooks::Hooks;
use crate::kernel::rules::IdleEntities;
use crate::kernel::runqueue::CfsRq;

type Pointer = fn(&mut CfsRq) -> &mut Option<EntityId>;

const NEXT: Pointer = |q| &mut q.next;
const LAST: Pointer = |q| &mut q.last;
const SKIP: Pointer = |q| &mut q.skip;

impl<H: Hooks> Kernel<H> {
    /// Mirrors: `set_next_buddy()`, v4.19–v6.5.
    pub(super) fn set_next_buddy(&mut self, se: EntityId) {
        self.set_buddy(se, NEXT);
    }

    /// Mirrors: `set_last_buddy()`, v4.19–v6.5.
    pub(super) fn set_last_buddy(&mut self, se: EntityId) {
        self.set_buddy(se, LAST);
    }

    /// Mirrors: `set_skip_buddy()`, v4.19–v6.5.
    pub(super) fn set_skip_buddy(&mut self, se: EntityId) {
        let mut level = Some(se);
        while let Some(x) = level {
            let q = self.entities[x.index()].cfs_rq;
            self.cfs_rqs[q.index()].skip = Some(x);
            level = self.entities[x.index()].parent;
        }
    }

    fn set_buddy(&mut self, se: EntityId, pointer: Pointer) {
        let every_level = self.config.rules.idle_entities == IdleEntities::EveryLevel;
        if !every_level && self.entities[se.index()].task.is_some_and(|t| self.is_idle_policy(t)) {
            return;
        }
        let mut level = Some(se);
        while let Some(x) = level {
            let e = &self.entities[x.index()];
            if !e.on_rq || (every_level && e.idle) {
                return;
            }
            *pointer(&mut self.cfs_rqs[e.cfs_rq.index()]) = Some(x);
            level = e.parent;
        }
    }

    fn is_idle_policy(&self, task: TaskId) -> bool {
        self.tasks[task.index()].policy == Policy::Idle
    }

    /// Forgets every buddy role of an entity, and of its ancestors as long as they hold the same role.
    ///
    /// Mirrors: `clear_buddies()`, v4.19–v6.5.
    pub(super) fn clear_buddies(&mut self, se: EntityId) {
        for pointer in [LAST, NEXT, SKIP] {
            let mut level = Some(se);
            while let Some(x) = level {
                let q: CfsRqId = self.entities[x.index()].cfs_rq;
                let slot = pointer(&mut self.cfs_rqs[q.index()]);
                if *slot != Some(x) {
                    break;
                }
                *slot = None;
                level = self.entities[x.index()].parent;
            }
        }
    }
}
