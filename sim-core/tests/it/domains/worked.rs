//! The worked topologies of smp.md §1.7 and what follows from them.

use super::*;

#[test]
fn t1_one_socket_four_cores_two_threads() {
    for profile in ALL_PROFILES {
        let topology = shape(1, 1, 4, 2);
        let d = of(&topology, profile);
        check_invariants(&d, topology.online());
        assert_eq!(chain(&d, 0), "SMT 2, MC 8");
        assert_eq!(walk(&d, 0, "SMT"), "{0,4}: {0} {4}");
        assert_eq!(walk(&d, 0, "MC"), "{0-7}: {0,4} {1,5} {2,6} {3,7}");
        assert_eq!(walk(&d, 5, "SMT"), "{1,5}: {5} {1}");
        assert_eq!(walk(&d, 5, "MC"), "{0-7}: {1,5} {2,6} {3,7} {0,4}");
        let (smt, mc) = (domain(&d, 0, "SMT"), domain(&d, 0, "MC"));
        assert_eq!((smt.min_interval_ms, smt.max_interval_ms), (2, 4));
        assert_eq!((smt.imbalance_pct, smt.cache_nice_tries), (110, 0));
        assert_eq!((mc.min_interval_ms, mc.max_interval_ms), (8, 16));
        assert_eq!((mc.imbalance_pct, mc.cache_nice_tries), (117, 1));
        assert!(mc.flags.has(DomainFlags::PREFER_SIBLING));
        let cpu = d.cpu(CpuId(5));
        assert_eq!((cpu.llc_size, cpu.llc_id), (8, CpuId(0)));
        assert_eq!(d.llc_span(cpu.llc.unwrap()), &mask("0-7"));
        assert_eq!(d.nr_llcs(), 1);
    }
}

#[test]
fn t2_two_sockets() {
    let topology = shape(2, 1, 4, 2);
    for (profile, pct) in [("5.7", 125), ("5.10", 117), ("6.1", 117)] {
        let d = of(&topology, profile);
        check_invariants(&d, topology.online());
        assert_eq!(chain(&d, 0), "SMT 2, MC 8, NUMA-1 16");
        assert_eq!(walk(&d, 0, "MC"), "{0-3,8-11}: {0,8} {1,9} {2,10} {3,11}");
        assert_eq!(walk(&d, 0, "NUMA-1"), "{0-15}: {0-3,8-11} {4-7,12-15}");
        assert_eq!(walk(&d, 13, "NUMA-1"), "{0-15}: {4-7,12-15} {0-3,8-11}");
        let numa = domain(&d, 0, "NUMA-1");
        assert_eq!((numa.min_interval_ms, numa.max_interval_ms, numa.imbalance_pct), (16, 32, pct));
        assert_eq!(numa.cache_nice_tries, 2);
        let has = |f| numa.flags.has(f);
        assert!(has(DomainFlags::SERIALIZE) && has(DomainFlags::WAKE_AFFINE));
        assert!(has(DomainFlags::BALANCE_FORK) && has(DomainFlags::BALANCE_EXEC));
        assert!(!has(DomainFlags::PREFER_SIBLING) && !has(DomainFlags::SHARE_PKG_RESOURCES));
        assert!(domain(&d, 0, "MC").flags.has(DomainFlags::PREFER_SIBLING));
        assert_eq!(numa.imb_numa_nr, (profile == "6.1").then_some(1));
        assert!(d.share_cache(CpuId(0), CpuId(11)) && !d.share_cache(CpuId(0), CpuId(4)));
        let group = d.group(d.groups(numa).nth(1).unwrap());
        assert_eq!((group.weight, group.cores, group.balance_cpu), (8, 4, CpuId(4)));
        assert_eq!(group.balance_mask, group.cpus);
        assert_eq!(group.child_flags, domain(&d, 4, "MC").flags);
    }
}

