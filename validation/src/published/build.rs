//! The build that published measurements are predicted with.

use serde::Serialize;
use sim_core::kernel::hooks::NoHooks;
use sim_core::{End, Nanos};
use sim_workloads::scenario::{Document, ScenarioError};
use thiserror::Error;

/// The build.
const SCENARIO: &str = include_str!("../../../scenarios/kernel-compile-smt.toml");

/// Why there is no prediction.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The scenario is not one.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// The data are not what they should be.
    #[error("published measurements: {0}")]
    Data(#[from] serde_json::Error),
    /// A machine has no measurement to fit where it should have one.
    #[error("published measurements: {machine} has no {jobs} jobs in the curve {curve}")]
    NoPoint {
        /// The machine.
        machine: String,
        /// The curve.
        curve: String,
        /// The number of jobs.
        jobs: u32,
    },
    /// A run failed or did not finish.
    #[error("a build did not end: {0}")]
    Run(String),
}

/// How long the build takes with these settings, s.
pub(super) fn elapsed(settings: &[(String, String)], seed: u64) -> Result<f64, BuildError> {
    let document = Document::parse(SCENARIO, "kernel-compile-smt.toml", settings)?;
    let config = document.resolve()?.config;
    let mut simulation = document.scenario.build(seed).simulation(config, (), NoHooks);
    let outcome = simulation.run().map_err(|e| BuildError::Run(e.to_string()))?;
    match outcome.end {
        End::AllExited => Ok(Nanos(outcome.at.0).as_secs_f64()),
        end => Err(BuildError::Run(format!("{end:?}"))),
    }
}

/// Settings of keys that are known here.
pub(super) fn settings<const N: usize>(of: [(&str, String); N]) -> Vec<(String, String)> {
    of.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// What a measurement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Something is fitted on it.
    Fit,
    /// It judges the prediction.
    Judge,
}

impl Role {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Role::Fit => "fit",
            Role::Judge => "judge",
        }
    }
}
