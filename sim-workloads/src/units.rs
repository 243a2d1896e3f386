//! Quantities as scenarios write them: durations and sizes with units, bounded whole numbers, CPU lists, names.

use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sim_core::{CpuMask, Nanos};
use std::fmt;
use std::marker::PhantomData;

/// The longest duration a scenario may name, and the cap of every random draw: 366 days. Sums of two stay far below
/// the end of simulated time.
pub const MAX_DURATION: Nanos = Nanos(366 * 86_400 * 1_000_000_000);
/// The largest number of bytes a scenario may name: 1 TiB.
pub const MAX_BYTES: u64 = 1 << 40;
/// The longest name of a task or an object.
pub const MAX_NAME: usize = 64;

/// Serde form of a [`Nanos`] field: read from a text with a unit (`"1.5ms"`), written as an integer of nanoseconds.
pub mod duration {
    use super::*;

    /// Reads a text with a unit of at most [`MAX_DURATION`].
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Nanos, D::Error> {
        d.deserialize_str(DurationVisitor)
    }
    /// Writes nanoseconds.
    pub fn serialize<S: Serializer>(value: &Nanos, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(value.0)
    }
}

/// A duration in places where a type is needed, such as an optional field or the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(#[serde(with = "duration")] pub Nanos);

struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = Nanos;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration with a unit, like \"250us\" or \"1.5ms\"")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Nanos, E> {
        let value: Nanos = text.parse().map_err(E::custom)?;
        if value > MAX_DURATION {
            return Err(E::custom(format_args!("'{text}' is too long: at most 366 days are allowed")));
        }
        Ok(value)
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<Nanos, E> {
        if n < 0 {
            return Err(E::invalid_value(Unexpected::Signed(n), &self));
        }
        self.visit_str(&n.to_string())
    }
    fn visit_f64<E: Error>(self, x: f64) -> Result<Nanos, E> {
        self.visit_str(&x.to_string())
    }
}

/// A number of bytes: a whole number, or a text with `B`, `KiB`, `MiB` or `GiB`. At least 1, at most [`MAX_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Bytes, D::Error> {
        d.deserialize_any(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size from 1 byte to 1 TiB, like 512 or \"64KiB\"")
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<Bytes, E> {
        let bytes = u64::try_from(n).ok().filter(|b| (1..=MAX_BYTES).contains(b));
        bytes.map(Bytes).ok_or_else(|| E::invalid_value(Unexpected::Signed(n), &self))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let unit = match text[split..].trim() {
            "" | "B" => Some(1),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        };
        let bytes = text[..split].parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
        let bytes = bytes.filter(|b| (1..=MAX_BYTES).contains(b));
        bytes.map(Bytes).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Reads a whole number from `MIN` to `MAX`: for `#[serde(deserialize_with = "whole::<_, _, 1, 100>")]`.
pub fn whole<'de, D, T, const MIN: i64, const MAX: i64>(d: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    d.deserialize_i64(WholeVisitor { min: MIN, max: MAX, number: PhantomData })
}

/// As [`whole`], for an optional field (with `#[serde(default)]`).
pub fn optional_whole<'de, D, T, const MIN: i64, const MAX: i64>(d: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    whole::<D, T, MIN, MAX>(d).map(Some)
}

/// A whole number from `MIN` to `MAX`, in places where a type is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Whole<T, const MIN: i64, const MAX: i64>(pub T);

impl<'de, T: TryFrom<i64>, const MIN: i64, const MAX: i64> Deserialize<'de> for Whole<T, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        whole::<D, T, MIN, MAX>(d).map(Whole)
    }
}

/// Reads an optional number from `MIN` to `MAX` thousandths (with `#[serde(default)]`).
pub fn optional_number<'de, D, const MIN: u32, const MAX: u32>(d: D) -> Result<Option<f64>, D::Error>
where
    D: Deserializer<'de>,
{
    let x = f64::deserialize(d)?;
    let (min, max) = (f64::from(MIN) / 1000.0, f64::from(MAX) / 1000.0);
    if (min..=max).contains(&x) {
        return Ok(Some(x));
    }
    Err(D::Error::custom(format_args!("found the number {x}, expected a number from {min} to {max}")))
}

