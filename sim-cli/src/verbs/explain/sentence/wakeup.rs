//! Whether a woken task preempts.

use super::or;
use crate::verbs::explain::limits;
use crate::verbs::explain::words::{Words, exact};
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::observe::{PreemptRule, WakeupPreempt};

impl Words<'_> {
    pub(super) fn wakeup_preempt(&self, d: &WakeupPreempt) -> (String, Option<String>) {
        let (wakee, curr) = (self.task(d.wakee), self.book.optional(d.curr));
        let compared = "the vruntimes would be compared";
        let (because, otherwise) = match d.rule {
            PreemptRule::CurrIdleTask => ("any task does", None),
            PreemptRule::Class => ("the higher scheduling class runs", None),
            PreemptRule::WakeeIsCurr => ("it is the running task", None),
            PreemptRule::AlreadyResched => ("a reschedule is due already", None),
            PreemptRule::CurrPolicyIdle => {
                let otherwise = format!("were the running task SCHED_OTHER or SCHED_BATCH, {compared}");
                ("the running task is SCHED_IDLE", Some(otherwise))
            }
            PreemptRule::WakeePolicy => {
                ("it is SCHED_BATCH or SCHED_IDLE", Some(format!("were it SCHED_OTHER, {compared}")))
            }
            PreemptRule::FeatureOff => {
                ("NO_WAKEUP_PREEMPTION is set", Some(format!("with WAKEUP_PREEMPTION {compared}")))
            }
            PreemptRule::IdleEntity => (
                "the running task's side is idle (SCHED_IDLE or cpu.idle) and its own is not",
                Some(format!("were no side idle, {compared}")),
            ),
            PreemptRule::WakeeEntityIdle => (
                "only its own side is idle (SCHED_IDLE or cpu.idle)",
                Some(format!("were no side idle, {compared}")),
            ),
            PreemptRule::MinimumRun => (
                "the running task has not run for sched_min_granularity yet (rule moveforward)",
                Some(format!("had it, {compared}")),
            ),
            PreemptRule::Granularity => return self.wakeup_granularity(d, &wakee, &curr),
        };
        let verdict = if d.preempt { "preempts" } else { "does not preempt" };
        (format!("{wakee} is woken and {verdict} {curr}: {because}"), otherwise)
    }

    fn wakeup_granularity(&self, d: &WakeupPreempt, wakee: &str, curr: &str) -> (String, Option<String>) {
        let weight = self.weight(d.entity, d.weight);
        let set = self.kernel.tunables.wakeup_granularity_ns;
        let granularity = if d.granularity == set {
            format!("the wakeup granularity of {} at {weight}", exact(set))
        } else {
            let scaled = exact(d.granularity);
            format!("the wakeup granularity of {}, which is {scaled} at {weight}", exact(set))
        };
        let whose = if self.is_group(d.entity) {
            format!("the vruntime of {}", self.entity(d.entity))
        } else {
            "its vruntime".to_owned()
        };
        let lead = d.lead.unsigned_abs();
        if d.lead <= 0 {
            let place = if d.lead == 0 { "the same".to_owned() } else { format!("{} ahead", exact(lead)) };
            let why = format!("{wakee} is woken and does not preempt {curr}: {whose} is {place}, not behind");
            return (why, Some("no wakeup granularity would make it preempt".to_owned()));
        }
        let load = self.load_of(d.entity, d.weight);
        let exceeds =
            |t: &Tunables| d.lead.unsigned_abs() > limits::wakeup_granularity(t, &self.kernel.rules, load);
        let mut other = self.reaches(&[Tunable::WakeupGranularity], 0, exceeds);
        let (verdict, more) = if d.preempt { ("preempts", "more") } else { ("does not preempt", "not more") };
        let why = format!(
            "{wakee} is woken and {verdict} {curr}: {whose} is {} behind, {more} than {granularity}",
            exact(lead)
        );
        if d.preempt {
            other.push("NO_WAKEUP_PREEMPTION".to_owned());
        }
        let would = if d.preempt { "it would not with" } else { "it would with" };
        (why, or(&other).map(|other| format!("{would} {other}")))
    }
}
