//! The plan as the guest's driver reads it (`validation/lab/plan.c`): flat tables of tasks and steps.

use super::plan::Plan;
use crate::capture::spec::{ObjectIx, ObjectKind, Phase, Step};
use sim_core::CpuMask;
use sim_core::kernel::Policy;
use std::fmt::Write;

/// KiB of all CPUs' trace buffers together: some two million events.
const TRACE_KIB: u64 = 128 << 10;

/// The plan's text.
pub fn program(plan: &Plan) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_plan(&mut out, plan);
    out
}

fn write_plan(out: &mut String, plan: &Plan) -> std::fmt::Result {
    let spec = &plan.spec;
    // Without a phase T0 comes at a tick.
    let phase = match spec.phase {
        Phase::AfterTick(ns) => ns,
        Phase::Off => 0,
    };
    for (name, value) in [
        ("seed", spec.seed),
        ("slack", spec.slack),
        ("lead", spec.lead),
        ("phase", phase),
        ("limit", spec.limit.unwrap_or(0)),
        ("chunk", spec.chunk),
        ("buffer_kb", TRACE_KIB / u64::from(plan.cpus.max(1))),
        // On several CPUs it matters where the driver's children were put.
        ("trace_forks", u64::from(plan.cpus > 1)),
    ] {
        writeln!(out, "{name} {value}")?;
    }
    for (name, value) in plan.set.iter().filter_map(|s| s.split_once('=')) {
        writeln!(out, "set {name} {value}")?;
    }
    for group in &spec.groups {
        writeln!(out, "group {} {}", group.path, group.weight.unwrap_or(0))?;
    }
    for object in &spec.objects {
        let kind = match object.kind {
            ObjectKind::Pipe => 'p',
            ObjectKind::Semaphore => 's',
            ObjectKind::Barrier => 'b',
        };
        writeln!(out, "object {kind}")?;
    }
    let mut nodes = Vec::new();
    for task in &spec.tasks {
        let first = nodes.len();
        flatten(&task.body, &mut nodes);
        let policy = match task.policy {
            Policy::Normal => 0,
            Policy::Batch => 3,
            Policy::Idle => 5,
        };
        let cpus = task.cpus.as_ref().map_or(0, mask);
        let group = task.group.as_deref().unwrap_or("-");
        writeln!(
            out,
            "task {} {} {policy} {} {cpus} {group} {first} {}",
            task.name,
            task.nice,
            task.start,
            nodes.len()
        )?;
    }
    nodes.iter().try_for_each(|n| writeln!(out, "node {} {} {} {} {}", n.op, n.a, n.b, n.object, n.end))
}

/// A step in the flat table; `end` is the index past the block inside.
struct Node {
    op: &'static str,
    a: u64,
    b: u64,
    object: u16,
    end: usize,
}

/// The guest has fewer than 64 CPUs.
fn mask(cpus: &CpuMask) -> u64 {
    cpus.iter().filter(|c| c.0 < 64).fold(0, |mask, c| mask | 1 << c.0)
}

fn flatten(body: &[Step], nodes: &mut Vec<Node>) {
    let none: &[Step] = &[];
    for step in body {
        let on = |op, o: &ObjectIx, n: u32| (op, u64::from(n), 0, o.0, none);
        let plain = |op, a, b| (op, a, b, 0, none);
        let (op, a, b, object, inside) = match step {
            Step::Run(s) => plain("run", s.lo, s.hi),
            Step::Sleep(s) => plain("sleep", s.lo, s.hi),
            Step::Period(ns) => plain("period", *ns, 0),
            Step::Post(o, n) => on("post", o, *n),
            Step::Wait(o) => on("wait", o, 1),
            Step::Write(o, n) => on("write", o, *n),
            Step::Read(o, n) => on("read", o, *n),
            Step::Barrier(o, n) => on("barrier", o, *n),
            Step::Yield => plain("yield", 0, 0),
            Step::Count => plain("count", 0, 0),
            Step::Join => plain("join", 0, 0),
            Step::JoinAll => plain("joinall", 0, 0),
            Step::Affinity(m) => plain("affinity", mask(m), 0),
            Step::Loop(n, body) => ("loop", *n, 0, 0, body.as_slice()),
            Step::For(ns, body) => ("for", *ns, 0, 0, body.as_slice()),
            Step::Fork(body) => ("fork", 0, 0, 0, body.as_slice()),
            // No scenario compiles to these.
            Step::Spin(_) | Step::SysIo(_) | Step::AffinityAll(_) | Step::Jobs { .. } => continue,
        };
        let index = nodes.len();
        nodes.push(Node { op, a, b, object, end: 0 });
        flatten(inside, nodes);
        nodes[index].end = nodes.len();
    }
}
