//! Could a bar have been missed? The model is broken in ways that anyone would call wrong, and the same captures are compared
//! again. A bar that a capture keeps however the model is broken says nothing there: it is powerless and does not count.

use super::bars::{BARS, Bars};
use super::causes::Bar;
use super::compare::{CompareError, Comparison, compare_with};
use super::conformance::conformance;
use super::many::{MANY_BARS, ManyComparison};
use super::report::Tally;
use crate::capture::Capture;
use crate::simulate::is_calibrated_on;
use serde::Serialize;
use std::fmt::Write;

/// A way to break the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Breakage {
    /// Every second task is five nice levels lighter than it was, every second group has half its weight.
    WrongWeights,
    /// Wake-ups never preempt.
    NoPreemption,
    /// Slices and the latency are four times as long.
    LongTurns,
    /// Sleepers get twice the credit, children none of their debit.
    WrongPlacement,
}

impl Breakage {
    /// All of them.
    pub const ALL: [Breakage; 4] =
        [Breakage::WrongWeights, Breakage::NoPreemption, Breakage::LongTurns, Breakage::WrongPlacement];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Breakage::WrongWeights => "wrong weights",
            Breakage::NoPreemption => "no preemption by wake-ups",
            Breakage::LongTurns => "turns four times as long",
            Breakage::WrongPlacement => "wrong placement",
        }
    }

    /// The experiment as a kernel broken like this would run it.
    pub fn of(self, capture: &Capture) -> Capture {
        let mut broken = capture.clone();
        let tunables = &mut broken.tunables;
        let feature = |features: &mut Vec<(String, bool)>, name: &str| {
            features.iter_mut().filter(|(n, _)| n == name).for_each(|f| f.1 = false);
        };
        match self {
            Breakage::WrongWeights => {
                for task in broken.spec.tasks.iter_mut().skip(1).step_by(2) {
                    task.nice = task.nice.saturating_add(5).min(19);
                }
                for group in broken.spec.groups.iter_mut().skip(1).step_by(2) {
                    group.weight = Some((group.weight.unwrap_or(100) / 2).max(1));
                }
            }
            Breakage::NoPreemption => feature(&mut tunables.features, "WAKEUP_PREEMPTION"),
            Breakage::LongTurns => {
                // Written and read back, as the capture's own settings were.
                tunables.latency_ns = tunables.latency_ns.saturating_mul(4);
                tunables.min_granularity_ns = tunables.min_granularity_ns.saturating_mul(4);
                broken.meta.set.push(format!("latency_ns={}", tunables.latency_ns));
                broken.meta.set.push(format!("min_granularity_ns={}", tunables.min_granularity_ns));
            }
            Breakage::WrongPlacement => {
                feature(&mut tunables.features, "GENTLE_FAIR_SLEEPERS");
                feature(&mut tunables.features, "START_DEBIT");
            }
        }
        broken
    }
}

/// A capture of one CPU under a broken model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Broken {
    /// How it is broken.
    pub breakage: Breakage,
    /// Whether each bar of [`Bar::ALL`] is kept all the same.
    pub kept: [bool; 3],
    /// Wake-ups onto a busy CPU with need_resched right, of all, the model driven by the trace.
    pub wakeups: (u64, u64),
}

/// What the bars of a capture of one CPU could have said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CapturePower {
    /// Kind, kernel and name.
    pub id: String,
    /// Whether each bar of [`Bar::ALL`] is kept by the model as it is.
    pub kept: [bool; 3],
    /// Under each breakage.
    pub broken: Vec<Broken>,
}

impl CapturePower {
    /// Compares a capture of one CPU with the model as it is and broken in every way.
    ///
    /// # Errors
    /// [`CompareError`] when the capture cannot be simulated or measured.
    pub fn of(capture: &Capture) -> Result<CapturePower, CompareError> {
        let kept = |c: &Comparison| Bar::ALL.map(|b| b.is_kept(c));
        let nominal = kept(&compare_with(capture, capture, &BARS, true)?);
        let one = |breakage: Breakage| {
            let simulated = breakage.of(capture);
            let driven = conformance(&simulated)?;
            Ok(Broken {
                breakage,
                kept: kept(&compare_with(capture, &simulated, &BARS, false)?),
                wakeups: (driven.wakeups_right, driven.wakeups),
            })
        };
        let broken = Breakage::ALL.into_iter().map(one).collect::<Result<_, CompareError>>()?;
        Ok(CapturePower { id: capture.id.to_string(), kept: nominal, broken })
    }

