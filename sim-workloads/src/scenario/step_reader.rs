//! Reads a step as it is written: a word, or a table with one action and what belongs to it.

use super::step::{PipeTransfer, Step};
use crate::units::{Bytes, Duration, Name, Whole};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use sim_core::Nanos;
use sim_core::program::Missed;
use std::fmt;
use std::sync::LazyLock;

/// Steps that are just a word.
pub(super) const WORDS: &[&str] = &["yield", "exit", "wait_child", "wait_children"];

/// The keys of which the table of a step has exactly one.
pub(super) const ACTIONS: &[&str] = &[
    "run",
    "run_cpu",
    "kernel",
    "sleep",
    "io",
    "sleep_until",
    "period",
    "write",
    "read",
    "post",
    "wait",
    "lock",
    "unlock",
    "barrier",
    "take_token",
    "put_token",
    "epoll_post",
    "epoll_wait",
    "cond_wait",
    "signal",
    "broadcast",
    "timer",
    "fork",
    "vfork",
    "exec",
    "nice",
    "policy",
    "affinity",
    "move_to_group",
    "timer_slack",
    "count",
    "repeat",
    "until",
    "for",
    "forever",
];

/// Keys that belong to certain actions.
const DETAILS: &[&str] = &["bytes", "n", "timeout", "stay", "mutex", "every", "missed", "program", "do"];

