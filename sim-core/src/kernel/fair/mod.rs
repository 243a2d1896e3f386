//! The fair class: CFS.

mod account;
mod buddies;
mod enqueue;
mod group;
mod hrtick;
mod pick;
mod place;
mod slice;
mod tick;
mod wakeup;
mod wakeup_gran;
mod yield_;

pub(super) use enqueue::{Dequeue, Enqueue};
