//! When ticks come: on a common grid, a little scattered, and on idle CPUs only where they are kept. Deviates: D-150.

use super::Simulation;
use super::queue::Happening;
use crate::id::CpuId;
use crate::kernel::hooks::Hooks;
use crate::machine::{KeptTicks, MachineConfig};
use crate::observe::Observer;
use crate::rng::{Stream, stream};
use crate::time::{Instant, Nanos};
use rand::Rng;

/// What decides on the ticks of one CPU beside the grid.
#[derive(Debug)]
pub(super) struct Ticks {
    scatter: Stream,
    /// Idle, it ticks on in these spans, in order of time.
    kept: Vec<KeptTicks>,
}

impl Ticks {
    /// Those of each of `cpus` CPUs.
    pub(super) fn of(machine: &MachineConfig, cpus: u32, seed: u64) -> Vec<Ticks> {
        let of_cpu = |cpu: CpuId| {
            let mut kept: Vec<KeptTicks> =
                machine.kept_ticks.iter().copied().filter(|k| k.cpu == cpu).collect();
            kept.sort_unstable_by_key(|k| k.from);
            Ticks { scatter: stream(seed, &format!("cpu{}", cpu.0), "tick"), kept }
        };
        (0..cpus).map(CpuId).map(of_cpu).collect()
    }

    fn keeps(&self, at: Instant) -> bool {
        let after = self.kept.partition_point(|k| k.from <= at);
        self.kept[..after].last().is_some_and(|k| at < k.until)
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// The first point of a CPU's grid after now, as its interrupt handlers see it.
    ///
    /// Mirrors: `tick_nohz_restart()`; `skew_tick`; core.md §11.
    fn next_tick(&self, cpu: CpuId) -> Instant {
        let period = self.config.kernel.tick_ns();
        let skew = if self.config.kernel.skew_tick {
            u64::from(cpu.0) * (period / 2 / u64::from(self.config.kernel.cpus))
        } else {
            0
        };
        let phase = (self.config.machine.tick_phase.0 + skew) % period;
        let since = self.now.0.saturating_sub(self.cost().timer_irq.0);
        Instant(if since < phase { phase } else { phase + ((since - phase) / period + 1) * period })
    }

    /// Arms a CPU's tick. The handler comes `timer_irq` after the grid's point, or somewhat later.
    pub(super) fn arm_tick(&mut self, cpu: CpuId) {
        let at = self.next_tick(cpu) + self.cost().timer_irq;
        let most = self.config.machine.tick_scatter;
        let scatter = if most.is_zero() {
            0
        } else {
            self.ticks[cpu.index()].scatter.next_u64() % most.0.saturating_add(1).max(1)
        };
        let at = at + Nanos(scatter);
        let c = &mut self.cpus[cpu.index()];
        c.tick_generation = c.tick_generation.wrapping_add(1);
        let generation = c.tick_generation;
        c.tick_at = at;
        self.queue.push(at.max(self.now), Happening::Tick { cpu, generation });
    }

    /// The tick of a CPU without idle states is not stopped in idle before its next point. Without kept ticks it always is.
    pub(super) fn keeps_tick(&self, cpu: CpuId) -> bool {
        let ticks = &self.ticks[cpu.index()];
        !ticks.kept.is_empty() && self.idle.is_none() && ticks.keeps(self.next_tick(cpu))
    }

    /// After a tick: the next one, unless the CPU idles and does not keep it. Idle loops stop their own.
    pub(super) fn continue_ticks(&mut self, cpu: CpuId) {
        let rq = self.kernel.rq(cpu);
        let busy = rq.curr.is_some() || rq.need_resched;
        if busy || !self.config.kernel.nohz || self.idle.is_some() || self.keeps_tick(cpu) {
            self.arm_tick(cpu);
        } else {
            self.kernel.tick_nohz_stop(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Limits, SimConfig};
    use crate::id::GroupId;
    use crate::kernel::{KernelConfig, Policy, Profile};
    use crate::machine::{Costs, Preset};
    use crate::observe::{Event, IdleType};
    use crate::program::{Action, Objects, TaskSpec, Work};

    /// Attempts of idle CPUs to balance, and ticks' switches between two hogs, by time.
    #[derive(Default)]
    struct Seen {
        attempts: u32,
        switches: Vec<u64>,
    }

    impl Observer for Seen {
        fn event(&mut self, at: Instant, event: &Event) {
            match event {
                Event::LoadBalance { idle: IdleType::Idle, .. } => self.attempts += 1,
                Event::Switch { prev: Some(_), next: Some(_), .. } => self.switches.push(at.0),
                _ => {}
            }
        }
    }

    fn run(cpus: u32, hogs: u32, change: impl Fn(&mut MachineConfig)) -> Seen {
        let mut machine = MachineConfig::new(Costs::preset(Preset::Zero));
        change(&mut machine);
        let kernel = KernelConfig::new(Profile::by_name("5.4").expect("a profile"), cpus);
        let config = SimConfig { kernel, machine, duration: None, limits: Limits::default() };
        let mut sim = Simulation::new(config, Objects::default(), Seen::default());
        for i in 0..hogs {
            let mut actions = [Action::Run(Work::CpuTime(Nanos::from_millis(18)))].into_iter();
            let program = move |_: &_| actions.next().unwrap_or(Action::Exit);
            sim.add_task(TaskSpec {
                name: format!("hog{i}"),
                path: format!("hog{i}"),
                start: Instant::ZERO,
                nice: 0,
                policy: Policy::Normal,
                affinity: None,
                group: GroupId::ROOT,
                program: Box::new(program),
            });
        }
        sim.run().expect("it ends");
        sim.observer
    }

    #[test]
    fn an_idle_cpu_that_keeps_its_tick_balances_for_itself() {
        assert_eq!(run(2, 1, |_| {}).attempts, 0);
        let span = |from, until| KeptTicks {
            cpu: CpuId(1),
            from: Instant::ZERO + Nanos::from_millis(from),
            until: Instant::ZERO + Nanos::from_millis(until),
        };
        // Ticks at 4, 8 and 12 ms: the idle interval is one of them.
        assert_eq!(run(2, 1, |m| m.kept_ticks = vec![span(0, 13)]).attempts, 3);
        assert_eq!(
            run(2, 1, |m| m.kept_ticks = vec![span(0, 5), span(12, 13)]).attempts,
            1,
            "stopped is stopped"
        );
    }

    #[test]
    fn scattered_ticks_come_late_by_chance() {
        let late = |most: u64| {
            let seen = run(1, 2, |m| m.tick_scatter = Nanos(most));
            seen.switches.iter().map(|at| at % 4_000_000).filter(|ns| *ns < 1_000_000).collect::<Vec<u64>>()
        };
        assert!(late(0).iter().all(|ns| *ns == 0) && !late(0).is_empty());
        let scattered = late(20_000);
        assert!(
            scattered.iter().all(|ns| *ns <= 20_000) && scattered.iter().any(|ns| *ns > 0),
            "{scattered:?}"
        );
    }
}
