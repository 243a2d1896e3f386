//! What a machine of several CPUs has been through before the driver starts. A machine that was up has balanced: its
//! intervals have grown while all was quiet, and its CPUs are due at different times. What the captured one did is not
//! known; here CPU after CPU becomes busy for a while, then all idle.

use sim_core::kernel::Policy;
use sim_core::program::{Action, Program, TaskSpec, Work};
use sim_core::{CpuId, CpuMask, GroupId, Instant, Nanos};

/// From one CPU's start to the next one's.
const STAGGER: Nanos = Nanos::from_millis(16);
/// From the end of it to the driver's start: averages have decayed to a tenth.
const QUIET: Nanos = Nanos::from_millis(100);

/// When the machine is ready for the driver, after its start.
pub(super) fn boot_ends(cpus: u32) -> Nanos {
    Nanos(STAGGER.0 * u64::from(cpus + 1) + QUIET.0)
}

/// One task for each CPU, pinned to it: they start one after the other and end together.
pub(super) fn boot(cpus: u32) -> Vec<TaskSpec> {
    let task = |cpu: u32| {
        let length = Nanos(STAGGER.0 * u64::from(cpus - cpu));
        let mut actions = [Action::Run(Work::CpuTime(length))].into_iter();
        let program: Box<dyn Program> = Box::new(move |_: &_| actions.next().unwrap_or(Action::Exit));
        TaskSpec {
            name: format!("boot/{cpu}"),
            path: format!("boot/{cpu}"),
            start: Instant::ZERO + Nanos(STAGGER.0 * u64::from(cpu)),
            nice: 0,
            policy: Policy::Normal,
            affinity: Some(CpuMask::one(CpuId(cpu))),
            group: GroupId::ROOT,
            program,
        }
    };
    (0..cpus).map(task).collect()
}
