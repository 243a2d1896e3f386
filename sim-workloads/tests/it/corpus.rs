//! The corpora of the fuzz targets for scenarios and machines, replayed.

#[path = "../../../fuzz/readers/groups.rs"]
mod groups;
#[path = "../../../fuzz/readers/hwloc.rs"]
mod hwloc;
#[path = "../../../fuzz/readers/imported.rs"]
mod imported;
#[path = "../../../fuzz/readers/lscpu.rs"]
mod lscpu;
#[path = "../../../fuzz/readers/machine.rs"]
mod machine;
#[path = "../../../fuzz/readers/recorded.rs"]
mod recorded;
#[path = "../../../fuzz/readers/rtapp.rs"]
mod rtapp;
#[path = "../../../fuzz/readers/scenario.rs"]
mod scenario;
#[path = "../../../fuzz/readers/sysfs.rs"]
pub(crate) mod sysfs;

/// Gives every file of a corpus to its reader.
fn replay(corpus: &str, at_least: usize, read: fn(&[u8])) {
    let folder = format!("{}/../fuzz/corpus/{corpus}", env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    assert!(files.len() >= at_least, "{} files", files.len());
    for file in files {
        read(&std::fs::read(file).unwrap());
    }
}

#[test]
fn every_scenario_of_the_corpus_is_read_or_refused() {
    replay("scenario", 10, scenario::read);
}

#[test]
fn every_workload_of_the_corpus_is_read_or_refused() {
    replay("rtapp", 6, rtapp::read);
}

#[test]
fn every_trace_of_the_corpus_is_read_or_refused() {
    replay("recorded", 9, recorded::read);
    replay("groups", 2, groups::read);
}

#[test]
fn every_machine_of_the_corpora_is_read_or_refused() {
    replay("hwloc", 7, hwloc::read);
    replay("lscpu", 13, lscpu::read);
    replay("sysfs", 5, sysfs::read);
    replay("machine", 5, machine::read);
}