/// A number from `MIN` to `MAX` thousandths, as a schema says it; see [`optional_number`].
pub struct Share<const MIN: u32, const MAX: u32>;

/// A clock frequency in kHz: a text with `kHz`, `MHz` or `GHz`, from 1 MHz to 10 GHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Frequency(pub u32);

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = if self.0 >= 1_000_000 { (1e6, "GHz") } else { (1e3, "MHz") };
        write!(f, "{} {name}", f64::from(self.0) / unit)
    }
}

impl<'de> Deserialize<'de> for Frequency {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Frequency, D::Error> {
        d.deserialize_str(FrequencyVisitor)
    }
}

struct FrequencyVisitor;

impl Visitor<'_> for FrequencyVisitor {
    type Value = Frequency;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a clock from 1 MHz to 10 GHz, like \"4.6GHz\" or \"800MHz\"")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Frequency, E> {
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
        let unit = match text[number.len()..].trim() {
            "kHz" => Some(1.0),
            "MHz" => Some(1e3),
            "GHz" => Some(1e6),
            _ => None,
        };
        let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let khz = number.parse::<f64>().ok().filter(|_| plain).zip(unit).map(|(n, unit)| (n * unit).round());
        let khz = khz.filter(|khz| (1e3..=1e7).contains(khz));
        khz.map(|khz| Frequency(khz as u32)).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Reads a whole number from 0 to `max`.
pub(crate) fn whole_up_to<'de, D: Deserializer<'de>>(max: u32, d: D) -> Result<u64, D::Error> {
    d.deserialize_i64(WholeVisitor { min: 0, max: i64::from(max), number: PhantomData })
}

struct WholeVisitor<T> {
    min: i64,
    max: i64,
    number: PhantomData<T>,
}

impl<T: TryFrom<i64>> Visitor<'_> for WholeVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.min, self.max)
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<T, E> {
        let value = if (self.min..=self.max).contains(&n) { T::try_from(n).ok() } else { None };
        value.ok_or_else(|| E::invalid_value(Unexpected::Signed(n), &self))
    }
}

/// A set of CPUs, read and written as a cpulist (`"0-3,8"`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(pub CpuMask);

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<CpuList, D::Error> {
        String::deserialize(d)?.parse().map(CpuList).map_err(D::Error::custom)
    }
}
impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&self.0)
    }
}

/// As [`CpuList`], and may be empty (`""`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuSet(pub CpuMask);

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<CpuSet, D::Error> {
        let text = String::deserialize(d)?;
        if text.trim().is_empty() {
            return Ok(CpuSet::default());
        }
        text.parse().map(CpuSet).map_err(D::Error::custom)
    }
}
impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&self.0)
    }
}

/// The name of an object or a child. In a task with `count`, `%` stands for the number of the instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Name(pub String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Name, D::Error> {
        let text = String::deserialize(d)?;
        check_name(&text, true).map_err(D::Error::custom)?;
        Ok(Name(text))
    }
}

/// Reads the name of a workload model, which begins the paths of its tasks.
pub(crate) fn model_name<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    let name = String::deserialize(d)?;
    check_name(&name, false).map_err(D::Error::custom)?;
    Ok(name)
}

/// Refuses names that could not be told apart in a path (`make#0/cc1#17`) or would not fit a table.
pub fn check_name(text: &str, template: bool) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.+:@".contains(c) || (template && c == '%');
    if text.is_empty() || text.len() > MAX_NAME || !text.chars().all(plain) {
        let percent = if template { " %" } else { "" };
        return Err(format!(
            "{text:.80?} is not a name: write 1 to {MAX_NAME} letters, digits or _ - . + : @{percent}"
        ));
    }
    Ok(())
}

/// A line of comment in a scenario, in which what cannot stand in one is replaced.
pub fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    format!("# {}\n", text.chars().map(plain).collect::<String>())
}
