//! Wake-ups: whether the woken task preempts the running one.

use super::replay::Replay;
use super::tally::{Answer, Kind};
use crate::capture::trace::{TraceEvent, TraceKind};
use sim_core::observe::PreemptRule;
use sim_core::{CpuId, TaskId};

/// What the trace shows of need_resched at a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Whether it is known to have been set before.
    pub(super) before: bool,
    /// Whether it is set after it; none if the trace does not tell.
    pub(super) after: Option<bool>,
}

impl Replay<'_> {
    /// What the trace shows of the wake-up that is its event `i`, on `target`.
    pub(super) fn shown(&self, i: usize, target: CpuId) -> Shown {
        let event = &self.trace.events[i];
        let before = self.cpus[target.index()].resched.is_set();
        let after =
            if event.cpu == target.0 { Some(event.flags.need_resched()) } else { self.seen_later(i, target) };
        Shown { before, after }
    }

    /// The flags of an event are those of the CPU it happens on. What a wake-up did to another CPU, that CPU's next event
    /// shows.
    fn seen_later(&self, i: usize, target: CpuId) -> Option<bool> {
        let at = self.trace.events[i].at_ns;
        let later = self.trace.events[i + 1..].iter().find(|e| e.cpu == target.0)?;
        if later.at_ns > at + self.window {
            return Some(false);
        }
        match &later.kind {
            TraceKind::Switch { prev_state, .. } => prev_state.starts_with('R').then_some(true),
            _ if !later.flags.need_resched() => Some(false),
            TraceKind::Wakeup { .. } => None,
            _ => Some(true),
        }
    }

    /// Tells the hooks the verdict on a wake-up that is about to be done.
    pub(super) fn expect(&mut self, task: TaskId, target: CpuId, shown: Shown) {
        let busy = self.kernel.rq(target).curr.is_some();
        self.kernel.hooks.verdict = None;
        self.kernel.hooks.preempt.clear();
        if let Some(after) = shown.after.filter(|_| busy) {
            let already = self.kernel.rq(target).need_resched;
            self.kernel.hooks.preempt.insert(task, after && !already);
        }
    }

    /// Counts the verdict of a wake-up just done. `already` is the model's need_resched before it.
    pub(super) fn judge(
        &mut self,
        event: &TraceEvent,
        target: CpuId,
        curr: Option<TaskId>,
        already: bool,
        shown: Shown,
    ) {
        self.kernel.hooks.preempt.clear();
        let (Some(curr), Some(after)) = (curr, shown.after) else { return };
        let verdict = self.kernel.hooks.verdict.take();
        let model = verdict.is_some_and(|v| v.preempt);
        // A trace shows need_resched only at events: what set it since the last one is first seen here. So where it is not
        // known to have been set, the flag after the wake-up is compared, and else whether the wake-up set it.
        let right = if shown.before { !model } else { (model || already) == after };
        let mut answer = Answer {
            // First come, first served never preempts.
            right,
            first_come: after == already,
            previous_cpu: after == already,
            ..Answer::default()
        };
        if let Some(v) = verdict {
            answer.choice = !shown.before
                && !already
                && !matches!(
                    v.rule,
                    PreemptRule::CurrIdleTask
                        | PreemptRule::Class
                        | PreemptRule::WakeeIsCurr
                        | PreemptRule::AlreadyResched
                );
            let compared = v.rule == PreemptRule::Granularity;
            let known = self.known.vruntime(curr) && self.known.vruntime(v.wakee);
            let far = v.lead.abs_diff(v.granularity.cast_signed()) >= self.tolerance(&[curr, v.wakee]);
            answer.decidable = !compared || known && far;
        }
        let what = || {
            let (lead, gran) = verdict.map_or((0, 0), |v| (v.lead, v.granularity));
            let did = if after { "preempts" } else { "does not preempt" };
            format!("the woken task {did}; model: lead {lead} ns, granularity {gran} ns")
        };
        self.report.count(Kind::Preemption, answer, event.at_ns, target.0, what);
    }
}
