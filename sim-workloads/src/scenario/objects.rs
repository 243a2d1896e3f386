//! The tables of objects that tasks synchronise on.

use crate::units::{Bytes, Whole, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::program::Objects;
use std::collections::BTreeMap;

/// Declared objects, by kind and name. Pipes, semaphores and mutexes with default settings need no declaration.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ObjectSpecs {
    /// `[pipes.NAME]`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pipes: BTreeMap<String, PipeSpec>,
    /// `[semaphores.NAME]`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub semaphores: BTreeMap<String, SemaphoreSpec>,
    /// `[mutexes.NAME]`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mutexes: BTreeMap<String, MutexSpec>,
    /// `[barriers.NAME]`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub barriers: BTreeMap<String, BarrierSpec>,
    /// `[job_servers.NAME]`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub job_servers: BTreeMap<String, JobServerSpec>,
}

/// The kinds of objects. Names of different kinds may be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Pipe,
    Semaphore,
    Mutex,
    Barrier,
    JobServer,
    Epoll,
    Condition,
    Timer,
}

impl Kind {
    pub(crate) fn table(self) -> &'static str {
        match self {
            Kind::Pipe => "pipes",
            Kind::Semaphore => "semaphores",
            Kind::Mutex => "mutexes",
            Kind::Barrier => "barriers",
            Kind::JobServer => "job_servers",
            Kind::Epoll => "epolls",
            Kind::Condition => "conditions",
            Kind::Timer => "timers",
        }
    }
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Kind::Pipe => "pipe",
            Kind::Semaphore => "semaphore",
            Kind::Mutex => "mutex",
            Kind::Barrier => "barrier",
            Kind::JobServer => "job server",
            Kind::Epoll => "epoll instance",
            Kind::Condition => "condition",
            Kind::Timer => "timer",
        }
    }
}

impl ObjectSpecs {
    pub(crate) fn declared(&self, kind: Kind, name: &str) -> bool {
        match kind {
            Kind::Pipe => self.pipes.contains_key(name),
            Kind::Semaphore => self.semaphores.contains_key(name),
            Kind::Mutex => self.mutexes.contains_key(name),
            Kind::Barrier => self.barriers.contains_key(name),
            Kind::JobServer => self.job_servers.contains_key(name),
            // They have no settings.
            Kind::Epoll | Kind::Condition | Kind::Timer => false,
        }
    }
    /// Every declared object.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Kind, &str)> {
        let pipes = self.pipes.keys().map(|n| (Kind::Pipe, n.as_str()));
        let semaphores = self.semaphores.keys().map(|n| (Kind::Semaphore, n.as_str()));
        let mutexes = self.mutexes.keys().map(|n| (Kind::Mutex, n.as_str()));
        let barriers = self.barriers.keys().map(|n| (Kind::Barrier, n.as_str()));
        let job_servers = self.job_servers.keys().map(|n| (Kind::JobServer, n.as_str()));
        pipes.chain(semaphores).chain(mutexes).chain(barriers).chain(job_servers)
    }
}

/// A pipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PipeSpec {
    /// Most bytes buffered; Linux's default is 64 KiB.
    #[serde(default = "default_capacity", rename(serialize = "capacity_bytes"))]
    pub capacity: Bytes,
}

fn default_capacity() -> Bytes {
    Bytes(Objects::PIPE_CAPACITY)
}

/// A counting semaphore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SemaphoreSpec {
    /// Its value at the start.
    #[serde(default, deserialize_with = "whole::<_, _, 0, 1_000_000_000>")]
    #[schemars(with = "Whole<u64, 0, 1_000_000_000>")]
    pub value: u64,
}

/// A mutex.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct MutexSpec {}

/// A barrier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct BarrierSpec {
    /// How many tasks it waits for.
    #[serde(deserialize_with = "whole::<_, _, 1, 100_000>")]
    #[schemars(with = "Whole<u32, 1, 100_000>")]
    pub parties: u32,
}

/// A job server as `make -j` uses it: a pipe that holds one byte per token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct JobServerSpec {
    /// Tokens at the start.
    #[serde(deserialize_with = "whole::<_, _, 1, 100_000>")]
    #[schemars(with = "Whole<u64, 1, 100_000>")]
    pub tokens: u64,
}
