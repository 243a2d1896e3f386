//! A decision in words: what was decided, on what numbers, and what would have changed it.

use super::limits;
use super::words::{Words, against, exact};
use sim_core::kernel::features::Feature;
use sim_core::kernel::rules::IdleSleeperThreshold;
use sim_core::observe::{
    Balance, BalanceAttempt, BalanceOutcome, Buddy, Decision, IdleType, MigrateReason, Pick, PickRule, Place,
    PreemptRule, TickPreempt, TickRule, WakeupPreempt,
};
use sim_core::{EntityId, TaskId};
use std::fmt::Write;

/// The kernel's name of the wakeup granularity.
const WAKEUP_GRANULARITY: &str = "sched_wakeup_granularity_ns";
const LATENCY: &str = "sched_latency_ns";
const MIN_GRANULARITY: &str = "sched_min_granularity_ns";

/// One decision in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// What was decided and why.
    pub(super) why: String,
    /// What would have changed it, if anything simple would.
    pub(super) otherwise: Option<String>,
}

impl Words<'_> {
    pub(super) fn sentence(&self, decision: &Decision) -> Sentence {
        let (why, otherwise) = match decision {
            Decision::Place(d) => self.place(d),
            Decision::WakeupPreempt(d) => self.wakeup_preempt(d),
            Decision::TickPreempt(d) => self.tick_preempt(d),
            Decision::Pick(d) => self.pick(d),
            Decision::Select(d) => self.select(d),
            Decision::Balance(d) => self.balance(d),
            Decision::BalanceAttempt(d) => (attempt(d), None),
        };
        Sentence { why, otherwise }
    }

    pub(super) fn task(&self, task: TaskId) -> String {
        self.book.task(task)
    }
    fn entity(&self, entity: EntityId) -> String {
        self.book.entity(entity)
    }

    fn place(&self, d: &Place) -> (String, Option<String>) {
        let who = self.entity(d.entity);
        if d.initial {
            let why = format!(
                "{who} is new: placed {}, one slice of its own in virtual time (START_DEBIT)",
                against(d.after, d.min_vruntime, "min_vruntime")
            );
            let otherwise = format!("with NO_START_DEBIT {who} would be placed no later than its parent");
            return (why, (d.offset > 0).then_some(otherwise));
        }
        let gentle = self.kernel.features.enabled(Feature::GentleFairSleepers);
        let source =
            if d.idle && self.kernel.rules.idle_sleeper_threshold == IdleSleeperThreshold::MinGranularity {
                MIN_GRANULARITY
            } else {
                LATENCY
            };
        let credit = format!(
            "{} ({}{source}{})",
            exact(d.offset),
            if gentle { "half of " } else { "" },
            if gentle { ", GENTLE_FAIR_SLEEPERS" } else { "" }
        );
        let own = against(d.before, d.min_vruntime, "min_vruntime");
        let moved = d.after != d.before;
        let why = match (d.slept_long, moved) {
            (true, _) => {
                format!("{who} slept for months: placed {credit} before min_vruntime whatever its own")
            }
            (false, true) => format!(
                "{who} comes back with a vruntime {own}: raised to the sleeper's limit of {credit} before it"
            ),
            (false, false) => format!(
                "{who} comes back with a vruntime {own} and keeps it: the sleeper's limit of {credit} before it is lower"
            ),
        };
        let otherwise = (moved && gentle && !d.slept_long).then(|| {
            format!("with NO_GENTLE_FAIR_SLEEPERS the limit would be {}", exact(d.offset.saturating_mul(2)))
        });
        (why, otherwise)
    }

    fn wakeup_preempt(&self, d: &WakeupPreempt) -> (String, Option<String>) {
        let (wakee, curr) = (self.task(d.wakee), self.book.optional(d.curr));
        let verdict = if d.preempt { "preempts" } else { "does not preempt" };
        let because = match d.rule {
            PreemptRule::CurrIdleTask => "any task does",
            PreemptRule::WakeeIsCurr => "it is the running task",
            PreemptRule::AlreadyResched => "a reschedule is due already",
            PreemptRule::CurrPolicyIdle => "the running task is SCHED_IDLE",
            PreemptRule::WakeePolicy => "it is SCHED_BATCH or SCHED_IDLE",
            PreemptRule::FeatureOff => "NO_WAKEUP_PREEMPTION is set",
            PreemptRule::IdleEntity => {
                "the running task's side is idle (SCHED_IDLE or cpu.idle) and its own is not"
            }
            PreemptRule::WakeeEntityIdle => "only its own side is idle (SCHED_IDLE or cpu.idle)",
            PreemptRule::Granularity => return self.wakeup_granularity(d, &wakee, &curr),
        };
        let otherwise = match d.rule {
            PreemptRule::FeatureOff => {
                Some("with WAKEUP_PREEMPTION the vruntimes would be compared".to_owned())
            }
            _ => None,
        };
        (format!("{wakee} is woken and {verdict} {curr}: {because}"), otherwise)
    }

    fn wakeup_granularity(&self, d: &WakeupPreempt, wakee: &str, curr: &str) -> (String, Option<String>) {
        let nice = self.book.tasks.get(d.wakee.index()).map_or(0, |t| t.nice);
        let set = self.kernel.tunables.wakeup_granularity_ns;
        let granularity = if d.granularity == set {
            format!("the wakeup granularity of {} at nice {nice}", exact(set))
        } else {
            format!(
                "the wakeup granularity of {}, which is {} at nice {nice}",
                exact(set),
                exact(d.granularity)
            )
        };
        let lead = d.lead.unsigned_abs();
        if d.lead <= 0 {
            let place = if d.lead == 0 { "the same".to_owned() } else { format!("{} ahead", exact(lead)) };
            let why =
                format!("{wakee} is woken and does not preempt {curr}: its vruntime is {place}, not behind");
            return (why, Some("no wakeup granularity would make it preempt".to_owned()));
        }
        let keeps = limits::granularity_that_keeps(lead, d.weight, self.kernel.rules.scale_load_floor);
        if d.preempt {
            let why = format!(
                "{wakee} is woken and preempts {curr}: its vruntime is {} behind, more than {granularity}",
                exact(lead)
            );
            let more = keeps.map(|g| format!("{WAKEUP_GRANULARITY} >= {} or ", exact(g))).unwrap_or_default();
            (why, Some(format!("it would not with {more}NO_WAKEUP_PREEMPTION")))
        } else {
            let why = format!(
                "{wakee} is woken and does not preempt {curr}: its vruntime is {} behind, not more than {granularity}",
                exact(lead)
            );
            let below = keeps.and_then(|g| g.checked_sub(1));
            (why, below.map(|g| format!("it would with {WAKEUP_GRANULARITY} <= {}", exact(g))))
        }
    }

    fn tick_preempt(&self, d: &TickPreempt) -> (String, Option<String>) {
        let who = self.entity(d.entity);
        let (ran, slice) = (exact(d.ran.0), exact(d.slice.0));
        let others = d.left.map_or_else(|| "the others".to_owned(), |l| self.entity(l));
        let share = format!("{} of {} in weight, {} runnable", d.weight >> 10, d.load >> 10, d.nr_running);
        let why = match d.rule {
            TickRule::SliceUsed => {
                format!(
                    "a tick takes the CPU from {who}: it ran {ran}, more than its slice of {slice} ({share})"
                )
            }
            TickRule::Hrtick => {
                format!(
                    "the high-resolution tick takes the CPU from {who}: it ran {ran}, its slice of {slice} ({share})"
                )
            }
            TickRule::BelowMinGranularity => format!(
                "a tick leaves the CPU to {who}: it ran {ran}, less than {MIN_GRANULARITY} ({})",
                exact(self.kernel.tunables.min_granularity_ns)
            ),
            TickRule::NotAhead => format!(
                "a tick leaves the CPU to {who}: it ran {ran} of its slice of {slice} ({share}) and is not ahead of {others}"
            ),
            TickRule::AheadByMoreThanSlice => format!(
                "a tick takes the CPU from {who}: its vruntime is {} ahead of {others}, more than its slice of {slice} ({share})",
                exact(d.lead.unsigned_abs())
            ),
            TickRule::WithinSlice => format!(
                "a tick leaves the CPU to {who}: it ran {ran} of its slice of {slice} ({share}) and is only {} ahead of {others}",
                exact(d.lead.unsigned_abs())
            ),
        };
        (why, self.tick_otherwise(d))
    }

    /// The length of the period would have to change; only where the slice is that of one queue.
    fn tick_otherwise(&self, d: &TickPreempt) -> Option<String> {
        let t = &self.kernel.tunables;
        let stretched = u64::from(d.nr_running) > t.nr_latency;
        if self.book.task_of(d.entity).is_none() || d.rule == TickRule::AheadByMoreThanSlice {
            return None;
        }
        let keeps = limits::period_that_keeps(d.ran.0, d.weight, d.load, self.kernel.rules.scale_load_floor)?;
        let (name, value) = if stretched {
            (MIN_GRANULARITY, keeps.div_ceil(u64::from(d.nr_running)))
        } else {
            (LATENCY, keeps)
        };
        let base_slice = self.kernel.features.enabled(Feature::BaseSlice) && d.ran.0 <= t.min_granularity_ns;
        match d.rule {
            TickRule::SliceUsed | TickRule::Hrtick => {
                Some(format!("it would go on with {name} >= {}", exact(value)))
            }
            _ if base_slice => None,
            _ => value.checked_sub(1).map(|v| format!("it would have to go with {name} <= {}", exact(v))),
        }
    }

    fn pick(&self, d: &Pick) -> (String, Option<String>) {
        let (chosen, left) = (self.entity(d.chosen), self.entity(d.left));
        let behind = |b: Option<Buddy>| b.map_or((0, 0), |b| (b.behind.unsigned_abs(), b.granularity));
        let beside = match d.second {
            Some(s) => format!("{} before {}", exact(d.second_behind.unsigned_abs()), self.entity(s)),
            None => "nothing else is runnable here".to_owned(),
        };
        let mut why = match d.rule {
            PickRule::Leftmost => format!("{chosen} is picked: smallest vruntime, {beside}"),
            PickRule::Current => format!("{chosen} stays: still the smallest vruntime, {beside}"),
            PickRule::Skip => format!(
                "{chosen} is picked: {left} has a vruntime {} smaller, but yielded",
                exact(d.second_behind.unsigned_abs())
            ),
            PickRule::NextBuddy | PickRule::LastBuddy if d.chosen == d.left => {
                format!("{chosen} is picked: a buddy, and the smallest vruntime, {beside}")
            }
            PickRule::NextBuddy => format!(
                "{chosen} is picked as next buddy: {left} has a vruntime {} smaller, not more than the granularity of {}",
                exact(behind(d.next).0),
                exact(behind(d.next).1)
            ),
            PickRule::LastBuddy => format!(
                "{chosen} is picked as last buddy: {left} has a vruntime {} smaller, not more than the granularity of {}",
                exact(behind(d.last).0),
                exact(behind(d.last).1)
            ),
        };
        if d.chosen == d.left {
            for (name, buddy) in [("next", d.next), ("last", d.last)] {
                if let Some(b) = buddy.filter(|b| !b.is_near()) {
                    // Writing to a String cannot fail.
                    let _ = write!(
                        why,
                        "; the {name} buddy {} is {} further on, more than the granularity of {}",
                        self.entity(b.entity),
                        exact(b.behind.unsigned_abs()),
                        exact(b.granularity)
                    );
                }
            }
        }
        let otherwise = match d.rule {
            PickRule::LastBuddy if d.chosen != d.left => {
                Some(format!("with NO_LAST_BUDDY {left} would be picked"))
            }
            _ => None,
        };
        (why, otherwise)
    }

    fn balance(&self, d: &Balance) -> (String, Option<String>) {
        let pass = match d.reason {
            MigrateReason::NewIdle => "about to idle",
            MigrateReason::Nohz => "idle without a tick",
            MigrateReason::Active => "after failed attempts by its stopper thread",
            _ => "in its periodic balance",
        };
        let why = format!(
            "CPU {}, {pass} with {} runnable tasks, takes {} from CPU {} with {}",
            d.to.0,
            d.to_nr_running,
            self.task(d.task),
            d.from.0,
            d.from_nr_running
        );
        (why, None)
    }
}

