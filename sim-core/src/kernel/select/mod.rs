//! Which CPU a task goes to.

mod interim;
