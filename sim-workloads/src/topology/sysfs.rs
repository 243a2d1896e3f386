//! `/sys/devices/system`, of the running machine or a copy of another's.

use super::cpus::{CpuRecord, Draft, Unit, cpulist, hex_mask};
use super::{ImportError, Imported, cpuinfo};
use sim_core::cpumask::MAX_CPUS;
use sim_core::machine::topology::MAX_NODES;
use sim_core::{CpuId, CpuMask};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

/// The largest file that is read.
const MAX_FILE: u64 = 1 << 20;
/// The most caches of a CPU.
const MAX_CACHES: u32 = 16;

/// A tree of small text files.
pub trait SysFs {
    /// The text of a file by its path from the root of the file system, without its last line feed; nothing if there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    fn read(&self, path: &str) -> Result<Option<String>, ImportError>;
}

/// A folder that holds `sys` (and `proc`), as `/` does, or is itself a copy of `/sys`.
#[derive(Debug)]
pub struct Directory {
    /// The folder.
    pub root: PathBuf,
}

impl SysFs for Directory {
    fn read(&self, path: &str) -> Result<Option<String>, ImportError> {
        let in_sys = path.strip_prefix("sys/").filter(|_| !self.root.join("sys").is_dir());
        let file = self.root.join(in_sys.unwrap_or(path));
        let failed =
            |e: std::io::Error| ImportError::Io { path: file.display().to_string(), message: e.to_string() };
        let opened = match File::open(&file) {
            // Files of offline CPUs vanish; files of unsupported ones refuse.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            other => other.map_err(failed)?,
        };
        let mut text = String::new();
        match opened.take(MAX_FILE + 1).read_to_string(&mut text) {
            Ok(_) if text.len() as u64 > MAX_FILE => {
                Err(ImportError::TooLarge { bytes: text.len(), limit: MAX_FILE as usize })
            }
            Ok(_) => Ok(Some(text.trim_end_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())),
            Err(e) if e.kind() == ErrorKind::InvalidData => Err(failed(e)),
            Err(_) => Ok(None),
        }
    }
}

pub(super) const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Reads a machine from its sysfs.
///
/// # Errors
/// When files are missing or say what cannot be.
pub fn read_sysfs(fs: &impl SysFs) -> Result<Imported, ImportError> {
    let mut draft = Draft::new("sysfs");
    let list = |name: &str| {
        let path = format!("{CPU}/{name}");
        fs.read(&path)?.map(|text| cpulist(&path, &text)).transpose()
    };
    let online = list("online")?;
    let present = match list("present")?.or(list("possible")?).or_else(|| online.clone()) {
        Some(present) => present,
        None => probed(fs)?,
    };
    let isolated = list("isolated")?.unwrap_or_default();
    for cpu in present.iter() {
        let offline = match &online {
            Some(online) => !online.contains(cpu),
            None => fs.read(&format!("{CPU}/cpu{}/online", cpu.0))?.as_deref() == Some("0"),
        };
        let record = CpuRecord { isolated: isolated.contains(cpu), offline, ..read_cpu(fs, cpu)? };
        draft.cpus.insert(cpu, record);
    }
    let caches = |r: &CpuRecord| r.offline || r.l2.is_some() || r.l3.is_some();
    if !draft.cpus.values().all(caches) {
        no_caches(fs, &mut draft)?;
    }
    read_nodes(fs, &mut draft)?;
    let kind = |name: &str| fs.read(&format!("sys/devices/{name}/cpus"));
    draft.hybrid = kind("cpu_core")?.is_some() && kind("cpu_atom")?.is_some();
    if let Some(info) = fs.read("proc/cpuinfo")? {
        cpuinfo::complete(&info, &mut draft);
    }
    draft.finish()
}

/// The CPUs that have files: old kernels have no lists.
fn probed(fs: &impl SysFs) -> Result<CpuMask, ImportError> {
    let mut found = CpuMask::default();
    for cpu in CpuMask::first(MAX_CPUS).iter() {
        if fs.read(&format!("{CPU}/cpu{}/topology/thread_siblings", cpu.0))?.is_some() {
            found.insert(cpu);
        }
    }
    if found.is_empty() {
        return Err(ImportError::missing(format!("{CPU}/present")));
    }
    Ok(found)
}

/// A set of CPUs that is there as a list, or in hexadecimal, under one of several names.
fn mask(fs: &impl SysFs, folder: &str, names: &[&str]) -> Result<Option<CpuMask>, ImportError> {
    for name in names {
        let path = format!("{folder}/{name}");
        let Some(text) = fs.read(&path)?.filter(|t| !t.trim().is_empty()) else { continue };
        let read = if name.ends_with("list") { cpulist(&path, &text) } else { hex_mask(&path, &text) };
        return read.map(Some);
    }
    Ok(None)
}