static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| [ACTIONS, DETAILS].concat());

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Step, D::Error> {
        d.deserialize_any(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = Step;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step, like { run = \"1ms\" } or \"yield\"")
    }
    fn visit_str<E: Error>(self, word: &str) -> Result<Step, E> {
        match word {
            "yield" => Ok(Step::Yield),
            "exit" => Ok(Step::Exit),
            "wait_child" => Ok(Step::WaitChild),
            "wait_children" => Ok(Step::WaitChildren),
            _ if ACTIONS.contains(&word) => {
                Err(E::custom(format!("the step '{word}' needs a value: write {{ {word} = ... }}")))
            }
            _ => Err(E::unknown_variant(word, WORDS)),
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Step, A::Error> {
        let mut parts = Parts::default();
        while let Some(StepKey(key)) = map.next_key()? {
            parts.read(key, &mut map)?;
        }
        parts.finish().map_err(A::Error::custom)
    }
}

struct StepKey(&'static str);

impl<'de> Deserialize<'de> for StepKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<StepKey, D::Error> {
        let key = String::deserialize(d)?;
        if WORDS.contains(&key.as_str()) {
            return Err(D::Error::custom(format!("'{key}' takes no value: write \"{key}\" without braces")));
        }
        let known = KEYS.iter().find(|name| **name == key);
        known.map(|name| StepKey(name)).ok_or_else(|| D::Error::unknown_field(&key, &KEYS))
    }
}

/// What has been read of a step: the action with its details still at their defaults, and the details.
#[derive(Default)]
struct Parts {
    action: Option<(&'static str, Step)>,
    bytes: Option<Bytes>,
    n: Option<u32>,
    stay: Option<bool>,
    timeout: Option<Nanos>,
    mutex: Option<String>,
    every: Option<Nanos>,
    missed: Option<Missed>,
    program: Option<Vec<Step>>,
    body: Option<Vec<Step>>,
}

impl Parts {
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &'static str, map: &mut A) -> Result<(), A::Error> {
        let step = match key {
            "run" => Step::Run(map.next_value()?),
            "run_cpu" => Step::RunCpu(map.next_value()?),
            "kernel" => Step::Kernel(map.next_value()?),
            "sleep" => Step::Sleep(map.next_value()?),
            "io" => Step::Io(map.next_value()?),
            "sleep_until" => Step::SleepUntil(map.next_value::<Duration>()?.0),
            "period" => Step::Period(map.next_value::<Duration>()?.0),
            "write" => Step::Write(PipeTransfer { pipe: name(map)?, bytes: Bytes(0) }),
            "read" => Step::Read(PipeTransfer { pipe: name(map)?, bytes: Bytes(0) }),
            "post" => Step::Post { semaphore: name(map)?, n: 1, stay: false },
            "wait" => Step::Wait(name(map)?),
            "lock" => Step::Lock(name(map)?),
            "unlock" => Step::Unlock(name(map)?),
            "barrier" => Step::Barrier(name(map)?),
            "take_token" => Step::TakeToken(name(map)?),
            "put_token" => Step::PutToken(name(map)?),
            "epoll_post" => Step::EpollPost(name(map)?),
            "epoll_wait" => Step::EpollWait { epoll: name(map)?, timeout: None },
            "cond_wait" => Step::CondWait { condition: name(map)?, mutex: None },
            "signal" => Step::Signal(name(map)?),
            "broadcast" => Step::Broadcast(name(map)?),
            "timer" => Step::Timer { timer: name(map)?, every: Nanos::ZERO, missed: Missed::Restart },
            "fork" | "vfork" => Step::Fork { name: name(map)?, vfork: key == "vfork", program: Vec::new() },
            "exec" => Step::Exec(name(map)?),
            "nice" => Step::Nice(map.next_value::<Whole<i8, -20, 19>>()?.0),
            "policy" => Step::Policy(map.next_value()?),
            "affinity" => Step::Affinity(map.next_value()?),
            "move_to_group" => Step::MoveToGroup(map.next_value()?),
            "timer_slack" => Step::TimerSlack(map.next_value::<Duration>()?.0),
            "count" => Step::Count(map.next_value::<Whole<u64, 1, MAX_COUNT>>()?.0),
            "repeat" => {
                Step::Repeat { times: map.next_value::<Whole<u64, 1, MAX_COUNT>>()?.0, body: Vec::new() }
            }
            "until" => Step::Until { time: map.next_value::<Duration>()?.0, body: Vec::new() },
            "for" => Step::For { duration: map.next_value::<Duration>()?.0, body: Vec::new() },
            "forever" => Step::Forever(map.next_value::<Body>()?.0),
            _ => return self.read_detail(key, map),
        };
        if let Some((other, _)) = self.action.replace((key, step)) {
            let message = format!("a step is one action, found '{other}' and '{key}': write two steps");
            return Err(A::Error::custom(message));
        }
        Ok(())
    }

    fn read_detail<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        match key {
            "bytes" => self.bytes = Some(map.next_value()?),
            "n" => self.n = Some(map.next_value::<Whole<u32, 1, 1_000_000>>()?.0),
            "stay" => self.stay = Some(map.next_value()?),
            "timeout" => self.timeout = Some(map.next_value::<Duration>()?.0),
            "mutex" => self.mutex = Some(name(map)?),
            "every" => self.every = Some(map.next_value::<Duration>()?.0),
            "missed" => self.missed = Some(map.next_value()?),
            "program" => self.program = Some(map.next_value::<Body>()?.0),
            _ => self.body = Some(map.next_value::<Body>()?.0),
        }
        Ok(())
    }

    /// Puts the details into the action.
    fn finish(mut self) -> Result<Step, String> {
        let Some((action, mut step)) = self.action.take() else {
            return Err(format!("a step needs an action: one of {}", ACTIONS.join(", ")));
        };
        let missing = |key: &str| format!("'{action}' needs the key '{key}'");
        match &mut step {
            Step::Write(transfer) | Step::Read(transfer) => {
                transfer.bytes = self.bytes.take().ok_or_else(|| missing("bytes"))?;
            }
            Step::EpollWait { timeout, .. } => *timeout = self.timeout.take(),
            Step::Post { n, stay, .. } => {
                *n = self.n.take().unwrap_or(*n);
                *stay = self.stay.take().unwrap_or(*stay);
            }
            Step::CondWait { mutex, .. } => *mutex = self.mutex.take(),
            Step::Timer { every, missed, .. } => {
                *every = self.every.take().ok_or_else(|| missing("every"))?;
                *missed = self.missed.take().unwrap_or(*missed);
            }
            Step::Fork { program, .. } => *program = self.program.take().ok_or_else(|| missing("program"))?,
            Step::Repeat { body, .. } | Step::Until { body, .. } | Step::For { body, .. } => {
                *body = self.body.take().ok_or_else(|| missing("do"))?;
            }
            _ => {}
        }
        match step {
            Step::Period(d) | Step::Timer { every: d, .. } | Step::For { duration: d, .. } if d.is_zero() => {
                return Err(format!("'{action}' is 0 ns: allowed is 1ns and more"));
            }
            _ => {}
        }
        let unused = [
            ("bytes", "read and write", self.bytes.is_some()),
            ("n", "post", self.n.is_some()),
            ("stay", "post", self.stay.is_some()),
            ("timeout", "epoll_wait", self.timeout.is_some()),
            ("mutex", "cond_wait", self.mutex.is_some()),
            ("every", "timer", self.every.is_some()),
            ("missed", "timer", self.missed.is_some()),
            ("program", "fork and vfork", self.program.is_some()),
            ("do", "repeat, until and for", self.body.is_some()),
        ];
        match unused.iter().find(|(_, _, there)| *there) {
            Some((key, owners, _)) => Err(format!("'{action}' takes no '{key}': it belongs to {owners}")),
            None => Ok(step),
        }
    }
}

/// Most turns of a loop, and most units counted at once.
pub(super) const MAX_COUNT: i64 = 1_000_000_000_000;

fn name<'de, A: MapAccess<'de>>(map: &mut A) -> Result<String, A::Error> {
    map.next_value::<Name>().map(|n| n.0)
}

/// A list of steps that is not empty.
struct Body(Vec<Step>);

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Body, D::Error> {
        d.deserialize_seq(BodyVisitor).map(Body)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Vec<Step>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of one or more steps")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Step>, A::Error> {
        let mut steps = Vec::new();
        while let Some(step) = seq.next_element()? {
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(A::Error::invalid_length(0, &self));
        }
        Ok(steps)
    }
}

/// Reads the program of a task: a list of steps, or a text with a step a line.
pub(super) fn program<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Step>, D::Error> {
    d.deserialize_seq(ProgramVisitor)
}

struct ProgramVisitor;

impl<'de> Visitor<'de> for ProgramVisitor {
    type Value = Vec<Step>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BodyVisitor.expecting(f)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<Step>, E> {
        let steps = super::step_text::program(text).map_err(E::custom)?;
        if steps.is_empty() { Err(E::custom("the program has no step")) } else { Ok(steps) }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<Step>, A::Error> {
        BodyVisitor.visit_seq(seq)
    }
}
