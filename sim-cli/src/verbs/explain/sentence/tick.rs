//! Whether a tick takes the CPU.

use super::or;
use crate::verbs::explain::limits;
use crate::verbs::explain::words::{Words, exact};
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::weight::FIXEDPOINT_SHIFT;
use sim_core::observe::{Share, SliceFloor, TickPreempt, TickRule};

impl Words<'_> {
    pub(super) fn tick_preempt(&self, d: &TickPreempt) -> (String, Option<String>) {
        let who = self.entity(d.entity);
        let ran = exact(d.ran.0);
        let slice = format!("its slice of {} ({})", exact(d.slice.0), shares(d));
        let others = d.left.map_or_else(|| "the others".to_owned(), |l| self.entity(l));
        let lead = exact(d.lead.unsigned_abs());
        let why = match d.rule {
            TickRule::SliceUsed => {
                format!("a tick takes the CPU from {who}: it ran {ran}, more than {slice}")
            }
            TickRule::Hrtick => {
                format!("the high-resolution tick takes the CPU from {who}: it ran {ran}, {slice}")
            }
            TickRule::BelowMinGranularity => format!(
                "a tick leaves the CPU to {who}: it ran {ran}, less than {} ({})",
                Tunable::MinGranularity.name(),
                exact(self.kernel.tunables.min_granularity_ns)
            ),
            TickRule::NotAhead => {
                format!(
                    "a tick leaves the CPU to {who}: it ran {ran} of {slice} and is not ahead of {others}"
                )
            }
            TickRule::AheadByMoreThanSlice => {
                format!(
                    "a tick takes the CPU from {who}: its vruntime is {lead} ahead of {others}, more than {slice}"
                )
            }
            TickRule::WithinSlice => {
                format!(
                    "a tick leaves the CPU to {who}: it ran {ran} of {slice} and is only {lead} ahead of {others}"
                )
            }
        };
        (why, self.tick_otherwise(d))
    }

    fn tick_otherwise(&self, d: &TickPreempt) -> Option<String> {
        if !d.above.is_complete() {
            return None;
        }
        let mut tunables = vec![Tunable::Latency, Tunable::MinGranularity];
        if d.floor == SliceFloor::IdleMinGranularity {
            tunables.push(Tunable::IdleMinGranularity);
        }
        let preempts = |t: &Tunables| limits::tick_preempts(d, t, &self.kernel.rules);
        let other = self.reaches(&tunables, d.period_nr, preempts);
        let would = if d.preempt { "it would go on with" } else { "it would have to go with" };
        let told = or(&other).map(|other| format!("{would} {other}"));
        Some(match (told, d.rule) {
            (Some(told), TickRule::Hrtick) => format!("{told}; with NO_HRTICK until a tick"),
            (None, TickRule::Hrtick) => "it would go on until a tick with NO_HRTICK".to_owned(),
            (Some(told), _) => told,
            (None, _) => "no slice would change that".to_owned(),
        })
    }
}

/// What the slice was made of: `1024 of 2048 in weight, 2 runnable`, with the shares of the groups around it.
fn shares(d: &TickPreempt) -> String {
    let share = |s: &Share| format!("{} of {}", s.weight >> FIXEDPOINT_SHIFT, s.load >> FIXEDPOINT_SHIFT);
    let own = share(&Share { weight: d.weight, load: d.load });
    let above: String = d.above.levels().iter().map(|s| format!(", above it {}", share(s))).collect();
    format!("{own} in weight{above}, {} runnable", d.nr_running)
}
