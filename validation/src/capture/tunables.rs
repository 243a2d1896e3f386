//! `tunables.txt`: the scheduler's settings as read back in the guest.

use std::collections::BTreeMap;
use thiserror::Error;

/// The largest `tunables.txt` accepted, bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// The scheduler's settings during a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunables {
    /// `sched_latency`, ns.
    pub latency_ns: u64,
    /// `sched_min_granularity`, ns.
    pub min_granularity_ns: u64,
    /// `sched_wakeup_granularity`, ns.
    pub wakeup_granularity_ns: u64,
    /// `sched_idle_min_granularity`, ns; absent before 5.15.
    pub idle_min_granularity_ns: Option<u64>,
    /// 0 none, 1 logarithmic, 2 linear in the number of CPUs.
    pub tunable_scaling: u64,
    /// `sched_child_runs_first`.
    pub child_runs_first: bool,
    /// `sched_autogroup_enabled`.
    pub autogroup: bool,
    /// The kernel was built with autogroups: it has that setting.
    pub has_autogroups: bool,
    /// The preemption mode in force (`none`, `voluntary`, `full`), where the kernel can tell.
    pub preempt: Option<String>,
    /// Every sched_feature, in the kernel's order: its name without `NO_`, and whether it is on.
    pub features: Vec<(String, bool)>,
    /// Everything else: name without its directory and `sched_` prefix, and value.
    pub others: BTreeMap<String, String>,
}

/// Why a `tunables.txt` is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TunablesError {
    /// Larger than [`MAX_BYTES`].
    #[error("{0} bytes; allowed are {MAX_BYTES}")]
    TooLarge(usize),
    /// A line that is not `PATH: VALUE`.
    #[error("line {0} is not PATH: VALUE")]
    NotASetting(usize),
    /// A setting that must be there is not.
    #[error("the setting '{0}' is missing")]
    Missing(&'static str),
    /// A setting with a value that is not a number.
    #[error("'{name}' has the value '{found}', which is not a whole number")]
    NotANumber {
        /// The setting.
        name: &'static str,
        /// Its value.
        found: String,
    },
}

/// Parses a `tunables.txt`: lines `PATH: VALUE`, paths below `/proc/sys/kernel` or debugfs.
///
/// # Errors
/// [`TunablesError`] when a line is no setting or a needed setting is missing or no number.
pub fn parse_tunables(text: &str) -> Result<Tunables, TunablesError> {
    if text.len() > MAX_BYTES {
        return Err(TunablesError::TooLarge(text.len()));
    }
    let mut found = BTreeMap::new();
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let (path, value) = line.split_once(':').ok_or(TunablesError::NotASetting(i + 1))?;
        let name = path.rsplit('/').next().unwrap_or(path).trim();
        found.insert(name.strip_prefix("sched_").unwrap_or(name).to_owned(), value.trim().to_owned());
    }
    let features = found.remove("features").ok_or(TunablesError::Missing("features"))?;
    let autogroup = optional(&mut found, "autogroup_enabled")?;
    Ok(Tunables {
        latency_ns: number(&mut found, "latency_ns")?,
        min_granularity_ns: number(&mut found, "min_granularity_ns")?,
        wakeup_granularity_ns: number(&mut found, "wakeup_granularity_ns")?,
        idle_min_granularity_ns: optional(&mut found, "idle_min_granularity_ns")?,
        tunable_scaling: number(&mut found, "tunable_scaling")?,
        child_runs_first: number(&mut found, "child_runs_first")? != 0,
        autogroup: autogroup.is_some_and(|n| n != 0),
        has_autogroups: autogroup.is_some(),
        preempt: found.remove("preempt").and_then(|modes| chosen(&modes)),
        features: features.split_ascii_whitespace().map(feature).collect(),
        others: found,
    })
}

fn number(found: &mut BTreeMap<String, String>, name: &'static str) -> Result<u64, TunablesError> {
    let value = found.remove(name).ok_or(TunablesError::Missing(name))?;
    value.parse().map_err(|_| TunablesError::NotANumber { name, found: value })
}

fn optional(found: &mut BTreeMap<String, String>, name: &'static str) -> Result<Option<u64>, TunablesError> {
    if found.contains_key(name) { number(found, name).map(Some) } else { Ok(None) }
}

fn feature(word: &str) -> (String, bool) {
    match word.strip_prefix("NO_") {
        Some(name) => (name.to_owned(), false),
        None => (word.to_owned(), true),
    }
}

/// The word in parentheses: `none (voluntary) full`.
fn chosen(modes: &str) -> Option<String> {
    let (_, rest) = modes.split_once('(')?;
    rest.split_once(')').map(|(word, _)| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEW: &str = "/proc/sys/kernel/sched_autogroup_enabled: 0 \n/proc/sys/kernel/sched_child_runs_first: 1 \n\
        /sys/kernel/debug/sched/features: GENTLE_FAIR_SLEEPERS NO_NEXT_BUDDY  \n\
        /sys/kernel/debug/sched/idle_min_granularity_ns: 750000 \n/sys/kernel/debug/sched/latency_ns: 6000000 \n\
        /sys/kernel/debug/sched/min_granularity_ns: 3000000 \n/sys/kernel/debug/sched/preempt: none (voluntary) full  \n\
        /sys/kernel/debug/sched/tunable_scaling: 1 \n/sys/kernel/debug/sched/verbose: N \n\
        /sys/kernel/debug/sched/wakeup_granularity_ns: 4000000 \n";

    #[test]
    fn reads_debugfs_and_proc() {
        let t = parse_tunables(NEW).unwrap();
        assert_eq!(
            (t.latency_ns, t.min_granularity_ns, t.wakeup_granularity_ns),
            (6_000_000, 3_000_000, 4_000_000)
        );
        assert_eq!(
            (t.idle_min_granularity_ns, t.child_runs_first, t.autogroup),
            (Some(750_000), true, false)
        );
        assert_eq!(t.preempt.as_deref(), Some("voluntary"));
        assert_eq!(t.features, [("GENTLE_FAIR_SLEEPERS".to_owned(), true), ("NEXT_BUDDY".to_owned(), false)]);
        assert_eq!(t.others.into_iter().collect::<Vec<_>>(), [("verbose".to_owned(), "N".to_owned())]);
        let old: String = NEW
            .lines()
            .filter(|l| !l.contains("idle_min") && !l.contains("preempt"))
            .map(|l| l.replace("/sys/kernel/debug/sched/", "/proc/sys/kernel/sched_") + "\n")
            .collect();
        let t = parse_tunables(&old).unwrap();
        assert_eq!((t.wakeup_granularity_ns, t.idle_min_granularity_ns, t.preempt), (4_000_000, None, None));
    }

    #[test]
    fn says_what_is_missing_or_wrong() {
        let without = NEW.replace("latency_ns: 6000000", "other: 1");
        assert_eq!(parse_tunables(&without), Err(TunablesError::Missing("latency_ns")));
        assert!(matches!(
            parse_tunables(&NEW.replace("6000000", "six")),
            Err(TunablesError::NotANumber { .. })
        ));
        assert_eq!(parse_tunables("x\n"), Err(TunablesError::NotASetting(1)));
    }

    proptest! {
        #[test]
        fn never_panics(text in "(latency_ns|features|:|/|\\(|\\)|\n|.){0,40}") {
            let _ = parse_tunables(&text);
        }
    }
}
