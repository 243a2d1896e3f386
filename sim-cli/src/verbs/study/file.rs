//! The study file: a question, and the comparisons and sweeps that answer it.

use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::load::{self, Setting};
use crate::sweeping::{self, Value};
use crate::verbs::compare::parse_margin;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most comparisons, and most sweeps, of one study.
const MAX_PARTS: usize = 100;

/// A study as it is written. Paths are relative to the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StudyFile {
    /// What is asked.
    pub(super) question: String,
    /// Scenario of all parts that name no other.
    pub(super) scenario: PathBuf,
    /// Seeds of each part that says nothing else.
    #[serde(default = "ten", deserialize_with = "runs")]
    pub(super) runs: u32,
    /// Margin of "equivalent".
    #[serde(default = "one_percent", deserialize_with = "margin")]
    pub(super) equivalence: f64,
    /// Figures of all comparisons; the first decides.
    #[serde(default)]
    pub(super) metrics: Metrics,
    /// What the answer leaves out.
    #[serde(default)]
    pub(super) not_modelled_yet: Vec<String>,
    #[serde(default)]
    pub(super) compare: Vec<ComparePart>,
    #[serde(default)]
    pub(super) sweep: Vec<SweepPart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ComparePart {
    pub(super) title: String,
    pub(super) scenario: Option<PathBuf>,
    #[serde(default, deserialize_with = "some_runs")]
    pub(super) runs: Option<u32>,
    pub(super) a: SideSpec,
    pub(super) b: SideSpec,
}

/// One side: a name for people, and settings over the scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SideSpec {
    pub(super) label: String,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

impl SideSpec {
    pub(super) fn settings(&self) -> Vec<Setting> {
        self.set.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepPart {
    pub(super) title: String,
    pub(super) scenario: Option<PathBuf>,
    #[serde(default, deserialize_with = "some_runs")]
    pub(super) runs: Option<u32>,
    pub(super) key: String,
    pub(super) values: Values,
    #[serde(default)]
    pub(super) metrics: Metrics,
}

/// `values = ["1ms", "2ms"]` or `values = { from = "1ms", to = "25ms", step = "1ms" }`.
#[derive(Debug)]
pub(super) struct Values(pub(super) Vec<Value>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawValues {
    List(Vec<String>),
    Scan { from: String, to: String, step: String },
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Values, D::Error> {
        match RawValues::deserialize(d)? {
            RawValues::List(list) if list.is_empty() || list.len() as u64 > sweeping::MAX_VALUES => Err(
                D::Error::custom(format!("{} values: allowed are 1 to {}", list.len(), sweeping::MAX_VALUES)),
            ),
            RawValues::List(list) => Ok(Values(list.iter().map(|v| Value::plain(v)).collect())),
            RawValues::Scan { from, to, step } => {
                sweeping::scan(&from, &to, &step).map(Values).map_err(D::Error::custom)
            }
        }
    }
}

/// Figures by name.
#[derive(Debug, Default)]
pub(super) struct Metrics(pub(super) Vec<&'static Figure>);

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Metrics, D::Error> {
        let names = Vec::<String>::deserialize(d)?;
        let found = names.iter().map(|name| figures::by_name(name));
        found.collect::<Result<_, _>>().map(Metrics).map_err(D::Error::custom)
    }
}

fn ten() -> u32 {
    10
}

fn one_percent() -> f64 {
    0.01
}

fn margin<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    parse_margin(&String::deserialize(d)?).map_err(D::Error::custom)
}

fn runs<'de, D: Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
    let runs = u32::deserialize(d)?;
    if (1..=100_000).contains(&runs) {
        return Ok(runs);
    }
    Err(D::Error::custom(format!("{runs} runs: allowed are 1 to 100000")))
}

fn some_runs<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
    runs(d).map(Some)
}

/// Reads and checks a study file.
pub(super) fn read(path: &Path) -> Result<StudyFile, Failure> {
    let mistake = |message: String| Failure::Study { file: path.display().to_string(), message };
    let text = load::read_text(path)?;
    if text.len() > sim_workloads::scenario::MAX_BYTES {
        return Err(mistake(format!("longer than {} bytes", sim_workloads::scenario::MAX_BYTES)));
    }
    let study: StudyFile = toml::from_str(&text).map_err(|e| mistake(e.to_string()))?;
    if study.compare.len() > MAX_PARTS || study.sweep.len() > MAX_PARTS {
        return Err(mistake(format!("more than {MAX_PARTS} comparisons or sweeps")));
    }
    if study.compare.is_empty() && study.sweep.is_empty() {
        return Err(mistake("nothing to do: add a [[compare]] or a [[sweep]]".to_owned()));
    }
    Ok(study)
}

/// Where a part's scenario lies.
pub(super) fn scenario_path(file: &Path, study: &StudyFile, part: Option<&PathBuf>) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(part.unwrap_or(&study.scenario))
}

/// A labelled part of the report.
#[derive(Debug, Serialize)]
pub(super) struct Titled<T> {
    pub(super) title: String,
    pub(super) scenario: String,
    /// How far to trust it.
    pub(super) notes: Vec<String>,
    #[serde(flatten)]
    pub(super) result: T,
}
