//! hwloc's XML, versions 1 to 3.
//!
//! Units are taken from objects' sets of CPUs, which name offline CPUs too (`complete_cpuset`); groups, dies and devices say
//! nothing that domains depend on.

use super::cpus::{CpuRecord, Draft, Unit, hex_mask, reclaim_distance};
use super::{ImportError, Imported, check_size};
use roxmltree::{Document, Node, ParsingOptions};
use sim_core::{CpuId, CpuMask};
use std::collections::BTreeMap;

/// The most elements of a file.
const MAX_ELEMENTS: u32 = 1_000_000;
/// Deepest nesting of elements.
const MAX_DEPTH: usize = 128;
/// The most objects that are looked at.
const MAX_OBJECTS: usize = 20_000;

/// Reads a machine.
///
/// # Errors
/// When it is not hwloc's XML, or describes what cannot be represented.
pub fn read_hwloc(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    check_depth(text)?;
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_ELEMENTS };
    let syntax = |e: roxmltree::Error| ImportError::Syntax { format: "XML", message: e.to_string() };
    let document = Document::parse_with_options(text, options).map_err(syntax)?;
    let root = document.root_element();
    if !matches!(root.tag_name().name(), "topology" | "root") {
        let message = format!("the outermost element is '{:.40}', not 'topology'", root.tag_name().name());
        return Err(ImportError::Syntax { format: "hwloc XML", message });
    }
    let objects: Vec<Node<'_, '_>> =
        root.descendants().filter(|n| n.has_tag_name("object")).take(MAX_OBJECTS + 1).collect();
    if objects.len() > MAX_OBJECTS {
        return Err(ImportError::TooMany { what: "objects", limit: MAX_OBJECTS });
    }
    let mut draft = Draft::new("hwloc XML");
    read_cpus(&objects, &mut draft)?;
    read_units(&objects, &mut draft)?;
    read_nodes(&objects, &mut draft)?;
    read_distances(root, &objects, &mut draft)?;
    read_kinds(root, &mut draft)?;
    let info = |name: &str| infos(root).find(|(key, _)| *key == name).map(|(_, value)| value);
    let family = info("CPUFamilyNumber").and_then(|f| f.parse().ok());
    draft.reclaim_distance = reclaim_distance(info("CPUVendor").unwrap_or_default(), family);
    draft.finish()
}

/// Refuses deep nesting, which the parser would follow by recursion, and declarations of entities, which may hide it.
fn check_depth(text: &str) -> Result<(), ImportError> {
    let refused = |message: &str| ImportError::Syntax { format: "hwloc XML", message: message.to_owned() };
    let mut depth = 0usize;
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start..];
        let end = match tag.as_bytes().get(1) {
            Some(b'!') if tag.starts_with("<!--") => tag.find("-->"),
            Some(b'!') if tag.starts_with("<![CDATA[") => tag.find("]]>"),
            Some(b'?') => tag.find("?>"),
            _ => tag_end(tag),
        };
        let Some(end) = end else { return Ok(()) };
        match tag.as_bytes().get(1) {
            Some(b'!') if tag[..end].contains('[') && tag.starts_with("<!DOCTYPE") => {
                return Err(refused("declarations in the document type are not read"));
            }
            Some(b'!' | b'?') => {}
            Some(b'/') => depth = depth.saturating_sub(1),
            _ if tag[..end].ends_with('/') => {}
            _ => depth += 1,
        }
        if depth > MAX_DEPTH {
            return Err(refused("elements are nested more than 128 deep"));
        }
        rest = &tag[end..];
    }
    Ok(())
}

/// Where a tag ends, outside of quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    tag.bytes().position(|b| match (quote, b) {
        (None, b'>') => true,
        (None, b'"' | b'\'') => {
            quote = Some(b);
            false
        }
        (Some(q), b) if q == b => {
            quote = None;
            false
        }
        _ => false,
    })
}

fn infos<'a>(root: Node<'a, 'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let infos = root.descendants().filter(|n| n.has_tag_name("info"));
    infos.filter_map(|n| Some((n.attribute("name")?, n.attribute("value")?)))
}

fn kind<'a>(object: &Node<'a, '_>) -> &'a str {
    object.attribute("type").unwrap_or_default()
}

fn place(object: &Node<'_, '_>) -> String {
    let index = object.attribute("os_index").map(|i| format!(" {i:.10}")).unwrap_or_default();
    format!("{:.20}{index}", kind(object))
}

