//! Writes a machine as a scenario's `[machine]`.

use sim_core::CpuMask;
use sim_core::machine::CAPACITY_SCALE;
use sim_core::machine::topology::{RECLAIM_DISTANCE, Shape, Topology};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The machine as TOML: a regular one in short, any other by the CPUs of its units.
pub fn to_toml(topology: &Topology) -> String {
    let mut out = String::from("[machine]\n");
    let mut offline = topology.present().clone();
    offline.and_not_with(topology.online());
    for (key, mask) in [("offline", &offline), ("isolcpus", topology.isolated())] {
        if !mask.is_empty() {
            out += &format!("{key} = \"{mask}\"\n");
        }
    }
    let mut capacities: BTreeMap<u32, CpuMask> = BTreeMap::new();
    topology.cpus().iter().filter(|c| c.capacity != CAPACITY_SCALE).for_each(|c| {
        capacities.entry(c.capacity).or_default().insert(c.cpu);
    });
    if !capacities.is_empty() {
        let entries: Vec<String> = capacities.iter().map(|(c, mask)| format!("\"{mask}\" = {c}")).collect();
        out += &format!("capacity = {{ {} }}\n", entries.join(", "));
    }
    out += "\n[machine.topology]\n";
    match regular(topology) {
        Some(shape) => write_shape(&mut out, shape),
        None => write_lists(&mut out, topology),
    }
    if topology.reclaim_distance() != RECLAIM_DISTANCE {
        out += &format!("reclaim_distance = {}\n", topology.reclaim_distance());
    }
    if topology.hybrid() {
        out += "hybrid = true\n";
    }
    write_distances(&mut out, topology);
    out
}

/// The shape this machine has, apart from distances and the state of its CPUs.
fn regular(topology: &Topology) -> Option<Shape> {
    let (sockets, llcs) = (topology.packages().len() as u32, topology.llcs().len() as u32);
    let (cores, cpus) = (topology.cores().len() as u32, topology.cpus().len() as u32);
    let share = |whole: u32, part: u32| whole.checked_div(part).filter(|n| n * part == whole);
    let shape = Shape {
        nodes: share(topology.nodes().len() as u32, sockets)?,
        cores_per_cluster: share(cores, topology.clusters().len() as u32)?,
        ..Shape::new(sockets, share(llcs, sockets)?, share(cores, llcs)?, share(cpus, cores)?)
    };
    let built = shape.topology().ok()?;
    let same = |(a, b): (&sim_core::machine::topology::LogicalCpu, &_)| {
        *b == sim_core::machine::topology::LogicalCpu {
            online: true,
            isolated: false,
            capacity: CAPACITY_SCALE,
            ..*a
        }
    };
    let all = built.cpus().len() == topology.cpus().len();
    let ids = |t: &Topology| t.nodes().iter().map(|n| n.id).collect::<Vec<_>>();
    (all && ids(&built) == ids(topology) && topology.cpus().iter().zip(built.cpus()).all(same))
        .then_some(shape)
}

fn write_shape(out: &mut String, shape: Shape) {
    let parts = [
        ("sockets", shape.sockets),
        ("llcs", shape.llcs),
        ("cores", shape.cores),
        ("threads", shape.threads),
        ("nodes", shape.nodes),
        ("cores_per_cluster", shape.cores_per_cluster),
    ];
    for (i, (key, n)) in parts.into_iter().enumerate() {
        if i < 4 || n != 1 {
            *out += &format!("{key} = {n}\n");
        }
    }
}

fn write_lists(out: &mut String, topology: &Topology) {
    list(out, "package_cpus", topology.packages());
    let nodes = topology.nodes().iter().map(|n| format!("{} = \"{}\"", n.id, n.cpus));
    *out += &format!("node_cpus = {{ {} }}\n", nodes.collect::<Vec<_>>().join(", "));
    list(out, "llc_cpus", topology.llcs());
    list(out, "cluster_cpus", topology.clusters());
    let threads: Vec<CpuMask> = topology.cores().iter().filter(|c| c.count() > 1).cloned().collect();
    list(out, "core_cpus", &threads);
}

fn list(out: &mut String, key: &str, masks: &[CpuMask]) {
    if masks.is_empty() {
        return;
    }
    *out += &format!("{key} = [\n");
    for masks in masks.chunks(8) {
        let items: Vec<String> = masks.iter().map(|m| format!("\"{m}\"")).collect();
        *out += &format!("    {},\n", items.join(", "));
    }
    *out += "]\n";
}

fn write_distances(out: &mut String, topology: &Topology) {
    let n = topology.nodes().len();
    if n < 2 {
        return;
    }
    *out += "distances = [\n";
    for from in 0..n {
        let row: Vec<String> = (0..n).map(|to| topology.distance(from, to).to_string()).collect();
        let _ = writeln!(out, "    [{}],", row.join(", "));
    }
    *out += "]\n";
}
