//! A capture turned into a run of the simulator.

use super::background::background;
use super::boot::{before_the_driver, boot_ends, shown};
use super::driver::{DriverCosts, driver, shell};
use super::forking::{Forking, forking};
use super::lengths::{Corrections, Ledger, corrections};
use super::machine::{CaptureMachine, UnknownMachine};
use super::parts::{add_groups, kernel, objects};
use super::program::{Handle, Shared};
use super::record::Recorder;
use super::starts::{StartHooks, Starts};
use crate::capture::Capture;
use crate::capture::layout::LayoutError;
use crate::capture::meta::UnknownKernel;
use crate::capture::schedstat::LevelCounts;
use crate::capture::spec::{Clock, Spec};
use crate::capture::trace::TraceKind;
use crate::measure::{FromCaptureError, Timeline, Wanted, measure_many, timeline};
use sim_core::kernel::hooks::Hooks;
use sim_core::kernel::{Kernel, KernelConfig, Policy, Profile, UnknownProfile};
use sim_core::machine::MachineConfig;
use sim_core::observe::Observer;
use sim_core::program::{Action, TaskSpec};
use sim_core::{CpuId, CpuMask, GroupId, Instant, Limits, Nanos, SimConfig, SimError, Simulation, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// From the driver's forks to T0 beside the spec's `lead` and 1 ms per task: the driver then waits for its phase, up to
/// 20 ms (`wl.c`). Its middle.
const PHASE_WAIT: Nanos = Nanos::from_millis(10);
/// Simulated time before the driver starts.
const BEFORE: Nanos = Nanos::from_millis(4);
/// The prelude ends so long before T0: tasks sleep, the driver has switched tracing on.
const BEFORE_T0: Nanos = Nanos::from_micros(500);
/// The run goes on past the trace's end by this, so that late tasks still end.
const AFTER: Nanos = Nanos::from_secs(2);

/// Why a capture cannot be simulated.
#[derive(Debug, Error)]
pub enum Inexpressible {
    /// A group has a quota.
    #[error("group {0} has a cpu.max: bandwidth control is not modelled yet")]
    Quota(String),
    /// More than one CPU where one is needed.
    #[error("{0} CPUs: decision by decision only captures of one CPU are followed here")]
    ManyCpus(u32),
    /// Several CPUs, and nothing said of how they hang together.
    #[error("{0} CPUs, and no word on their cores and caches")]
    NoLayout(u32),
    /// The CPUs cannot be simulated.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The trace does not fit the machine.
    #[error(transparent)]
    Trace(#[from] FromCaptureError),
    /// Autogroups are on.
    #[error("autogroups are on: they come with groups by weight")]
    Autogroup,
    /// The kernel is not one of ours.
    #[error(transparent)]
    Kernel(#[from] UnknownKernel),
    /// The profile is not there.
    #[error(transparent)]
    Profile(#[from] UnknownProfile),
    /// The kernel has no calibrated machine.
    #[error(transparent)]
    Machine(#[from] UnknownMachine),
    /// A setting the simulated kernel does not have.
    #[error("setting {0}")]
    Setting(String),
    /// The run was given up.
    #[error(transparent)]
    Run(#[from] SimError),
}

/// A capture's experiment in the simulator.
pub struct Experiment<'a> {
    capture: &'a Capture,
    machine: CaptureMachine,
    kernel: KernelConfig,
    t0: Instant,
    /// See [`Shared::run_scatter`].
    run_scatter: Nanos,
    corrections: Arc<Corrections>,
    forking: Arc<Forking>,
    /// What the driver's forks and its children's starts cost where the machine's cost nothing.
    driver_forks: (Nanos, Nanos),
}

/// The lab's emulator executes one CPU for so long before the next.
const EMULATOR_SLICE: Nanos = Nanos::from_micros(20);

impl<'a> Experiment<'a> {
    /// Prepares the experiment, or says what it lacks.
    ///
    /// # Errors
    /// [`Inexpressible`].
    pub fn new(capture: &'a Capture) -> Result<Experiment<'a>, Inexpressible> {
        let spec = &capture.spec;
        if let Some(group) = spec.groups.iter().find(|g| g.max.is_some_and(|m| m.quota.is_some())) {
            return Err(Inexpressible::Quota(group.path.clone()));
        }
        if capture.tunables.autogroup {
            return Err(Inexpressible::Autogroup);
        }
        let profile = Profile::by_name(capture.meta.profile()?)?;
        let machine = CaptureMachine::of(profile.name)?;
        let kernel = kernel(&capture.meta, &capture.tunables)?;
        if kernel.cpus == 1 {
            let (t0, run_scatter) = (t0(spec, BEFORE), Nanos::ZERO);
            let (corrections, forking) = (Arc::default(), Arc::default());
            let driver_forks = (Nanos::ZERO, Nanos::ZERO);
            return Ok(Experiment {
                capture,
                machine,
                kernel,
                t0,
                run_scatter,
                corrections,
                forking,
                driver_forks,
            });
        }
        let busy = measure_many(&timeline(capture)?, &Wanted::default()).busy_cpus;
        let forking = forking(capture);
        let known = !forking.is_empty();
        let driver_forks = if known { (machine.fork_ns, machine.fork_child_ns) } else { (0, 0) };
        let mut experiment = Experiment {
            capture,
            machine: machine.with_several_cpus(profile.name, known),
            forking: Arc::new(forking),
            driver_forks: (Nanos(driver_forks.0), Nanos(driver_forks.1)),
            t0: t0(spec, boot_ends()),
            run_scatter: Nanos((EMULATOR_SLICE.0 as f64 * (busy - 1.0).clamp(0.0, 1.0)) as u64),
            kernel,
            corrections: Arc::default(),
        };
        experiment.measure_runs()?;
        Ok(experiment)
    }

    /// Takes lengths of runs from the capture.
    fn measure_runs(&mut self) -> Result<(), Inexpressible> {
        let used = Arc::new(Ledger::default());
        let hooks = StartHooks::new(self.capture, Starts::AsCaptured);
        let mut sim = self.simulation(&self.machine, 0, self.end(), (), hooks, &used);
        sim.run()?;
        self.corrections = Arc::new(corrections(self.capture, &used));
        Ok(())
    }

    /// When a run is given up.
    fn end(&self) -> Instant {
        let last = self.capture.trace.events.last().map_or(0, |e| e.at_ns);
        self.t0 + Nanos(last.saturating_sub(self.capture.clock.t0_ns)) + AFTER
    }

    /// The machine it runs on.
    pub fn machine(&self) -> &CaptureMachine {
        &self.machine
    }

    /// The kernel it runs on.
    pub fn kernel(&self) -> &KernelConfig {
        &self.kernel
    }

    /// T0 as its wake-ups show it: late by the timer path, as in a trace; simulated time, ns.
    pub fn t0_ns(&self) -> u64 {
        self.t0.0 + self.machine.timer_irq_ns
    }

    /// Runs it on `machine`, and gives what a trace would show from just before T0.
    ///
    /// # Errors
    /// [`Inexpressible::Run`] when a limit of the simulator is reached.
    pub fn run(&self, machine: &CaptureMachine) -> Result<Timeline, Inexpressible> {
        Ok(self.run_counted(machine, 0, Starts::Free)?.0)
    }

    /// Runs it on `machine`: what a trace would show, and what the kernel would count of its balancing, by level. `seed`
    /// changes what is not known of a machine with several CPUs: which CPU balances when, and how far a `run` overshoots.
    ///
    /// # Errors
    /// [`Inexpressible::Run`] when a limit of the simulator is reached.
    pub fn run_counted(
        &self,
        machine: &CaptureMachine,
        seed: u32,
        starts: Starts,
    ) -> Result<(Timeline, Vec<LevelCounts>), Inexpressible> {
        // On several CPUs it matters where the driver's children were put.
        let from = if self.kernel.cpus == 1 { self.t0 - Nanos::from_millis(1) } else { Instant::ZERO };
        let recorder = Recorder::starting(from, Instant::ZERO + self.driver_starts());
        let hooks = StartHooks::new(self.capture, starts);
        let mut sim = self.simulation(machine, seed, self.end(), recorder, hooks, &Arc::default());
        sim.run()?;
        let tasks = sim.tasks().to_vec();
        let counts = sim.observer.balance().to_vec();
        let timeline = sim.observer.timeline(self.kernel.cpus, &tasks, self.t0 + Nanos(machine.timer_irq_ns));
        Ok((timeline, counts))
    }

    /// Runs what the driver did before T0, and gives the kernel as it then stands, with its tasks by name.
    ///
    /// # Errors
    /// [`Inexpressible::Run`] when a limit of the simulator is reached.
    pub fn prelude<H: Hooks>(
        &self,
        hooks: H,
    ) -> Result<(Kernel<H>, BTreeMap<String, TaskId>), Inexpressible> {
        let mut sim = self.simulation(&self.machine, 0, self.t0 - BEFORE_T0, (), hooks, &Arc::default());
        sim.run()?;
        let named = sim.tasks().iter().enumerate().map(|(i, t)| (t.name.clone(), TaskId::new(i))).collect();
        Ok((sim.into_kernel(), named))
    }

    fn simulation<O: Observer, H: Hooks>(
        &self,
        machine: &CaptureMachine,
        seed: u32,
        end: Instant,
        observer: O,
        hooks: H,
        used: &Arc<Ledger>,
    ) -> Simulation<O, H> {
        let (objects, handles) = objects(&self.capture.spec);
        let shared = Arc::new(self.shared(machine, seed, handles, used));
        let mut config = MachineConfig::new(machine.costs(self.capture.spec.slack));
        let since_tick = self.capture.clock.since_tick(self.capture.clock.t0_ns).unwrap_or(0);
        let tick = self.kernel.tick_ns();
        // The emulator of the lab counts instructions, whichever CPU executes them.
        config.shared_rate = self.kernel.cpus > 1;
        config.tick_phase = Nanos((self.t0.0 + tick - since_tick % tick) % tick);
        if self.kernel.cpus > 1 {
            config.tick_scatter = EMULATOR_SLICE;
            config.kept_ticks = before_the_driver(self.kernel.cpus, seed);
            config.kept_ticks.extend(shown(self.capture, |stamp| self.to_sim(stamp)));
        }
        let kernel = self.kernel.clone();
        let duration = Some(Nanos(end.0));
        let config = SimConfig { kernel, machine: config, duration, limits: Limits::default() };
        let mut sim = Simulation::with_hooks(config, objects, observer, hooks);
        sim.seed(seed.into());
        let groups = add_groups(&self.capture.spec, |above, shares| sim.add_group(above, shares, false));
        let background = background(self.capture, |stamp| self.to_sim(stamp));
        let follow = |(cpu, spec): &(_, _)| background.follows_exits(*cpu, spec);
        let following: Vec<bool> = background.threads.iter().map(follow).collect();
        for ((cpu, spec), follows) in background.threads.into_iter().zip(following) {
            let thread = sim.add_task(spec);
            if let Some(cpu) = cpu.filter(|_| follows) {
                sim.wake_after_exits(cpu, thread);
            }
        }
        let costs = DriverCosts { child_to_sleep: CHILD_TO_SLEEP, reap: REAP, fork: self.driver_forks };
        let driver = |free| driver(&self.capture.spec, &groups, &shared, self.t0, costs, free);
        let mut first = TaskSpec {
            name: "wl".to_owned(),
            path: "wl".to_owned(),
            start: Instant::ZERO + self.driver_starts(),
            nice: 0,
            policy: Policy::Normal,
            affinity: None,
            group: GroupId::ROOT,
            program: Box::new(|_: &_| Action::Exit),
        };
        if self.kernel.cpus == 1 {
            first.program = driver(None);
        } else {
            // Where the driver is, and that it was forked a moment ago, matters to where its children go.
            first.affinity = Some(CpuMask::one(self.driver_cpu()));
            (first.name, first.path) = ("sh".to_owned(), "sh".to_owned());
            first.program = shell(driver(Some(CpuMask::first(self.kernel.cpus))));
        }
        sim.add_task(first);
        sim
    }

    /// When the driver starts.
    fn driver_starts(&self) -> Nanos {
        if self.kernel.cpus == 1 { BEFORE } else { boot_ends() }
    }

    /// Where the driver was when it forked its first task.
    fn driver_cpu(&self) -> CpuId {
        let events = &self.capture.trace.events;
        let fork = events.iter().find(|e| matches!(e.kind, TraceKind::Fork { .. }));
        fork.map_or(CpuId(0), |e| CpuId(e.cpu.min(self.kernel.cpus - 1)))
    }

    /// A trace stamp in simulated time, if it lies after the start of the trace.
    fn to_sim(&self, stamp: u64) -> Option<Instant> {
        let from_t0 = stamp as i64 - self.capture.clock.t0_ns as i64;
        self.t0.0.checked_add_signed(from_t0).map(Instant)
    }

    fn shared(
        &self,
        machine: &CaptureMachine,
        seed: u32,
        objects: Vec<Handle>,
        used: &Arc<Ledger>,
    ) -> Shared {
        let spec = &self.capture.spec;
        Shared {
            objects,
            limit: spec.limit.map_or(Instant::NEVER, |ns| self.t0 + Nanos(ns)),
            run_overshoot: Nanos(machine.run_overshoot_ns),
            run_scatter: self.run_scatter,
            seed: u64::from(seed),
            corrections: Arc::clone(&self.corrections),
            forking: Arc::clone(&self.forking),
            used: Arc::clone(used),
            by_loops: spec.clock == Clock::Loops,
            loops_per_us: self.capture.result.loops_per_us,
            getppid: GETPPID,
        }
    }
}

/// A child's path from its last change of priority into its sleep: where the driver's forks are traced, a child blocks
/// 6 µs after its set-up, of which the sleep call itself takes 2.
const CHILD_TO_SLEEP: Nanos = Nanos::from_micros(4);
/// The driver's turn at a child's end is 10–13 µs, switch and return included.
const REAP: Nanos = Nanos::from_micros(6);
/// One `getppid` at one instruction per ns: an assumption.
const GETPPID: Nanos = Nanos(250);

fn t0(spec: &Spec, before: Nanos) -> Instant {
    let per_task = Nanos::from_millis(spec.tasks.len() as u64);
    Instant::ZERO + before + Nanos(spec.lead) + per_task + PHASE_WAIT
}
