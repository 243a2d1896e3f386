//! Machines in scenarios and from other programs' files.

use crate::corpus::sysfs::Lines;
use proptest::prelude::*;
use sim_core::machine::topology::{LogicalCpu, MachinePreset, Shape, Topology, TopologyDesc};
use sim_core::{CpuId, CpuMask};
use sim_workloads::scenario::{Document, Machine, ScenarioError};
use sim_workloads::topology::{Imported, read_sysfs, read_text, to_toml};

const HOG: &str = "[run]\nduration = \"1s\"\n[task.hog]\nprogram = [{ forever = [{ run = \"1ms\" }] }]\n";

macro_rules! corpus {
    ($file:literal) => {
        include_str!(concat!("../../../fuzz/corpus/", $file))
    };
}

fn machine(text: &str) -> Result<Topology, ScenarioError> {
    Machine::parse(text, "m.toml").map(|m| (*m.topology).clone())
}
fn lists(masks: &[CpuMask]) -> String {
    masks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
fn refusal(text: &str) -> String {
    read_text(text).unwrap_err().to_string()
}
/// Packages, caches, cores and nodes in short.
fn brief(t: &Topology) -> String {
    let nodes: Vec<String> = t.nodes().iter().map(|n| format!("{}:{}", n.id, n.cpus)).collect();
    format!(
        "{} | {} | {} | {} | online {}",
        lists(t.packages()),
        lists(t.llcs()),
        lists(t.cores()),
        nodes.join(" "),
        t.online()
    )
}
fn distances(t: &Topology) -> Vec<u8> {
    let n = t.nodes().len();
    (0..n * n).map(|i| t.distance(i / n, i % n)).collect()
}

#[test]
fn short_forms_and_names() {
    let shape = |s: &str| machine(&format!("[machine]\ntopology = \"{s}\"")).unwrap();
    assert_eq!(shape("2x1x4x2"), Shape::new(2, 1, 4, 2).topology().unwrap());
    assert_eq!(shape("i7-8700"), Shape::new(1, 1, 6, 2).topology().unwrap());
    assert_eq!(shape("kp128"), MachinePreset::by_name("kp128").unwrap().topology());
    let table = machine("[machine]\ntopology = { sockets = 2, cores = 4, threads = 2 }").unwrap();
    assert_eq!(table, shape("2x1x4x2"));
    assert_eq!(machine("[machine]\ncpus = 3").unwrap(), Topology::uniform(3).unwrap());
    assert_eq!(machine("[machine]").unwrap(), Topology::uniform(1).unwrap());
}

#[test]
fn a_scenario_runs_on_its_machine() {
    let text = format!("[machine]\ntopology = \"1x1x6x2\"\npartitions = [\"0-5\", \"6-11\"]\n{HOG}");
    let resolved = Document::parse(&text, "s.toml", &[]).unwrap().resolve().unwrap();
    let kernel = resolved.config.kernel;
    assert_eq!((kernel.cpus, kernel.topology.cores().len(), kernel.partitions.len()), (12, 6, 2));
    let set = [("machine.topology".to_owned(), "2x1x2x1".to_owned())];
    let plain = Document::parse(HOG, "s.toml", &set).unwrap();
    assert_eq!(plain.scenario.topology.packages().len(), 2);
    let offline = format!("[machine]\ncpus = 4\noffline = \"3\"\n{HOG}");
    let kernel = Document::parse(&offline, "s.toml", &[]).unwrap().resolve().unwrap().config.kernel;
    assert_eq!((kernel.cpus, kernel.topology.online().to_string()), (4, "0-2".to_owned()));
}

#[test]
fn mistakes_have_their_place() {
    let cases = [
        ("[machine]\ncpus = 2\ntopology = \"1x1x2x1\"", "2:8: the machine has both 'cpus' and 'topology'"),
        ("[machine]\ntopology = \"2x2\"", "2:12: '2x2' is not sockets x caches"),
        ("[machine]\ntopology = \"0x1x1x1\"", "2:12: sockets is 0"),
        ("[machine]\ntopology = \"64x64x64x64\"", "too many CPUs: at most 4096"),
        ("[machine]\ntopology = \"99999999999x1x1x1\"", "is not sockets"),
        ("[machine]\ntopology = \"i7\"", "2:12: 'i7' is not a machine: allowed are i7-8700, "),
        ("[machine]\ntopology = 3", "expected a shape like"),
        (
            "[machine.topology]\nsockets = 0",
            "2:11: found the number 0, expected a whole number from 1 to 4096",
        ),
        (
            "[machine.topology]\nllcs = 3\nnodes = 2",
            "3 caches of a socket cannot be divided by 2 memory nodes",
        ),
        ("[machine.topology]\nsocket = 1", "unknown key 'socket'"),
        ("[machine.topology]\nhybrid = true", "neither a regular machine"),
        (corpus!("machine/both.toml"), "2:9: 'cores' describes a regular machine"),
        (corpus!("machine/beyond.toml"), "3:13: CPUs 0-7 go beyond the machine, which has CPUs 0-3"),
        ("[machine.topology]\npackage_cpus = [\"0-3\", \"3\"]", "2:24: CPU 3 is listed twice"),
        (
            "[machine.topology]\npackage_cpus = [\"0-3\"]\nnode_cpus = { a = \"0-3\" }",
            "'a' is not a node's number",
        ),
        ("[machine.topology]\npackage_cpus = [\"0-3\"]\nnode_cpus = { 0 = \"0-2\" }", "CPU 3 is on no node"),
        (
            "[machine.topology]\npackage_cpus = [\"0\", \"1\"]\ncore_cpus = [\"0,1\"]",
            "CPU 1 shares a core with CPU 0 but not its package",
        ),
        (
            "[machine.topology]\nsockets = 2\ndistances = [[10, 20]]",
            "3:13: the machine has 2 nodes: give 2 rows of 2",
        ),
        (
            "[machine.topology]\nsockets = 2\ndistances = [[10, 10], [20, 10]]",
            "the distance from node 0 to node 1 is 10",
        ),
        ("[machine]\ncpus = 2\noffline = \"0-1\"", "all CPUs are offline"),
        ("[machine]\ncpus = 2\noffline = \"2\"", "3:11: CPUs 2 go beyond the machine"),
        ("[machine]\ncpus = 2\nisolcpus = \"5\"", "CPUs 5 go beyond"),
        ("[machine]\ncpus = 2\npartitions = [\"0-1\", \"1\"]", "3:22: CPU 1 is in two partitions"),
        ("[machine]\ncpus = 2\ncapacity = { \"0\" = 1025 }", "3:20: found the number 1025"),
        ("[machine]\ncpus = 2\ncapacity = { \"x\" = 1 }", "'x' is not a list of CPUs"),
    ];
    for (text, expected) in cases {
        let message = machine(text).expect_err(text).to_string();
        assert!(message.contains(expected), "{text}\n{message}");
    }
    let affinity = format!("[machine]\ncpus = 2\noffline = \"1\"\n{HOG}cpus = \"1\"\n");
    let message = Document::parse(&affinity, "s.toml", &[]).unwrap_err().to_string();
    assert!(message.contains("CPUs 1 are all offline: online are 0"), "{message}");
}

#[test]
fn machines_by_lists() {
    let t = machine(corpus!("machine/lists.toml")).unwrap();
    assert_eq!(brief(&t), "0-3 8-9 | 0-3 8-9 | 0 1 2 3 8-9 | 0:0-3 2:8-9 10: | online 0-3,8");
    assert_eq!(lists(t.clusters()), "0-1 2-3");
    assert_eq!((t.cpu(CpuId(1)).unwrap().capacity, t.cpu(CpuId(2)).unwrap().capacity), (430, 1024));
    assert_eq!(
        (t.isolated().to_string(), t.hybrid(), t.thread(t.cpu(CpuId(9)).unwrap())),
        ("3".into(), true, 1)
    );
    let t = machine(corpus!("machine/regular.toml")).unwrap();
    assert_eq!(distances(&t)[..4], [10, 12, 32, 32]);
    assert_eq!((t.reclaim_distance(), t.nodes().len()), (32, 4));
}

#[test]
fn regular_machines_are_written_in_short() {
    let text = to_toml(&MachinePreset::by_name("i7-8700").unwrap().topology());
    assert_eq!(text, "[machine]\n\n[machine.topology]\nsockets = 1\nllcs = 1\ncores = 6\nthreads = 2\n");
    for preset in MachinePreset::ALL {
        let text = to_toml(&preset.topology());
        assert!(text.contains("sockets = ") && !text.contains("_cpus"), "{text}");
        assert_eq!(machine(&text).unwrap(), preset.topology(), "{}", preset.name);
    }
}

#[test]
fn hwloc_version_2() {
    let Imported { topology: t, notes, .. } = read_text(corpus!("hwloc/v2-two-nodes.xml")).unwrap();
    assert_eq!(
        brief(&t),
        "0-1,4-5 2-3,6-7 | 0-1,4-5 2-3,6-7 | 0,4 1,5 2,6 3,7 | 0:0-1,4-5 1:2-3,6-7 4: | online 0-7"
    );
    // Node 4 is as near to the CPUs as node 0, which is first.
    assert_eq!(distances(&t), [10, 32, 20, 32, 10, 20, 20, 20, 10]);
    assert_eq!(t.reclaim_distance(), 32, "EPYC");
    assert_eq!(lists(t.clusters()), "0,4 1,5", "where there is a second-level cache");
    assert!(
        notes.iter().any(|n| n.contains("4 distances")) && notes.iter().any(|n| n.contains("without CPUs"))
    );
}

#[test]
fn hwloc_version_1_with_offline_cpus() {
    let Imported { topology: t, notes, .. } = read_text(corpus!("hwloc/v1-offline.xml")).unwrap();
    assert_eq!(brief(&t), "0-1 2-3 4 | 0-1 2-3 | 0 1 2 3 4 | 0:0-1,4 1:2-3 | online 0-1,3");
    assert_eq!(distances(&t), [10, 16, 16, 10]);
    assert!(notes.iter().any(|n| n == "CPUs 4 are offline: where they are is not known"), "{notes:?}");
}

#[test]
fn hwloc_kinds_of_cores() {
    let t = read_text(corpus!("hwloc/kinds.xml")).unwrap().topology;
    assert!(t.hybrid());
    assert_eq!(lists(t.clusters()), "0-1 2-5");
    assert_eq!((t.cpu(CpuId(0)).unwrap().capacity, t.cpu(CpuId(5)).unwrap().capacity), (1024, 600));
}

#[test]
fn hwloc_refusals() {
    assert!(refusal(corpus!("hwloc/cut.xml")).starts_with("not valid XML"));
    assert!(refusal(corpus!("hwloc/system.xml")).contains("several machines"));
    assert_eq!(refusal(corpus!("hwloc/twice.xml")), "CPU 1 is in two objects of type Core");
    assert!(refusal(corpus!("hwloc/infinite.xml")).starts_with("Machine: found '0xf...f'"));
    assert_eq!(refusal("<a/>"), "not valid hwloc XML: the outermost element is 'a', not 'topology'");
    // Entities that grow are no way to exhaust memory.
    let laughs = "<!DOCTYPE t [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \
                  \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;\">]><topology>&d;&d;&d;</topology>";
    assert!(read_text(laughs).is_err());
    let deep = format!("<topology>{}{}</topology>", "<object>".repeat(30_000), "</object>".repeat(30_000));
    assert!(read_text(&deep).is_err());
}

#[test]
fn lscpu_rows() {
    let t = read_text(corpus!("lscpu/two-sockets")).unwrap().topology;
    assert_eq!(
        brief(&t),
        "0-1,8-9 2-3,10-11 | 0-1,8-9 2-3,10-11 | 0,8 1,9 2,10 3,11 | 0:0-1,8-9 1:2-3,10-11 | online 0-3,8-11"
    );
    let t = read_text(corpus!("lscpu/online")).unwrap().topology;
    assert_eq!(brief(&t), "0-1 2 | 0-1 | 0 1 2 | 0:0-2 | online 0-1");
    let t = read_text(corpus!("lscpu/extended.json")).unwrap().topology;
    assert_eq!(brief(&t), "0-2 3 | 0-2 | 0-1 2 3 | 0:0-3 | online 0-2");
    assert_eq!(lists(t.clusters()), "0-1 2");
}

#[test]
fn lscpu_refusals() {
    assert_eq!(refusal(corpus!("lscpu/twice")), "line 3: found '0', expected each CPU once");
    assert_eq!(refusal(corpus!("lscpu/short")), "not valid output of lscpu -p: line 2: 1 columns, not 2");
    assert!(refusal(corpus!("lscpu/beyond")).contains("a CPU's number from 0 to 4095"));
    assert!(refusal(corpus!("lscpu/number.json")).starts_with("cpus[0]: found '1'"));
    assert!(refusal(corpus!("lscpu/caches.json")).contains("as many values as names"));
    assert!(refusal(corpus!("lscpu/kinds.json")).starts_with("several kinds of cores"));
    assert!(refusal(corpus!("lscpu/summary-odd")).contains("fit no usual numbering"));
    assert!(refusal("{}").contains("missing") && refusal("hello").contains("not a description of a machine"));
    assert!(refusal(&"x".repeat((16 << 20) + 1)).contains("at most"));
}

#[test]
fn lscpu_summaries() {
    let Imported { topology, notes, .. } = read_text(corpus!("lscpu/summary")).unwrap();
    assert_eq!(
        brief(&topology),
        "0-1,4-5 2-3,6-7 | 0-1,4-5 2-3,6-7 | 0,4 1,5 2,6 3,7 | 0:0-1,4-5 1:2-3,6-7 | online 0-7"
    );
    assert!(notes.iter().any(|n| n.contains("siblings")), "{notes:?}");
    let t = read_text(corpus!("lscpu/summary-side-by-side")).unwrap().topology;
    assert_eq!(brief(&t), "0-3 4-7 | 0-3 4-7 | 0-1 2-3 4-5 6-7 | 0:0-3 1:4-7 | online 0-7");
    let t = read_text(corpus!("lscpu/summary-json")).unwrap().topology;
    assert_eq!(brief(&t), "0-1 2-3 | 0-1 2-3 | 0 1 2 3 | 0:0-1 1:2-3 | online 0-2");
}

#[test]
fn sysfs_trees() {
    let read = |text| read_sysfs(&Lines::new(text));
    let Imported { topology: t, notes, .. } = read(corpus!("sysfs/holes")).unwrap();
    assert_eq!(brief(&t), "0,2 1,4 3 5 | 0,2 1,4 | 0,2 1 3 4 5 | 0:0,2-3,5 2:1,4 3: | online 0-2,4");
    assert_eq!(distances(&t), [10, 21, 31, 21, 10, 41, 31, 41, 10]);
    assert_eq!(t.isolated().to_string(), "4");
    assert!(notes.iter().any(|n| n == "CPUs 3,5 are offline: where they are is not known"), "{notes:?}");
    let Imported { topology: t, notes, .. } = read(corpus!("sysfs/arm64")).unwrap();
    assert_eq!(brief(&t), "0-1 2-3 | 0-1 2-3 | 0 1 2 3 | 0:0-3 | online 0-3");
    assert_eq!(t.cpu(CpuId(3)).unwrap().capacity, 430);
    assert!(notes[0].contains("their package stands for it"), "{notes:?}");
    let t = read(corpus!("sysfs/hybrid")).unwrap().topology;
    assert!(t.hybrid());
    assert_eq!(lists(t.clusters()), "0-1 2");
    let refused = |text| read(text).unwrap_err().to_string();
    assert_eq!(refused(""), "sys/devices/system/cpu/present is missing");
    assert!(refused(corpus!("sysfs/bad-list")).starts_with("sys/devices/system/cpu/present: found '0-5000'"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]
    /// What is written is read as the same machine.
    #[test]
    fn machines_survive_toml(
        shape in (1u32..4, 1u32..4, 1u32..4, 1u32..4),
        step in 1u32..4,
        state in proptest::collection::vec((0u8..6, 1u32..=1024), 81),
        keep_llcs in any::<bool>(),
    ) {
        let mut desc = Shape::new(shape.0, shape.1, shape.2, shape.3).desc().unwrap();
        for (c, (state, capacity)) in desc.cpus.iter_mut().zip(&state) {
            *c = LogicalCpu { online: *state != 0, isolated: *state == 1, capacity: *capacity, ..*c };
            c.cpu = CpuId(c.cpu.0 * step);
            if !keep_llcs && *state == 2 {
                (c.llc, c.cluster, c.core) = (None, None, 1000 + c.cpu.0);
            }
        }
        desc.cpus[0].online = true;
        desc.nodes.push(77);
        desc.distances = Vec::new();
        let desc = TopologyDesc { hybrid: keep_llcs, ..desc };
        let topology = Topology::new(desc).unwrap();
        prop_assert_eq!(machine(&to_toml(&topology)).unwrap(), topology);
    }
}
