//! The kernel model: who runs where, until when.

mod policy;

pub use policy::Policy;
