//! Virtual machines and interference in scenarios.

use sim_core::kernel::hooks::NoHooks;
use sim_core::machine::Demand;
use sim_core::observe::{Metrics, Spent, Walltime};
use sim_core::{CpuId, Nanos, Simulation};
use sim_workloads::scenario::Document;

const EIGHT_GUESTS: &str = include_str!("../../../scenarios/guests-on-one-host.toml");

type Run = Simulation<(Metrics, Walltime)>;

fn run(text: &str, settings: &[(&str, &str)]) -> Run {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let document =
        Document::parse(text, "host.toml", &settings).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let resolved = document.resolve().unwrap_or_else(|e| panic!("{}", e.render(false)));
    let cpus = resolved.config.kernel.cpus;
    let observer = (Metrics::new(resolved.warmup), Walltime::new(resolved.warmup, cpus));
    let mut simulation =
        document.scenario.build(resolved.seed).simulation(resolved.config, observer, NoHooks);
    let end = simulation.run().unwrap().at;
    simulation.observer.1.finish(end);
    simulation
}

fn spent(run: &Run, on: Spent) -> u64 {
    (0..run.config().kernel.cpus).map(|c| run.observer.1.spent(CpuId(c), on).0).sum()
}

fn refused(text: &str, settings: &[(&str, &str)]) -> String {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let error = Document::parse(text, "host.toml", &settings).and_then(|d| d.resolve().map(|_| ()));
    error.expect_err("a mistake").to_string()
}

/// Seven guests of four virtual CPUs that run 400 of 1000 us want 11.2 of the host's 16 CPUs; ours about one more.
#[test]
fn eight_guests_on_one_host() {
    let sim = run(EIGHT_GUESTS, &[]);
    let host = sim.config().machine.host.as_ref().unwrap();
    assert_eq!((host.guests.len(), host.kernel.cpus, host.vcpus.len()), (7, 16, 4));
    assert!(host.guests.iter().all(|g| g.vcpus == 4 && matches!(g.demand, Demand::OnOff { .. })));
    for cpu in (0..4).map(CpuId) {
        assert_eq!(sim.observer.1.total(cpu), Nanos::from_millis(1800));
    }
    let work = sim.observer.0.tasks().iter().map(|t| t.work).sum::<u64>();
    assert!(work > 10_000, "{work}");
    assert!(spent(&sim, Spent::Steal) > 0);
    // Alone on the host, a virtual CPU waits for the host's wake-up only.
    let alone = run(EIGHT_GUESTS, &[("machine.host.guest", "[]")]);
    assert!(spent(&alone, Spent::Steal) < spent(&sim, Spent::Steal));
}

/// Four virtual CPUs that never stop and four of another guest, on four host CPUs: half of the time is stolen.
#[test]
fn steal_on_a_crowded_host() {
    let text = "[machine]\ncpus = 4\n[costs]\npreset = \"guest\"\n[run]\nduration = \"2s\"\nwarmup = \"500ms\"\n\
        [machine.host]\nmachine = { cpus = 4 }\n[[machine.host.guest]]\nname = \"other\"\nvcpus = 4\n\
        [task.hog]\ncount = 4\nprogram = [{ forever = [{ run = \"1ms\" }] }]\n";
    let sim = run(text, &[]);
    let (steal, all) = (spent(&sim, Spent::Steal) as f64, 4.0 * 1.5e9);
    assert!((steal / all - 0.5).abs() < 0.03, "{}", steal / all);
}