#[test]
fn t3_the_gzip_machine() {
    for profile in ALL_PROFILES {
        let topology = named("i7-8700");
        let d = of(&topology, profile);
        check_invariants(&d, topology.online());
        assert_eq!(chain(&d, 11), "SMT 2, MC 12");
        assert_eq!(walk(&d, 11, "SMT"), "{5,11}: {11} {5}");
        assert_eq!(d.nr_groups(domain(&d, 11, "MC")), 6);
        assert_eq!((domain(&d, 0, "MC").min_interval_ms, domain(&d, 0, "MC").max_interval_ms), (12, 24));
        assert_eq!(d.cpu(CpuId(0)).llc_size, 12);
    }
}

/// A virtual machine with one socket per CPU has no last-level cache.
#[test]
fn t4_one_socket_per_virtual_cpu() {
    for (profile, pct) in [("4.19", 125), ("5.7", 125), ("5.10", 117), ("6.5", 117)] {
        let mut desc = shape(4, 1, 1, 1).into_desc();
        desc.cpus.iter_mut().for_each(|c| c.node = 0);
        let topology = Topology::new(TopologyDesc::new(desc.cpus)).unwrap();
        let d = of(&topology, profile);
        check_invariants(&d, topology.online());
        assert_eq!(chain(&d, 2), "DIE 4");
        assert_eq!(walk(&d, 2, "DIE"), "{0-3}: {2} {3} {0} {1}");
        let die = domain(&d, 2, "DIE");
        assert_eq!((die.min_interval_ms, die.max_interval_ms, die.imbalance_pct), (4, 8, pct));
        let cpu = d.cpu(CpuId(2));
        assert_eq!((cpu.llc_size, cpu.llc_id, cpu.llc, cpu.sd_llc), (1, CpuId(2), None, None));
        assert!(!d.share_cache(CpuId(0), CpuId(1)) && d.share_cache(CpuId(3), CpuId(3)));
    }
}

/// The same where the hypervisor says that all share the host's cache: nothing is linked (smp.md §1.6).
#[test]
fn a_cache_shared_by_sockets_of_one_cpu_is_not_linked() {
    let cpus = (0..4).map(|i| LogicalCpu { package: i, llc: Some(0), ..LogicalCpu::alone(CpuId(i)) });
    let topology = Topology::new(TopologyDesc::new(cpus.collect())).unwrap();
    assert_eq!(chain(&of(&topology, "6.1"), 0), "DIE 4");
}

/// smp.md §4.1, 12 CPUs: the busy intervals of both levels in ms.
#[test]
fn busy_intervals() {
    let topology = named("i7-8700");
    for (profile, smt, mc) in [("5.7", 64, 384), ("5.10", 32, 192)] {
        let d = of(&topology, profile);
        let busy = |level| domain(&d, 0, level).min_interval_ms * domain(&d, 0, level).busy_factor;
        assert_eq!((busy("SMT"), busy("MC")), (smt, mc));
    }
}

#[test]
fn the_flag_load_balance_ends_with_5_7() {
    let has =
        |profile| domain(&of(&shape(1, 1, 2, 1), profile), 0, "MC").flags.has(DomainFlags::LOAD_BALANCE);
    assert!(has("4.19") && has("5.7") && !has("5.10") && !has("6.5"));
}

#[test]
fn without_threads_the_cache_is_the_lowest_level() {
    let d = of(&Topology::uniform(4).unwrap(), "6.1");
    assert_eq!(chain(&d, 1), "MC 4");
    assert_eq!(walk(&d, 1, "MC"), "{0-3}: {1} {2} {3} {0}");
    let mc = domain(&d, 1, "MC");
    assert_eq!(mc.child, None);
    assert_eq!(d.group(d.local_group(mc)).child_flags, DomainFlags::NONE);
}

#[test]
fn one_cpu_has_no_domain() {
    let d = of(&Topology::uniform(1).unwrap(), "6.1");
    assert_eq!(chain(&d, 0), "");
    assert_eq!((d.cpu(CpuId(0)).llc_size, d.cpu(CpuId(0)).llc_id), (1, CpuId(0)));
}
