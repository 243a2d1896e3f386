//! A table of the idle states of a kind of CPUs.

use super::governor::GovernorKind;
use super::state::{ExitTime, IdleState};
use super::tables::TABLES;
use crate::time::Nanos;

/// A row of a table: name, exit latency and target residency in µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) latency_us: u32,
    pub(super) residency_us: u32,
    /// What of the latency is entering, µs, where it is stated.
    pub(super) entry_us: Option<u32>,
    /// All cores under a last-level cache enter it together.
    pub(super) shared: bool,
}

/// The idle states of a kind of CPUs.
#[derive(Debug)]
pub struct StateTable {
    /// Name in scenarios.
    pub name: &'static str,
    /// Which CPUs.
    pub about: &'static str,
    /// Where the figures come from.
    pub source: &'static str,
    /// The governor it comes with.
    pub governor: GovernorKind,
    pub(super) poll: bool,
    pub(super) rows: &'static [Row],
    /// So many of the rows, from the first on, watch the flag word (MWAIT).
    pub(super) monitors: usize,
    /// So many of the rows keep the core's caches.
    pub(super) keeps_caches: usize,
    /// Rows that are off by default.
    pub(super) off: &'static [&'static str],
    /// Leaving goes through the hypervisor, or is what the table of costs says of waking an idle CPU.
    pub(super) exit_by_cost: bool,
}

impl StateTable {
    /// Looks a table up by name.
    ///
    /// # Errors
    /// The names there are.
    pub fn by_name(name: &str) -> Result<&'static StateTable, String> {
        TABLES.iter().find(|t| t.name == name).ok_or_else(|| {
            let all: Vec<_> = TABLES.iter().map(|t| t.name).collect();
            format!("'{name:.60}' is not a table of idle states: allowed are {}", all.join(", "))
        })
    }

    /// The states; leaving takes this part of the worst case, in 1024ths, unless the table says it.
    pub fn states(&self, part: u32) -> Vec<IdleState> {
        let us = |n: u32| Nanos::from_micros(n.into());
        let state = |(i, r): (usize, &Row)| IdleState {
            name: r.name.to_owned(),
            latency: us(r.latency_us),
            residency: us(r.residency_us),
            exit: match r.entry_us {
                _ if self.exit_by_cost => ExitTime::IdleExitCost,
                Some(entry) => ExitTime::AfterEntry(us(entry)),
                None => ExitTime::Part(part),
            },
            polling: false,
            monitors: i < self.monitors,
            flushes: i >= self.keeps_caches,
            shared: r.shared,
            disabled: self.off.contains(&r.name),
        };
        let poll = self.poll.then(IdleState::poll);
        poll.into_iter().chain(self.rows.iter().enumerate().map(state)).collect()
    }
}
