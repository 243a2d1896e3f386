//! `[[machine.interference]]`: what takes CPUs away from tasks.

use crate::dist::{Dist, Shape};
use crate::schema::{Names, TemplateName};
use crate::units::{CpuList, Duration, Name, Whole, duration, optional_whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use sim_core::Nanos;
use sim_core::cpumask::MAX_CPUS;
use sim_core::machine::SourceKind;

/// The most arrivals a second, a CPU.
const MAX_RATE: i64 = 1_000_000;

/// `[[machine.interference]]`: a source of interrupts, softirqs, stolen time or work of kernel threads, at regular
/// intervals (`period = "4ms"`) or random ones (`period = { exponential = "4ms" }`, `rate = 250`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct InterferenceSpec {
    /// Name in reports and of the source's random streams; unless given, its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<TemplateName>")]
    pub name: Option<Name>,
    /// The CPU.
    #[serde(
        default,
        deserialize_with = "optional_whole::<_, _, 0, { MAX_CPUS as i64 - 1 }>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Whole<u32, 0, { MAX_CPUS as i64 - 1 }>>")]
    pub cpu: Option<u32>,
    /// Its CPUs, if several: each has its own arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// Interrupt, softirq, steal or kthread.
    #[schemars(with = "Names<SourceKind>")]
    pub kind: SourceKind,
    /// First time.
    #[serde(default, with = "duration", rename(serialize = "start_ns"))]
    #[schemars(with = "Duration")]
    pub start: Nanos,
    /// Interval.
    #[serde(
        default,
        rename(serialize = "period_ns"),
        serialize_with = "optional_ns",
        skip_serializing_if = "Option::is_none"
    )]
    pub period: Option<Dist>,
    /// Random arrivals a second, in place of an interval.
    #[serde(
        default,
        deserialize_with = "optional_whole::<_, _, 1, { MAX_RATE }>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Whole<u32, 1, { MAX_RATE }>>")]
    pub rate: Option<u32>,
    /// How long each time; shorter than the interval.
    #[serde(rename(serialize = "time_ns"), serialize_with = "ns")]
    pub time: Dist,
}

/// A constant as a number of nanoseconds, a distribution as it is.
fn ns<S: Serializer>(dist: &Dist, s: S) -> Result<S::Ok, S::Error> {
    match dist {
        Dist { shape: Shape::Constant(d), min: None, max: None } => s.serialize_u64(d.0),
        _ => dist.serialize(s),
    }
}

fn optional_ns<S: Serializer>(dist: &Option<Dist>, s: S) -> Result<S::Ok, S::Error> {
    match dist {
        Some(dist) => ns(dist, s),
        None => s.serialize_none(),
    }
}