/// A unit is told by its lowest CPU.
fn unit(mask: Option<CpuMask>, cpu: CpuId) -> Option<Unit> {
    // Some kernels leave a CPU out of its own mask while it is offline.
    let lowest = mask.filter(|m| m.contains(cpu))?.lowest()?;
    Some((0, lowest.0))
}

fn read_cpu(fs: &impl SysFs, cpu: CpuId) -> Result<CpuRecord, ImportError> {
    let folder = format!("{CPU}/cpu{}", cpu.0);
    let topology = format!("{folder}/topology");
    let core =
        mask(fs, &topology, &["core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings"])?;
    let package =
        mask(fs, &topology, &["package_cpus_list", "core_siblings_list", "package_cpus", "core_siblings"])?;
    let cluster = mask(fs, &topology, &["cluster_cpus_list", "cluster_cpus"])?;
    let path = format!("{folder}/cpu_capacity");
    let bad = |t: &str| ImportError::bad(&path, t, "a capacity from 1 to 1024");
    let capacity = fs.read(&path)?.map(|t| t.trim().parse::<u32>().map_err(|_| bad(&t))).transpose()?;
    let mut record = CpuRecord {
        core: unit(core, cpu),
        package: unit(package, cpu),
        cluster: unit(cluster, cpu),
        capacity,
        ..CpuRecord::default()
    };
    for i in 0..MAX_CACHES {
        let cache = format!("{folder}/cache/index{i}");
        let Some(level) = fs.read(&format!("{cache}/level"))?.or(level_by_index(fs, &cache, i)?) else {
            break;
        };
        if fs.read(&format!("{cache}/type"))?.as_deref() == Some("Instruction") {
            continue;
        }
        let level = match level.trim() {
            "2" => &mut record.l2,
            "3" => &mut record.l3,
            _ => continue,
        };
        *level = unit(mask(fs, &cache, &["shared_cpu_map", "shared_cpu_list"])?, cpu);
    }
    Ok(record)
}

/// The level of a cache in a copy that has who shares it but not its level (pepc): the kernel lists first-level data and
/// instructions, then the second and the third level. Deviates: D-260.
fn level_by_index(fs: &impl SysFs, cache: &str, index: u32) -> Result<Option<String>, ImportError> {
    let shared = fs.read(&format!("{cache}/shared_cpu_list"))?;
    Ok(shared.map(|_| index.max(1).to_string()))
}

/// Without caches: on arm64 the package stands for them (smp.md §1.1), elsewhere nothing is shared.
fn no_caches(fs: &impl SysFs, draft: &mut Draft) -> Result<(), ImportError> {
    let first = draft.cpus.keys().next().map_or(0, |c| c.0);
    let arm64 = fs.read(&format!("{CPU}/cpu{first}/regs/identification/midr_el1"))?.is_some();
    let mut without = CpuMask::default();
    for (cpu, r) in &mut draft.cpus {
        if !r.offline && r.l2.is_none() && r.l3.is_none() {
            without.insert(*cpu);
            r.llc = r.package.filter(|_| arm64);
        }
    }
    let taken = if arm64 { "their package stands for it" } else { "they share none" };
    draft.notes.push(format!("no last-level cache is said for CPUs {without}: {taken}"));
    Ok(())
}

fn read_nodes(fs: &impl SysFs, draft: &mut Draft) -> Result<(), ImportError> {
    let path = format!("{NODE}/online");
    let nodes: Vec<u32> = match fs.read(&path)? {
        Some(text) => cpulist(&path, &text)?.iter().map(|n| n.0).collect(),
        // Old copies lack the list.
        None => {
            let mut found = Vec::new();
            for n in 0..MAX_NODES as u32 {
                if mask(fs, &format!("{NODE}/node{n}"), &["cpulist", "cpumap"])?.is_some() {
                    found.push(n);
                }
            }
            found
        }
    };
    if nodes.len() > MAX_NODES {
        return Err(ImportError::TooMany { what: "memory nodes", limit: MAX_NODES });
    }
    for node in &nodes {
        let folder = format!("{NODE}/node{node}");
        for cpu in mask(fs, &folder, &["cpulist", "cpumap"])?.unwrap_or_default().iter() {
            if let Some(record) = draft.cpus.get_mut(&cpu) {
                record.node = Some(*node);
            }
        }
        let path = format!("{folder}/distance");
        let Some(text) = fs.read(&path)? else { continue };
        let row: Vec<&str> = text.split_whitespace().collect();
        if row.len() != nodes.len() {
            // Copies made while nodes were offline.
            draft.notes.push(format!(
                "{path}: {} distances for {} nodes are left out",
                row.len(),
                nodes.len()
            ));
            continue;
        }
        for (to, value) in nodes.iter().zip(row) {
            let distance =
                value.parse().map_err(|_| ImportError::bad(&path, value, "a distance from 10 to 255"))?;
            draft.distances.insert((*node, *to), distance);
        }
    }
    draft.nodes = nodes;
    Ok(())
}