/// Each source takes what it says; threads of the kernel do their work as tasks.
#[test]
fn sources_of_interference() {
    let text = "[machine]\ncpus = 2\n[costs]\npreset = \"zero\"\n[run]\nduration = \"10s\"\n\
        [[machine.interference]]\nname = \"nic\"\ncpus = \"0-1\"\nkind = \"interrupt\"\nrate = 1000\ntime = \"20us\"\n\
        [[machine.interference]]\nname = \"net-rx\"\ncpu = 0\nkind = \"softirq\"\nperiod = \"1ms\"\n\
        time = { exponential = \"50us\" }\n\
        [[machine.interference]]\nname = \"kswapd\"\ncpu = 1\nkind = \"kthread\"\nperiod = { exponential = \"10ms\" }\n\
        time = \"1ms\"\n\
        [task.hog]\ncount = 2\nprogram = [{ forever = [{ run = \"1ms\" }] }]\n";
    let sim = run(text, &[]);
    let taken = |source, cpu| sim.observer.1.taken_by(source, CpuId(cpu)).0 as f64 / 1e6;
    // Means of 10 000 draws of an exponential: 1 %; bounds of five standard errors.
    for cpu in [0, 1] {
        assert!((taken(0, cpu) - 200.0).abs() < 10.0, "{}", taken(0, cpu));
    }
    assert!((taken(1, 0) - 500.0).abs() < 25.0, "{}", taken(1, 0));
    let thread = sim.interference_thread(2, CpuId(1)).unwrap();
    assert_eq!(sim.interference_thread(2, CpuId(0)), None);
    let worked = sim.observer.0.task(thread).cpu_time.0 as f64 / 1e6;
    // A thousand arrivals: 3 %.
    assert!((worked - 1000.0).abs() < 160.0, "{worked}");
    assert_eq!(sim.tasks()[thread.index()].name, "kswapd/1");
    assert!(sim.tasks()[thread.index()].kthread);
}

/// A task pays for interrupts where the kernel does not account for them, as Debian's does not (core.md §10.5).
#[test]
fn debian_charges_interrupts_and_steal_to_tasks() {
    let text = "[kernel]\nprofile = \"5.10-debian\"\n[costs]\npreset = \"zero\"\n[run]\nduration = \"1s\"\n\
        [[machine.interference]]\ncpu = 0\nkind = \"softirq\"\nstart = \"2ms\"\nperiod = \"10ms\"\n\
        time = \"1ms\"\n\
        [[machine.interference]]\ncpu = 0\nkind = \"steal\"\nstart = \"5ms\"\nperiod = \"10ms\"\ntime = \"2ms\"\n\
        [task.hog]\nprogram = [{ forever = [{ run = \"1ms\" }] }]\n";
    let charged =
        |settings: &[(&str, &str)]| run(text, settings).observer.0.tasks()[0].cpu_time.0 / 1_000_000;
    assert_eq!(charged(&[]), 1000);
    assert_eq!(charged(&[("kernel.irq_time_accounting", "true")]), 900);
    assert_eq!(charged(&[("kernel.steal_time_accounting", "true")]), 800);
}

#[test]
fn mistakes_in_hosts_and_interference() {
    let host = |key: &str, value: &str| refused(EIGHT_GUESTS, &[(&format!("machine.host.{key}"), value)]);
    for (found, part) in [
        (host("pin", "[\"0\", \"1\"]"), "2 sets of CPUs for 4 virtual CPUs"),
        (host("pin", "[\"16\"]"), "beyond the host, which has CPUs 0-15"),
        (host("machine.cpus", "4"), "both 'cpus' and 'topology'"),
        (host("machine.host", "{}"), "a host has no host itself"),
        (host("machine.preset", "i7-8700"), "for the whole scenario"),
        (host("halt_poll", "2s"), "at most 1 s is allowed"),
        (host("guest.0.sleep", "{ pareto = { scale = \"1ms\", shape = 2.0 } }"), "uniform and exponential"),
        (host("guest.0.run", "10ns"), "at least 1 us"),
        (host("guest.0.count", "9999"), "at most 10000"),
    ] {
        assert!(found.contains(part), "{found}");
    }
    let source = |text: &str| {
        refused(
            &format!(
                "[[machine.interference]]\nkind = \"interrupt\"\n{text}\n[task.a]\nprogram = [{{ run = \"1ms\" }}]\n"
            ),
            &[],
        )
    };
    for (found, part) in [
        (source("cpu = 0\ntime = \"1us\""), "neither 'period' nor 'rate'"),
        (source("cpu = 0\nperiod = \"1ms\"\nrate = 3\ntime = \"1us\""), "both 'period' and 'rate'"),
        (source("cpu = 0\ncpus = \"0\"\nrate = 3\ntime = \"1us\""), "both 'cpu' and 'cpus'"),
        (source("rate = 3\ntime = \"1us\""), "neither 'cpu' nor 'cpus'"),
        (source("cpus = \"0-1\"\nrate = 3\ntime = \"1us\""), "CPU 1 is beyond the machine"),
        (source("cpu = 0\nrate = 1000\ntime = { exponential = \"1ms\" }"), "leaves no time for tasks"),
    ] {
        assert!(found.contains(part), "{found}");
    }
}
