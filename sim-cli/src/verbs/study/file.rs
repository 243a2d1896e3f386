//! The study file: a question, and the comparisons and sweeps that answer it.

use super::parts::{AttributePart, ComparePart, SideSpec, SweepPart};
use crate::comparison;
use crate::figures::{self, FIGURES, Figure};
use crate::sweeping::{self, Value};
use crate::verbs::compare::parse_margin;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use sim_workloads::scenario::{ScenarioError, TomlFile, has_top_key};
use sim_workloads::units::whole;
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
    /// Attributions, in order.
    #[serde(default)]
    pub(super) attribute: Vec<AttributePart>,
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

/// A figure by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metric(pub(super) &'static Figure);

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

impl JsonSchema for Metric {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let short = |f: &Figure| f.name.strip_suffix("_ns").map(str::to_owned);
        let names = FIGURES.iter().flat_map(|f| [Some(f.name.to_owned()), short(f)]).flatten();
        json_schema!({ "enum": names.collect::<Vec<String>>() })
    }
}

impl JsonSchema for Metrics {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metrics".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": generator.subschema_for::<Metric>() })
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
    let (compare, sweep) = (study.compare.len(), study.sweep.len());
    for (key, parts) in [("compare", compare), ("sweep", sweep), ("attribute", study.attribute.len())] {
        if parts > MAX_PARTS {
            return Err(file.error_at(&[key], format!("{parts} parts: at most {MAX_PARTS} are allowed")));
        }
    }
    if study.compare.is_empty() && study.sweep.is_empty() && study.attribute.is_empty() {
        return Err(file.error_at(&[], "nothing to do: add a [[compare]], a [[sweep]] or an [[attribute]]"));
    }
    let compared = study.compare.iter().map(|part| [&part.a, &part.b]).enumerate();
    let attributed = study.attribute.iter().map(|part| [&part.a, &part.b]).enumerate();
    let pairs = compared.map(|p| ("compare", p)).chain(attributed.map(|p| ("attribute", p)));
    for (kind, (i, sides)) in pairs {
        for (name, side) in ["a", "b"].into_iter().zip(sides) {
            if let Some((key, why)) = refused(side) {
                return Err(file.error_at(&[kind, &i.to_string(), name, "set", key], why));
            }
        }
    }
    Ok(file.value)
}

/// A setting that cannot be that of one side, and why.
fn refused(side: &SideSpec) -> Option<(&String, String)> {
    side.set.keys().find_map(|key| Some((key, comparison::refusal(key)?)))
}

/// Whether a text looks like a study rather than a scenario.
pub(super) fn is_study(text: &str) -> bool {
    has_top_key(text, &["question", "compare", "sweep", "attribute"])
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
