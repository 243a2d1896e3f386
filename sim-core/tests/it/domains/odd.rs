//! Machines that are not regular: holes, offline and isolated CPUs, partitions, clusters, unequal CPUs.

use super::*;
use proptest::prelude::*;
use sim_core::kernel::domains::DomainsError;

fn changed(topology: Topology, change: impl Fn(&mut LogicalCpu)) -> Topology {
    let mut desc = topology.into_desc();
    desc.cpus.iter_mut().for_each(change);
    Topology::new(desc).unwrap()
}

#[test]
fn holes_in_numbering() {
    // Only even numbers, from 10 on.
    let topology = changed(shape(1, 1, 2, 2), |c| c.cpu = CpuId(10 + 2 * c.cpu.0));
    assert_eq!(topology.nr_cpu_ids(), 17);
    assert_eq!(topology.cpu(CpuId(11)), None);
    let d = of(&topology, "6.1");
    check_invariants(&d, topology.online());
    assert_eq!(walk(&d, 12, "SMT"), "{12,16}: {12} {16}");
    assert_eq!(walk(&d, 12, "MC"), "{10,12,14,16}: {12,16} {10,14}");
    assert_eq!(chain(&d, 11), "", "no such CPU");
}

#[test]
fn offline_cpus_are_in_no_domain() {
    let topology = changed(shape(1, 1, 4, 2), |c| c.online = ![4, 6, 7].contains(&c.cpu.0));
    let d = of(&topology, "6.1");
    check_invariants(&d, topology.online());
    assert_eq!(chain(&d, 4), "");
    assert_eq!(chain(&d, 0), "MC 5", "its sibling is offline");
    assert_eq!(walk(&d, 1, "MC"), "{0-3,5}: {1,5} {2} {3} {0}");
    assert_eq!(domain(&d, 1, "MC").min_interval_ms, 5);
    let cores: Vec<u32> = d.groups(domain(&d, 1, "MC")).map(|g| d.group(g).cores).collect();
    assert_eq!(cores, [1, 1, 1, 1]);
}

#[test]
fn isolated_cpus_have_no_domain() {
    let topology = changed(shape(1, 1, 4, 1), |c| c.isolated = c.cpu.0 >= 2);
    let d = of(&topology, "6.1");
    assert_eq!((chain(&d, 0), chain(&d, 3)), ("MC 2".to_owned(), String::new()));
    assert_eq!((d.cpu(CpuId(3)).llc_size, d.cpu(CpuId(3)).llc_id), (1, CpuId(3)));
    // The level's CPUs set the interval, isolated ones too.
    assert_eq!(domain(&d, 0, "MC").min_interval_ms, 4);
}

#[test]
fn partitions_have_domains_of_their_own() {
    let rules = Profile::by_name("6.1").unwrap().rules();
    let topology = shape(2, 1, 4, 2);
    let d = build(&topology, &rules, &[mask("0-3,8-11"), mask("4,5,12,13")]).unwrap();
    assert_eq!(chain(&d, 0), "SMT 2, MC 8");
    assert_eq!(chain(&d, 4), "SMT 2, MC 4");
    assert_eq!(chain(&d, 6), "", "in no partition");
    assert_eq!(walk(&d, 13, "MC"), "{4-5,12-13}: {5,13} {4,12}");
    assert_eq!(d.cpu(CpuId(13)).llc_size, 4);
    assert!(!d.share_cache(CpuId(4), CpuId(0)) && d.nr_llcs() == 2);
    let across = build(&topology, &rules, &[mask("0,1,4,5")]).unwrap();
    assert_eq!(chain(&across, 0), "MC 2, NUMA-1 4");
    assert_eq!(
        build(&topology, &rules, &[mask("0-3"), mask("3-5")]),
        Err(DomainsError::Overlap { cpu: CpuId(3) })
    );
    let unknown = build(&topology, &rules, &[mask("16")]).unwrap_err();
    assert_eq!(unknown.to_string(), "CPU 16: the machine has CPUs 0-15");
}

/// Clusters are a level since 5.16; a second-level cache per core adds none.
#[test]
fn clusters() {
    let topology = Shape { cores_per_cluster: 4, ..Shape::new(1, 1, 8, 1) }.topology().unwrap();
    assert_eq!(chain(&of(&topology, "5.15"), 0), "MC 8");
    let d = of(&topology, "6.1");
    assert_eq!(chain(&d, 5), "CLS 4, MC 8");
    assert_eq!((domain(&d, 5, "CLS").imbalance_pct, domain(&d, 5, "CLS").cache_nice_tries), (117, 1));
    assert_eq!(d.cpu(CpuId(5)).llc_size, 8);
    assert_eq!(chain(&of(&shape(1, 1, 8, 2), "6.1"), 0), "SMT 2, MC 16");
    let mut desc = topology.into_desc();
    desc.hybrid = true;
    let hybrid = Topology::new(desc).unwrap();
    assert_eq!(
        (chain(&of(&hybrid, "6.1"), 0), chain(&of(&hybrid, "6.5"), 0)),
        ("MC 8".into(), "CLS 4, MC 8".into())
    );
}

