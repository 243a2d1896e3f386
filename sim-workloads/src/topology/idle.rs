//! Idle states of real machines: `cpuidle/state*` of a sysfs tree, and what `cpupower idle-info` prints.

use super::cpus::cpulist;
use super::sysfs::{CPU, SysFs};
use super::{ImportError, check_size};
use crate::scenario::{IdleSpec, IdleStateSpec};
use sim_core::machine::idle::{GovernorKind, MAX_STATES};
use sim_core::{CpuId, Nanos};
use std::fmt::Write;

/// Idle states as read.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedIdle {
    /// For a scenario's `[machine.idle]`.
    pub spec: IdleSpec,
    /// What was assumed or left out.
    pub notes: Vec<String>,
}

/// What is said of one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    name: String,
    description: String,
    latency_us: u64,
    residency_us: Option<u64>,
    disabled: bool,
}

/// The longest latency or residency that is read, µs: 1 s.
const MAX_US: u64 = 1_000_000;

/// Reads the idle states of the first CPU that has any; nothing if none has.
///
/// # Errors
/// When they say what cannot be.
pub fn read_idle_sysfs(fs: &impl SysFs) -> Result<Option<ImportedIdle>, ImportError> {
    let path = format!("{CPU}/online");
    let online = fs.read(&path)?.map(|text| cpulist(&path, &text)).transpose()?.unwrap_or_default();
    let first = online.lowest().unwrap_or(CpuId(0));
    let states = states_of(fs, first)?;
    if states.is_empty() {
        return Ok(None);
    }
    let governor = match fs.read(&format!("{CPU}/cpuidle/current_governor"))? {
        None => fs.read(&format!("{CPU}/cpuidle/current_governor_ro"))?,
        found => found,
    };
    let mut imported = finish(states.clone(), governor.as_deref())?;
    for cpu in online.iter().skip(1) {
        if states_of(fs, cpu)? != states {
            imported
                .notes
                .push(format!("CPU {} has other idle states than CPU {}, whose are taken", cpu.0, first.0));
            break;
        }
    }
    Ok(Some(imported))
}

fn states_of(fs: &impl SysFs, cpu: CpuId) -> Result<Vec<Found>, ImportError> {
    let mut states = Vec::new();
    for i in 0..=MAX_STATES {
        let folder = format!("{CPU}/cpu{}/cpuidle/state{i}", cpu.0);
        let Some(name) = fs.read(&format!("{folder}/name"))? else { break };
        if i == MAX_STATES {
            return Err(ImportError::TooMany { what: "idle states", limit: MAX_STATES });
        }
        let number = |file: &str| -> Result<Option<u64>, ImportError> {
            let path = format!("{folder}/{file}");
            fs.read(&path)?.map(|text| microseconds(&path, &text)).transpose()
        };
        states.push(Found {
            name: name.trim().to_owned(),
            description: fs.read(&format!("{folder}/desc"))?.unwrap_or_default(),
            latency_us: number("latency")?.unwrap_or(0),
            residency_us: number("residency")?,
            // A count since 5.8, a mask of reasons before.
            disabled: fs.read(&format!("{folder}/disable"))?.is_some_and(|text| text.trim() != "0"),
        });
    }
    Ok(states)
}

fn microseconds(place: &str, text: &str) -> Result<u64, ImportError> {
    let value = text.trim().parse::<u64>().ok().filter(|us| *us <= MAX_US);
    value.ok_or_else(|| ImportError::bad(place, text, "whole microseconds, at most a second"))
}

/// Reads what `cpupower idle-info` prints of one CPU.
///
/// # Errors
/// When it is too large, is something else, or says what cannot be.
pub fn read_idle_info(text: &str) -> Result<ImportedIdle, ImportError> {
    check_size(text)?;
    let mut governor = None;
    let mut states: Vec<Found> = Vec::new();
    let mut cpus = 0;
    for line in text.lines().map(str::trim_end) {
        let (key, value) = line.split_once(':').map_or((line, ""), |(k, v)| (k.trim(), v.trim()));
        match key {
            "CPUidle governor" => governor = Some(value),
            "CPUidle driver" | "Number of idle states" | "Available idle states" => {}
            _ if key.starts_with("analyzing CPU") => {
                cpus += 1;
                if cpus > 1 {
                    break;
                }
            }
            "Flags/Description" | "Latency" | "Usage" | "Duration" => {
                let Some(state) = states.last_mut() else { continue };
                match key {
                    "Flags/Description" => state.description = value.to_owned(),
                    "Latency" => state.latency_us = microseconds("Latency", value)?,
                    _ => {}
                }
            }
            name if !name.is_empty() && value.is_empty() && line.contains(':') => {
                if states.len() == MAX_STATES {
                    return Err(ImportError::TooMany { what: "idle states", limit: MAX_STATES });
                }
                // "C6 (DISABLED) :" since a state can be off.
                let (name, disabled) = match name.split_once('(') {
                    Some((name, word)) => (name.trim(), word.contains("DISABLED")),
                    None => (name, false),
                };
                states.push(Found { name: name.to_owned(), disabled, ..Found::default() });
            }
            _ => {}
        }
    }
    if states.is_empty() {
        return Err(ImportError::missing("a list of idle states"));
    }
    finish(states, governor)
}

