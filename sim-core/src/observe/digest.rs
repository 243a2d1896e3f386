//! A rolling digest of a run: two runs with the same digest made the same decisions at the same times.

use super::{Decision, Event, Observer};
use crate::rng::fnv1a;
use crate::time::Instant;
use std::fmt::Write;

/// Hashes switches, wake-ups, migrations and decisions with their times.
#[derive(Clone, Debug)]
pub struct Digest {
    hash: u64,
    line: String,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest { hash: fnv1a(0xcbf2_9ce4_8422_2325, b"cfsim digest 1"), line: String::with_capacity(256) }
    }
}

impl Digest {
    /// The digest so far.
    pub fn value(&self) -> u64 {
        self.hash
    }

    fn add(&mut self, at: Instant, what: &dyn std::fmt::Debug) {
        self.line.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.line, "{} {what:?}", at.0);
        self.hash = fnv1a(self.hash, self.line.as_bytes());
    }
}

impl Observer for Digest {
    const DECISIONS: bool = true;
    fn event(&mut self, at: Instant, event: &Event) {
        if matches!(
            event,
            Event::Switch { .. } | Event::Wakeup { .. } | Event::Migrate { .. } | Event::Exit { .. }
        ) {
            self.add(at, event);
        }
    }
    fn decision(&mut self, at: Instant, decision: &Decision) {
        self.add(at, decision);
    }
}
