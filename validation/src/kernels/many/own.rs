//! How far a real kernel is from itself: the same experiment, started some microseconds later. Jobs in which tasks share CPUs
//! are chaotic: which of them share one hangs on who comes first, and stays so for a balance interval. A simulation cannot be
//! nearer to one run of a kernel than another run of that kernel is.

use super::bars::MANY_BARS;
use super::check::Check;
use super::compare::compare_captures;
use super::report::job;
use crate::capture::Capture;
use crate::kernels::CompareError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The measured distances, as `cfsim validate own` wrote them.
const MEASURED: &str = include_str!("../../../own-spread.json");

/// How far runs of one job on a real kernel lie from their median.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnSpread {
    /// The job.
    pub job: String,
    /// The kernel's profile.
    pub kernel: String,
    /// CPUs, and hardware threads of a core.
    pub cpus: (u32, u32),
    /// Runs measured.
    pub runs: usize,
    /// How many of the pairs of runs keep all bars against each other, of how many.
    pub pairs: (usize, usize),
    /// The greatest distance from the median, by quantity: points of a share, or numbers, or ms.
    pub off: BTreeMap<String, f64>,
}

/// The measured distances.
pub fn own_spreads() -> Vec<OwnSpread> {
    serde_json::from_str(MEASURED).unwrap_or_default()
}

/// What is known of a capture's job on its machine.
pub(super) fn own_spread_of(capture: &Capture) -> Option<OwnSpread> {
    let machine = cpus(capture);
    let name = job(&capture.id.name);
    own_spreads().into_iter().find(|s| s.job == name && s.cpus == machine)
}

impl OwnSpread {
    /// How far off a quantity may be for the kernel itself.
    pub(super) fn of(&self, check: &Check) -> Option<f64> {
        self.off.get(&key(check)).copied()
    }

    /// Measures captures of one job on one machine.
    ///
    /// # Errors
    /// [`CompareError`] when a capture cannot be measured.
    pub fn measure(job: &str, captures: &[Capture]) -> Result<Option<OwnSpread>, CompareError> {
        let Some(first) = captures.first() else { return Ok(None) };
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut kept = 0;
        for capture in captures {
            for check in compare_captures(capture, capture, &MANY_BARS)? {
                values.entry(key(&check)).or_default().push(check.measured.unwrap_or(f64::INFINITY));
            }
            for other in captures {
                kept += usize::from(compare_captures(capture, other, &MANY_BARS)?.iter().all(|c| c.ok));
            }
        }
        let runs = captures.len();
        let off = values.into_iter().map(|(key, values)| (key, from_median(values)));
        Ok(Some(OwnSpread {
            job: job.to_owned(),
            kernel: first.meta.profile().unwrap_or_default().to_owned(),
            cpus: cpus(first),
            runs,
            // Each is like itself.
            pairs: (kept.saturating_sub(runs), runs * (runs - 1)),
            off: off.filter(|(_, off)| off.is_finite()).collect(),
        }))
    }
}

fn cpus(capture: &Capture) -> (u32, u32) {
    (capture.meta.smp, capture.meta.layout.map_or(1, |l| l.threads_per_core))
}

fn key(check: &Check) -> String {
    match &check.of {
        Some(task) => format!("{} {task}", check.bar.name()),
        None => check.bar.name().to_owned(),
    }
}

/// The greatest distance from the median, to three decimals.
fn from_median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    let off = values.iter().map(|v| (v - median).abs()).fold(0.0, f64::max);
    (off * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_and_is_of_chaotic_jobs() {
        let all = own_spreads();
        assert!(!all.is_empty());
        for s in &all {
            assert!(s.runs >= 8 && s.pairs.1 == s.runs * (s.runs - 1), "{s:?}");
            assert!(s.off.values().all(|v| v.is_finite() && *v >= 0.0), "{s:?}");
        }
    }

    #[test]
    fn distances_are_from_the_median() {
        assert!((from_median(vec![3.0, 1.0, 2.0, 9.0, 2.5]) - 6.5).abs() < 1e-9);
        assert!(from_median(vec![1.0, f64::INFINITY, f64::INFINITY]).is_infinite());
    }
}
