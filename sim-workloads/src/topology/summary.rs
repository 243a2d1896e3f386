//! The summary of `lscpu`, as text or JSON: numbers of parts, from which a regular machine is put together.

use super::cpus::{cpulist, reclaim_distance};
use super::{ImportError, Imported, check_size};
use serde_json::Value;
use sim_core::CpuMask;
use sim_core::machine::topology::{Shape, Topology, TopologyDesc};

/// The most fields that are read.
const MAX_FIELDS: usize = 10_000;

type Fields = Vec<(String, String)>;

/// Reads the plain output of `lscpu`.
///
/// # Errors
/// When it does not describe a regular machine.
pub fn read_lscpu_text(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    let field = |l: &str| l.split_once(':').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()));
    let fields: Fields = text.lines().filter_map(field).take(MAX_FIELDS).collect();
    read_fields(&fields, "lscpu")
}

/// Fields and values of `lscpu -J`, children after their parents.
pub(super) fn json_fields(fields: &[Value]) -> Fields {
    let mut found = Fields::new();
    let mut stack: Vec<&Value> = fields.iter().rev().collect();
    while let Some(node) = stack.pop().filter(|_| found.len() < MAX_FIELDS) {
        let text = |key| node.get(key).and_then(Value::as_str).unwrap_or_default().trim();
        found.push((text("field").trim_end_matches(':').to_owned(), text("data").to_owned()));
        stack.extend(node.get("children").and_then(Value::as_array).into_iter().flatten().rev());
    }
    found
}

/// The machine the fields describe. Which CPUs are siblings is not said: of Linux's two usual numberings, the one that fits
/// the nodes' CPUs is taken, the threads of a core apart first.
pub(super) fn read_fields(fields: &Fields, source: &'static str) -> Result<Imported, ImportError> {
    let text = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, v)| v.as_str());
    for name in ["Socket(s) per book", "Book(s) per drawer"] {
        if text(name).is_some() {
            let what = format!("'{name}': a summary does not say which CPU is where; lscpu -J -e does");
            return Err(ImportError::Unsupported { what });
        }
    }
    if fields.iter().filter(|(key, _)| key == "Thread(s) per core").count() > 1 {
        let what = "several kinds of cores: a summary does not say which CPU is which; lscpu -J -e does";
        return Err(ImportError::Unsupported { what: what.to_owned() });
    }
    let number = |name: &str| {
        let found = text(name).ok_or_else(|| ImportError::missing(format!("the field '{name}'")))?;
        found.parse::<u32>().map_err(|_| ImportError::bad(name, found, "a number"))
    };
    let (cpus, threads) = (number("CPU(s)")?, number("Thread(s) per core")?);
    let (cores, sockets) = (number("Core(s) per socket")?, number("Socket(s)")?);
    let product = [threads, cores, sockets].iter().try_fold(1u32, |p, n| p.checked_mul(*n));
    if product != Some(cpus) || cpus == 0 {
        let what = format!(
            "{cpus} CPUs are not {sockets} sockets of {cores} cores of {threads} threads: a summary does not say which \
             are missing"
        );
        return Err(ImportError::Unsupported { what });
    }
    let mut notes = Vec::new();
    let mut desc = numbered(fields, Shape::new(sockets, 1, cores, threads), &mut notes)?;
    desc.reclaim_distance = reclaim_distance(
        text("Vendor ID").unwrap_or_default(),
        text("CPU family").and_then(|f| f.parse().ok()),
    );
    let offline = cpulist("Off-line CPU(s) list", text("Off-line CPU(s) list").unwrap_or_default())?;
    desc.cpus_in(&offline).for_each(|c| c.online = false);
    if desc.nodes.len() > 1 {
        notes.push("distances between nodes are not said: 20 is taken".to_owned());
    }
    Ok(Imported { topology: Topology::new(desc)?, source, notes })
}

/// The number of instances of a cache: "32 MiB (2 instances)".
fn instances(value: &str) -> Option<u32> {
    value.split_once('(')?.1.split_whitespace().next()?.parse().ok()
}

