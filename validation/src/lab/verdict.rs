//! A run of the lab under the bars of `cfsim validate kernels`.

use crate::capture::Capture;
use crate::kernels::many::{MANY_BARS, compare_many};
use crate::kernels::{BARS, Bar, CompareError, compare, conformance};
use serde::Serialize;

/// One bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// What is held against it.
    pub what: String,
    /// What came of that, in words.
    pub found: String,
    /// Whether it is kept.
    pub kept: bool,
}

/// The bars of a capture. On one CPU the model is also driven by the trace, decision by decision.
///
/// # Errors
/// [`CompareError`] when the capture cannot be simulated or measured.
pub fn verdict(capture: &Capture) -> Result<Vec<Held>, CompareError> {
    if capture.meta.smp > 1 { several(capture) } else { one(capture) }
}

fn one(capture: &Capture) -> Result<Vec<Held>, CompareError> {
    let c = compare(capture, &BARS)?;
    let found = |bar: Bar| match bar {
        Bar::Share => format!("off by at most {:.2} points", c.worst_share()),
        Bar::Switches => {
            let band = c.switches.band;
            format!(
                "{} real, {} simulated, {} to {} when delays move by 1 us",
                c.switches.measured, c.switches.simulated, band.min, band.max
            )
        }
        Bar::Turns => format!("lengths overlap by {:.1} %", c.overlap_pct),
    };
    let mut held: Vec<Held> = Bar::ALL
        .map(|bar| Held { what: bar.name().to_owned(), found: found(bar), kept: bar.is_kept(&c) })
        .into();
    let d = conformance(capture)?;
    for (what, right, of) in [
        ("wake-up preemptions", d.wakeups_right, d.wakeups),
        ("next tasks", d.picks_right, d.picks),
        ("ticks", d.ticks_right, d.ticks),
    ] {
        let kept = 100.0 * right as f64 >= BARS.wakeups_pct * of as f64;
        held.push(Held { what: what.to_owned(), found: format!("{right} of {of} decided alike"), kept });
    }
    Ok(held)
}

fn several(capture: &Capture) -> Result<Vec<Held>, CompareError> {
    let c = compare_many(capture, &MANY_BARS)?;
    let number = |value: Option<f64>| value.map_or_else(|| "never".to_owned(), |v| format!("{v:.1}"));
    let held = c.checks.iter().map(|check| Held {
        what: check.of.as_ref().map_or_else(|| check.bar.name().to_owned(), |of| format!("share of {of}")),
        found: format!(
            "{} real, {} simulated, {:.1} to {:.1} in its runs, {:.1} apart allowed",
            number(check.measured),
            number(check.simulated),
            check.band.0,
            check.band.1,
            check.allowed
        ),
        kept: check.ok,
    });
    Ok(held.collect())
}
