//! When a reschedule is honoured: core.md §6.3.

use crate::support::{Log, config, profiles, run, script, task};
use sim_core::kernel::PreemptModel;
use sim_core::program::{Action, Objects};
use sim_core::{CpuId, CpuMask, Nanos, Simulation, TaskId};

/// A hog of CPU 0 enters the kernel for 1 ms at 50 ms; a task of CPU 1 wakes one of CPU 0 `before` that, the interrupt
/// takes 1 us. Gives when the hog is preempted.
fn preempted_at(profile: &str, model: PreemptModel, before: u64) -> u64 {
    let mut c = config(profile, 2, 250, 0);
    c.kernel.preempt = model;
    c.machine.costs.ipi = Nanos(1_000);
    let mut objects = Objects::default();
    let sem = objects.add_semaphore("s", 0);
    let mut sim = Simulation::new(c, objects, Log::default());
    let mut add = |name, cpu, actions| {
        let mut t = task(name, 0, script(actions));
        t.affinity = Some(CpuMask::one(CpuId(cpu)));
        sim.add_task(t);
    };
    add("hog", 0, vec![run(50_000_000), Action::KernelRun(Nanos::from_millis(1)), run(10_000_000)]);
    add("wakee", 0, vec![Action::SemWait(sem), run(1_000)]);
    add("waker", 1, vec![run(50_000_000 - before), Action::SemPost { sem, n: 1 }]);
    sim.run().unwrap();
    let log = sim.observer;
    log.switches().iter().filter(|(_, t)| *t == 1).map(|(at, _)| *at).next_back().unwrap()
}

#[test]
fn a_task_in_the_kernel_is_preempted_when_it_leaves_it() {
    use PreemptModel::{Full, None, Voluntary};
    for profile in profiles() {
        for model in [None, Voluntary] {
            // In user mode when the interrupt comes; in the kernel when it comes; in the kernel since before the wake-up.
            assert_eq!(preempted_at(profile, model, 2_000), 49_999_000, "{profile} {model:?}");
            assert_eq!(preempted_at(profile, model, 500), 51_000_000, "{profile} {model:?}");
        }
        assert_eq!(preempted_at(profile, Full, 2_000), 49_999_000, "{profile}");
        assert_eq!(preempted_at(profile, Full, 500), 50_000_500, "{profile}");
    }
}

/// core.md §12: under a preemptible kernel a waker that is behind its wakee is preempted inside the call.
#[test]
fn a_waker_finishes_its_call_unless_the_kernel_is_preemptible() {
    for (model, runs_first) in [(PreemptModel::Voluntary, 30_000), (PreemptModel::Full, 20_000)] {
        let mut c = config("6.1", 1, 250, 0);
        c.kernel.preempt = model;
        c.machine.costs.wakeup = Nanos(10_000);
        let mut objects = Objects::default();
        let sem = objects.add_semaphore("s", 0);
        let mut sim = Simulation::new(c, objects, Log::default());
        sim.add_task(task("wakee", 0, script(vec![Action::SemWait(sem), run(1_000)])));
        let waker = script(vec![run(50_000_000), Action::SemPost { sem, n: 1 }, run(1_000_000)]);
        sim.add_task(task("waker", 0, waker));
        sim.run().unwrap();
        // Two starts take 10 us each; the wake-up in the call takes as long.
        let (at, who) = sim.observer.switches()[1];
        assert_eq!((at - 50_000_000, TaskId(who)), (runs_first, TaskId(0)), "{model:?}");
    }
}
