//! The other guests of a host: their virtual CPUs are tasks with a stated demand.

use super::Host;
use crate::id::GroupId;
use crate::kernel::Policy;
use crate::machine::{Demand, Draw};
use crate::program::{Action, Program, ProgramContext, TaskSpec, Work};
use crate::rng::{Stream, stream};
use crate::time::{Instant, Nanos};

/// It never sleeps.
struct Busy;

impl Program for Busy {
    fn next(&mut self, _: &ProgramContext) -> Action {
        Action::Run(Work::Capacity(Nanos::MAX))
    }
}

/// It sleeps and runs in turns.
struct Turns {
    run: Draw,
    sleep: Draw,
    runs: Stream,
    sleeps: Stream,
    ran: bool,
}

impl Program for Turns {
    fn next(&mut self, _: &ProgramContext) -> Action {
        self.ran = !self.ran;
        if self.ran {
            Action::Sleep(self.sleep.sample(&mut self.sleeps))
        } else {
            Action::Run(Work::Capacity(self.run.sample(&mut self.runs)))
        }
    }
}

impl Host {
    /// Creates the threads of the other guests.
    pub(super) fn add_other_guests(&mut self) {
        for guest in self.config.guests.clone() {
            for i in 0..guest.vcpus {
                let path = format!("host/{}#{i}", guest.name);
                let program: Box<dyn Program> = match guest.demand {
                    Demand::Constant => Box::new(Busy),
                    Demand::OnOff { run, sleep } => {
                        let runs = stream(self.seed, &path, "run");
                        let sleeps = stream(self.seed, &path, "sleep");
                        Box::new(Turns { run, sleep, runs, sleeps, ran: false })
                    }
                };
                self.sim.add_task(TaskSpec {
                    name: guest.name.clone(),
                    path,
                    start: Instant::ZERO,
                    nice: 0,
                    policy: Policy::Normal,
                    affinity: Some(guest.cpus.clone()),
                    group: GroupId::ROOT,
                    program,
                });
            }
        }
    }
}
