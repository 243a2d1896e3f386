//! Where an entity was put on its queue.

use super::or;
use crate::verbs::explain::words::{Words, against, exact};
use sim_core::kernel::features::Feature;
use sim_core::kernel::rules::IdleSleeperThreshold;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::observe::Place;

const MIN_VRUNTIME: &str = "min_vruntime";

impl Words<'_> {
    pub(super) fn place(&self, d: &Place) -> (String, Option<String>) {
        if d.initial { self.place_new(d) } else { self.place_sleeper(d) }
    }

    fn place_new(&self, d: &Place) -> (String, Option<String>) {
        let who = self.entity(d.entity);
        let placed = against(d.after, d.min_vruntime, MIN_VRUNTIME);
        let debit = exact(d.offset);
        // A new task comes with its parent's vruntime.
        let why = match (d.offset, d.after == d.before) {
            (0, true) => format!("{who} is new: placed {placed}, as its parent (NO_START_DEBIT)"),
            (0, false) => format!("{who} is new: placed {placed} (NO_START_DEBIT)"),
            (_, true) => format!(
                "{who} is new: placed {placed}, as its parent; one slice of its own after {MIN_VRUNTIME} ({debit}, \
                 START_DEBIT) would be less"
            ),
            (_, false) => {
                format!("{who} is new: placed {placed}, one slice of its own in virtual time (START_DEBIT)")
            }
        };
        let behind = d.min_vruntime.wrapping_sub(d.before) as i64;
        let without = if behind > 0 { d.min_vruntime } else { d.before };
        let otherwise = (d.offset > 0 && d.after != without).then(|| {
            let without = against(without, d.min_vruntime, MIN_VRUNTIME);
            format!("with NO_START_DEBIT it would be placed {without}")
        });
        (why, otherwise)
    }

    fn place_sleeper(&self, d: &Place) -> (String, Option<String>) {
        let who = self.entity(d.entity);
        let gentle = self.kernel.features.enabled(Feature::GentleFairSleepers);
        let by_granularity =
            d.idle && self.kernel.rules.idle_sleeper_threshold == IdleSleeperThreshold::MinGranularity;
        let source = if by_granularity { Tunable::MinGranularity } else { Tunable::Latency };
        let (half, feature) = if gentle { ("half of ", ", GENTLE_FAIR_SLEEPERS") } else { ("", "") };
        let credit = format!("{} ({half}{}{feature})", exact(d.offset), source.name());
        if d.slept_long {
            let why =
                format!("{who} slept for months: placed {credit} before {MIN_VRUNTIME} whatever its own");
            return (why, None);
        }
        let own = against(d.before, d.min_vruntime, MIN_VRUNTIME);
        let came = format!("{who} comes back with a vruntime {own}");
        let distance = d.min_vruntime.wrapping_sub(d.before) as i64;
        let raised = |t: &Tunables| {
            let threshold = t.get(source);
            let credit = if gentle { threshold >> 1 } else { threshold };
            distance > 0 && distance.unsigned_abs() > credit
        };
        let reach = or(&self.reaches(&[source], 0, raised));
        if d.after == d.before {
            let why = format!("{came} and keeps it: the sleeper's limit of {credit} before it is lower");
            return (why, reach.map(|r| format!("it would be raised with {r}")));
        }
        let why = format!("{came}: raised to the sleeper's limit of {credit} before it");
        let (other, limit) = if gentle {
            ("NO_GENTLE_FAIR_SLEEPERS", d.offset.saturating_mul(2))
        } else {
            ("GENTLE_FAIR_SLEEPERS", d.offset / 2)
        };
        let keeps = reach.map(|r| format!("; it would keep its own with {r}")).unwrap_or_default();
        (why, Some(format!("with {other} the limit would be {}{keeps}", exact(limit))))
    }
}
