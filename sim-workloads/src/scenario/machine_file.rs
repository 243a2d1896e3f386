//! A machine on its own: the `[machine]` of a scenario, or a file of nothing else, as `cfsim topology import` writes.

use super::de::NodeReader;
use super::error::Source;
use super::node::Value;
use super::{Document, IdleSpec, MachineSpec, ScenarioError};
use serde::Deserialize;
use sim_core::CpuMask;
use sim_core::machine::topology::Topology;
use std::sync::Arc;

/// A machine and what was said about it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its title, which may be empty.
    pub name: String,
    /// Its CPUs.
    pub topology: Arc<Topology>,
    /// Sets of CPUs that balance only among themselves.
    pub partitions: Vec<CpuMask>,
    /// Its idle states.
    pub idle: Option<IdleSpec>,
    /// The kernel profile named beside it.
    pub profile: Option<String>,
}

/// A file that holds a machine and no tasks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    #[serde(default)]
    name: String,
    machine: MachineSpec,
}

impl Machine {
    /// Reads a machine from a scenario, or from a file that has `[machine]` only.
    ///
    /// # Errors
    /// As [`super::Scenario::parse`].
    pub fn parse(text: &str, file: &str) -> Result<Machine, ScenarioError> {
        let source = Source { file: file.to_owned(), text: text.to_owned(), overrides: Vec::new() };
        let located = |problem: Box<super::Problem>| problem.locate(&source);
        super::check_size(&source).map_err(located)?;
        let mut root = super::node::parse(text).map_err(located)?;
        let is_machine = |key: &str| matches!(key, "name" | "machine");
        let machine_only =
            matches!(&root.value, Value::Table(entries) if entries.iter().all(|e| is_machine(&e.key)));
        if !machine_only {
            let scenario = Document::parse(text, file, &[])?.scenario;
            return Ok(Machine::of(
                scenario.name,
                &scenario.machine,
                scenario.topology,
                scenario.kernel.profile,
            ));
        }
        super::preset::expand(&mut root).map_err(located)?;
        let file = MachineFile::deserialize(NodeReader(&root)).map_err(|mistake| located(mistake.0))?;
        let topology = file.machine.build_topology();
        let topology =
            topology.map_err(|(path, problem)| located(problem.at(super::node::find(&root, &path))))?;
        Ok(Machine::of(file.name, &file.machine, Arc::new(topology), None))
    }

    fn of(name: String, spec: &MachineSpec, topology: Arc<Topology>, profile: Option<String>) -> Machine {
        let partitions = spec.partitions.iter().map(|p| p.0.clone()).collect();
        Machine { name, topology, partitions, idle: spec.idle.clone(), profile }
    }
}
