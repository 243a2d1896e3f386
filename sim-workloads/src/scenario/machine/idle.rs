//! `[machine.idle]`: the idle states of the CPUs, and who chooses among them.

use crate::schema::Names;
use crate::units::{CpuList, Duration, Whole, duration, optional_whole};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use sim_core::kernel::rules::Rules;
use sim_core::machine::idle::{
    ExitTime, GovernorKind, IdleConfig, IdleState, LATENCY_PART, MAX_STATES, StateTable, TeoForm,
};
use sim_core::machine::topology::Topology;
use sim_core::{CpuMask, Nanos};
use std::collections::BTreeMap;

/// The idle states of the CPUs: a named table, or a list of states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct IdleSpec {
    /// Name of a table of idle states, like "skl"; "halt" for no cpuidle driver, "poll" for `idle=poll`, "haltpoll" for a
    /// guest that polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The states beside polling, the shallowest first, instead of a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<IdleStateSpec>,
    /// Whether there is a polling state before those listed; there is unless this says no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<bool>,
    /// The governor; a table's own, or menu, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Names<GovernorKind>>")]
    pub governor: Option<GovernorKind>,
    /// Names of states that are switched off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<String>,
    /// States deeper than this one by number do not exist (`intel_idle.max_cstate`); polling is number 0.
    #[serde(
        default,
        deserialize_with = "optional_whole::<_, _, 0, { MAX_STATES as i64 }>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Whole<u32, 0, { MAX_STATES as i64 }>>")]
    pub max_cstate: Option<u32>,
    /// The longest exit latency allowed (`/dev/cpu_dma_latency`).
    #[serde(default, rename(serialize = "latency_qos_ns"), skip_serializing_if = "Option::is_none")]
    pub latency_qos: Option<Duration>,
    /// The longest exit latency allowed to single CPUs by cpulist (`pm_qos_resume_latency_us`).
    #[serde(default, rename(serialize = "cpu_latency_qos_ns"), skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<CpuList, Duration>")]
    pub cpu_latency_qos: BTreeMap<String, Duration>,
    /// The kernel's own timers on a CPU come this often, as far as governors are concerned; 4 s unless given.
    #[serde(default, rename(serialize = "kernel_timer_ns"), skip_serializing_if = "Option::is_none")]
    pub kernel_timer: Option<Duration>,
    /// The part of the exit latency, which is the worst case, that leaving a state takes once it has been entered: 0.75
    /// unless given; likely 0.5 to 1.
    #[serde(default, deserialize_with = "part", skip_serializing_if = "Option::is_none")]
    pub latency_factor: Option<f64>,
}

/// An idle state, as in `/sys/devices/system/cpu/cpu0/cpuidle/state*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct IdleStateSpec {
    /// Name.
    pub name: String,
    /// Exit latency, the worst case.
    #[serde(with = "duration", rename(serialize = "latency_ns"))]
    #[schemars(with = "Duration")]
    pub latency: Nanos,
    /// Target residency.
    #[serde(with = "duration", rename(serialize = "residency_ns"))]
    #[schemars(with = "Duration")]
    pub residency: Nanos,
    /// What of the exit latency is entering, where it is known.
    #[serde(default, rename(serialize = "entry_ns"), skip_serializing_if = "Option::is_none")]
    pub entry: Option<Duration>,
    /// A write to the flag word wakes the CPU (MWAIT); else an interrupt does.
    #[serde(default)]
    pub mwait: bool,
    /// The core's own caches are lost (C3 and deeper).
    #[serde(default)]
    pub flushes: bool,
    /// All cores under a last-level cache enter it together (cluster-sleep); until then each is in a state of its own.
    #[serde(default)]
    pub shared: bool,
    /// Switched off.
    #[serde(default)]
    pub disabled: bool,
}

fn part<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    let part = f64::deserialize(d)?;
    if !(0.0..=1.0).contains(&part) {
        return Err(D::Error::custom(format_args!("{part} is no part: allowed is 0 to 1")));
    }
    Ok(Some(part))
}

/// A mistake with its keys below `machine.idle`.
pub(crate) type IdleMistake = (Vec<String>, String);

fn mistake<T>(keys: &[&str], message: impl Into<String>) -> Result<T, IdleMistake> {
    Err((keys.iter().map(|k| (*k).to_owned()).collect(), message.into()))
}

