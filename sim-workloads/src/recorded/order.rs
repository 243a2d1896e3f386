//! Events in order of time, though the file is not.

use super::event::Event;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many events are held back to be put in order: tools that merge CPUs are off by far less.
const WINDOW: usize = 1 << 16;

/// An event and its number in the file, which orders what happens at one time.
#[derive(PartialEq, Eq)]
struct Held(u64, u64, EventBox);

/// Events are compared by time and number alone.
struct EventBox(Event);

impl PartialEq for EventBox {
    fn eq(&self, _: &EventBox) -> bool {
        true
    }
}
impl Eq for EventBox {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Held {
    fn cmp(&self, other: &Held) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// Puts events in order of time as far as the window reaches.
#[derive(Default)]
pub(super) struct Order {
    held: BinaryHeap<Reverse<Held>>,
    number: u64,
    /// The latest time read.
    pub(super) latest: u64,
    /// The time of the event handed on last.
    handed: u64,
    /// Events that came after a later one.
    pub(super) unsorted: u64,
    /// Events that came too late to be put in their place: they are left out.
    pub(super) late: u64,
}

impl Order {
    /// Takes an event, and gives the one whose turn has come.
    pub(super) fn push(&mut self, event: Event) -> Option<Event> {
        self.unsorted += u64::from(event.at_ns < self.latest);
        self.latest = self.latest.max(event.at_ns);
        if event.at_ns < self.handed {
            self.late += 1;
            return None;
        }
        self.number += 1;
        self.held.push(Reverse(Held(event.at_ns, self.number, EventBox(event))));
        if self.held.len() > WINDOW { self.pop() } else { None }
    }

    /// The next event, when no more are read.
    pub(super) fn pop(&mut self) -> Option<Event> {
        let Reverse(Held(at, _, event)) = self.held.pop()?;
        self.handed = at;
        Some(event.0)
    }
}
