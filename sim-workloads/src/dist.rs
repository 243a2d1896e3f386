//! Random durations: named distributions with documented parameters, drawn as whole nanoseconds.
//!
//! The transforms use `libm`, not the platform's mathematics library, so that a draw is the same on every machine; only
//! the rare tails of the standard normal and exponential draws go through the latter. Deviates: D-007.

use crate::units::{Duration, MAX_DURATION, duration};
use rand::RngExt;
use rand_distr::{Distribution, Exp1, OpenClosed01, StandardNormal};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::rng::Stream;
use std::borrow::Cow;
use std::fmt;

/// The most values of an [`Shape::Empirical`] distribution.
pub const MAX_EMPIRICAL: usize = 10_000;

/// A distribution of durations, with optional limits. A draw beyond a limit becomes the limit, and no draw is longer
/// than [`MAX_DURATION`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dist {
    /// The distribution.
    #[serde(flatten)]
    pub shape: Shape,
    /// The shortest draw.
    #[serde(rename = "min_ns", skip_serializing_if = "Option::is_none")]
    pub min: Option<Nanos>,
    /// The longest draw.
    #[serde(rename = "max_ns", skip_serializing_if = "Option::is_none")]
    pub max: Option<Nanos>,
}

/// The named distributions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Always the same duration; takes no random number.
    #[serde(rename = "constant_ns")]
    Constant(Nanos),
    /// Every nanosecond from the first to the second is equally likely, both included.
    #[serde(rename = "uniform_ns")]
    Uniform(Nanos, Nanos),
    /// Exponential with this mean: the gaps of a Poisson process.
    #[serde(rename = "exponential_mean_ns")]
    Exponential(Nanos),
    /// Log-normal: `median · exp(sigma · z)`, z standard normal. Its mean is `median · exp(sigma²/2)`.
    #[serde(rename = "lognormal")]
    LogNormal {
        /// Half of the draws are shorter.
        #[serde(rename = "median_ns")]
        median: Nanos,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Pareto: `P(x > t) = (scale / t)^shape` for `t ≥ scale`. No finite mean for `shape ≤ 1`.
    Pareto {
        /// The shortest draw.
        #[serde(rename = "scale_ns")]
        scale: Nanos,
        /// Tail index: the smaller, the heavier the tail.
        shape: f64,
    },
    /// Normal. Negative draws have no meaning for a duration, so a lower limit must be given.
    Normal {
        /// Mean.
        #[serde(rename = "mean_ns")]
        mean: Nanos,
        /// Standard deviation.
        #[serde(rename = "sd_ns")]
        sd: Nanos,
    },
    /// One of these values, each equally likely (a value listed twice is twice as likely).
    #[serde(rename = "empirical_ns")]
    Empirical(Vec<Nanos>),
}

impl Dist {
    /// The same duration every time.
    pub fn constant(value: Nanos) -> Dist {
        Dist { shape: Shape::Constant(value), min: None, max: None }
    }

    /// One draw.
    pub fn sample(&self, stream: &mut Stream) -> Nanos {
        let drawn = self.shape.sample(stream);
        let low = self.min.map_or(drawn, |min| drawn.max(min));
        self.max.map_or(low, |max| low.min(max)).min(MAX_DURATION)
    }
}

impl Shape {
    fn sample(&self, stream: &mut Stream) -> Nanos {
        match self {
            Shape::Constant(value) => *value,
            Shape::Uniform(low, high) => Nanos(stream.random_range(low.0..=high.0)),
            Shape::Exponential(mean) => {
                let x: f64 = Exp1.sample(stream);
                to_nanos(mean.0 as f64 * x)
            }
            Shape::LogNormal { median, sigma } => {
                let z: f64 = StandardNormal.sample(stream);
                to_nanos(median.0 as f64 * libm::exp(sigma * z))
            }
            Shape::Pareto { scale, shape } => {
                let u: f64 = OpenClosed01.sample(stream);
                to_nanos(scale.0 as f64 * libm::pow(u, -1.0 / shape))
            }
            Shape::Normal { mean, sd } => {
                let z: f64 = StandardNormal.sample(stream);
                to_nanos(mean.0 as f64 + sd.0 as f64 * z)
            }
            Shape::Empirical(values) => values[stream.random_range(0..values.len() as u32) as usize],
        }
    }
}

