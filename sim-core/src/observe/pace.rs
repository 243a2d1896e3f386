//! How fast work went, and why: clocks, shared cores, cold caches, instructions per cycle.

use super::{Event, Observer, Progress};
use crate::id::TaskId;
use crate::machine::cache::RefillReason;
use crate::machine::{FULL_SPEED, IpcConfig, MachineConfig, WorkClass};
use crate::time::{Instant, Nanos};

/// Sums over pieces of work, of a task, a CPU or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaceSums {
    /// Time at work: CPU time but for switches and interrupts.
    pub time: Nanos,
    /// Of it, with another thread of the core busy.
    pub shared: Nanos,
    /// Of it, while loading the working set.
    pub cold: Nanos,
    /// Work of each class, in parts of [`FULL_SPEED`] per ns.
    work: [u128; 2],
    /// kHz times ns.
    cycles: u128,
}

impl PaceSums {
    fn add(&mut self, class: WorkClass, time: Nanos, pace: &Progress) {
        self.time += time;
        self.shared += if pace.shared { time } else { Nanos::ZERO };
        self.cold += if pace.cold { time } else { Nanos::ZERO };
        self.work[class as usize] += u128::from(time.0) * u128::from(pace.speed);
        self.cycles += u128::from(time.0) * u128::from(pace.khz);
    }

    /// Adds up.
    pub fn merge(&mut self, other: &PaceSums) {
        self.time += other.time;
        self.shared += other.shared;
        self.cold += other.cold;
        self.work.iter_mut().zip(other.work).for_each(|(sum, work)| *sum += work);
        self.cycles += other.cycles;
    }

    /// Mean clock at work, kHz.
    pub fn mean_khz(&self) -> Option<f64> {
        (self.time > Nanos::ZERO).then(|| self.cycles as f64 / self.time.0 as f64)
    }

    /// Work done, in ns at full speed.
    pub fn work(&self) -> Nanos {
        let work = self.work.iter().sum::<u128>() / u128::from(FULL_SPEED);
        Nanos(u64::try_from(work).unwrap_or(u64::MAX))
    }
}

/// Refills of one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refills {
    /// How many.
    pub count: u64,
    /// Bytes to be loaded.
    pub bytes: u64,
    /// Time that costs, if each is carried through.
    pub lost: Nanos,
}

/// Collects [`PaceSums`] and refills from the end of a warm-up on.
#[derive(Clone, Debug)]
pub struct PaceMetrics {
    warmup: Instant,
    ipc: IpcConfig,
    max_khz: u32,
    /// By task.
    pub tasks: Vec<PaceSums>,
    /// By CPU number.
    pub cpus: Vec<PaceSums>,
    /// Time at work at each clock, kHz, over all CPUs.
    pub clocks: Vec<(u32, Nanos)>,
    /// By reason, as [`RefillReason::ALL`].
    pub refills: [Refills; RefillReason::ALL.len()],
}

impl PaceMetrics {
    /// Starts counting at `warmup`, on a machine with CPUs numbered below `cpus`.
    pub fn new(warmup: Nanos, machine: &MachineConfig, cpus: usize) -> PaceMetrics {
        PaceMetrics {
            warmup: Instant(warmup.0),
            ipc: machine.ipc,
            max_khz: machine.frequency.max_khz(),
            tasks: Vec::new(),
            cpus: vec![PaceSums::default(); cpus],
            clocks: Vec::new(),
            refills: Default::default(),
        }
    }

    /// Everything together.
    pub fn total(&self) -> PaceSums {
        let mut all = PaceSums::default();
        self.cpus.iter().for_each(|c| all.merge(c));
        all
    }

    /// Instructions per cycle: work done for the cycles it took, where a class's work at full speed has the class's own figure.
    pub fn ipc(&self, sums: &PaceSums) -> Option<f64> {
        let ipc = |class: WorkClass| f64::from(self.ipc.of(class)) / 1000.0;
        let classes = [WorkClass::Compute, WorkClass::Memory];
        let work: f64 = classes.map(|class| sums.work[class as usize] as f64 * ipc(class)).iter().sum();
        let cycles = sums.cycles as f64 * f64::from(FULL_SPEED);
        (sums.cycles > 0).then(|| work * f64::from(self.max_khz) / cycles)
    }

    fn progress(&mut self, at: Instant, cpu: usize, task: TaskId, class: WorkClass, pace: &Progress) {
        let time = pace.time.min(at.saturating_since(self.warmup));
        if time.is_zero() {
            return;
        }
        self.tasks[task.index()].add(class, time, pace);
        self.cpus[cpu].add(class, time, pace);
        match self.clocks.iter_mut().find(|(khz, _)| *khz == pace.khz) {
            Some((_, sum)) => *sum += time,
            None => self.clocks.push((pace.khz, time)),
        }
    }
}

impl Observer for PaceMetrics {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Fork { .. } => self.tasks.push(PaceSums::default()),
            Event::Progress { cpu, task, class, ref pace } => {
                self.progress(at, cpu.index(), task, class, pace);
            }
            Event::Refill { refill, lost, .. } if at >= self.warmup => {
                let sum = &mut self.refills[refill.reason as usize];
                sum.count += 1;
                sum.bytes += refill.from_llc + refill.from_memory;
                sum.lost += lost;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::CpuId;
    use crate::machine::{Costs, Preset};

    fn piece(time: u64, speed: u32, khz: u32) -> Progress {
        Progress { time: Nanos(time), speed: speed.into(), khz, shared: true, cold: false }
    }

    /// Half the speed at the full clock is half the instructions per cycle; at half the clock it is all of them.
    #[test]
    fn ipc_is_work_by_cycles() {
        let mut machine = MachineConfig::new(Costs::preset(Preset::Zero));
        machine.frequency.turbo_khz = vec![4_000_000];
        machine.ipc = IpcConfig { compute: 2000, memory: 500 };
        let mut m = PaceMetrics::new(Nanos(100), &machine, 1);
        let (cpu, task) = (CpuId(0), TaskId::new(0));
        m.event(Instant(0), &Event::Fork { parent: None, child: task });
        let class = WorkClass::Compute;
        m.event(
            Instant(200),
            &Event::Progress { cpu, task, class, pace: piece(150, FULL_SPEED / 2, 4_000_000) },
        );
        assert_eq!((m.total().time, m.total().shared, m.total().work()), (Nanos(100), Nanos(100), Nanos(50)));
        assert_eq!(m.ipc(&m.tasks[0]), Some(1.0));
        m.event(
            Instant(300),
            &Event::Progress { cpu, task, class, pace: piece(100, FULL_SPEED / 2, 2_000_000) },
        );
        // 100 units of work in 100 + 50 units of cycles.
        assert_eq!(m.ipc(&m.total()), Some(2.0 * 100.0 / 150.0));
        assert_eq!(m.total().mean_khz(), Some(3_000_000.0));
        assert_eq!(m.clocks, [(4_000_000, Nanos(100)), (2_000_000, Nanos(100))]);
    }
}
