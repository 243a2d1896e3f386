//! The schema and the parser agree: see `super::parse`, through which every scenario of these tests goes.
//!
//! The checker below knows the keywords the schema uses and stumbles over any other, except texts' patterns, which it
//! leaves to the parser.

use serde_json::{Map, Value, json};
use sim_workloads::scenario::{ErrorKind, Scenario, ScenarioError, json_schema};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(json_schema);

/// Asserts that the schema takes what the parser takes, and refuses unknown keys, missing keys and wrong types as the
/// parser does.
pub(super) fn agrees(text: &str, parsed: &Result<Scenario, ScenarioError>) {
    let Ok(value) = toml::from_str::<Value>(text) else { return };
    let checked = check(&SCHEMA, &value, "");
    match parsed {
        Ok(_) => assert_eq!(checked, Ok(()), "the schema refuses\n{text}"),
        Err(error) => {
            let by_schema = match error.kind {
                ErrorKind::WrongType => true,
                ErrorKind::UnknownName => error.message.starts_with("unknown key"),
                ErrorKind::MissingKey => error.message.starts_with("the key"),
                _ => false,
            };
            assert!(
                !by_schema || checked.is_err(),
                "the schema takes what the parser does not: {error}\n{text}"
            );
        }
    }
}

fn check(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Value::Object(keywords) = schema else { return refuse(*schema != json!(true), at, "nothing fits") };
    for (keyword, argument) in keywords {
        keyword_holds(keyword, argument, keywords, value, at)?;
    }
    Ok(())
}

fn refuse(bad: bool, at: &str, what: &str) -> Result<(), String> {
    if bad { Err(format!("{at}: {what}")) } else { Ok(()) }
}

fn keyword_holds(
    keyword: &str,
    argument: &Value,
    schema: &Map<String, Value>,
    value: &Value,
    at: &str,
) -> Result<(), String> {
    let bound = |holds: fn(f64, f64) -> bool| match (value.as_f64(), argument.as_f64()) {
        (Some(x), Some(limit)) => refuse(!holds(x, limit), at, &format!("{x} and {keyword} {limit}")),
        _ => Ok(()),
    };
    let length = |holds: fn(u64, u64) -> bool| match (value.as_array(), argument.as_u64()) {
        (Some(items), Some(limit)) => refuse(!holds(items.len() as u64, limit), at, keyword),
        _ => Ok(()),
    };
    let list = || argument.as_array().expect("a list");
    match keyword {
        "$schema" | "title" | "description" | "default" | "definitions" | "pattern" => Ok(()),
        "$ref" => {
            let name =
                argument.as_str().and_then(|r| r.strip_prefix("#/definitions/")).expect("a definition");
            check(&SCHEMA["definitions"][name], value, at)
        }
        "type" => {
            refuse(!has_type(value, argument.as_str().expect("one type")), at, &format!("no {argument}"))
        }
        "enum" => refuse(!list().contains(value), at, &format!("none of {argument}")),
        "minimum" => bound(|x, limit| x >= limit),
        "maximum" => bound(|x, limit| x <= limit),
        "minLength" => refuse(value.as_str().is_some_and(|s| s.is_empty()), at, "empty"),
        "minItems" => length(|n, limit| n >= limit),
        "maxItems" => length(|n, limit| n <= limit),
        "anyOf" => {
            let choices = list();
            let failures: Vec<String> = choices.iter().filter_map(|c| check(c, value, at).err()).collect();
            refuse(failures.len() == choices.len(), at, &failures.join("; "))
        }
        "allOf" => list().iter().try_for_each(|c| check(c, value, at)),
        "items" => {
            let Some(items) = value.as_array() else { return Ok(()) };
            let of = |i: usize| argument.as_array().map_or(argument, |list| &list[i.min(list.len() - 1)]);
            items.iter().enumerate().try_for_each(|(i, item)| check(of(i), item, &format!("{at}[{i}]")))
        }
        "required" => {
            let Some(table) = value.as_object() else { return Ok(()) };
            let missing = list().iter().find(|k| !table.contains_key(k.as_str().expect("a key")));
            refuse(missing.is_some(), at, &format!("{missing:?} is missing"))
        }
        "properties" => {
            let (Some(table), Some(known)) = (value.as_object(), argument.as_object()) else { return Ok(()) };
            let known = known.iter().filter_map(|(key, schema)| Some((key, schema, table.get(key)?)));
            known.into_iter().try_for_each(|(key, schema, v)| check(schema, v, &format!("{at}.{key}")))
        }
        // Tables whose keys are names: every key has the one schema.
        "patternProperties" => {
            let (Some(table), Some(known)) = (value.as_object(), argument.as_object()) else { return Ok(()) };
            assert_eq!((known.len(), schema.contains_key("properties")), (1, false));
            let of_any = known.values().next().expect("one");
            table.iter().try_for_each(|(key, v)| check(of_any, v, &format!("{at}.{key}")))
        }
        "additionalProperties" => {
            assert_eq!(argument, &json!(false));
            let Some(table) = value.as_object() else { return Ok(()) };
            if schema.contains_key("patternProperties") {
                return Ok(());
            }
            let known = schema.get("properties").and_then(Value::as_object);
            let unknown = table.keys().find(|key| known.is_none_or(|known| !known.contains_key(*key)));
            refuse(unknown.is_some(), at, &format!("{unknown:?} is unknown"))
        }
        _ => panic!("the schema uses {keyword}, which this checker does not know"),
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number() || value.is_null(),
        _ => panic!("type {name}"),
    }
}

