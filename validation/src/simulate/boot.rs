//! What a machine of several CPUs has been through before the driver starts. A machine that was up has balanced: its
//! intervals have grown while all was quiet, and its CPUs are due at different times. What the captured one did is not
//! known; here two CPUs are busy while the others balance, then one CPU after the other becomes busy, then all idle.

use sim_core::kernel::Policy;
use sim_core::program::{Action, Program, TaskSpec, Work};
use sim_core::{CpuId, CpuMask, GroupId, Instant, Nanos};

/// How long two CPUs are busy first.
const FIRST: Nanos = Nanos::from_millis(48);
/// From one CPU's start to the next one's.
const STAGGER: Nanos = Nanos::from_millis(16);
/// From the end of it to the driver's start: averages have decayed to a tenth.
const QUIET: Nanos = Nanos::from_millis(100);

/// When the machine is ready for the driver, after its start.
pub(super) fn boot_ends(cpus: u32) -> Nanos {
    Nanos(FIRST.0 + STAGGER.0 * u64::from(cpus + 1) + QUIET.0)
}

/// Tasks pinned to a CPU each: two at first; then one on every CPU in turn, from CPU `first` on, which end together.
pub(super) fn boot(cpus: u32, first: u32) -> Vec<TaskSpec> {
    let cpu = |i: u32| CpuId((first % cpus + i) % cpus);
    let mut tasks: Vec<TaskSpec> = (cpus.saturating_sub(2)..cpus)
        .map(|i| busy(cpu(i), Nanos::ZERO, Nanos(FIRST.0 - STAGGER.0 / 2)))
        .collect();
    for i in 0..cpus {
        let start = FIRST + Nanos(STAGGER.0 * u64::from(i));
        tasks.push(busy(cpu(i), start, Nanos(STAGGER.0 * u64::from(cpus - i))));
    }
    tasks
}

/// A task that keeps a CPU busy for a while.
fn busy(cpu: CpuId, start: Nanos, length: Nanos) -> TaskSpec {
    let mut actions = [Action::Run(Work::CpuTime(length))].into_iter();
    let program: Box<dyn Program> = Box::new(move |_: &_| actions.next().unwrap_or(Action::Exit));
    TaskSpec {
        name: format!("boot/{}", cpu.0),
        path: format!("boot/{}/{}", cpu.0, start.0),
        start: Instant::ZERO + start,
        nice: 0,
        policy: Policy::Normal,
        affinity: Some(CpuMask::one(cpu)),
        group: GroupId::ROOT,
        program,
    }
}
