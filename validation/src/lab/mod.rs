//! A laboratory for real kernels: a scenario runs in a guest of QEMU, on any kernel image, and comes back as a capture.
//!
//! Time in the guest counts instructions (one is 1 ns), so a run on one CPU repeats to the byte, needs no hardware virtualisation
//! and no rights, and disturbs nothing. [`plan`] compiles the scenario, [`program`] writes the plan for the guest's driver
//! (`validation/lab/`, built by [`guest`] with the system's C compiler), [`initramfs`] packs both, [`qemu`] boots, [`output`]
//! unpacks what the guest leaves, and [`folder`] writes it as a capture. [`fetch`] gets a distribution's kernels.

pub mod error;
pub mod fetch;
pub mod figures;
pub mod folder;
pub mod guest;
pub mod image;
pub mod initramfs;
pub mod output;
pub mod plan;
pub mod program;
pub mod qemu;
pub mod run;
pub mod spec_text;
pub mod verdict;

pub use error::LabError;
pub use plan::{Plan, Refusal};
pub use run::{Lab, Ran};