    /// Whether a bar could have been missed: some breakage misses it.
    pub fn has_power(&self, bar: usize) -> bool {
        self.broken.iter().any(|b| !b.kept[bar])
    }
}

/// A bar under one breakage, over all captures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// How the model is broken.
    pub breakage: Breakage,
    /// Captures that keep each bar of [`Bar::ALL`].
    pub bars: [Tally; 3],
    /// Wake-ups with need_resched right.
    pub wakeups: Tally,
}

/// Power and controls over captures of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerReport {
    /// Every capture.
    pub captures: Vec<CapturePower>,
    /// Captures that keep each bar of [`Bar::ALL`], of those that could have missed it and were not calibrated on.
    pub powerful: [Tally; 3],
    /// Captures on which each bar is powerless.
    pub powerless: [u64; 3],
    /// Each breakage.
    pub controls: Vec<Control>,
}

/// How many captures must keep each bar, %.
fn required(bars: &Bars) -> [f64; 3] {
    [bars.share_captures_pct, bars.switches_captures_pct, bars.overlap_captures_pct]
}

fn tally(verdicts: impl Iterator<Item = bool>, required_pct: f64) -> Tally {
    let (mut kept, mut of) = (0, 0);
    verdicts.for_each(|v| (kept, of) = (kept + u64::from(v), of + 1));
    Tally { kept, of, required_pct }
}

impl PowerReport {
    /// Sums captures up.
    pub fn new(captures: Vec<CapturePower>) -> PowerReport {
        let judging = || captures.iter().filter(|c| !is_calibrated_on(&c.id));
        let bar = |f: &dyn Fn(usize) -> Tally| [f(0), f(1), f(2)];
        let needed = required(&BARS);
        let controls = Breakage::ALL.into_iter().enumerate().map(|(i, breakage)| {
            let driven = captures.iter().map(|c| c.broken[i].wakeups);
            let (kept, of) = driven.fold((0, 0), |(a, b), (right, asked)| (a + right, b + asked));
            Control {
                breakage,
                bars: bar(&|b| tally(judging().map(|c| c.broken[i].kept[b]), needed[b])),
                wakeups: Tally { kept, of, required_pct: BARS.wakeups_pct },
            }
        });
        PowerReport {
            powerful: bar(&|b| tally(judging().filter(|c| c.has_power(b)).map(|c| c.kept[b]), needed[b])),
            powerless: [0, 1, 2].map(|b| judging().filter(|c| !c.has_power(b)).count() as u64),
            controls: controls.collect(),
            captures,
        }
    }

    /// Whether every bar is met among the captures that could have missed it, and missed under some breakage.
    pub fn passed(&self) -> bool {
        let controlled = |b: usize| self.controls.iter().any(|c| !c.bars[b].met());
        let driven = self.controls.iter().any(|c| !c.wakeups.met());
        self.powerful.iter().all(|t| t.of > 0 && t.met()) && (0..3).all(controlled) && driven
    }

    /// The report as text.
    pub fn to_text(&self) -> String {
        let mut out =
            String::from("Could it have disagreed? The model broken on purpose, on captures of one CPU\n\n");
        let _ = writeln!(
            out,
            "{:<28} {:>15} {:>15} {:>15} {:>18}",
            "", "shares", "switches", "turns", "need_resched"
        );
        let cell = |t: &Tally| format!("{}/{} {:.0}%", t.kept, t.of, t.pct());
        let mut row = |name: &str, bars: &[Tally; 3], wakeups: String| {
            let [a, b, c] = bars.each_ref().map(cell);
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{name:<28} {a:>15} {b:>15} {c:>15} {wakeups:>18}");
        };
        row("as it is, where it may miss", &self.powerful, "-".to_owned());
        for c in &self.controls {
            row(c.breakage.name(), &c.bars, cell(&c.wakeups));
        }
        let [a, b, c] = self.powerless;
        let _ =
            writeln!(out, "\npowerless on captures, which do not count: shares {a}, switches {b}, turns {c}");
        out
    }
}

/// A capture of several CPUs under a broken model.
///
/// # Errors
/// [`CompareError`] when the capture cannot be simulated or measured.
pub fn broken_many(capture: &Capture, breakage: Breakage) -> Result<ManyComparison, CompareError> {
    super::many::compare_many_with(capture, &breakage.of(capture), &MANY_BARS)
}
