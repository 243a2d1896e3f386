//! The JSON Schema of scenarios, and of the tables that are read by hand.

use super::ScenarioFile;
use super::group::{CpuController, GroupPath, MAX_GROUP_DEPTH};
use super::kernel::HZ;
use super::step::Step;
use super::step_reader::{ACTIONS, WORDS};
use crate::dist::Dist;
use crate::schema::{Names, TemplateName, fit_toml};
use crate::units::{Bytes, CpuList, Duration, MAX_NAME, Whole};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use sim_core::kernel::Policy;
use sim_core::kernel::tunables::Tunable;
use sim_core::machine::Costs;
use sim_core::program::Missed;
use std::borrow::Cow;

/// The JSON Schema (draft 7) of scenarios, for editors. Whatever [`super::Scenario::parse`] accepts is valid by it; the
/// reverse does not hold, because names that lead nowhere and contradictions are beyond a schema.
pub fn json_schema() -> Value {
    schema_of::<ScenarioFile>("cfsim scenario")
}

/// The JSON Schema (draft 7) of TOML files that are read into a `T`.
pub fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft07().for_deserialize().with_transform(RecursiveTransform(fit_toml));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

/// The values of `hz`.
pub(super) struct HzSchema;

impl JsonSchema for HzSchema {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Hz".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "enum": HZ })
    }
}

/// The name of a `[session.N]` table.
pub(super) struct SessionNumber;

impl JsonSchema for SessionNumber {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "SessionNumber".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+$" })
    }
}

/// A key of `[uncertain]`.
pub(super) struct UncertainKey;

impl JsonSchema for UncertainKey {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "UncertainKey".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(machine|costs)\\..+$" })
    }
}

impl JsonSchema for GroupPath {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "GroupPath".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let part = format!("/[A-Za-z0-9_.+:@-]{{1,{MAX_NAME}}}");
        json_schema!({ "type": "string", "pattern": format!("^(/|({part}){{1,{MAX_GROUP_DEPTH}}})$") })
    }
}

/// The files a group has; `cpu.max` is refused by the reader.
impl JsonSchema for CpuController {
    fn schema_name() -> Cow<'static, str> {
        "CpuController".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let weight = Whole::<u64, 1, 10_000>::json_schema(generator).to_value();
        let nice = Whole::<i8, -20, 19>::json_schema(generator).to_value();
        let shares = Whole::<u64, 2, 262_144>::json_schema(generator).to_value();
        json_schema!({
            "type": "object",
            "description": "the files of the cpu controller",
            "properties": {
                "weight": { "anyOf": [weight, table(&[("nice", nice)], &[])] },
                "shares": shares,
                "idle": { "enum": [true, false, 1, 0] },
            },
            "additionalProperties": false,
        })
    }
}

fn properties(schema: &mut Schema) -> &mut Map<String, Value> {
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if !properties.is_object() {
        *properties = Value::Object(Map::new());
    }
    properties.as_object_mut().unwrap_or_else(|| unreachable!("made an object above"))
}

fn described(mut schema: Schema, about: &str) -> Value {
    schema.insert("description".to_owned(), about.trim().into());
    schema.to_value()
}

/// `[kernel]` has a key for every tunable.
pub(super) fn add_tunables(schema: &mut Schema) {
    let mut generator = SchemaGenerator::default();
    for tunable in Tunable::ALL {
        let value = if tunable.is_duration() {
            Duration::json_schema(&mut generator)
        } else {
            Whole::<u32, 0, { u32::MAX as i64 }>::json_schema(&mut generator)
        };
        properties(schema).insert(tunable.name().to_owned(), value.to_value());
    }
}

/// `[costs]` has a key for every cost.
pub(super) fn add_costs(schema: &mut Schema) {
    let mut generator = SchemaGenerator::default();
    for cost in Costs::TABLE {
        let value = described(Duration::json_schema(&mut generator), cost.about);
        properties(schema).insert(cost.name.to_owned(), value);
    }
}

impl JsonSchema for Step {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let actions = ACTIONS.iter().map(|action| action_schema(action, generator));
        let choices: Vec<Value> = std::iter::once(json!({ "enum": WORDS })).chain(actions).collect();
        json_schema!({
            "description": "a step of a program: a word, or a table with one action and what belongs to it",
            "anyOf": choices,
        })
    }
}

/// A program: a list of steps, or a text with a step a line.
pub(super) fn program_schema(generator: &mut SchemaGenerator) -> Schema {
    let step = generator.subschema_for::<Step>().to_value();
    json_schema!({ "anyOf": [
        { "type": "array", "minItems": 1, "items": step },
        { "type": "string", "minLength": 1, "description": "a step a line, like run 12us" },
    ] })
}

/// The table of one action, with the keys that belong to it.
fn action_schema(action: &'static str, generator: &mut SchemaGenerator) -> Value {
    let body = || json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/definitions/Step" } });
    let value = match action {
        "run" | "run_cpu" | "kernel" | "sleep" | "io" => generator.subschema_for::<Dist>(),
        "period" | "sleep_until" | "until" | "for" | "timer_slack" => generator.subschema_for::<Duration>(),
        "nice" => generator.subschema_for::<Whole<i8, -20, 19>>(),
        "policy" => generator.subschema_for::<Names<Policy>>(),
        "affinity" => generator.subschema_for::<CpuList>(),
        "move_to_group" => generator.subschema_for::<GroupPath>(),
        "count" | "repeat" => generator.subschema_for::<Whole<u64, 1, { super::step_reader::MAX_COUNT }>>(),
        "forever" => return table(&[(action, body())], &[]),
        // The rest name an object, a child or a program.
        _ => generator.subschema_for::<TemplateName>(),
    };
    let value = value.to_value();
    match action {
        "read" | "write" => {
            table(&[(action, value), ("bytes", generator.subschema_for::<Bytes>().to_value())], &[])
        }
        "post" => {
            let n = generator.subschema_for::<Whole<u32, 1, 1_000_000>>().to_value();
            table(&[(action, value)], &[("n", n), ("stay", json!({ "type": "boolean" }))])
        }
        "epoll_wait" => {
            let timeout = generator.subschema_for::<Duration>().to_value();
            table(&[(action, value)], &[("timeout", timeout)])
        }
        "cond_wait" => {
            let mutex = generator.subschema_for::<TemplateName>().to_value();
            table(&[(action, value)], &[("mutex", mutex)])
        }
        "timer" => {
            let every = generator.subschema_for::<Duration>().to_value();
            let missed = generator.subschema_for::<Names<Missed>>().to_value();
            table(&[(action, value), ("every", every)], &[("missed", missed)])
        }
        "fork" | "vfork" => table(&[(action, value), ("program", body())], &[]),
        "repeat" | "until" | "for" => table(&[(action, value), ("do", body())], &[]),
        _ => table(&[(action, value)], &[]),
    }
}

/// A table with these keys and no others.
fn table(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let entry = |(key, value): &(&str, Value)| ((*key).to_owned(), value.clone());
    let properties: Map<String, Value> = required.iter().chain(optional).map(entry).collect();
    let names: Vec<&str> = required.iter().map(|(key, _)| *key).collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}
