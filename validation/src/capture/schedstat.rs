//! What a kernel counted of its load balancing: `/proc/schedstat` before and after a run (`guest.txt`).
//!
//! Layout of version 15: `domainN MASK`, then eight counters for each kind of CPU (idle, busy, newly idle), then those of
//! active balance.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use thiserror::Error;

/// Attempts to balance a domain for one kind of CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassCounts {
    /// Attempts (`lb_count`).
    pub tries: u64,
    /// Those with an imbalance and nothing moved (`lb_failed`).
    pub failed: u64,
    /// Tasks moved (`lb_gained`).
    pub moved: u64,
    /// Attempts that found no busiest group (`lb_nobusyg`).
    pub no_busiest_group: u64,
}

impl AddAssign for PassCounts {
    fn add_assign(&mut self, o: PassCounts) {
        self.tries = self.tries.saturating_add(o.tries);
        self.failed = self.failed.saturating_add(o.failed);
        self.moved = self.moved.saturating_add(o.moved);
        self.no_busiest_group = self.no_busiest_group.saturating_add(o.no_busiest_group);
    }
}

/// Balancing of all domains of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelCounts {
    /// For idle CPUs, tickless ones included.
    pub idle: PassCounts,
    /// For busy CPUs.
    pub busy: PassCounts,
    /// For CPUs about to idle.
    pub newly_idle: PassCounts,
    /// Running tasks pushed by stopper threads (`alb_pushed`).
    pub pushed: u64,
}

impl AddAssign for LevelCounts {
    fn add_assign(&mut self, o: LevelCounts) {
        self.idle += o.idle;
        self.busy += o.busy;
        self.newly_idle += o.newly_idle;
        self.pushed = self.pushed.saturating_add(o.pushed);
    }
}

impl LevelCounts {
    /// All kinds of CPU together.
    pub fn all(&self) -> PassCounts {
        let mut all = self.idle;
        all += self.busy;
        all += self.newly_idle;
        all
    }
}

/// Why the counters cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchedstatError {
    /// A part is missing.
    #[error("there is no part '== {0}'")]
    Missing(&'static str),
    /// Another layout.
    #[error("{0:?} instead of 'version 15'")]
    Version(String),
    /// A line that is not what its name says.
    #[error("'{0:.60}' is not a domain with its counters")]
    NotCounters(String),
}

/// Counters before the run's start and after its end, and the lines of the version 15 form that are used.
const PARTS: [&str; 2] = ["schedstat.before", "schedstat.after"];
/// Counters of a domain's line that are used: three times eight, then active balance's.
const USED: usize = 27;
/// Levels of domains at most (the kernel's topology has six, and as many of memory nodes as distances).
const MAX_LEVELS: usize = 64;

/// What was counted between the two parts of a `guest.txt`, by level, smallest domains first.
///
/// # Errors
/// [`SchedstatError`].
pub fn parse_guest(text: &str) -> Result<Vec<LevelCounts>, SchedstatError> {
    let [before, after] = PARTS.map(|part| levels(text, part));
    let (before, after) = (before?, after?);
    let zero = [0; USED];
    let between = |(level, end): (&usize, &[u64; USED])| {
        let start = before.get(level).unwrap_or(&zero);
        let d = |i: usize| end[i].wrapping_sub(start[i]);
        let pass = |at: usize| PassCounts {
            tries: d(at),
            failed: d(at + 2),
            moved: d(at + 4),
            no_busiest_group: d(at + 7),
        };
        LevelCounts { idle: pass(0), busy: pass(8), newly_idle: pass(16), pushed: d(26) }
    };
    Ok(after.iter().map(between).collect())
}

/// The counters of one part, summed over CPUs.
fn levels(text: &str, part: &'static str) -> Result<BTreeMap<usize, [u64; USED]>, SchedstatError> {
    let mut lines = text.lines().skip_while(|l| l.strip_prefix("== ") != Some(part)).skip(1);
    let version = lines.next().ok_or(SchedstatError::Missing(part))?;
    if version != "version 15" {
        return Err(SchedstatError::Version(version.chars().take(40).collect()));
    }
    let mut sums: BTreeMap<usize, [u64; USED]> = BTreeMap::new();
    for line in lines.take_while(|l| !l.starts_with("==")) {
        let Some(rest) = line.strip_prefix("domain") else { continue };
        let bad = || SchedstatError::NotCounters(line.to_owned());
        let mut words = rest.split_ascii_whitespace();
        let level = words.next().and_then(|w| w.parse().ok()).filter(|l| *l < MAX_LEVELS).ok_or_else(bad)?;
        let sum = sums.entry(level).or_insert([0; USED]);
        for (i, word) in words.skip(1).take(USED).enumerate() {
            sum[i] = sum[i].wrapping_add(word.parse::<u64>().map_err(|_| bad())?);
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, first: u64) -> String {
        let counters: Vec<String> = (0..36).map(|i| (first * (i + 1)).to_string()).collect();
        let line = format!("domain0 03 {}\n", counters.join(" "));
        format!("== {name}\nversion 15\ntimestamp 1\ncpu0 1 2\n{line}cpu1 1 2\n{line}")
    }

    #[test]
    fn differences_are_summed_over_cpus() {
        let text = part("schedstat.before", 1) + &part("schedstat.after", 3);
        let levels = parse_guest(&text).unwrap();
        // Counter i of both CPUs went up by 2 (i + 1).
        let pass = |at: u64| PassCounts {
            tries: 4 * (at + 1),
            failed: 4 * (at + 3),
            moved: 4 * (at + 5),
            no_busiest_group: 4 * (at + 8),
        };
        assert_eq!(
            levels,
            [LevelCounts { idle: pass(0), busy: pass(8), newly_idle: pass(16), pushed: 4 * 27 }]
        );
        assert_eq!(levels[0].all().tries, 4 * (1 + 9 + 17));
    }

    #[test]
    fn says_what_is_wrong() {
        let both = |s: &str| parse_guest(&(s.to_owned() + &part("schedstat.after", 1)));
        assert_eq!(both(""), Err(SchedstatError::Missing("schedstat.before")));
        assert!(matches!(both("== schedstat.before\nversion 17\n"), Err(SchedstatError::Version(_))));
        let bad = "== schedstat.before\nversion 15\ndomain0 03 x\n";
        assert!(matches!(both(bad), Err(SchedstatError::NotCounters(_))));
        let deep = "== schedstat.before\nversion 15\ndomain99999999 03 1\n";
        assert!(matches!(both(deep), Err(SchedstatError::NotCounters(_))));
    }
}
