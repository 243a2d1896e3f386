//! Published comparisons of kernels, patches and tunables, as facts with their citations, and what each is held to.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why published data cannot be used.
#[derive(Debug, Error)]
pub enum PublishedError {
    /// A file cannot be read.
    #[error("{}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Reads a file of published data.
pub(super) fn read<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, PublishedError> {
    let text =
        fs::read_to_string(file).map_err(|source| PublishedError::Read { file: file.to_owned(), source })?;
    let parsed = if file.extension().is_some_and(|e| e == "json") {
        serde_json::from_str(&text).map_err(|e| e.to_string())
    } else {
        toml::from_str(&text).map_err(|e| e.to_string())
    };
    parsed.map_err(|what| PublishedError::Format { file: file.to_owned(), what })
}

/// Where a figure was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// Address.
    pub url: String,
    /// Title of the page or mail.
    pub title: String,
    /// By whom.
    pub author: String,
    /// When, as published.
    pub date: String,
}

/// What a record is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suitability {
    /// Its size can be compared.
    Quantitative,
    /// Its direction can.
    Direction,
    /// It is an input, nothing to predict.
    Parameter,
}

/// Which half of the records one belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Parameters may be fitted on it.
    Calibrate,
    /// It judges.
    Judge,
}

/// Which way a measure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More of it is.
    Higher,
    /// Less of it is.
    Lower,
    /// Neither.
    Neutral,
}

/// A published comparison: one measure with and without a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Name of the record.
    pub id: String,
    /// The series it belongs to.
    pub series: String,
    /// Where it was published.
    pub source: Citation,
    /// Kernel of the base and of the variant, as published.
    pub kernels: [String; 2],
    /// What differs, as published.
    pub tunable: String,
    /// Its two values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<[Option<String>; 2]>,
    /// What was run.
    pub workload: String,
    /// Where the record stands in its series.
    pub x: BTreeMap<String, Value>,
    /// What was measured.
    pub metric: String,
    /// In which unit.
    pub unit: String,
    /// Which way it is better.
    pub better: Better,
    /// Value of the base; none where only the change was published.
    pub base: Option<f64>,
    /// Value of the variant.
    pub variant: Option<f64>,
    /// The change from base to variant, percent.
    pub change_percent: Option<f64>,
    /// The larger of both sides' published spreads, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_percent: Option<f64>,
    /// What it is good for.
    pub suitability: Suitability,
    /// Fitted on, or judged by.
    pub split: Split,
    /// Remarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How a series was set up, and how far its mechanism lies in a scheduler's model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The series.
    pub series: String,
    /// What was run.
    pub workload: String,
    /// What its records differ in.
    pub x: String,
    /// The kernel without the change.
    pub base: String,
    /// The change.
    pub variant: String,
    /// The machine, as far as it was published.
    pub machine: BTreeMap<String, Value>,
    /// `yes`, `partly` or `no`.
    pub representable: String,
    /// What lies outside.
    pub reason: String,
}
