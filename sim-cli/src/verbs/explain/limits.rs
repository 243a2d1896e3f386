//! At which value of a tunable a decision would have gone the other way, by the kernel's own arithmetic.

use super::words::exact;
use sim_core::kernel::KernelConfig;
use sim_core::kernel::Policy;
use sim_core::kernel::rules::{NrLatency, Rules};
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::weight::{LoadWeight, calc_delta_fair};
use sim_core::observe::{TickPreempt, TickRule};

/// Values of a tunable with which a decision goes the other way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    AtLeast(u64),
    AtMost(u64),
    Between(u64, u64),
}

impl Reach {
    /// As in `sched_latency_ns <= 3 ms`.
    pub(super) fn of(self, tunable: Tunable) -> String {
        let name = tunable.name();
        match self {
            Reach::AtLeast(ns) => format!("{name} >= {}", exact(ns)),
            Reach::AtMost(ns) => format!("{name} <= {}", exact(ns)),
            Reach::Between(low, high) => format!("{name} from {} to {}", exact(low), exact(high)),
        }
    }
}

/// The values of a tunable nearest to the present one with which `preempts` (or whatever is decided) turns out otherwise.
/// Upwards it must turn once; downwards once down to `low`, below which it may turn back.
pub(super) fn reach(
    kernel: &KernelConfig,
    tunable: Tunable,
    low: u64,
    decided: impl Fn(&Tunables) -> bool,
) -> Option<Reach> {
    let (tunables, rules) = (&kernel.tunables, &kernel.rules);
    let as_it_is = decided(tunables);
    let other = |value: u64| {
        let mut written = tunables.clone();
        written.write(rules, tunable, value).is_ok() && decided(&written) != as_it_is
    };
    let (least, most) = Tunables::range(rules, tunable);
    let (present, low) = (tunables.get(tunable), low.max(least));
    if present < most && other(most) {
        return Some(Reach::AtLeast(edge(present, most, other)));
    }
    if low < present && other(low) {
        let high = edge(low, present, |value| !other(value)) - 1;
        return Some(if other(least) { Reach::AtMost(high) } else { Reach::Between(low, high) });
    }
    None
}

/// The smallest value above `no` for which `is_so` holds; it holds for `yes` and, once it does, for all up to there.
fn edge(mut no: u64, mut yes: u64, is_so: impl Fn(u64) -> bool) -> u64 {
    while yes - no > 1 {
        let middle = no + (yes - no) / 2;
        if is_so(middle) { yes = middle } else { no = middle }
    }
    yes
}

/// The present value and below: the latency of a period that is not stretched must hold all tasks, or `sched_nr_latency`
/// falls below their number, where it follows.
pub(super) fn lowest(kernel: &KernelConfig, tunable: Tunable, nr: u32) -> u64 {
    let t = &kernel.tunables;
    let follows = kernel.rules.nr_latency == NrLatency::Tracks && u64::from(nr) <= t.nr_latency;
    if tunable == Tunable::Latency && follows {
        u64::from(nr.saturating_sub(1)) * t.min_granularity_ns + 1
    } else {
        0
    }
}

/// A task's weight with the inverse of the kernel's table; a group's is computed by division.
pub(super) fn load_of(weight: u64, is_task: bool) -> LoadWeight {
    let of_nice = (-20..=19).map(|nice| LoadWeight::of_task(nice, Policy::Normal));
    let mut of_task = of_nice.chain([LoadWeight::of_task(0, Policy::Idle)]);
    of_task.find(|l| is_task && l.weight == weight).unwrap_or(LoadWeight::of_load(weight))
}

/// The wakeup granularity in the units of a weight, ns.
pub(super) fn wakeup_granularity(t: &Tunables, rules: &Rules, load: LoadWeight) -> u64 {
    calc_delta_fair(t.wakeup_granularity_ns, &mut { load }, rules.scale_load_floor)
}

/// Whether a tick would take the CPU under these tunables, everything else being as it was.
pub(super) fn tick_preempts(d: &TickPreempt, t: &Tunables, rules: &Rules) -> bool {
    let share = |slice, load: u64, weight| {
        LoadWeight::of_load(load).calc_delta(slice, weight, rules.scale_load_floor)
    };
    let own = share(t.period(u64::from(d.period_nr)), d.load, d.weight);
    let slice = d.above.levels().iter().fold(own, |slice, s| share(slice, s.load, s.weight));
    let slice = slice.max(t.slice_floor(d.floor));
    if d.rule == TickRule::Hrtick {
        return d.ran.0 >= slice;
    }
    let slice = if rules.slice_capped_by_latency { slice.min(t.latency_ns) } else { slice };
    TickRule::of_tick(d.ran.0, slice, t.min_granularity_ns, d.left.map(|_| d.lead)).preempts()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::kernel::Profile;

    fn kernel(profile: &str) -> KernelConfig {
        KernelConfig::new(Profile::by_name(profile).expect("a profile"), 8)
    }

    #[test]
    fn finds_the_edge() {
        let k = kernel("6.1");
        let reach = |edge: u64, up: bool| {
            reach(&k, Tunable::WakeupGranularity, 0, |t| (t.wakeup_granularity_ns >= edge) == up)
        };
        for up in [true, false] {
            assert_eq!(reach(4_000_001, up), Some(Reach::AtLeast(4_000_001)));
            assert_eq!(reach(u64::from(u32::MAX), up), Some(Reach::AtLeast(u64::from(u32::MAX))));
            assert_eq!(reach(4_000_000, up), Some(Reach::AtMost(3_999_999)));
            assert_eq!(reach(1, up), Some(Reach::AtMost(0)));
            assert_eq!(reach(0, up), None);
        }
        // Up to 5.12 the file takes 1 s at most.
        let old = kernel("5.10");
        let beyond =
            super::reach(&old, Tunable::WakeupGranularity, 0, |t| t.wakeup_granularity_ns > 1_000_000_000);
        assert_eq!(beyond, None);
    }

    #[test]
    fn granularity_is_scaled_by_the_wakee() {
        let k = kernel("6.1");
        let load = LoadWeight::of_task(5, Policy::Normal);
        assert_eq!(load_of(load.weight, true), load);
        // 4 ms are 12 226 865 ns in the units of nice 5 (core.md, table of weights).
        assert_eq!(wakeup_granularity(&k.tunables, &k.rules, load), 12_226_865);
    }
}
