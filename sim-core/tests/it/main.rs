//! Integration tests of the simulator: one binary, one module per subject.
//!
//! # LEFT_OUT
//!
//! The worked examples of core.md §15 are all here, except:
//!
//! - §15.8, the split of a group's shares over CPUs: beside the rule, in `kernel/pelt/tests/groups.rs`.
//! - §15.9, bandwidth control: not modelled yet.
//! - §15.11, real-time hogs and throttling: the class has no rules yet (D-003).
//! - §15.12, EEVDF: kernels from 6.6 on are not modelled.
//! - §15.13, its rows of bandwidth, real-time tasks and EEVDF: as above.
//! - §15.13, overshoot of a nanosleep beyond the timer slack: a property of the measured machine's path, not of the model.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod buddies;
mod domains;
mod fork_migrate;
mod group_changes;
mod groups;
mod haltpoll;
mod hand;
mod hogs;
mod host;
mod idle;
mod invariants;
mod limits;
mod measured;
mod mix;
mod pace;
mod patches;
mod pinned;
mod posted;
mod preempt_model;
mod properties;
mod properties_smp;
mod replay;
mod slices;
mod support;
mod timers;
mod waiting;
mod wakeup;
mod walltime;
mod work;
