//! Hooks that make the model do what the trace shows, and note what it would have done itself.

use sim_core::kernel::hooks::Hooks;
use sim_core::observe::{Balance, Pick, PickRule, Place, Select, TickPreempt, WakeupPreempt};
use sim_core::{CpuId, EntityId, TaskId};
use std::collections::BTreeMap;

/// Makes the model do what the trace shows.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// The next task and the groups above it, as the trace has it, the root queue's first pick last.
    pub(super) next: Vec<EntityId>,
    /// Whether the model picked another at some level.
    pub(super) astray: bool,
    /// The smallest margin of those picks, virtual ns; none if nothing was compared.
    pub(super) margin: Option<u64>,
    /// The rule of the first pick that went astray.
    pub(super) rule: Option<PickRule>,
    /// need_resched after the wake-up of each task, as the trace has it.
    pub(super) preempt: BTreeMap<TaskId, bool>,
    /// The last verdict on a wake-up.
    pub(super) verdict: Option<WakeupPreempt>,
    /// The last verdict of a tick.
    pub(super) tick: Option<TickPreempt>,
    /// The last placement of a task on its queue.
    pub(super) place: Option<Place>,
    /// The CPU of the task being placed, as the trace has it.
    pub(super) cpu: Option<CpuId>,
    /// The last choice of a CPU.
    pub(super) select: Option<Select>,
    /// Whether the wake-up was left to the other CPU, as the trace has it.
    pub(super) queue: Option<bool>,
    /// The task that balancing moves, as the trace has it; no other is moved.
    pub(super) moved: Option<TaskId>,
    /// The first task that balancing would have moved.
    pub(super) wanted: Option<Balance>,
}

impl Hooks for Follow {
    fn pick(&mut self, d: &Pick) -> EntityId {
        let next = self.next.pop().unwrap_or(d.chosen);
        if next != d.chosen {
            self.rule.get_or_insert(d.rule);
            self.astray = true;
        }
        if let Some(m) = margin(d) {
            self.margin = Some(self.margin.map_or(m, |old| old.min(m)));
        }
        next
    }
    fn wakeup_preempt(&mut self, d: &WakeupPreempt, _curr_ran: u64) -> bool {
        self.verdict = Some(*d);
        self.preempt.get(&d.wakee).copied().unwrap_or(d.preempt)
    }
    fn tick_preempt(&mut self, d: &TickPreempt) -> bool {
        self.tick = Some(*d);
        d.preempt
    }
    fn place(&mut self, d: &Place) -> u64 {
        if d.task.is_some() {
            self.place = Some(*d);
        }
        d.after
    }
    fn select(&mut self, d: &Select) -> CpuId {
        self.select = Some(*d);
        self.cpu.unwrap_or(d.chosen)
    }
    fn queue_wakeup(&mut self, _by: CpuId, _cpu: CpuId, queue: bool) -> bool {
        self.queue.unwrap_or(queue)
    }
    fn balance(&mut self, d: &Balance) -> bool {
        self.wanted.get_or_insert(*d);
        self.moved == Some(d.task)
    }
}

/// By how much a pick could be off before it turned, virtual ns.
fn margin(d: &Pick) -> Option<u64> {
    let edge = |b: &sim_core::observe::Buddy| b.behind.abs_diff(b.granularity.cast_signed());
    let behind = d.second.map(|_| d.second_behind.unsigned_abs());
    let buddies = [d.next, d.last].into_iter().flatten();
    match d.rule {
        PickRule::NextBuddy => d.next.as_ref().map(edge),
        PickRule::LastBuddy => buddies.map(|b| edge(&b)).min(),
        _ => buddies.map(|b| edge(&b)).chain(behind).min(),
    }
}
