//! The scenario format: TOML, typed and validated. A mistake is one [`ScenarioError`] with its place.

mod build;
mod change;
mod check;
mod de;
mod error;
mod group;
mod groups_check;
mod kernel;
mod machine;
mod machine_file;
mod node;
mod objects;
mod overrides;
mod preset;
mod schema;
mod step;
mod step_reader;
mod step_text;
mod task;
mod toml_file;
mod topology;
mod uncertain;

pub use change::{ChangeSpec, TaskChange};
pub(crate) use check::{MAX_STEPS, expand};
pub use error::{ErrorKind, Place, ScenarioError};
pub use group::{CpuController, GroupPath, GroupSpec, SessionSpec};
pub use kernel::{HZ, KernelSpec};
pub(crate) use machine::IdleMistake;
pub use machine::{
    CacheSpec, CostsSpec, FrequencySpec, GovernorName, GuestSpec, HostSpec, IdleSpec, IdleStateSpec,
    InterferenceSpec, IpcSpec, MachineSpec, NicSpec, RunSpec, SmtSpec,
};
pub use machine_file::Machine;
pub(crate) use objects::Kind;
pub use objects::{BarrierSpec, JobServerSpec, MutexSpec, ObjectSpecs, PipeSpec, SemaphoreSpec};
pub use schema::{json_schema, schema_of};
pub use step::{PipeTransfer, Step};
pub use task::TaskDef;
pub use toml_file::{TomlFile, has_top_key};
pub use topology::{TopologySpec, TopologyTable, named_machine};
pub use uncertain::UncertainRange;

use crate::model::Workloads;
use crate::schema::PlainName;
use crate::units::Whole;
use de::NodeReader;
use error::{Problem, Source};
use node::{Node, Origin};
use schema::{SessionNumber, UncertainKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::machine::topology::Topology;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest scenario file: 32 MiB, most of which can only be programs as text.
pub const MAX_BYTES: usize = 32 << 20;

/// The most bytes of settings that override a file.
const MAX_SETTINGS: usize = 1 << 20;

/// A validated scenario: what the file and its overrides say, and nothing of what the program adds as defaults.
/// Serialised, durations are integers in nanoseconds and keys have a fixed order, so equal scenarios give equal text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// Title for reports.
    pub name: String,
    /// Seed of the random streams, unless the program is told another.
    pub seed: u64,
    /// Which kernel.
    pub kernel: KernelSpec,
    /// On which machine.
    pub machine: MachineSpec,
    /// The machine's CPUs, as the machine says.
    #[serde(skip)]
    pub topology: Arc<Topology>,
    /// The host's CPUs, if the machine is a virtual one.
    #[serde(skip)]
    pub host_topology: Option<Arc<Topology>>,
    /// With which costs.
    pub costs: CostsSpec,
    /// Values of which no more is known than a range, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub uncertain: BTreeMap<String, UncertainRange>,
    /// For how long.
    pub run: RunSpec,
    /// Task groups by path.
    #[serde(rename = "group", skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, GroupSpec>,
    /// Sessions by number.
    #[serde(rename = "session", skip_serializing_if = "BTreeMap::is_empty")]
    pub sessions: BTreeMap<String, SessionSpec>,
    /// Declared objects.
    #[serde(flatten)]
    pub objects: ObjectSpecs,
    /// Tasks in order of creation.
    pub tasks: Vec<TaskDef>,
    /// What changes while the run goes on.
    #[serde(rename = "at", skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeSpec>,
    /// Workload models, created after the tasks.
    pub workload: Workloads,
}

/// A scenario: which kernel, on which machine, runs which tasks for how long.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    /// Title for reports.
    #[serde(default)]
    name: String,
    /// Seed of all random draws.
    #[serde(default = "default_seed", deserialize_with = "crate::units::whole::<_, _, 0, { i64::MAX }>")]
    #[schemars(with = "Whole<u64, 0, { i64::MAX }>")]
    seed: u64,
    #[serde(default)]
    kernel: KernelSpec,
    #[serde(default)]
    machine: MachineSpec,
    #[serde(default)]
    costs: CostsSpec,
    #[serde(default)]
    #[schemars(with = "BTreeMap<UncertainKey, UncertainRange>")]
    uncertain: BTreeMap<String, UncertainRange>,
    #[serde(default)]
    run: RunSpec,
    #[serde(default)]
    #[schemars(with = "BTreeMap<GroupPath, GroupSpec>")]
    group: BTreeMap<String, GroupSpec>,
    #[serde(default)]
    #[schemars(with = "BTreeMap<SessionNumber, SessionSpec>")]
    session: BTreeMap<String, SessionSpec>,
    #[serde(default)]
    at: Vec<ChangeSpec>,
    #[serde(default)]
    #[schemars(with = "BTreeMap<PlainName, PipeSpec>")]
    pipes: BTreeMap<String, PipeSpec>,
    #[serde(default)]
    #[schemars(with = "BTreeMap<PlainName, SemaphoreSpec>")]
    semaphores: BTreeMap<String, SemaphoreSpec>,
    #[serde(default)]
    #[schemars(with = "BTreeMap<PlainName, MutexSpec>")]
    mutexes: BTreeMap<String, MutexSpec>,
    #[serde(default)]
    #[schemars(with = "BTreeMap<PlainName, BarrierSpec>")]
    barriers: BTreeMap<String, BarrierSpec>,
    #[serde(default)]
    #[schemars(with = "BTreeMap<PlainName, JobServerSpec>")]
    job_servers: BTreeMap<String, JobServerSpec>,
    #[serde(default, deserialize_with = "task::tasks")]
    #[schemars(with = "BTreeMap<PlainName, TaskDef>")]
    task: Vec<TaskDef>,
    #[serde(default)]
    workload: Workloads,
}

