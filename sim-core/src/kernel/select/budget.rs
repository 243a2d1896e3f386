//! How many CPUs a search for an idle one examines: `SIS_PROP` and `SIS_UTIL`.

use super::rules::{ScanBudget, ScanCostAverage};
use crate::kernel::balance::RqBalance;

/// CPUs that `SIS_PROP` gives a search over `weight` CPUs; one fewer is examined. `idle` is the idle time the searching
/// CPU has for it and `scan_cost` what a search costs on average, both in ns.
///
/// Mirrors: `select_idle_cpu()`, v4.19–v6.5.
pub(super) fn sis_prop(weight: u32, idle: u64, scan_cost: u64) -> u64 {
    let span = u64::from(weight) * idle;
    let cost = scan_cost + 1;
    if span > 4 * cost { span / cost } else { 4 }
}

/// The idle time of a CPU that bounds its searches, ns. Ages `wake_avg_idle`, where it is used, to the present jiffy.
///
/// Mirrors: `select_idle_cpu()`, v4.19–v6.5.
pub(super) fn scan_idle_time(rq: &mut RqBalance, rule: ScanBudget, jiffies: u64) -> u64 {
    match rule {
        ScanBudget::AvgIdle => rq.avg_idle / 512,
        ScanBudget::WakeAvgIdle => {
            while rq.wake_stamp < jiffies && rq.wake_avg_idle > 0 {
                rq.wake_stamp += 1;
                rq.wake_avg_idle >>= 1;
            }
            rq.wake_avg_idle
        }
    }
}

/// Accounts a search that took `time` ns and was not given up.
///
/// Mirrors: the end of `select_idle_cpu()`, v4.19–v6.5.
pub(super) fn account_scan(rq: &mut RqBalance, rule: ScanBudget, average: ScanCostAverage, time: u64) {
    if rule == ScanBudget::WakeAvgIdle {
        rq.wake_avg_idle = rq.wake_avg_idle.saturating_sub(time);
    }
    let difference = time.wrapping_sub(rq.avg_scan_cost).cast_signed();
    let eighth = match average {
        ScanCostAverage::Shift => difference >> 3,
        ScanCostAverage::Divide => difference / 8,
    };
    rq.avg_scan_cost = rq.avg_scan_cost.wrapping_add_signed(eighth);
}

/// CPUs a search may examine in a last-level cache of `weight` CPUs with this summed utilisation (`SIS_UTIL`).
///
/// Mirrors: `update_idle_cpu_scan()`, v6.0–v6.5.
pub(in crate::kernel) fn nr_idle_scan(util_sum: u64, weight: u32, imbalance_pct: u32) -> u32 {
    let (full, weight, pct) = (1024, u64::from(weight), u64::from(imbalance_pct));
    let x = util_sum / weight;
    let busy = (x * x * pct * pct / (10_000 * full)).min(full);
    u32::try_from((full - busy) * weight / full).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(avg_idle: u64, wake_avg_idle: u64, avg_scan_cost: u64) -> RqBalance {
        let mut rq = RqBalance::new();
        (rq.avg_idle, rq.wake_avg_idle, rq.avg_scan_cost) = (avg_idle, wake_avg_idle, avg_scan_cost);
        rq
    }

    /// smp.md §3.5: (weight, avg_idle, avg_scan_cost) → (n, examined).
    #[test]
    fn sis_prop_by_average_idle_time() {
        let vectors = [
            (12, 1_000_000, 1000, 23, 12),
            (12, 500_000, 2000, 5, 4),
            (12, 100_000, 1000, 4, 3),
            (12, 20_000, 500, 4, 3),
            (64, 1_000_000, 5000, 24, 23),
            (8, 1_000_000, 500, 31, 8),
        ];
        for (weight, avg_idle, avg_scan_cost, n, examined) in vectors {
            let mut rq = cpu(avg_idle, 0, avg_scan_cost);
            let idle = scan_idle_time(&mut rq, ScanBudget::AvgIdle, 1000);
            let found = sis_prop(weight, idle, rq.avg_scan_cost);
            assert_eq!((found, (found - 1).min(weight.into())), (n, examined), "{weight} {avg_idle}");
        }
    }

    /// smp.md §3.5, 5.13+ with wake_avg_idle.
    #[test]
    fn sis_prop_by_aged_idle_time() {
        let vectors =
            [(12, 500_000, 1000, 5994), (12, 300, 1000, 4), (64, 100_000, 5000, 1279), (64, 400, 5000, 5)];
        for (weight, wake_avg_idle, cost, n) in vectors {
            let mut rq = cpu(0, wake_avg_idle, 0);
            rq.wake_stamp = 7;
            let idle = scan_idle_time(&mut rq, ScanBudget::WakeAvgIdle, 7);
            assert_eq!(sis_prop(weight, idle, cost), n, "{weight} {wake_avg_idle}");
        }
    }

    /// patches.md §7: average 400 µs at the wake-up, a search three jiffies later.
    #[test]
    fn idle_time_halves_with_every_jiffy_since_the_wake_up() {
        let mut rq = cpu(0, 200_000, 0);
        rq.wake_stamp = 100;
        assert_eq!(scan_idle_time(&mut rq, ScanBudget::WakeAvgIdle, 103), 25_000);
        assert_eq!(scan_idle_time(&mut rq, ScanBudget::WakeAvgIdle, 103), 25_000, "aged once only");
        assert_eq!(scan_idle_time(&mut rq, ScanBudget::WakeAvgIdle, u64::MAX), 0);
    }

    /// An eighth of −9 is −2 when shifted and −1 when divided.
    #[test]
    fn scan_cost_rounds_by_version() {
        let after = |average, time| {
            let mut rq = cpu(0, 0, 100);
            account_scan(&mut rq, ScanBudget::AvgIdle, average, time);
            rq.avg_scan_cost
        };
        assert_eq!((after(ScanCostAverage::Shift, 91), after(ScanCostAverage::Divide, 91)), (98, 99));
        assert_eq!((after(ScanCostAverage::Shift, 180), after(ScanCostAverage::Divide, 180)), (110, 110));
    }

    #[test]
    fn a_search_takes_from_the_aged_idle_time_only() {
        let after = |rule| {
            let mut rq = cpu(500, 500, 0);
            account_scan(&mut rq, rule, ScanCostAverage::Divide, 600);
            (rq.wake_avg_idle, rq.avg_idle)
        };
        assert_eq!(after(ScanBudget::AvgIdle), (500, 500));
        assert_eq!(after(ScanBudget::WakeAvgIdle), (0, 500));
    }

    /// smp.md §3.5: percent of the cache's CPUs used → CPUs examined.
    #[test]
    fn sis_util_table() {
        let percents = [0, 25, 50, 60, 70, 75, 80, 84, 85, 100];
        let rows = [
            (8, [8, 7, 5, 4, 2, 1, 1, 0, 0, 0]),
            (12, [12, 10, 7, 6, 3, 2, 1, 0, 0, 0]),
            (16, [16, 14, 10, 8, 5, 3, 2, 0, 0, 0]),
            (32, [32, 29, 21, 16, 10, 7, 4, 1, 0, 0]),
            (64, [64, 58, 42, 32, 21, 14, 8, 2, 0, 0]),
        ];
        for (weight, row) in rows {
            let found = percents.map(|p| nr_idle_scan(u64::from(weight) * (1024 * p / 100), weight, 117));
            assert_eq!(found, row, "{weight} CPUs");
        }
    }
}
