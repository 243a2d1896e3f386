//! How fast work goes on a CPU: the planned speed, the CPU's capacity, its clock, busy sibling threads and cold caches,
//! multiplied. Whenever one of them changes, the running burst is credited first and its end foreseen anew after: work is
//! integrated exactly over pieces of constant speed.

mod clock;
mod cpufreq;
mod warmth;

use super::Simulation;
use crate::id::{CpuId, TaskId};
use crate::kernel::Switch;
use crate::kernel::hooks::Hooks;
use crate::machine::cache::{Levels, Place};
use crate::machine::topology::Topology;
use crate::machine::{CAPACITY_SCALE, FULL_SPEED, MachineConfig, WorkClass, WorkKind};
use crate::observe::{Event, Observer, Progress};
use crate::time::{Instant, Nanos};
use clock::{Clock, CoreClock, PackageClock};
use warmth::Warmth;

/// What decides on the speed of all CPUs.
#[derive(Debug)]
pub(super) struct Pace {
    /// Whether anything but plan and capacity does.
    on: bool,
    /// By CPU number.
    cpus: Vec<CpuPace>,
    cores: Vec<CorePace>,
    packages: Vec<PackageClock>,
    caches: Levels,
}

/// One CPU.
#[derive(Debug)]
struct CpuPace {
    /// Planned speed and capacity, each of [`CAPACITY_SCALE`].
    planned: u32,
    capacity: u32,
    place: Place,
    package: u32,
    /// Class of the running task; none when idle.
    class: Option<WorkClass>,
    clock: Clock,
    warmth: Warmth,
    /// What held since the burst was last credited, for reports.
    terms: Terms,
}

/// What a CPU works with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Terms {
    khz: u32,
    /// Whether another thread of its core is busy.
    shared: bool,
}

/// One core.
#[derive(Debug, Default)]
struct CorePace {
    threads: Vec<CpuId>,
    /// Threads that run a task.
    busy: u32,
    clock: CoreClock,
}

impl Pace {
    pub(super) fn new(topology: &Topology, config: &MachineConfig) -> Pace {
        let cpu = |i| {
            let place = Place::of(topology, CpuId::new(i));
            let known = topology.cpu(CpuId::new(i));
            CpuPace {
                planned: CAPACITY_SCALE,
                capacity: known.map_or(CAPACITY_SCALE, |c| c.capacity),
                place,
                package: known.map_or(0, |c| c.package),
                class: None,
                clock: Clock::new(&config.frequency),
                warmth: Warmth::default(),
                terms: Terms::default(),
            }
        };
        let core = |i: usize| CorePace {
            threads: topology.cores()[i].iter().filter(|c| topology.online().contains(*c)).collect(),
            busy: 0,
            clock: CoreClock::new(&config.frequency),
        };
        let cores: Vec<CorePace> = (0..topology.cores().len()).map(core).collect();
        Pace {
            on: config.has_pace(),
            cpus: (0..topology.nr_cpu_ids()).map(cpu).collect(),
            packages: PackageClock::all(topology, &config.frequency),
            cores,
            caches: Levels::new(topology),
        }
    }

    fn core_of(&self, cpu: CpuId) -> usize {
        self.cpus[cpu.index()].place.core as usize
    }

    fn terms(&self, cpu: CpuId) -> Terms {
        let core = &self.cores[self.core_of(cpu)];
        Terms { khz: core.clock.khz, shared: core.busy > 1 }
    }

    /// The speed of a CPU as all factors stand, in parts of [`FULL_SPEED`] per ns.
    pub(super) fn speed(&self, cpu: CpuId, config: &MachineConfig) -> u64 {
        let c = &self.cpus[cpu.index()];
        let exact = FULL_SPEED / CAPACITY_SCALE;
        let bare =
            u64::from(c.planned) * u64::from(c.capacity) * u64::from(exact) / u64::from(CAPACITY_SCALE);
        let Some(class) = c.class.filter(|_| self.on) else { return bare.max(1) };
        let core = &self.cores[c.place.core as usize];
        let smt = config.smt.factor(class, core.busy);
        let factors = [core.clock.factor(&config.frequency), smt, c.warmth.factor(&config.cache)];
        let scaled = factors.iter().fold(u128::from(bare), |s, f| s * u128::from(*f));
        u64::try_from(scaled >> (3 * FULL_SPEED.trailing_zeros())).unwrap_or(u64::MAX).max(1)
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Says what kind of work a task does; its children to come do the same.
    pub fn set_work_kind(&mut self, task: TaskId, kind: WorkKind) {
        self.tasks[task.index()].kind = kind;
    }

    /// The planned speed of a CPU changes.
    pub(super) fn plan_speed(&mut self, cpu: CpuId, planned: u32) {
        self.pace.cpus[cpu.index()].planned = planned.max(1);
        self.respeed(cpu);
    }

    /// A factor of a CPU's speed may have changed.
    fn respeed(&mut self, cpu: CpuId) {
        let (speed, terms) = (self.pace.speed(cpu, &self.config.machine), self.pace.terms(cpu));
        if self.cpus[cpu.index()].speed == speed && self.pace.cpus[cpu.index()].terms == terms {
            return;
        }
        self.sync_burst(cpu);
        self.pace.cpus[cpu.index()].terms = terms;
        self.cpus[cpu.index()].speed = speed;
        self.project(cpu);
    }

    /// Credits what depends on how long a task has worked: its clock cycles, the loading of its working set. `done` ends now
    /// and the CPU's speed was the same all along.
    pub(super) fn credit(&mut self, cpu: CpuId, task: TaskId, done: Nanos) {
        if !self.pace.on || done.is_zero() {
            return;
        }
        let c = &mut self.pace.cpus[cpu.index()];
        let Terms { khz, shared } = c.terms;
        c.clock.counters.count(done.0, khz, self.config.machine.frequency.base_khz);
        let cold = c.warmth.pass(done);
        let speed = self.cpus[cpu.index()].speed;
        let class = self.tasks[task.index()].kind.class;
        let pace = Progress { time: done, speed, khz, shared, cold };
        self.observer.event(self.now, &Event::Progress { cpu, task, class, pace });
    }

    /// A CPU switched. Its own burst has been credited and is foreseen anew by the caller.
    pub(super) fn pace_switched(&mut self, cpu: CpuId, s: Switch) {
        if !self.pace.on {
            return;
        }
        self.leave_caches(cpu, s.prev);
        self.enter_caches(cpu, s.next);
        self.pace.cpus[cpu.index()].class = s.next.map(|t| self.tasks[t.index()].kind.class);
        let core = self.pace.core_of(cpu);
        match (s.prev, s.next) {
            (None, Some(_)) => {
                self.pace.cores[core].busy += 1;
                self.thread_busy(cpu);
            }
            (Some(_), None) => {
                self.pace.cores[core].busy -= 1;
                self.thread_idle(cpu);
            }
            _ => {}
        }
        self.respeed_core(core);
    }

    /// A factor that the threads of a core share may have changed.
    fn respeed_core(&mut self, core: usize) {
        for i in 0..self.pace.cores[core].threads.len() {
            let thread = self.pace.cores[core].threads[i];
            self.respeed(thread);
        }
    }

    /// When the running burst would end at the present speed, `left` units of work from `from` on.
    pub(super) fn end_of_work(&self, cpu: CpuId, from: Instant, left: u64) -> Instant {
        from.saturating_add(Nanos(left.div_ceil(self.cpus[cpu.index()].speed)))
    }
}
