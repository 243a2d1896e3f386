//! JSON Schemas of the quantities scenarios are written in, and what makes derived schemas fit TOML.
//!
//! The types that readers produce derive their schemas, so that a key exists for both or for neither. Types read by hand
//! have theirs beside the reader.

use crate::units::{Bytes, CpuList, CpuSet, Duration, Frequency, MAX_BYTES, MAX_NAME, Share, Whole};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::marker::PhantomData;

/// A type whose schema is written where it is used.
macro_rules! inline_schema {
    ($type:ty, $name:expr, $schema:expr) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

inline_schema!(
    Duration,
    "Duration",
    json_schema!({
        "type": "string",
        "description": "a duration with a unit: ns, us, ms, s or min",
        "pattern": r"^\s*[0-9_]+(\.[0-9_]+)?\s*(ns|us|µs|μs|ms|s|min)\s*$",
    })
);
inline_schema!(
    Bytes,
    "Bytes",
    json_schema!({
        "description": "a number of bytes, or a text with B, KiB, MiB or GiB",
        "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": MAX_BYTES },
            { "type": "string", "pattern": r"^[0-9]+\s*(B|KiB|MiB|GiB)?\s*$" },
        ],
    })
);
inline_schema!(
    Frequency,
    "Frequency",
    json_schema!({
        "type": "string",
        "description": "a clock from 1 MHz to 10 GHz",
        "pattern": r"^[0-9.]+\s*(kHz|MHz|GHz)$",
    })
);
inline_schema!(
    CpuList,
    "CpuList",
    json_schema!({ "type": "string", "description": "CPUs, like \"0-3,8\"", "pattern": r"^[0-9,\s-]+$" })
);

inline_schema!(
    CpuSet,
    "CpuSet",
    json_schema!({ "type": "string", "description": "CPUs, like \"0-3,8\", or \"\" for none", "pattern": r"^[0-9,\s-]*$" })
);

/// A name in a scenario that is no template: see [`crate::units::check_name`].
pub(crate) struct PlainName;
/// A name in a program: `%` stands for the number of the task's instance.
pub(crate) struct TemplateName;

inline_schema!(PlainName, "PlainName", name_schema(""));
inline_schema!(TemplateName, "TemplateName", name_schema("%"));

fn name_schema(more: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": format!("^[A-Za-z0-9_.+:@{more}-]{{1,{MAX_NAME}}}$") })
}

impl<T, const MIN: i64, const MAX: i64> JsonSchema for Whole<T, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Whole_{MIN}_{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Share<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Share_{MIN}_{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let (min, max) = (f64::from(MIN) / 1000.0, f64::from(MAX) / 1000.0);
        json_schema!({ "type": "number", "minimum": min, "maximum": max })
    }
}

/// The names of an enumeration's values, as its own deserialiser knows them.
pub(crate) struct Names<T>(PhantomData<T>);

impl<T: for<'de> Deserialize<'de>> JsonSchema for Names<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        std::any::type_name::<T>().into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut names: &[&str] = &[];
        // It always fails: the names are what the attempt is for.
        let _ = T::deserialize(NamesOf(&mut names));
        json_schema!({ "type": "string", "enum": names })
    }
}

/// Whether a value need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Notes which variants an enumeration asks for.
struct NamesOf<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for NamesOf<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("not an enumeration"))
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = variants;
        Err(de::Error::custom("only the names are wanted"))
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Makes a derived schema fit TOML: there is no null, and defaults are kept where they are written in a scenario as they
/// are serialised, which durations, distributions and tables are not.
pub(crate) fn fit_toml(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("format");
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|c| c.get("type").is_none_or(|t| t != "null"));
        if let [only] = choices.as_slice() {
            let only = Value::Array(vec![only.clone()]);
            object.remove("anyOf");
            object.insert("allOf".to_owned(), only);
        }
    }
    let as_written = match (object.get("default"), object.get("type").and_then(Value::as_str)) {
        (Some(Value::Number(n)), Some("integer")) => n.is_i64() || n.is_u64(),
        (Some(Value::Number(_)), Some("number")) => true,
        (Some(Value::String(_)), Some("string")) => true,
        (Some(Value::Bool(_)), Some("boolean")) => true,
        _ => false,
    };
    if !as_written {
        object.remove("default");
    }
}