/// Performance cores with two threads beside efficiency cores with one, in modules of four.
#[test]
fn hybrid_machine() {
    let cpu = |i: u32| {
        let (core, cluster) = if i < 4 { (i / 2, i / 2) } else { (i, 2) };
        LogicalCpu { core, cluster: Some(cluster), llc: Some(0), ..LogicalCpu::alone(CpuId(i)) }
    };
    let mut desc = TopologyDesc::new((0..8).map(cpu).collect());
    desc.hybrid = true;
    let topology = Topology::new(desc).unwrap();
    let d = of(&topology, "6.1");
    check_invariants(&d, topology.online());
    assert_eq!((chain(&d, 0), chain(&d, 5)), ("SMT 2, MC 8".into(), "MC 8".into()));
    assert_eq!(walk(&d, 5, "MC"), "{0-7}: {5} {6} {7} {0-1} {2-3} {4}");
    let flags = |g| d.group(g).child_flags.has(DomainFlags::SHARE_CPUCAPACITY);
    let groups: Vec<bool> = d.groups(domain(&d, 0, "MC")).map(flags).collect();
    assert_eq!(groups, [true, true, false, false, false, false]);
    let d = of(&topology, "6.5");
    check_invariants(&d, topology.online());
    assert_eq!((chain(&d, 0), chain(&d, 5)), ("SMT 2, MC 8".into(), "CLS 4, MC 8".into()));
    assert_eq!(walk(&d, 5, "MC"), "{0-7}: {4-7} {0-1} {2-3}");
}

/// Two clusters of different capacity: the flag lies on the domain that sees both.
#[test]
fn unequal_capacities() {
    let topology = changed(named("hikey8"), |c| c.capacity = if c.cpu.0 < 4 { 592 } else { 1024 });
    for (profile, prefer_sibling, balance_wake) in
        [("4.19", true, true), ("5.4", false, true), ("5.6", false, true), ("5.7", false, false)]
    {
        let d = of(&topology, profile);
        let (mc, die) = (domain(&d, 0, "MC"), domain(&d, 0, "DIE"));
        assert!(die.flags.has(DomainFlags::ASYM_CPUCAPACITY) && !mc.flags.has(DomainFlags::ASYM_CPUCAPACITY));
        assert_eq!(mc.flags.has(DomainFlags::PREFER_SIBLING), prefer_sibling, "{profile}");
        assert!(die.flags.has(DomainFlags::PREFER_SIBLING));
        assert_eq!(mc.flags.has(DomainFlags::BALANCE_WAKE), balance_wake, "{profile}");
        assert_eq!(d.cpu(CpuId(7)).sd_asym.map(|id| d.domain(id).level), Some(die.level));
    }
    assert_eq!(of(&named("hikey8"), "5.4").cpu(CpuId(7)).sd_asym, None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]
    /// Machines of any nesting, numbered anyhow, some CPUs offline or isolated.
    #[test]
    fn any_machine_keeps_the_invariants(
        shape in (1u32..4, 1u32..4, 1u32..4, 1u32..4),
        order in any::<u64>(),
        state in proptest::collection::vec(0u8..8, 81),
        profile in proptest::sample::select(&ALL_PROFILES[..]),
    ) {
        let topology = Shape::new(shape.0, shape.1, shape.2, shape.3).topology().unwrap();
        let n = topology.cpus().len() as u64;
        // 101 is prime and more than any n: a permutation with holes.
        let number = |i: u32| CpuId(((u64::from(i) + 1) * (order % 100 + 1) % 101) as u32);
        let mut desc = topology.into_desc();
        for (c, state) in desc.cpus.iter_mut().zip(&state) {
            c.cpu = number(c.cpu.0);
            c.online = *state != 0;
            c.isolated = *state == 1;
        }
        desc.cpus[n as usize - 1].online = true;
        let topology = Topology::new(desc).unwrap();
        let mut active = topology.online().clone();
        active.and_not_with(topology.isolated());
        check_invariants(&of(&topology, profile), &active);
    }
}
