//! `[uncertain]`: values of which no more is known than a range.

use crate::units::Duration;
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::rng::{self, Stream};

/// The tables whose values may be uncertain: what the kernel is told and what tasks do are choices.
const TABLES: [&str; 2] = ["machine", "costs"];

/// The ends of a range: two durations, two whole numbers or two numbers, the smaller first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UncertainRange(#[schemars(length(min = 2, max = 2))] Vec<End>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a duration or a number")]
enum End {
    Whole(i64),
    Number(f64),
    Duration(Duration),
}

impl UncertainRange {
    /// What is wrong with the range of `key`, if anything is.
    pub(super) fn mistake(&self, key: &str) -> Option<String> {
        let table = key.split('.').next().unwrap_or_default();
        if !TABLES.contains(&table) || !key.contains('.') {
            let tables = TABLES.join(" and ");
            return Some(format!("'{key:.80}' cannot be uncertain: only keys of {tables} can"));
        }
        let ordered = match self.0.as_slice() {
            [End::Whole(a), End::Whole(b)] => a <= b,
            [End::Duration(a), End::Duration(b)] => a.0 <= b.0,
            [a, b] => a.number().zip(b.number()).is_some_and(|(a, b)| a <= b),
            _ => false,
        };
        (!ordered).then(|| "a range has two ends of one sort, the smaller first".to_owned())
    }

    /// The ends as settings.
    pub(crate) fn ends(&self) -> [String; 2] {
        let end = |i: usize| self.0.get(i).map(End::text).unwrap_or_default();
        [end(0), end(1)]
    }

    /// A value between the ends, all alike, as a setting.
    pub(crate) fn draw(&self, seed: u64, key: &str) -> String {
        let mut rng: Stream = rng::stream(seed, key, "uncertainty");
        match self.0.as_slice() {
            [End::Whole(a), End::Whole(b)] => rng.random_range(*a..=*b).to_string(),
            [End::Duration(a), End::Duration(b)] => {
                End::Duration(Duration(Nanos(rng.random_range(a.0.0..=b.0.0)))).text()
            }
            [a, b] => {
                let (a, b) = (a.number().unwrap_or_default(), b.number().unwrap_or_default());
                End::Number(rng.random_range(a..=b)).text()
            }
            _ => String::new(),
        }
    }
}

impl End {
    fn number(&self) -> Option<f64> {
        match self {
            End::Whole(n) => Some(*n as f64),
            End::Number(x) => Some(*x).filter(|x| x.is_finite()),
            End::Duration(_) => None,
        }
    }

    fn text(&self) -> String {
        match self {
            End::Whole(n) => n.to_string(),
            End::Number(x) => format!("{x:?}"),
            End::Duration(d) => format!("{}ns", d.0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Document;

    const HOG: &str = "[task.hog]\nprogram = [{ run = \"1ms\" }]\n";

    fn document(uncertain: &str) -> Document {
        Document::parse(&format!("[costs]\ntick = \"2us\"\n[uncertain]\n{uncertain}\n{HOG}"), "s.toml", &[])
            .unwrap()
    }

    #[test]
    fn values_are_drawn_from_their_range_and_depend_on_the_seed_alone() {
        let document = document("\"costs.ipi\" = [\"1us\", \"9us\"]\n\"machine.cpus\" = [1, 64]");
        document.resolve().unwrap();
        let draw = |seed| {
            let config = document.drawn(seed).unwrap();
            (config.machine.costs.ipi.0, config.kernel.cpus, config.machine.costs.tick.0)
        };
        let draws: Vec<_> = (0..50).map(draw).collect();
        assert!(draws.iter().all(|d| (1_000..=9_000).contains(&d.0) && (1..=64).contains(&d.1)));
        assert!(draws.iter().any(|d| d.0 < 3_000) && draws.iter().any(|d| d.0 > 7_000));
        assert!(draws.iter().all(|d| d.2 == 2_000), "what the scenario gives is certain");
        assert_eq!(draw(7), draws[7]);
    }

    #[test]
    fn what_is_no_range_is_refused_with_its_place() {
        for (uncertain, message) in [
            (
                "\"kernel.hz\" = [100, 1000]",
                "'kernel.hz' cannot be uncertain: only keys of machine and costs can",
            ),
            ("\"costs.ipi\" = [\"9us\", \"1us\"]", "a range has two ends of one sort, the smaller first"),
            ("\"costs.ipi\" = [1, \"1us\"]", "a range has two ends of one sort"),
            ("\"costs.ipi\" = [\"1us\"]", "a range has two ends"),
        ] {
            let text = format!("[uncertain]\n{uncertain}\n{HOG}");
            let refused = Document::parse(&text, "s.toml", &[]).unwrap_err().to_string();
            assert!(refused.contains("s.toml:2:") && refused.contains(message), "{refused}");
        }
        let refused = document("\"costs.coffee\" = [\"1us\", \"2us\"]").resolve().unwrap_err().to_string();
        assert!(refused.starts_with("s.toml:4:") && refused.contains("unknown key 'coffee'"), "{refused}");
    }

    #[test]
    fn there_are_not_more_ranges_than_can_be_tried() {
        let ranges: String = (0..65).map(|i| format!("\"costs.c{i}\" = [1, 2]\n")).collect();
        let refused =
            Document::parse(&format!("[uncertain]\n{ranges}{HOG}"), "s.toml", &[]).unwrap_err().to_string();
        assert!(refused.contains("65 ranges: at most 64 are allowed"), "{refused}");
    }
}