/// The nearest whole nanosecond; a float-to-integer cast saturates, so this is total.
fn to_nanos(x: f64) -> Nanos {
    Nanos((x + 0.5) as u64)
}

impl<'de> Deserialize<'de> for Dist {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Dist, D::Error> {
        d.deserialize_any(DistVisitor)
    }
}

struct DistVisitor;

impl<'de> Visitor<'de> for DistVisitor {
    type Value = Dist;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a duration with a unit, like \"1.5ms\", or a distribution, like { exponential = \"1ms\" }",
        )
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Dist, E> {
        let de = serde::de::value::StrDeserializer::new(text);
        duration::deserialize(de).map(Dist::constant)
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<Dist, E> {
        duration::deserialize(serde::de::value::I64Deserializer::new(n)).map(Dist::constant)
    }
    fn visit_f64<E: Error>(self, x: f64) -> Result<Dist, E> {
        duration::deserialize(serde::de::value::F64Deserializer::new(x)).map(Dist::constant)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Dist, A::Error> {
        let raw = RawDist::deserialize(MapAccessDeserializer::new(map))?;
        raw.resolve().map_err(A::Error::custom)
    }
}

/// The table form, before exactly one shape is known to be there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawDist {
    uniform: Option<(Duration, Duration)>,
    exponential: Option<Duration>,
    lognormal: Option<RawLogNormal>,
    pareto: Option<RawPareto>,
    normal: Option<RawNormal>,
    empirical: Option<Vec<Duration>>,
    min: Option<Duration>,
    max: Option<Duration>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with median and sigma")]
struct RawLogNormal {
    median: Duration,
    sigma: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with scale and shape")]
struct RawPareto {
    scale: Duration,
    shape: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with mean and sd")]
struct RawNormal {
    mean: Duration,
    sd: Duration,
}

impl JsonSchema for Dist {
    fn schema_name() -> Cow<'static, str> {
        "Dist".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a duration, or a distribution of durations with optional limits",
            "anyOf": [generator.subschema_for::<Duration>(), generator.subschema_for::<RawDist>()],
        })
    }
}

impl RawDist {
    fn resolve(self) -> Result<Dist, String> {
        let shapes = [
            self.uniform.map(|(low, high)| Shape::Uniform(low.0, high.0)),
            self.exponential.map(|mean| Shape::Exponential(mean.0)),
            self.lognormal.map(|l| Shape::LogNormal { median: l.median.0, sigma: l.sigma }),
            self.pareto.map(|p| Shape::Pareto { scale: p.scale.0, shape: p.shape }),
            self.normal.map(|n| Shape::Normal { mean: n.mean.0, sd: n.sd.0 }),
            self.empirical.map(|values| Shape::Empirical(values.into_iter().map(|d| d.0).collect())),
        ];
        let mut given = shapes.into_iter().flatten();
        let (Some(shape), None) = (given.next(), given.next()) else {
            return Err("a distribution is exactly one of uniform, exponential, lognormal, pareto, normal, \
                        empirical, with optional min and max"
                .to_owned());
        };
        let dist = Dist { shape, min: self.min.map(|d| d.0), max: self.max.map(|d| d.0) };
        dist.check()?;
        Ok(dist)
    }
}

impl Dist {
    fn check(&self) -> Result<(), String> {
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min > max
        {
            return Err(format!("min {min} is longer than max {max}"));
        }
        let parameter = |name: &str, value: f64, low: f64, high: f64| {
            if value >= low && value <= high {
                return Ok(());
            }
            Err(format!("{name} is {value}: allowed is {low} to {high}"))
        };
        match &self.shape {
            Shape::Uniform(low, high) if low > high => {
                Err(format!("uniform = [{low}, {high}]: the first must not be longer than the second"))
            }
            Shape::LogNormal { sigma, .. } => parameter("sigma", *sigma, 0.0, 10.0),
            Shape::Pareto { shape, .. } => parameter("shape", *shape, 0.1, 100.0),
            Shape::Normal { .. } if self.min.is_none() => {
                Err("a normal distribution can be negative: give a min, like min = \"0ns\"".to_owned())
            }
            Shape::Empirical(values) if values.is_empty() || values.len() > MAX_EMPIRICAL => {
                Err(format!("empirical has {} values: allowed are 1 to {MAX_EMPIRICAL}", values.len()))
            }
            _ => Ok(()),
        }
    }
}
