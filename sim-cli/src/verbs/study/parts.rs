//! The parts of a study file.

use super::file::{Metric, Metrics, Values};
use crate::load::Setting;
use schemars::JsonSchema;
use serde::Deserialize;
use sim_workloads::units::optional_whole;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `[[compare]]`: two settings of a scenario.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct ComparePart {
    /// Title in the report.
    pub(super) title: String,
    /// Its own scenario.
    pub(super) scenario: Option<PathBuf>,
    /// Its own number of seeds.
    #[serde(default, deserialize_with = "optional_whole::<_, _, 1, 100_000>")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) runs: Option<u32>,
    /// Its own figures.
    pub(super) metrics: Option<Metrics>,
    pub(super) a: SideSpec,
    pub(super) b: SideSpec,
    /// What was measured of the same change.
    #[serde(default)]
    pub(super) published: Vec<PublishedChange>,
}

/// A published change of a figure from A to B.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct PublishedChange {
    /// The figure.
    pub(super) metric: Metric,
    /// The change, percent of A.
    pub(super) change_percent: f64,
    /// Whether it is the largest of several, not their mean.
    #[serde(default)]
    pub(super) at_most: bool,
    /// Where it was published.
    pub(super) source: String,
}

/// `[[attribute]]`: which mechanisms a difference comes from.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct AttributePart {
    /// Title in the report.
    pub(super) title: String,
    /// Its own scenario.
    pub(super) scenario: Option<PathBuf>,
    /// Its own number of seeds.
    #[serde(default, deserialize_with = "optional_whole::<_, _, 1, 100_000>")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) runs: Option<u32>,
    /// The figure whose difference is attributed.
    pub(super) metric: Metric,
    pub(super) a: SideSpec,
    pub(super) b: SideSpec,
}

/// One side: a name for people, and settings over the scenario.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct SideSpec {
    /// What to call it.
    pub(super) label: String,
    /// Settings, like `"kernel.hz" = "1000"`.
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
}

impl SideSpec {
    pub(super) fn settings(&self) -> Vec<Setting> {
        self.set.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

/// `[[sweep]]`: one setting at many values.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct SweepPart {
    /// Title in the report.
    pub(super) title: String,
    /// Its own scenario.
    pub(super) scenario: Option<PathBuf>,
    /// Its own number of seeds.
    #[serde(default, deserialize_with = "optional_whole::<_, _, 1, 100_000>")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) runs: Option<u32>,
    /// The setting.
    pub(super) key: String,
    /// Its values.
    pub(super) values: Values,
    /// Its own figures.
    #[serde(default)]
    pub(super) metrics: Metrics,
}
