//! Machines with several memory nodes.

use super::*;

/// The machines of patches.md §0.2: the chain of every CPU.
#[test]
fn chains_of_the_published_machines() {
    let machines = [
        ("clx80", "SMT 2, MC 40, NUMA-1 80"),
        ("skl8", "SMT 2, MC 8"),
        ("zen3-256", "SMT 2, MC 16, DIE 128, NUMA-1 256"),
        ("icx128", "SMT 2, MC 64, NUMA-1 128"),
        ("sis112", "SMT 2, MC 112"),
        ("thx2", "SMT 4, MC 112, NUMA-1 224"),
        ("hikey8", "MC 4, DIE 8"),
        ("snc96", "SMT 2, MC 24, NUMA-1 48, NUMA-2 96"),
    ];
    for (machine, expected) in machines {
        for profile in ALL_PROFILES {
            let topology = named(machine);
            let d = of(&topology, profile);
            check_invariants(&d, topology.online());
            for cpu in topology.online().iter() {
                assert_eq!(chain(&d, cpu.0), expected, "{machine}, CPU {}", cpu.0);
            }
        }
    }
}

#[test]
fn zen3_numbering_and_tolerance() {
    let d = of(&named("zen3-256"), "6.1");
    assert_eq!(format!("{:?}", domain(&d, 64, "DIE").span), "{64-127,192-255}");
    assert_eq!(walk(&d, 200, "SMT"), "{72,200}: {200} {72}");
    assert_eq!(format!("{:?}", domain(&d, 200, "MC").span), "{72-79,200-207}");
    // 8 caches in a node; one NUMA level, which is the first.
    assert_eq!(domain(&d, 0, "DIE").imb_numa_nr, Some(8));
    assert_eq!(domain(&d, 0, "NUMA-1").imb_numa_nr, Some(8));
    assert_eq!(domain(&d, 0, "MC").imb_numa_nr, Some(0));
    assert_eq!((d.nr_llcs(), d.cpu(CpuId(200)).llc_id, d.cpu(CpuId(200)).llc_size), (16, CpuId(72), 16));
}

/// A node of 24 CPUs with one cache tolerates 3 (smp.md §4.4.8), the machine twice as much as its first NUMA domain.
#[test]
fn snc_tolerance_grows_with_the_domain() {
    let d = of(&named("snc96"), "6.1");
    assert_eq!(domain(&d, 0, "NUMA-1").imb_numa_nr, Some(3));
    assert_eq!(domain(&d, 0, "NUMA-2").imb_numa_nr, Some(6));
}

/// Kunpeng 920: domains of 32, 64, 96, 128 CPUs, seen from nodes 1 and 3 one distance more.
#[test]
fn kunpeng_levels() {
    let topology = named("kp128");
    let d = of(&topology, "5.10");
    check_invariants(&d, topology.online());
    assert_eq!(chain(&d, 0), "MC 32, NUMA-1 64, NUMA-2 96, NUMA-3 128");
    assert_eq!(chain(&d, 64), "MC 32, NUMA-1 64, NUMA-2 96, NUMA-3 128");
    assert_eq!(chain(&d, 32), "MC 32, NUMA-1 64, NUMA-3 96, NUMA-4 128");
    assert_eq!(chain(&d, 96), "MC 32, NUMA-1 64, NUMA-3 96, NUMA-4 128");
    assert_eq!(format!("{:?}", domain(&d, 0, "NUMA-2").span), "{0-95}");
    // Node 0's distances do not hold 24: until 5.9, nodes 1 and 3 do not reach each other.
    let old = of(&topology, "5.7");
    check_invariants(&old, topology.online());
    assert_eq!(chain(&old, 0), "MC 32, NUMA-1 64, NUMA-2 96, NUMA-3 128");
    assert_eq!(chain(&old, 32), "MC 32, NUMA-1 64, NUMA-3 96");
}

#[test]
fn kunpeng_groups_overlap() {
    let topology = named("kp128");
    let d = of(&topology, "5.10");
    // The first NUMA level has no overlap: its groups are the nodes.
    assert_eq!(walk(&d, 40, "NUMA-1"), "{0-63}: {32-63} {0-31}");
    // Node 0 at 96 CPUs: its own 64, and what node 2 reaches at 12, which leads out of the domain.
    assert_eq!(walk(&d, 0, "NUMA-2"), "{0-95}: {0-63} {64-127}");
    // At 128: 96 from node 0, 96 from node 3, which overlap.
    assert_eq!(walk(&d, 0, "NUMA-3"), "{0-127}: {0-95} {64-127}");
    let group = d.group(d.local_group(domain(&d, 0, "NUMA-3")));
    assert_eq!(format!("{:?}", group.balance_mask), "{0-31}", "those with the same child");
    assert_eq!((group.balance_cpu, group.cores), (CpuId(0), 96));
    // Since 5.13 no group leads out of the domain.
    let new = of(&topology, "5.13");
    check_invariants(&new, topology.online());
    assert_eq!(walk(&new, 0, "NUMA-2"), "{0-95}: {0-63} {64-95}");
    for cpu in topology.online().iter() {
        for (_, sd) in new.chain(cpu) {
            assert!(new.groups(sd).all(|g| new.group(g).cpus.is_subset(&sd.span)));
        }
    }
}

/// Distances beyond 30 end forks, execs and affine wake-ups; EPYC's 32 does not.
#[test]
fn reclaim_distance() {
    let at = |distance, reclaim_distance| {
        let mut desc = shape(2, 1, 2, 1).into_desc();
        desc.distances = vec![10, distance, distance, 10];
        desc.reclaim_distance = reclaim_distance;
        let d = of(&Topology::new(desc).unwrap(), "6.1");
        let flags = domain(&d, 0, "NUMA-1").flags;
        let flag = |f| flags.has(f);
        (
            flag(DomainFlags::BALANCE_FORK),
            flag(DomainFlags::BALANCE_EXEC),
            flag(DomainFlags::WAKE_AFFINE),
            flag(DomainFlags::BALANCE_NEWIDLE),
        )
    };
    assert_eq!(at(30, 30), (true, true, true, true));
    assert_eq!(at(31, 30), (false, false, false, true));
    assert_eq!(at(32, 30), (false, false, false, true));
    assert_eq!(at(32, 32), (true, true, true, true));
}

/// A package of several nodes with several caches each keeps the node as a level.
#[test]
fn several_caches_per_node_and_nodes_per_package() {
    let topology = Shape { nodes: 2, ..Shape::new(2, 4, 4, 2) }.topology().unwrap();
    let d = of(&topology, "6.1");
    check_invariants(&d, topology.online());
    assert_eq!(chain(&d, 0), "SMT 2, MC 8, NODE 16, NUMA-1 32, NUMA-2 64");
    assert_eq!(domain(&d, 0, "NODE").cache_nice_tries, 1);
}

/// Nodes without CPUs have distances but no say.
#[test]
fn nodes_without_cpus_do_not_count() {
    let mut desc = shape(2, 1, 2, 1).into_desc();
    desc.nodes = vec![2, 0, 1];
    // Node 2 is first in the table, and the only one with distance 40.
    desc.distances = vec![10, 40, 40, 40, 10, 20, 40, 20, 10];
    let topology = Topology::new(desc).unwrap();
    assert_eq!(topology.nodes().iter().map(|n| n.id).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((topology.distance(0, 1), topology.distance(0, 2)), (20, 40));
    assert!(topology.nodes()[2].cpus.is_empty());
    assert_eq!(chain(&of(&topology, "6.1"), 0), "MC 2, NUMA-1 4");
}
