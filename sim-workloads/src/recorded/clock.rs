//! When the recorded kernel's ticks came: tasks that lose the CPU though nobody was woken lost it to a tick, and kernel
//! threads' timers run in the softirq behind it.

use super::event::Context;
use std::collections::BTreeMap;

/// A switch this long after the last wake-up on its CPU was not caused by it.
const UNPROVOKED_NS: u64 = 50_000;
/// The most stamps kept.
const MAX_STAMPS: usize = 10_000;
/// What the path from a tick to its switch may vary.
const WIDTH_NS: u64 = 40_000;
/// Fewer stamps tell no frequency: a few fit one by chance.
const FEWEST: usize = 9;

/// Stamps behind ticks.
#[derive(Debug, Default)]
pub(super) struct Preemptions {
    woken: BTreeMap<u32, u64>,
    switches: Vec<u64>,
    softirqs: Vec<u64>,
}

/// The recorded kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) hz: u32,
    /// A switch caused by a tick, modulo the period; ns of the trace's clock.
    pub(super) switch_ns: u64,
}

/// From a tick to the switch it causes. Not zero: a tick that comes after a whole number of periods since the switch would find
/// the slice used up that a real one just misses. 2 us is the bare-metal cost of that name.
pub(super) const TICK_TO_SWITCH_NS: u64 = 2_000;

impl Ticks {
    pub(super) fn period(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }

    /// A tick, modulo the period.
    pub(super) fn tick_ns(&self) -> u64 {
        (self.switch_ns + self.period() - TICK_TO_SWITCH_NS) % self.period()
    }
}

/// `CONFIG_HZ` as kernels have it, the longest period first: stamps that fit it fit shorter ones, too.
const HZ: [u32; 4] = [100, 250, 300, 1000];

impl Preemptions {
    pub(super) fn wake(&mut self, cpu: u32, at: u64, context: Context) {
        self.woken.insert(cpu, at);
        if context == Context::Softirq && self.softirqs.len() < MAX_STAMPS {
            self.softirqs.push(at);
        }
    }

    /// A task gave way, still runnable.
    pub(super) fn switch(&mut self, cpu: u32, at: u64) {
        let woken = self.woken.get(&cpu).is_some_and(|woken| at.saturating_sub(*woken) < UNPROVOKED_NS);
        if !woken && self.switches.len() < MAX_STAMPS {
            self.switches.push(at);
        }
    }

    /// The ticks, at a given or any usual frequency.
    pub(super) fn ticks(&self, hz: Option<u32>) -> Option<Ticks> {
        let candidates = hz.as_ref().map_or(&HZ[..], std::slice::from_ref);
        [&self.switches, &self.softirqs].iter().find_map(|stamps| {
            let enough = hz.is_some() || stamps.len() >= FEWEST;
            candidates.iter().filter(|_| enough).find_map(|hz| {
                let switch_ns = densest(stamps, 1_000_000_000 / u64::from(*hz))?;
                Some(Ticks { hz: *hz, switch_ns })
            })
        })
    }
}

/// The first stamp, modulo the period, of the stretch of [`WIDTH_NS`] with most stamps, if that is four in five.
fn densest(stamps: &[u64], period: u64) -> Option<u64> {
    let mut phases: Vec<u64> = stamps.iter().map(|at| at % period).collect();
    phases.sort_unstable();
    let n = phases.len();
    let phase = |i: usize| phases[i % n] + if i >= n { period } else { 0 };
    let (mut best, mut end) = ((0, 0), 0);
    for (start, first) in phases.iter().enumerate() {
        while end < start + n && phase(end) <= first + WIDTH_NS {
            end += 1;
        }
        best = best.max((end - start, usize::MAX - start));
    }
    let (within, start) = (best.0, usize::MAX - best.1);
    (n > 0 && within * 5 >= n * 4).then(|| phases[start])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(stamps: impl Iterator<Item = u64>) -> Preemptions {
        let mut seen = Preemptions::default();
        stamps.for_each(|at| seen.switch(0, at));
        seen
    }

    #[test]
    fn finds_the_grid_and_its_frequency() {
        let grid = |period: u64| (0..20).map(move |i| 7_000_100 + i * period + i % 3 * 1_000);
        for hz in HZ {
            let found = seen(grid(1_000_000_000 / u64::from(hz)));
            let period = 1_000_000_000 / u64::from(hz);
            assert_eq!(found.ticks(None).map(|t| t.hz), Some(hz));
            assert_eq!(found.ticks(Some(hz)), Some(Ticks { hz, switch_ns: 7_000_100 % period }), "{hz}");
        }
        assert_eq!(seen((0..20).map(|i| i * i * 1_234_567)).ticks(None), None);
        assert_eq!(seen(grid(4_000_000).take(8)).ticks(None), None);
        assert!(seen(grid(4_000_000).take(1)).ticks(Some(250)).is_some());
        // A grid around the end of the period.
        let around = (1..20).map(|i| i * 4_000_000 + if i % 2 == 0 { 1_000 } else { 0 } - 500);
        assert_eq!(seen(around).ticks(Some(250)).map(|t| t.switch_ns), Some(3_999_500));
    }

    #[test]
    fn preemptions_by_wakeups_do_not_count() {
        let mut seen = Preemptions::default();
        for i in 0..10 {
            seen.wake(0, i * 4_000_000 + 77_000, Context::Interrupt);
            seen.switch(0, i * 4_000_000 + 79_000);
        }
        assert_eq!(seen.ticks(Some(250)), None);
    }
}