/// CPUs of an object, offline ones too.
fn cpus(object: &Node<'_, '_>) -> Result<CpuMask, ImportError> {
    let text = object.attribute("complete_cpuset").or_else(|| object.attribute("cpuset"));
    text.map_or_else(|| Ok(CpuMask::default()), |text| hex_mask(&place(object), text))
}

fn read_cpus(objects: &[Node<'_, '_>], draft: &mut Draft) -> Result<(), ImportError> {
    let machine = objects.first().ok_or_else(|| ImportError::missing("the object of type Machine"))?;
    if kind(machine) == "System" {
        let what = "a system of several machines: only one can be simulated".to_owned();
        return Err(ImportError::Unsupported { what });
    }
    let online = machine.attribute("online_cpuset").or_else(|| machine.attribute("cpuset"));
    let online = online.ok_or_else(|| ImportError::missing("the machine's cpuset"))?;
    let online = hex_mask("Machine", online)?;
    let mut all = cpus(machine)?;
    all.or_with(&online);
    for cpu in all.iter() {
        draft.cpu(cpu).offline = !online.contains(cpu);
    }
    let missing = all.count() - online.count();
    if missing > 0 {
        all.and_not_with(&online);
        draft.notes.push(format!("CPUs {all} are offline or were not allowed to be used"));
    }
    Ok(())
}

type Field = fn(&mut CpuRecord) -> &mut Option<Unit>;

/// Where an object's CPUs are noted.
fn field(object: &Node<'_, '_>) -> Option<Field> {
    // 2 is an instruction cache.
    let data = object.attribute("cache_type") != Some("2");
    let level = match kind(object) {
        "Core" => return Some(|r| &mut r.core),
        "Package" | "Socket" => return Some(|r| &mut r.package),
        "Cache" if data => object.attribute("depth").unwrap_or_default(),
        "L2Cache" | "L2" => "2",
        "L3Cache" | "L3" => "3",
        _ => return None,
    };
    match level {
        "2" => Some(|r| &mut r.l2),
        "3" => Some(|r| &mut r.l3),
        _ => None,
    }
}

fn read_units(objects: &[Node<'_, '_>], draft: &mut Draft) -> Result<(), ImportError> {
    for (i, object) in objects.iter().enumerate() {
        let Some(field) = field(object) else { continue };
        for cpu in cpus(object)?.iter() {
            let Some(record) = draft.cpus.get_mut(&cpu) else { continue };
            if field(record).replace((0, i as u32)).is_some() {
                let what = format!("CPU {} is in two objects of type {:.20}", cpu.0, kind(object));
                return Err(ImportError::Unsupported { what });
            }
        }
    }
    Ok(())
}

/// CPUs belong to the smallest node around them; of several that are local to the same CPUs (DRAM, HBM, CXL), to the first.
fn read_nodes(objects: &[Node<'_, '_>], draft: &mut Draft) -> Result<(), ImportError> {
    let mut nodes: Vec<(usize, u32, CpuMask)> = Vec::new();
    for object in objects.iter().filter(|o| matches!(kind(o), "NUMANode" | "Node")) {
        let index = object.attribute("os_index").unwrap_or_default();
        let number = index.parse::<u32>().ok();
        let number = number.ok_or_else(|| ImportError::bad(place(object), index, "the number of a node"))?;
        let mask = cpus(object)?;
        draft.nodes.push(number);
        nodes.push((mask.count(), number, mask));
    }
    nodes.sort();
    if nodes.len() > sim_core::machine::topology::MAX_NODES {
        return Err(ImportError::TooMany {
            what: "memory nodes",
            limit: sim_core::machine::topology::MAX_NODES,
        });
    }
    for (_, number, mask) in &nodes {
        for cpu in mask.iter() {
            if let Some(record) = draft.cpus.get_mut(&cpu) {
                record.node.get_or_insert(*number);
            }
        }
    }
    Ok(())
}

/// All numbers in the texts of elements of one name.
fn numbers(parent: Node<'_, '_>, name: &str) -> Result<Vec<u32>, ImportError> {
    let texts = parent.children().filter(|n| n.has_tag_name(name)).filter_map(|n| n.text());
    let number = |t: &str| t.parse().map_err(|_| ImportError::bad(name, t, "a number"));
    texts.flat_map(str::split_whitespace).map(number).collect()
}

