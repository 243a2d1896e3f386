//! The study file: a question, and the comparisons and sweeps that answer it.

use crate::comparison;
use crate::figures::{self, FIGURES, Figure};
use crate::load::Setting;
use crate::sweeping::{self, Value};
use crate::verbs::compare::parse_margin;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use sim_workloads::scenario::{ScenarioError, TomlFile, has_top_key};
use sim_workloads::units::{optional_whole, whole};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Most comparisons, and most sweeps, of one study.
const MAX_PARTS: usize = 100;

/// A study as it is written. Paths are relative to the file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a study")]
pub(super) struct StudyFile {
    /// What is asked.
    pub(super) question: String,
    /// Scenario of all parts that name no other.
    pub(super) scenario: PathBuf,
    /// Seeds of each part that says nothing else.
    #[serde(default = "ten", deserialize_with = "whole::<_, _, 1, 100_000>")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) runs: u32,
    /// Margin of "equivalent".
    #[serde(default = "one_percent", deserialize_with = "margin")]
    #[schemars(with = "String")]
    pub(super) equivalence: f64,
    /// Figures of all comparisons; the first decides.
    #[serde(default)]
    pub(super) metrics: Metrics,
    /// What the answer leaves out.
    #[serde(default)]
    pub(super) not_modelled_yet: Vec<String>,
    /// Comparisons, in order.
    #[serde(default)]
    pub(super) compare: Vec<ComparePart>,
    /// Sweeps, in order.
    #[serde(default)]
    pub(super) sweep: Vec<SweepPart>,
}

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

/// `values = ["1ms", "2ms"]` or `values = { from = "1ms", to = "25ms", step = "1ms" }`.
#[derive(Debug, Clone)]
pub(super) struct Values(pub(super) Vec<Value>);

/// The values from one to another in steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with from, to and step")]
struct Scan {
    from: String,
    to: String,
    step: String,
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Values, D::Error> {
        d.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of 1 to {} texts, or a table with from, to and step", sweeping::MAX_VALUES)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Values, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element::<String>()? {
            list.push(Value::plain(&value));
        }
        let fits = (1..=sweeping::MAX_VALUES).contains(&(list.len() as u64));
        if fits { Ok(Values(list)) } else { Err(A::Error::invalid_length(list.len(), &self)) }
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Values, A::Error> {
        let Scan { from, to, step } = Scan::deserialize(MapAccessDeserializer::new(map))?;
        sweeping::scan(&from, &to, &step).map(Values).map_err(A::Error::custom)
    }
}

impl JsonSchema for Values {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Values".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let list = json_schema!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
        json_schema!({ "anyOf": [list, generator.subschema_for::<Scan>()] })
    }
}

/// Figures by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Metrics(pub(super) Vec<&'static Figure>);

struct Metric(&'static Figure);

static METRICS: LazyLock<Vec<&'static str>> = LazyLock::new(|| FIGURES.iter().map(|f| f.name).collect());

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(d)?;
        figures::by_name(&name).map(Metric).map_err(|_| D::Error::unknown_variant(&name, &METRICS))
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Metrics, D::Error> {
        let list = Vec::<Metric>::deserialize(d)?;
        Ok(Metrics(list.into_iter().map(|metric| metric.0).collect()))
    }
}

impl JsonSchema for Metrics {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metrics".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let short = |f: &Figure| f.name.strip_suffix("_ns").map(str::to_owned);
        let names = FIGURES.iter().flat_map(|f| [Some(f.name.to_owned()), short(f)]).flatten();
        let names: Vec<String> = names.collect();
        json_schema!({ "type": "array", "items": { "enum": names } })
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

/// Reads and checks a study file.
pub(super) fn read(text: &str, path: &Path) -> Result<StudyFile, ScenarioError> {
    let file: TomlFile<StudyFile> = TomlFile::parse(text, &path.display().to_string())?;
    let study = &file.value;
    for (key, parts) in [("compare", study.compare.len()), ("sweep", study.sweep.len())] {
        if parts > MAX_PARTS {
            return Err(file.error_at(&[key], format!("{parts} parts: at most {MAX_PARTS} are allowed")));
        }
    }
    if study.compare.is_empty() && study.sweep.is_empty() {
        return Err(file.error_at(&[], "nothing to do: add a [[compare]] or a [[sweep]]"));
    }
    for (i, part) in study.compare.iter().enumerate() {
        for (name, side) in [("a", &part.a), ("b", &part.b)] {
            if let Some((key, why)) = side.set.keys().find_map(|key| Some((key, comparison::refusal(key)?))) {
                return Err(file.error_at(&["compare", &i.to_string(), name, "set", key], why));
            }
        }
    }
    Ok(file.value)
}

/// Whether a text looks like a study rather than a scenario.
pub(super) fn is_study(text: &str) -> bool {
    has_top_key(text, &["question", "compare", "sweep"])
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
