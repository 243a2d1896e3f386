//! Reads typed values out of the tree. Every error gets the place of the innermost value it came from.

use super::error::{ErrorKind, Problem};
use super::node::{Entry, Node, Origin, Value, parse_override};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt::{self, Display};

type Result<T> = std::result::Result<T, Mistake>;

/// [`Problem`] as serde's error type.
#[derive(Debug)]
pub(super) struct Mistake(pub(super) Box<Problem>);

impl Mistake {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Mistake {
        Mistake(Problem::new(kind, message))
    }
    fn at(self, origin: Origin) -> Mistake {
        Mistake(self.0.at(origin))
    }
}
impl Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}
impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: Display>(message: T) -> Mistake {
        Mistake::new(ErrorKind::BadValue, message.to_string())
    }
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Mistake {
        Mistake::new(ErrorKind::WrongType, format!("found {}, expected {}", Found(found), plain(expected)))
    }
    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Mistake {
        Mistake::new(ErrorKind::BadValue, format!("found {}, expected {expected}", Found(found)))
    }
    fn invalid_length(len: usize, expected: &dyn Expected) -> Mistake {
        Mistake::new(ErrorKind::BadValue, format!("found a list of {len}, expected {}", plain(expected)))
    }
    fn unknown_variant(name: &str, allowed: &'static [&'static str]) -> Mistake {
        Mistake(Problem::unknown("value", name, allowed))
    }
    fn unknown_field(name: &str, allowed: &'static [&'static str]) -> Mistake {
        Mistake(Problem::unknown("key", name, allowed))
    }
    fn missing_field(name: &'static str) -> Mistake {
        Mistake::new(ErrorKind::MissingKey, format!("the key '{name}' is missing"))
    }
    fn duplicate_field(name: &'static str) -> Mistake {
        Mistake::new(ErrorKind::Inconsistent, format!("the key '{name}' is given twice"))
    }
}

/// What was expected, in TOML's words where serde's own types use Rust's.
fn plain(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "f64" => "a number".to_owned(),
        "a tuple of size 2" => "a list of 2 values".to_owned(),
        text => text.to_owned(),
    }
}

/// What was found, in TOML's words and cut to a readable length.
struct Found<'a>(Unexpected<'a>);

impl Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Str(s) => write!(f, "the text {s:.80?}"),
            Unexpected::Signed(n) => write!(f, "the number {n}"),
            Unexpected::Float(x) => write!(f, "the number {x}"),
            Unexpected::Bool(b) => write!(f, "{b}"),
            Unexpected::Seq => f.write_str("a list"),
            Unexpected::Map => f.write_str("a table"),
            other => write!(f, "{other}"),
        }
    }
}

/// Deserializer of one value.
#[derive(Clone, Copy)]
pub(super) struct NodeReader<'a>(pub(super) &'a Node);

impl<'a> NodeReader<'a> {
    fn visit<'de, V: Visitor<'de>>(value: &Value, origin: Origin, visitor: V) -> Result<V::Value> {
        let result = match value {
            Value::String(s) => visitor.visit_str(s),
            Value::Integer(i) => visitor.visit_i64(*i),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Datetime => Err(de::Error::invalid_type(Unexpected::Other("a date"), &visitor)),
            Value::Array(items) => visitor.visit_seq(Items(items.iter())),
            Value::Table(entries) => visitor.visit_map(Entries(entries.iter(), None)),
            Value::Raw(text) => match Self::typed(text, origin)? {
                Some(value) => Self::visit(&value, origin, visitor),
                None => visitor.visit_str(text),
            },
        };
        result.map_err(|e| e.at(origin))
    }

    /// The TOML value an override's text stands for, if it is one.
    fn typed(text: &str, origin: Origin) -> Result<Option<Value>> {
        let Origin::Override(index) = origin else { return Ok(None) };
        parse_override(text, index).map_err(|p| Mistake(p.at(origin)))
    }

    /// The text of an override where a string is expected: quotes may be left out.
    fn raw_text(text: &str, origin: Origin) -> Result<String> {
        Ok(match Self::typed(text, origin)? {
            Some(Value::String(s)) => s,
            _ => text.to_owned(),
        })
    }
}

impl<'de> Deserializer<'de> for NodeReader<'_> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        Self::visit(&self.0.value, self.0.origin, visitor)
    }
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match &self.0.value {
            Value::Raw(text) => {
                let text = Self::raw_text(text, self.0.origin)?;
                visitor.visit_str(&text).map_err(|e: Mistake| e.at(self.0.origin))
            }
            _ => self.deserialize_any(visitor),
        }
    }
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }
    /// An override may write a list as `a,b` as well as `["a", "b"]`.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let origin = self.0.origin;
        match &self.0.value {
            Value::Raw(text) if !matches!(Self::typed(text, origin)?, Some(Value::Array(_))) => {
                let item = |s: &str| Node { origin, value: Value::Raw(s.trim().to_owned()) };
                let items: Vec<Node> = text.split(',').map(item).collect();
                visitor.visit_seq(Items(items.iter())).map_err(|e| e.at(origin))
            }
            _ => self.deserialize_any(visitor),
        }
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self).map_err(|e| e.at(self.0.origin))
    }
    /// Only names without values: programs read their actions themselves.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let origin = self.0.origin;
        let text = match &self.0.value {
            Value::String(s) => s.clone(),
            Value::Raw(text) => Self::raw_text(text, origin)?,
            other => {
                let found = match other {
                    Value::Integer(i) => Unexpected::Signed(*i),
                    Value::Float(x) => Unexpected::Float(*x),
                    Value::Bool(b) => Unexpected::Bool(*b),
                    Value::Array(_) => Unexpected::Seq,
                    Value::Table(_) => Unexpected::Map,
                    _ => Unexpected::Other("a date"),
                };
                let expected = format!("one of {}", variants.join(", "));
                return Err(<Mistake as de::Error>::invalid_type(found, &expected.as_str()).at(origin));
            }
        };
        let reader: StrDeserializer<'_, Mistake> = text.as_str().into_deserializer();
        reader.deserialize_enum(name, variants, visitor).map_err(|e| e.at(origin))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a>(std::slice::Iter<'a, Node>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Mistake;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(node) = self.0.next() else { return Ok(None) };
        seed.deserialize(NodeReader(node)).map(Some).map_err(|e| e.at(node.origin))
    }
}

struct Entries<'a>(std::slice::Iter<'a, Entry>, Option<&'a Node>);

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Mistake;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(entry) = self.0.next() else { return Ok(None) };
        self.1 = Some(&entry.node);
        let key: StrDeserializer<'_, Mistake> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|e| e.at(entry.origin))
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let Some(node) = self.1.take() else { return Err(de::Error::custom("a value without a key")) };
        seed.deserialize(NodeReader(node)).map_err(|e| e.at(node.origin))
    }
}