impl IdleSpec {
    /// The idle states as the machine model takes them.
    pub(crate) fn build(&self, rules: &Rules, topology: &Topology) -> Result<IdleConfig, IdleMistake> {
        let mut config = match (&self.table, self.states.is_empty()) {
            (Some(name), true) => self.named(name)?,
            (None, false) => IdleConfig { states: self.listed()?, ..IdleConfig::default() },
            (Some(_), false) => return mistake(&["states"], "there is a table too: give one of them"),
            (None, true) => return mistake(&[], "neither a table nor states"),
        };
        if let Some(max) = self.max_cstate {
            config.states.truncate(max as usize + 1);
        }
        self.switch_off(&mut config.states)?;
        config.governor = self.governor.unwrap_or(config.governor);
        if config.governor == GovernorKind::Teo && rules.idle.teo == TeoForm::Absent {
            return mistake(&["governor"], "this kernel has no governor teo: it came with 5.1");
        }
        if config.governor == GovernorKind::Haltpoll && !rules.idle.haltpoll_driver {
            return mistake(&["governor"], "this kernel has no governor haltpoll: it came with 5.4");
        }
        config.kernel_timer = self.kernel_timer.map_or(config.kernel_timer, |d| d.0);
        if config.kernel_timer.is_zero() {
            return mistake(&["kernel_timer"], "0 ns: timers that come all the time leave no idle time");
        }
        config.latency_limit = self.latency_qos.map_or(config.latency_limit, |d| d.0);
        for (list, limit) in &self.cpu_latency_qos {
            let at = ["cpu_latency_qos", list];
            let mask = list.parse::<CpuMask>().or_else(|e| mistake(&at, e.to_string()))?;
            if !mask.is_subset(topology.present()) {
                let has = topology.present();
                return mistake(&at, format!("CPUs {mask} go beyond the machine, which has CPUs {has}"));
            }
            config.cpu_latency_limits.extend(mask.iter().map(|cpu| (cpu, limit.0)));
        }
        Ok(config)
    }

    /// What leaving takes of the worst case, in 1024ths.
    fn latency_part(&self) -> u32 {
        self.latency_factor.map_or(LATENCY_PART, |f| (f * 1024.0).round() as u32)
    }

    fn named(&self, name: &str) -> Result<IdleConfig, IdleMistake> {
        if self.poll.is_some() {
            return mistake(
                &["poll"],
                "a table says itself whether there is polling: 'poll' goes with 'states'",
            );
        }
        let table = StateTable::by_name(name).or_else(|e| mistake(&["table"], e))?;
        Ok(IdleConfig { states: table.states(self.latency_part()), ..IdleConfig::of(table) })
    }

    fn listed(&self) -> Result<Vec<IdleState>, IdleMistake> {
        let poll = self.poll.unwrap_or(true).then(IdleState::poll);
        if self.states.len() + usize::from(poll.is_some()) > MAX_STATES {
            let message = format!("{} states: with polling at most {MAX_STATES}", self.states.len());
            return mistake(&["states"], message);
        }
        let mut states: Vec<IdleState> = poll.into_iter().collect();
        for (i, s) in self.states.iter().enumerate() {
            let at = |key| ["states".to_owned(), i.to_string(), String::from(key)];
            let wrong = |key, message: &str| Err((at(key).to_vec(), message.to_owned()));
            if s.name.is_empty() || s.name.len() > 32 || states.iter().any(|other| other.name == s.name) {
                return wrong("name", "a state needs a name of its own of at most 32 bytes");
            }
            if s.latency > MAX_LATENCY || s.residency > MAX_LATENCY {
                return wrong("latency", "more than 1 s is no idle state");
            }
            if s.entry.is_some_and(|e| e.0 > s.latency) {
                return wrong("entry", "entering is a part of the latency");
            }
            if states.last().is_some_and(|p| p.residency > s.residency || p.latency > s.latency) {
                return wrong("residency", "states stand in order: latencies and residencies do not fall");
            }
            states.push(self.state(s));
        }
        Ok(states)
    }

    fn state(&self, s: &IdleStateSpec) -> IdleState {
        IdleState {
            name: s.name.clone(),
            latency: s.latency,
            residency: s.residency,
            exit: s.entry.map_or(ExitTime::Part(self.latency_part()), |e| ExitTime::AfterEntry(e.0)),
            polling: false,
            monitors: s.mwait,
            flushes: s.flushes,
            shared: s.shared,
            disabled: s.disabled,
        }
    }

    fn switch_off(&self, states: &mut [IdleState]) -> Result<(), IdleMistake> {
        for (i, name) in self.disabled.iter().enumerate() {
            let names: Vec<_> = states.iter().map(|s| s.name.clone()).collect();
            match states.iter_mut().find(|s| s.name == *name) {
                Some(state) => state.disabled = true,
                None => {
                    let message = format!("'{name:.40}' is no state: there are {}", names.join(", "));
                    return mistake(&["disabled", &i.to_string()], message);
                }
            }
        }
        if states.iter().all(|s| s.disabled) {
            return mistake(&["disabled"], "every state is switched off: one must be left");
        }
        Ok(())
    }
}

/// The longest latency and residency of a state.
const MAX_LATENCY: Nanos = Nanos::from_secs(1);
