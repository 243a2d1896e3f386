//! Machines by name: a topology, costs, and what else the machine model takes, with the origin of every figure. They are
//! files in the scenario's own format, so that a scenario may say the same itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use thiserror::Error;
use toml::{Table, Value};

/// A machine that has a name.
#[derive(Debug, Clone)]
pub struct MachineModel {
    /// Its name.
    pub name: String,
    /// The file: `about`, `[machine]`, `[costs]` and `[origin]`.
    pub text: Cow<'static, str>,
}

macro_rules! machines {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../machines/", $name, ".toml")))),*] };
}

const FILES: &[(&str, &str)] = machines! {
    "i7-8700" "e-2278g" "skylake-2s" "cascade-lake-2s" "ice-lake-2s" "zen2-2s" "zen3-2s" "arm8" "thunderx2" "laptop"
    "guest-8vcpu"
};

/// Cloud instances differ in their number of CPUs only.
const CLOUD: &str = include_str!("../machines/cloud.toml");
const CLOUD_CPUS: [u32; 9] = [2, 4, 8, 16, 32, 48, 64, 80, 96];

/// A name that is no machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{found:.40}' is not a machine: allowed are {}", all().map(|m| m.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownModel {
    found: String,
}

/// All machines.
pub fn all() -> impl Iterator<Item = MachineModel> {
    let files =
        FILES.iter().map(|(name, text)| MachineModel { name: (*name).to_owned(), text: Cow::Borrowed(text) });
    let cloud = CLOUD_CPUS.iter().map(|cpus| MachineModel {
        name: format!("cloud-{cpus}"),
        text: Cow::Owned(CLOUD.replace("CPUS", &cpus.to_string()).replace("CORES", &(cpus / 2).to_string())),
    });
    files.chain(cloud)
}

/// A figure of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Key in a scenario.
    pub key: String,
    /// As written.
    pub value: String,
    /// Where it comes from; it begins with "assumption" where nobody measured it.
    pub origin: String,
}

impl MachineModel {
    /// Looks a machine up.
    ///
    /// # Errors
    /// When there is no such machine.
    pub fn by_name(name: &str) -> Result<MachineModel, UnknownModel> {
        all().find(|m| m.name == name).ok_or_else(|| UnknownModel { found: name.to_owned() })
    }

    fn table(&self) -> Table {
        self.text.parse().unwrap_or_else(|e| unreachable!("{} is TOML: {e}", self.name))
    }

    /// What it is, in a line.
    pub fn about(&self) -> String {
        self.table().get("about").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// All figures in the order of keys. The origin of a key is its own, or that of the nearest table around it.
    pub fn figures(&self) -> Vec<Figure> {
        let table = self.table();
        let origins = table.get("origin").and_then(Value::as_table).cloned().unwrap_or_default();
        let mut leaves = BTreeMap::new();
        for part in ["machine", "costs"] {
            if let Some(value) = table.get(part) {
                flatten(part, value, &mut leaves);
            }
        }
        let figure = |(key, value): (String, String)| {
            let origin = origin_of(&key, &origins).unwrap_or_default().to_owned();
            Figure { key, value, origin }
        };
        leaves.into_iter().map(figure).collect()
    }
}

fn flatten(path: &str, value: &Value, leaves: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(key, value)| flatten(&format!("{path}.{key}"), value, leaves));
        }
        leaf => {
            leaves.insert(path.to_owned(), leaf.to_string());
        }
    }
}

fn origin_of<'a>(key: &str, origins: &'a Table) -> Option<&'a str> {
    let mut path = key;
    loop {
        if let Some(origin) = origins.get(path).and_then(Value::as_str) {
            return Some(origin);
        }
        path = &path[..path.rfind('.')?];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Document;

    #[test]
    fn every_figure_has_an_origin_and_every_origin_a_figure() {
        for machine in all() {
            assert!(!machine.about().is_empty(), "{}", machine.name);
            let figures = machine.figures();
            assert!(!figures.is_empty(), "{}", machine.name);
            for figure in &figures {
                assert!(figure.origin.len() > 3, "{}: {}", machine.name, figure.key);
            }
            let origins = machine.table()["origin"].as_table().unwrap().clone();
            for key in origins.keys() {
                let used = figures.iter().any(|f| f.key == *key || f.key.starts_with(&format!("{key}.")));
                assert!(used, "{}: origin of {key}, which is not there", machine.name);
            }
        }
    }

    #[test]
    fn every_machine_runs_a_scenario() {
        for machine in all() {
            let text = format!(
                "[machine]\npreset = \"{}\"\n[task.hog]\nprogram = [{{ run = \"1ms\" }}]\n",
                machine.name
            );
            let document = Document::parse(&text, "s.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
            let resolved = document.resolve().unwrap_or_else(|e| panic!("{e}"));
            assert!(resolved.config.kernel.cpus > 1, "{}", machine.name);
        }
    }

    #[test]
    fn what_a_scenario_says_itself_wins() {
        let hog = "[task.hog]\nprogram = [{ run = \"1ms\" }]\n";
        let config = |machine: &str, settings: &[(&str, &str)]| {
            let settings: Vec<_> = settings.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            let text = format!("[machine]\n{machine}\n{hog}");
            Document::parse(&text, "s.toml", &settings).unwrap().resolve().unwrap().config
        };
        let whole = config("preset = \"i7-8700\"", &[]);
        assert_eq!(whole.kernel.cpus, 12);
        assert_eq!(config("preset = \"i7-8700\"\ncpus = 2", &[]).kernel.cpus, 2);
        assert_eq!(config("preset = \"i7-8700\"\ntopology = \"1x1x2x2\"", &[]).kernel.cpus, 4);
        assert_eq!(config("", &[("machine.preset", "i7-8700")]).machine, whole.machine);
        assert_eq!(config("", &[("machine.preset", "cloud-16")]).kernel.cpus, 16);
        let guest = config("preset = \"guest-8vcpu\"", &[("costs.ipi", "7us")]);
        assert_eq!(guest.machine.costs.ipi.0, 7_000);
        assert_eq!(guest.machine.costs.tick.0, 3_000);
    }

    #[test]
    fn an_unknown_machine_is_refused_by_name() {
        let text = "[machine]\npreset = \"i7-8701\"\n[task.hog]\nprogram = [{ run = \"1ms\" }]\n";
        let refused = Document::parse(text, "s.toml", &[]).unwrap_err().to_string();
        assert!(
            refused.starts_with("s.toml:2:10: 'i7-8701' is not a machine: allowed are i7-8700, "),
            "{refused}"
        );
    }
}