/// Every schema in the tree.
fn visit(schema: &Value, f: &mut impl FnMut(&Map<String, Value>)) {
    match schema {
        Value::Object(map) => {
            f(map);
            map.values().for_each(|v| visit(v, f));
        }
        Value::Array(items) => items.iter().for_each(|v| visit(v, f)),
        _ => {}
    }
}

#[test]
fn every_table_is_closed_and_every_default_is_valid() {
    let mut tables = 0;
    visit(&SCHEMA, &mut |map| {
        if map.get("type") == Some(&json!("object")) && map.contains_key("properties") {
            assert_eq!(map.get("additionalProperties"), Some(&json!(false)), "{map:?}");
            tables += 1;
        }
        if let (Some(default), true) = (map.get("default"), map.contains_key("type")) {
            assert_eq!(check(&Value::Object(map.clone()), default, "default"), Ok(()));
        }
    });
    assert!(tables > 30, "{tables}");
}

/// The keys of tables that are read by hand, as their readers list them in the message on an unknown key.
#[test]
fn keys_are_those_the_readers_know() {
    let places = [
        ("zz = 1", ""),
        ("kernel.zz = 1", "KernelSpec"),
        ("machine.zz = 1", "MachineSpec"),
        ("costs.zz = 1", "CostsSpec"),
        ("run.zz = 1", "RunSpec"),
        ("task.t.zz = 1", "TaskDef"),
        ("group.\"/a\".zz = 1", "GroupSpec"),
        ("session.1.zz = 1", "SessionSpec"),
        ("at = [{ zz = 1 }]", "ChangeSpec"),
        ("at = [{ time = \"1s\", task.t.zz = 1 }]", "TaskChange"),
        ("workload.kernel_compile.zz = 1", "KernelCompile"),
        ("workload.netperf.zz = 1", "Netperf"),
        ("workload.gzip.zz = 1", "Gzip"),
        ("workload.pigz.zz = 1", "Pigz"),
        ("workload.hackbench.zz = 1", "Hackbench"),
    ];
    for (text, name) in places {
        let error = Scenario::parse(text, "test.toml", &[]).unwrap_err();
        let (_, list) = error.message.split_once("allowed are ").unwrap();
        let mut allowed: Vec<&str> = list.split(", ").collect();
        let table = if name.is_empty() { &*SCHEMA } else { &SCHEMA["definitions"][name] };
        let mut keys: Vec<&str> =
            table["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        allowed.sort_unstable();
        keys.sort_unstable();
        assert_eq!(keys, allowed, "{name}");
    }
}

#[test]
fn samples_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let mut found = 0;
    for folder in [folder.to_owned(), format!("{folder}/teaching"), format!("{folder}/cases")] {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            // Studies lie beside the scenarios.
            if !text.contains("\nquestion = ") && !text.starts_with("question = ") {
                super::parse(&text).unwrap_or_else(|e| panic!("{}: {}", path.display(), e.render(false)));
                found += 1;
            }
        }
    }
    assert!(found > 20, "{found}");
}
