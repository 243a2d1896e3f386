//! Scheduling domains of known machines, by version (smp.md §1, patches.md §0.2).

mod numa;
mod odd;
mod worked;

use sim_core::kernel::Profile;
use sim_core::kernel::domains::{DomainFlags, Domains, SchedDomain, build};
use sim_core::machine::topology::{LogicalCpu, MachinePreset, Shape, Topology, TopologyDesc};
use sim_core::{CpuId, CpuMask};

const ALL_PROFILES: [&str; 13] = [
    "4.19",
    "5.4",
    "5.5",
    "5.6",
    "5.7",
    "5.10",
    "5.10-debian",
    "5.12",
    "5.13",
    "5.15",
    "6.1",
    "6.1-debian",
    "6.5",
];

fn of(topology: &Topology, profile: &str) -> Domains {
    build(topology, &Profile::by_name(profile).unwrap().rules(), &[]).unwrap()
}
fn shape(sockets: u32, llcs: u32, cores: u32, threads: u32) -> Topology {
    Shape::new(sockets, llcs, cores, threads).topology().unwrap()
}
fn named(name: &str) -> Topology {
    MachinePreset::by_name(name).unwrap().topology()
}
fn mask(list: &str) -> CpuMask {
    list.parse().unwrap()
}

/// A CPU's chain in short: level and number of CPUs, smallest first.
fn chain(domains: &Domains, cpu: u32) -> String {
    let chain = domains.chain(CpuId(cpu));
    chain.map(|(_, d)| format!("{} {}", d.level, d.weight)).collect::<Vec<_>>().join(", ")
}
/// A domain's CPUs and groups in walk order.
fn walk(domains: &Domains, cpu: u32, level: &str) -> String {
    let d = domain(domains, cpu, level);
    let groups = domains.groups(d).map(|g| format!("{:?}", domains.group(g).cpus));
    format!("{:?}: {}", d.span, groups.collect::<Vec<_>>().join(" "))
}
fn domain<'a>(domains: &'a Domains, cpu: u32, level: &str) -> &'a SchedDomain {
    let found = domains.chain(CpuId(cpu)).find(|(_, d)| d.level.to_string() == level);
    found.unwrap_or_else(|| panic!("CPU {cpu} has no {level}: {}", chain(domains, cpu))).1
}

/// What holds on every machine.
fn check_invariants(domains: &Domains, cpus: &CpuMask) {
    for cpu in cpus.iter() {
        let mut below: Option<&SchedDomain> = None;
        for (id, d) in domains.chain(cpu) {
            assert_eq!((d.cpu, domains.domain(id)), (cpu, d));
            assert!(d.span.contains(cpu) && d.span.is_subset(cpus) && d.weight as usize == d.span.count());
            assert!(d.weight > 1 && below.is_none_or(|b| b.span.is_subset(&d.span) && b.weight < d.weight));
            assert_eq!(d.child.map(|c| domains.domain(c)), below);
            check_groups(domains, d);
            below = Some(d);
        }
    }
}

fn check_groups(domains: &Domains, d: &SchedDomain) {
    let local = domains.group(domains.local_group(d));
    assert!(local.cpus.contains(d.cpu));
    assert_eq!(domains.groups(d).next(), Some(domains.local_group(d)));
    assert_eq!(domains.groups(d).count(), domains.nr_groups(d));
    let mut covered = CpuMask::default();
    for g in domains.groups(d).map(|g| domains.group(g)) {
        assert!(g.level <= d.level);
        assert!(d.flags.has(DomainFlags::OVERLAP) || !covered.intersects(&g.cpus));
        assert!(!g.balance_mask.is_empty() && g.balance_mask.is_subset(&g.cpus));
        assert_eq!(g.balance_mask.lowest(), Some(g.balance_cpu));
        covered.or_with(&g.cpus);
    }
    assert!(d.span.is_subset(&covered));
}