fn default_seed() -> u64 {
    1
}

impl ScenarioFile {
    fn on(self, topology: Topology, host_topology: Option<Topology>) -> Scenario {
        let file = self;
        Scenario {
            topology: Arc::new(topology),
            host_topology: host_topology.map(Arc::new),
            name: file.name,
            seed: file.seed,
            kernel: file.kernel,
            machine: file.machine,
            costs: file.costs,
            uncertain: file.uncertain,
            run: file.run,
            groups: file.group,
            sessions: file.session,
            changes: file.at,
            objects: ObjectSpecs {
                pipes: file.pipes,
                semaphores: file.semaphores,
                mutexes: file.mutexes,
                barriers: file.barriers,
                job_servers: file.job_servers,
            },
            tasks: file.task,
            workload: file.workload,
        }
    }
}

impl Scenario {
    /// Parses and validates a scenario. `file` names it in errors; `overrides` are (key, value) pairs that address the
    /// keys of the file, such as `("kernel.hz", "1000")`, and are applied in order.
    pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        Document::parse(text, file, overrides).map(|document| document.scenario)
    }
}

/// A scenario together with its text, for those who find a mistake later: an unknown profile, a CPU beyond the machine.
#[derive(Debug, Clone)]
pub struct Document {
    /// The scenario.
    pub scenario: Scenario,
    root: Node,
    source: Source,
}

impl Document {
    /// As [`Scenario::parse`], keeping the text.
    pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Document, ScenarioError> {
        let source = Source { file: file.to_owned(), text: text.to_owned(), overrides: overrides.to_vec() };
        match read(&source) {
            Ok((root, scenario)) => Ok(Document { scenario, root, source }),
            Err(problem) => Err(problem.locate(&source)),
        }
    }

    /// The same document with further settings.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn with(&self, settings: &[(String, String)]) -> Result<Document, ScenarioError> {
        let overrides = [&self.source.overrides, settings].concat();
        Document::parse(&self.source.text, &self.source.file, &overrides)
    }

    /// A mistake in the value at `path` (such as `["kernel", "profile"]`), or, where that was not written down, in the
    /// table it would be in.
    pub fn error_at(&self, path: &[&str], message: impl Into<String>) -> ScenarioError {
        toml_file::error_at(&self.root, &self.source, path, message.into())
    }
}

fn check_size(source: &Source) -> Result<(), Box<Problem>> {
    toml_file::check_size(&source.text)?;
    let settings: usize = source.overrides.iter().map(|(k, v)| k.len() + v.len()).sum();
    if settings > MAX_SETTINGS || source.overrides.len() > overrides::MAX_OVERRIDES {
        let message = format!(
            "{} settings of {settings} bytes: at most {} of {MAX_SETTINGS} bytes are allowed",
            source.overrides.len(),
            overrides::MAX_OVERRIDES
        );
        return Err(Problem::new(ErrorKind::Limit, message).at(Origin::Override(0)));
    }
    Ok(())
}

fn read(source: &Source) -> Result<(Node, Scenario), Box<Problem>> {
    check_size(source)?;
    let mut root = node::parse(&source.text)?;
    for (i, (key, value)) in source.overrides.iter().enumerate() {
        overrides::apply(&mut root, i, key, value)?;
    }
    preset::expand(&mut root)?;
    let file = ScenarioFile::deserialize(NodeReader(&root)).map_err(|mistake| mistake.0)?;
    let at_place = |(path, problem): (check::Path, Box<Problem>)| problem.at(node::find(&root, &path));
    let topology = file.machine.build_topology().map_err(at_place)?;
    let host = file.machine.host.as_ref().map(|h| h.machine.build_topology());
    let host_topology = host.transpose().map_err(|(at, problem)| at_place((check::in_host(at), problem)))?;
    let scenario = file.on(topology, host_topology);
    check::check(&scenario).map_err(at_place)?;
    Ok((root, scenario))
}
