//! How kernels choose idle states: one field per behaviour that changed between 4.19 and 6.5.

use crate::time::Nanos;
use serde::Serialize;

/// How long the polling state polls before the governor is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PollLimit {
    /// A sixteenth of a tick.
    TickPart,
    /// The target residency of the first usable state that does not poll, a tick without one.
    FirstState,
    /// The target residency of the first usable state with 10 µs or more, at most a sixteenth of a tick.
    FirstLongState,
}

/// The timer events oriented governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TeoForm {
    /// None before 5.1.
    Absent,
    /// Hits, misses and early hits of each state, since 5.1.
    HitsAndMisses,
    /// Hits and intercepts by bins, since 5.14.
    Bins,
}

/// What idle governors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IdleRules {
    /// The menu governor reckons in ns; before, in whole µs.
    pub menu_in_ns: bool,
    /// The menu governor passes the polling state over before it looks at any state, if the next timer is not near.
    pub menu_starts_beyond_polling: bool,
    /// A pattern of intervals that does not shorten the prediction is none.
    pub menu_pattern_must_shorten: bool,
    /// The menu governor looks for the next timer only if the pattern of intervals does not foresee a short sleep, and
    /// intervals of zero alone are no pattern.
    pub menu_timer_on_demand: bool,
    /// Which form of the timer events oriented governor.
    pub teo: TeoForm,
    /// That governor chooses a shallower state on a CPU with some utilisation.
    pub teo_heeds_utilisation: bool,
    /// There is a driver and governor for guests that poll before they halt.
    pub haltpoll_driver: bool,
    /// How long polling lasts.
    pub idle_poll_limit: PollLimit,
}

impl IdleRules {
    /// 4.19.
    pub const fn v4_19() -> IdleRules {
        IdleRules {
            menu_in_ns: false,
            menu_starts_beyond_polling: true,
            menu_pattern_must_shorten: false,
            menu_timer_on_demand: false,
            teo: TeoForm::Absent,
            teo_heeds_utilisation: false,
            haltpoll_driver: false,
            idle_poll_limit: PollLimit::TickPart,
        }
    }

    /// The unit of the menu governor's times.
    pub const fn menu_unit(&self) -> Nanos {
        if self.menu_in_ns { Nanos(1) } else { Nanos(1_000) }
    }
}
