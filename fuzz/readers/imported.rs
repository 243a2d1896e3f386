//! What must hold of a machine that was read: it has scheduling domains under old and new rules, and is the same when
//! written as TOML and read again.

use sim_core::kernel::Profile;
use sim_core::kernel::domains::build;
use sim_core::machine::topology::Topology;
use sim_workloads::scenario::{IdleSpec, Machine};
use sim_workloads::topology::{ImportedIdle, idle_to_toml, to_toml};

/// Checks the outcome of a reader.
pub(crate) fn check(read: Result<Topology, String>) {
    let topology = match read {
        Ok(topology) => topology,
        Err(message) => {
            assert!(!message.is_empty());
            return;
        }
    };
    let again = Machine::parse(&to_toml(&topology), "again.toml").expect("what was written can be read");
    assert_eq!(*again.topology, topology);
    for profile in ["4.19", "6.5"] {
        let rules = Profile::by_name(profile).expect("a profile").rules();
        let domains = build(&topology, &rules, &[]).expect("there are no partitions");
        for cpu in topology.online().iter() {
            assert!(domains.chain(cpu).all(|(_, d)| d.span.contains(cpu)));
        }
    }
}

/// Checks idle states that were read: they are the same when written as TOML and read again, quotation marks aside.
pub(crate) fn check_idle(idle: &ImportedIdle) {
    let text = format!("[machine]\n{}", idle_to_toml(&idle.spec));
    let again =
        Machine::parse(&text, "again.toml").expect("what was written can be read").idle.expect("states");
    let latencies =
        |spec: &IdleSpec| spec.states.iter().map(|s| (s.latency, s.residency)).collect::<Vec<_>>();
    assert_eq!(latencies(&again), latencies(&idle.spec));
}
