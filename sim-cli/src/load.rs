//! Reads scenario files and puts settings over them.

use crate::failure::Failure;
use crate::stats::Interval;
use sim_core::SimConfig;
use sim_workloads::resolve::Resolved;
use sim_workloads::rtapp;
use sim_workloads::scenario::{Document, MAX_BYTES};
use sim_workloads::unpack::unpack;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A (key, value) pair that replaces a value of the scenario.
pub(crate) type Setting = (String, String);

/// A scenario ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) document: Document,
    pub(crate) resolved: Resolved,
    /// Whether uncertain costs are drawn from their ranges under each seed.
    pub(crate) uncertain: bool,
    /// What was left out or assumed where it comes from another program's file.
    pub(crate) notes: Vec<String>,
}

impl Loaded {
    /// The configuration of the run under `seed`.
    pub(crate) fn config(&self, seed: u64) -> Result<SimConfig, Failure> {
        if self.uncertain { Ok(self.document.drawn(seed)?) } else { Ok(self.resolved.config.clone()) }
    }

    /// The scenario as it runs under its own seed.
    pub(crate) fn drawn(mut self) -> Result<Loaded, Failure> {
        self.resolved.config = self.config(self.resolved.seed)?;
        Ok(self)
    }

    /// What the interval of a figure over seeds is to cover.
    pub(crate) fn interval(&self) -> Interval {
        interval(self.uncertain)
    }
}

fn interval(uncertain: bool) -> Interval {
    if uncertain { Interval::Single } else { Interval::Mean }
}

/// The text of a scenario file, so that several variants of it can be made.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScenarioText {
    file: String,
    text: String,
    uncertain: bool,
    /// What was left out or assumed where it comes from another program's file.
    notes: Vec<String>,
}

impl ScenarioText {
    /// Reads a file; `-` is standard input.
    pub(crate) fn read(path: &Path) -> Result<ScenarioText, Failure> {
        Ok(ScenarioText {
            file: path.display().to_string(),
            text: read_text(path)?,
            ..ScenarioText::default()
        })
    }

    /// Reads a file; one that ends in `.json` is an rt-app workload, of which `waive` may be left out.
    pub(crate) fn read_any(path: &Path, waive: &[String]) -> Result<ScenarioText, Failure> {
        if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            return ScenarioText::read(path);
        }
        let file = path.display().to_string();
        let text = read_text_up_to(path, rtapp::MAX_BYTES)?;
        let options = rtapp::Options { waive: waive.to_vec(), cpus: None };
        let rtapp::Imported { scenario: text, notes } = rtapp::import(&[(&file, &text)], &options)?;
        Ok(ScenarioText { file: format!("{file}, as a scenario"), text, notes, uncertain: false })
    }

    /// The same, with uncertain costs drawn from their ranges or not.
    pub(crate) fn uncertain(self, uncertain: bool) -> ScenarioText {
        ScenarioText { uncertain, ..self }
    }

    /// The text itself.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What the interval of a figure over seeds is to cover.
    pub(crate) fn interval(&self) -> Interval {
        interval(self.uncertain)
    }

    /// A scenario that is in no file.
    #[cfg(test)]
    pub(crate) fn of(file: &str, text: &str) -> ScenarioText {
        ScenarioText { file: file.to_owned(), text: text.to_owned(), ..ScenarioText::default() }
    }

    /// The scenario with these settings, the later ones winning.
    pub(crate) fn with(&self, settings: &[Setting]) -> Result<Loaded, Failure> {
        let document = Document::parse(&self.text, &self.file, settings)?;
        let resolved = document.resolve()?;
        Ok(Loaded { document, resolved, uncertain: self.uncertain, notes: self.notes.clone() })
    }
}

/// Reads a text file of the size of scenarios.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    read_text_up_to(path, MAX_BYTES)
}

/// Reads a text file of at most `limit` bytes, or one more.
pub(crate) fn read_text_up_to(path: &Path, limit: usize) -> Result<String, Failure> {
    let failed = |source| Failure::Read { file: path.to_owned(), source };
    let source: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(File::open(path).map_err(failed)?),
    };
    let mut text = String::new();
    // One byte more than allowed: the parser then refuses it with the right message.
    let limit = limit as u64 + 1;
    unpack(source, 0).map_err(failed)?.rest.take(limit).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// Splits `key=value` at the first `=`.
pub(crate) fn parse_setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' is not key=value, like kernel.hz=1000")),
    }
}

/// Splits `key=value,key=value,…`. A part without `=` belongs to the value before it, so that values may hold commas.
pub(crate) fn parse_settings(text: &str) -> Result<Vec<Setting>, String> {
    let mut settings: Vec<Setting> = Vec::new();
    for part in text.split(',') {
        match settings.last_mut() {
            Some((_, value)) if !part.contains('=') => {
                value.push(',');
                value.push_str(part);
            }
            _ => settings.push(parse_setting(part)?),
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_settings_may_hold_commas_in_values() {
        let settings = parse_settings("kernel.features=NO_A,B,kernel.hz=100").unwrap();
        let expected = [("kernel.features", "NO_A,B"), ("kernel.hz", "100")];
        assert_eq!(settings, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(parse_settings("kernel.hz").is_err());
        assert!(parse_settings("=1").is_err());
    }
}
