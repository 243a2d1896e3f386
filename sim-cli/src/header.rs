//! What every result says about where it comes from.

use crate::load::Loaded;
use crate::text;
use serde::Serialize;
use serde_json::{Value, json};
use sim_core::kernel::PROFILES;
use sim_core::machine::{Draw, Interference, MachineConfig};
use std::sync::LazyLock;
use validation::envelope::Envelope;

/// Version of the JSON documents. It grows when a key is renamed, removed or changes its meaning.
pub(crate) const SCHEMA_VERSION: u32 = 2;

/// What costs nothing on a machine with several CPUs, as it is described.
fn several_cpus(machine: &MachineConfig) -> Option<String> {
    let parts = [
        ("shared cores", machine.smt.is_off()),
        ("caches", machine.cache.is_off()),
        ("clocks", machine.frequency.is_off()),
        ("idle states", machine.idle.is_off()),
    ];
    let free: Vec<&str> = parts.iter().filter(|(_, off)| *off).map(|(name, _)| *name).collect();
    (!free.is_empty()).then(|| {
        format!(
            "several CPUs: {} make no difference: this machine is described without them (D-005)",
            free.join(", ")
        )
    })
}

/// What intervals mean where costs are drawn.
pub(crate) const UNCERTAIN: &str = "costs are drawn from their ranges for every seed: an interval says where a single such machine and run may lie (95 %), not its mean";

/// Head of every JSON document: who made it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Tool {
    pub(crate) schema_version: u32,
    pub(crate) tool: &'static str,
    pub(crate) tool_version: &'static str,
    /// Version of the model: the tool's, and a digest of the rules of all kernels.
    pub(crate) model: &'static str,
    pub(crate) verb: &'static str,
}

impl Tool {
    pub(crate) fn new(verb: &'static str) -> Tool {
        let (tool, tool_version) = ("cfsim", env!("CARGO_PKG_VERSION"));
        Tool { schema_version: SCHEMA_VERSION, tool, tool_version, model: &MODEL, verb }
    }
}

/// Any change to a profile's rules changes it.
static MODEL: LazyLock<String> = LazyLock::new(|| {
    let rules: Vec<_> = PROFILES.iter().map(|p| json!([p.name, p.rules(), p.rules().applied])).collect();
    let digest = blake3::hash(Value::Array(rules).to_string().as_bytes()).to_hex();
    format!("{}+rules.{}", env!("CARGO_PKG_VERSION"), &digest[..8])
});

/// Head of a JSON document about a scenario.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Header {
    #[serde(flatten)]
    pub(crate) tool: Tool,
    /// Profile of the kernel imitated.
    pub(crate) kernel: String,
    /// Title of the scenario.
    pub(crate) scenario: String,
    /// BLAKE3 of the configuration; equal configurations under other seeds have equal hashes.
    pub(crate) config_hash: String,
    pub(crate) seed: u64,
    pub(crate) runs: u32,
    pub(crate) warmup_ns: u64,
    /// How far to trust the result.
    pub(crate) notes: Vec<String>,
    /// To be checked before the result is trusted.
    pub(crate) warnings: Vec<String>,
}

impl Header {
    /// The head of a result of `verb` over `runs` seeds.
    pub(crate) fn new(verb: &'static str, loaded: &Loaded, runs: u32) -> Header {
        let config = &loaded.resolved.config;
        let scenario = &loaded.document.scenario;
        let name = if scenario.name.is_empty() { "unnamed scenario" } else { &scenario.name };
        Header {
            tool: Tool::new(verb),
            kernel: config.kernel.profile.to_owned(),
            scenario: name.to_owned(),
            config_hash: config_hash(loaded),
            seed: loaded.resolved.seed,
            runs,
            warmup_ns: loaded.resolved.warmup.0,
            notes: notes(loaded),
            warnings: Vec::new(),
        }
    }

    /// The seeds and what of each run counts, for people.
    pub(crate) fn seeds_text(&self) -> String {
        let warmup = match self.warmup_ns {
            0 => String::new(),
            ns => format!("; the first {} of each run are left out", text::duration(ns as f64)),
        };
        match self.runs {
            1 => format!("seed {}{warmup}", self.seed),
            n => format!("{n} seeds from {} on{warmup}", self.seed),
        }
    }

    /// The notes as lines for people.
    pub(crate) fn notes_text(&self) -> String {
        self.notes.iter().map(|note| format!("note: {note}\n")).collect()
    }
}

fn notes(loaded: &Loaded) -> Vec<String> {
    let config = &loaded.resolved.config;
    let several = (config.kernel.cpus > 1).then(|| several_cpus(&config.machine)).flatten();
    let uncertain = loaded.uncertain.then(|| UNCERTAIN.to_owned());
    several.into_iter().chain(beyond(loaded)).chain(uncertain).chain(loaded.notes.iter().cloned()).collect()
}

/// How the run lies beyond what was held against real kernels.
fn beyond(loaded: &Loaded) -> Option<String> {
    let beyond = Envelope::own()?.beyond(&loaded.resolved.config);
    (!beyond.is_empty()).then(|| format!("beyond what was held against real kernels: {}", beyond.join(", ")))
}

/// The configuration as it was run: the scenario with its settings, and what defaults made of it.
pub(crate) fn configuration(loaded: &Loaded) -> Value {
    let config = &loaded.resolved.config;
    let costs: serde_json::Map<String, Value> =
        config.machine.costs.iter().map(|(name, cost)| (format!("{name}_ns"), json!(cost.0))).collect();
    let mut machine = json!({
        "costs": costs,
        "tick_phase_ns": config.machine.tick_phase,
        "interference": config.machine.interference.iter().map(interference).collect::<Vec<_>>(),
    });
    if let (Some(host), Some(machine)) = (&config.machine.host, machine.as_object_mut()) {
        machine.insert("host".to_owned(), json!(host));
    }
    let mut value = json!({
        "kernel": config.kernel,
        "machine": machine,
        "duration_ns": config.duration,
        "warmup_ns": loaded.resolved.warmup,
        "scenario": loaded.document.scenario,
    });
    if !config.machine.idle.is_off() {
        value["machine"]["idle"] = json!(config.machine.idle);
    }
    if loaded.uncertain {
        value["machine"]["costs_drawn"] = json!(true);
    }
    value
}

/// A source of interference.
fn interference(x: &Interference) -> Value {
    let mut entry =
        json!({ "kind": x.kind, "start_ns": x.start, "period_ns": time(x.every), "time_ns": time(x.time) });
    match x.cpus.lowest().filter(|_| x.cpus.count() == 1) {
        Some(cpu) => entry["cpu"] = json!(cpu),
        None => entry["cpus"] = json!(x.cpus),
    }
    entry["name"] = json!(x.name);
    entry
}

/// A constant as a number of nanoseconds, a distribution as it is.
fn time(draw: Draw) -> Value {
    match draw {
        Draw::Constant(d) => json!(d),
        draw => json!(draw),
    }
}

/// BLAKE3 of the configuration without the seed.
pub(crate) fn config_hash(loaded: &Loaded) -> String {
    let mut value = configuration(loaded);
    if let Some(scenario) = value["scenario"].as_object_mut() {
        scenario.remove("seed");
    }
    blake3::hash(value.to_string().as_bytes()).to_hex().to_string()
}