fn numbered(fields: &Fields, shape: Shape, notes: &mut Vec<String>) -> Result<TopologyDesc, ImportError> {
    let cache = |level: &str| {
        let named = |key: &str| key == level || key.strip_prefix(level) == Some(" cache");
        fields.iter().find(|(key, _)| named(key)).map(|(_, value)| instances(value))
    };
    let cores = shape.sockets * shape.cores;
    let divides = |n: &u32| *n > 0 && cores.is_multiple_of(*n);
    let l2 = cache("L2").map(|n| n.unwrap_or(cores));
    let l3 = cache("L3").map(|n| n.unwrap_or(shape.sockets));
    if let Some(bad) = l2.iter().chain(&l3).find(|n| !divides(n)) {
        let what = format!("{bad} caches for {cores} cores: a summary does not say who shares which");
        return Err(ImportError::Unsupported { what });
    }
    let nodes = node_cpus(fields)?;
    let unsupported =
        |e: sim_core::machine::topology::ShapeError| ImportError::Unsupported { what: e.to_string() };
    let mut desc = shape.desc().map_err(unsupported)?;
    if shape.threads > 1 {
        notes.push("which CPUs are siblings is not said: numbered as Linux usually does".to_owned());
    }
    let all: CpuMask = desc.cpus.iter().map(|c| c.cpu).collect();
    if let Some((number, mask)) = nodes.iter().find(|(_, mask)| !mask.is_subset(&all)) {
        let what = format!("node {number} has CPUs {mask}, the machine {all}");
        return Err(ImportError::Unsupported { what });
    }
    // A core's number in each of the two numberings: threads apart, threads side by side.
    let apart = |cpu: u32| cpu % cores;
    let together = |cpu: u32| cpu / shape.threads;
    for core_of in [&apart as &dyn Fn(u32) -> u32, &together] {
        for c in &mut desc.cpus {
            c.core = core_of(c.cpu.0);
            c.package = c.core / shape.cores;
            c.cluster = l2.map(|n| c.core / (cores / n));
            c.llc = l3.or(l2).map(|n| c.core / (cores / n));
            let node = nodes.iter().find(|(_, mask)| mask.contains(c.cpu));
            c.node = node.or(nodes.first()).map_or(0, |(number, _)| *number);
        }
        desc.nodes = if nodes.is_empty() { vec![0] } else { nodes.iter().map(|(n, _)| *n).collect() };
        desc.distances = Vec::new();
        let fits = |node: u32, package: u32| {
            // A node lies in one package, or the other way round.
            let per_package = (desc.nodes.len() as u32).max(1) / shape.sockets;
            per_package == 0 || desc.cpus.iter().filter(|c| c.node == node).all(|c| c.package == package)
        };
        if desc.cpus.iter().all(|c| fits(c.node, c.package)) && Topology::new(desc.clone()).is_ok() {
            return Ok(desc);
        }
    }
    let what =
        "the nodes' CPUs fit no usual numbering of the cores: a summary does not say which CPU is where";
    Err(ImportError::Unsupported { what: what.to_owned() })
}

/// "NUMA node0 CPU(s)": "0-15".
fn node_cpus(fields: &Fields) -> Result<Vec<(u32, CpuMask)>, ImportError> {
    let mut nodes = Vec::new();
    for (key, value) in fields {
        let number = key.strip_prefix("NUMA node").and_then(|k| k.strip_suffix(" CPU(s)"));
        let Some(number) = number.filter(|n| !n.is_empty()) else { continue };
        let parsed = number.parse::<u32>();
        let number = parsed.map_err(|_| ImportError::bad(key, number, "a node's number"))?;
        nodes.push((number, cpulist(key, value)?));
        if nodes.len() > sim_core::machine::topology::MAX_NODES {
            let limit = sim_core::machine::topology::MAX_NODES;
            return Err(ImportError::TooMany { what: "memory nodes", limit });
        }
    }
    Ok(nodes)
}