/// An attempt to balance a domain.
fn attempt(d: &BalanceAttempt) -> String {
    let pass = match d.idle {
        IdleType::Idle => "idle",
        IdleType::NotIdle => "busy",
        IdleType::NewlyIdle => "about to idle",
    };
    let mut why = format!("CPU {}, {pass}, balances its {} domain", d.cpu.0, d.level);
    for (group, name) in [(&d.local, "its group"), (&d.busiest, "the busiest group")] {
        if let Some(g) = group {
            let _ = write!(
                why,
                "; {name} of {} CPUs from {} ({:?}) has {} tasks, {} idle CPUs, load {}, utilisation {} of {}",
                g.weight, g.cpu.0, g.kind, g.nr_running, g.idle_cpus, g.load, g.util, g.capacity
            );
        }
    }
    let outcome = match d.outcome {
        BalanceOutcome::NotChosen => "another CPU's business".to_owned(),
        BalanceOutcome::NoBusiestGroup(because) => format!("balanced ({because:?})"),
        BalanceOutcome::NoBusiestQueue => "no queue to take from".to_owned(),
        BalanceOutcome::AllPinned | BalanceOutcome::Pinned => "affinity forbids every move".to_owned(),
        BalanceOutcome::Failed => format!("nothing could be moved, after {} failures", d.failures),
        BalanceOutcome::ActiveBalance => {
            format!("after {} failures the running task is to be pushed", d.failures)
        }
        BalanceOutcome::Moved => format!("moved {} tasks", d.moved),
    };
    let _ = write!(why, ": {outcome}");
    why
}