/// Makes a scenario's states of what was found, and says what had to be assumed.
fn finish(found: Vec<Found>, governor: Option<&str>) -> Result<ImportedIdle, ImportError> {
    let bad = |s: &&Found| s.name.is_empty() || s.name.len() > 32 || s.name.chars().any(char::is_control);
    if let Some(s) = found.iter().find(bad) {
        return Err(ImportError::bad("name of an idle state", &s.name, "a name of at most 32 bytes"));
    }
    let mut notes = Vec::new();
    let polls = |s: &Found| s.name == POLL || s.description.contains("POLL");
    let poll = found.first().is_some_and(polls);
    let mut spec = IdleSpec { poll: (!poll).then_some(false), ..IdleSpec::default() };
    spec.disabled.extend(found.first().filter(|s| polls(s) && s.disabled).map(|_| POLL.to_owned()));
    let known = GOVERNORS.iter().find(|g| governor.is_some_and(|name| name.trim() == g.name()));
    match (known, governor) {
        (Some(g), _) => spec.governor = Some(*g),
        (None, Some(other)) => {
            notes.push(format!("the governor '{:.40}' is not known: menu is taken", other.trim()))
        }
        (None, None) => {}
    }
    let mut assumed = false;
    for s in found.into_iter().skip(usize::from(poll)) {
        // smp.md §5.7: what kernels make of firmware's table.
        let shallow = KEEPS_CACHES.iter().any(|name| s.name.starts_with(name)) && !s.name.starts_with("C10");
        let assumption = if spec.states.is_empty() { s.latency_us } else { 3 * s.latency_us };
        assumed |= s.residency_us.is_none();
        spec.states.push(IdleStateSpec {
            latency: Nanos::from_micros(s.latency_us),
            residency: Nanos::from_micros(s.residency_us.unwrap_or(assumption)),
            entry: None,
            mwait: s.description.contains("MWAIT"),
            flushes: !shallow,
            shared: s.name.starts_with("cluster"),
            disabled: s.disabled,
            name: s.name,
        });
    }
    if spec.states.is_empty() {
        // CPUs that only poll.
        spec = IdleSpec { table: Some("poll".to_owned()), ..IdleSpec::default() };
    }
    if assumed {
        notes.push(
            "no target residencies are said: taken is the latency of the first state that does not poll, and three times \
             the latency of deeper ones"
                .to_owned(),
        );
    }
    Ok(ImportedIdle { spec, notes })
}

/// The polling state's name.
const POLL: &str = "POLL";
/// States beyond these lose the core's caches.
const KEEPS_CACHES: [&str; 4] = ["C1", "WFI", "HLT", "haltpoll"];

const GOVERNORS: [GovernorKind; 4] =
    [GovernorKind::Menu, GovernorKind::Teo, GovernorKind::Ladder, GovernorKind::Haltpoll];

/// Idle states as a scenario's `[machine.idle]`.
pub fn idle_to_toml(spec: &IdleSpec) -> String {
    let mut out = String::from("\n[machine.idle]\n");
    let mut key = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "{key} = {value}");
        }
    };
    let names =
        |list: &[String]| format!("[{}]", list.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(", "));
    key("table", spec.table.as_deref().map(quoted));
    key("governor", spec.governor.map(|g| quoted(g.name())));
    key("poll", spec.poll.map(|poll| poll.to_string()));
    key("disabled", (!spec.disabled.is_empty()).then(|| names(&spec.disabled)));
    key("max_cstate", spec.max_cstate.map(|n| n.to_string()));
    key("latency_qos", spec.latency_qos.map(|d| time(d.0)));
    key("latency_factor", spec.latency_factor.map(|f| format!("{f:?}")));
    let limits = spec.cpu_latency_qos.iter().map(|(cpus, d)| format!("{} = {}", quoted(cpus), time(d.0)));
    let limits: Vec<String> = limits.collect();
    key("cpu_latency_qos", (!limits.is_empty()).then(|| format!("{{ {} }}", limits.join(", "))));
    let states: String = spec.states.iter().map(|s| format!("    {},\n", state_to_toml(s))).collect();
    key("states", (!spec.states.is_empty()).then(|| format!("[\n{states}]")));
    out
}

fn state_to_toml(s: &IdleStateSpec) -> String {
    let mut parts = vec![
        format!("name = {}", quoted(&s.name)),
        format!("latency = {}", time(s.latency)),
        format!("residency = {}", time(s.residency)),
    ];
    parts.extend(s.entry.map(|d| format!("entry = {}", time(d.0))));
    let flags = [("mwait", s.mwait), ("flushes", s.flushes), ("shared", s.shared), ("disabled", s.disabled)];
    parts.extend(flags.iter().filter(|(_, set)| *set).map(|(flag, _)| format!("{flag} = true")));
    format!("{{ {} }}", parts.join(", "))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace(['\\', '"'], "_"))
}

fn time(ns: Nanos) -> String {
    if ns.0.is_multiple_of(1_000) { format!("\"{}us\"", ns.0 / 1_000) } else { format!("\"{}ns\"", ns.0) }
}