fn read_distances(
    root: Node<'_, '_>,
    objects: &[Node<'_, '_>],
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let nodes: Vec<u32> = draft.nodes.clone();
    for table in root.descendants().filter(|n| n.has_tag_name("distances2")) {
        // Bit 2 of the kind: latencies.
        let latency = table.attribute("kind").and_then(|k| k.parse::<u32>().ok()).is_some_and(|k| k & 4 != 0);
        if table.attribute("type") != Some("NUMANode") || !latency {
            continue;
        }
        let mut indexes = numbers(table, "indexes")?;
        if table.attribute("indexing") == Some("gp") {
            indexes = by_gp_index(objects, &indexes)?;
        }
        add_table(draft, &indexes, &numbers(table, "u64values")?)?;
    }
    for table in root.descendants().filter(|n| n.has_tag_name("distances")) {
        // Version 1: tables of any level, values relative to a base; objects in order of the file.
        let count = table.attribute("nbobjs").and_then(|n| n.parse::<usize>().ok());
        if count != Some(nodes.len()) || nodes.is_empty() {
            continue;
        }
        let base = table.attribute("latency_base").and_then(|b| b.parse::<f64>().ok()).unwrap_or(1.0);
        let value = |n: Node<'_, '_>| {
            let text = n.attribute("value").unwrap_or_default();
            let value = text.parse::<f64>().ok().map(|v| (v * base).round());
            let value = value.filter(|v| (0.0..=255.0).contains(v));
            value.map(|v| v as u32).ok_or_else(|| ImportError::bad("latency", text, "a relative distance"))
        };
        let values: Result<Vec<u32>, _> =
            table.children().filter(|n| n.has_tag_name("latency")).map(value).collect();
        add_table(draft, &nodes, &values?)?;
    }
    Ok(())
}

fn by_gp_index(objects: &[Node<'_, '_>], indexes: &[u32]) -> Result<Vec<u32>, ImportError> {
    let number = |o: &Node<'_, '_>, key| o.attribute(key).and_then(|i| i.parse::<u32>().ok());
    let of = |o: &Node<'_, '_>| number(o, "gp_index").zip(number(o, "os_index"));
    let by_gp: BTreeMap<u32, u32> = objects.iter().filter(|o| kind(o) == "NUMANode").filter_map(of).collect();
    let find = |gp: &u32| {
        let found = by_gp.get(gp).copied();
        found.ok_or_else(|| ImportError::bad("indexes", gp.to_string(), "the gp_index of a node"))
    };
    indexes.iter().map(find).collect()
}

fn add_table(draft: &mut Draft, nodes: &[u32], values: &[u32]) -> Result<(), ImportError> {
    let n = nodes.len();
    if n > sim_core::machine::topology::MAX_NODES || values.len() != n * n {
        let found = format!("{} values for {n} nodes", values.len());
        return Err(ImportError::bad("distances", found, "a square table of at most 128 nodes"));
    }
    for (i, value) in values.iter().enumerate() {
        let distance = u8::try_from(*value);
        let distance = distance
            .map_err(|_| ImportError::bad("distances", value.to_string(), "a distance from 10 to 255"))?;
        draft.distances.insert((nodes[i / n], nodes[i % n]), distance);
    }
    Ok(())
}

/// Kinds of cores: capacities where Linux says them, and whether an x86 machine mixes kinds.
fn read_kinds(root: Node<'_, '_>, draft: &mut Draft) -> Result<(), ImportError> {
    let mut types: Vec<&str> = Vec::new();
    for kind in root.children().filter(|n| n.has_tag_name("cpukind")).take(64) {
        let mask = hex_mask("cpukind", kind.attribute("cpuset").unwrap_or_default())?;
        let info = |name: &str| {
            let infos = kind.children().filter(|n| n.has_tag_name("info"));
            infos.filter(|n| n.attribute("name") == Some(name)).find_map(|n| n.attribute("value"))
        };
        types.extend(info("CoreType").filter(|t| t.starts_with("Intel")));
        let Some(text) = info("LinuxCapacity") else { continue };
        let capacity = text.parse::<u32>();
        let capacity = capacity.map_err(|_| ImportError::bad("LinuxCapacity", text, "a number"))?;
        mask.iter().for_each(|cpu: CpuId| {
            if let Some(record) = draft.cpus.get_mut(&cpu) {
                record.capacity = Some(capacity);
            }
        });
    }
    types.sort_unstable();
    types.dedup();
    draft.hybrid = types.len() > 1;
    Ok(())
}
