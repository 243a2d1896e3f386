//! The rework of load balancing in 5.5: what differs between 5.4, 5.5 and 5.7 on real kernels, and whether the
//! simulator's profiles differ in the same direction.

use super::compare::ManyComparison;
use super::figures::Figures;
use serde::Serialize;

/// The profiles compared, in order.
pub const VERSIONS: [&str; 3] = ["5.4", "5.5", "5.7"];

/// Which captures a quantity is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jobs {
    /// The sum over all jobs whose tasks do not start pinned.
    Free,
    /// One job.
    One(&'static str),
}

/// On which machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    /// On each by itself, where the captures have it.
    Each,
    /// Summed over all.
    All,
    /// Those with several threads per core only.
    Smt,
}

/// How the versions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// 5.5 has more than both others.
    MostOn55,
    /// 5.5 has less than both others.
    LeastOn55,
    /// 5.7 is nearer to 5.4 than to 5.5.
    BackOn57,
    /// 5.5 and 5.7 have more than 5.4.
    MoreFrom55On,
    /// 5.5 and 5.7 have less than 5.4.
    LessFrom55On,
}

impl Order {
    /// Whether values of 5.4, 5.5 and 5.7 are in this order.
    pub fn holds(self, [v54, v55, v57]: [f64; 3]) -> bool {
        match self {
            Order::MostOn55 => v55 > v54 && v55 > v57,
            Order::LeastOn55 => v55 < v54 && v55 < v57,
            Order::BackOn57 => (v57 - v54).abs() < (v57 - v55).abs(),
            Order::MoreFrom55On => v55 > v54 && v57 > v54,
            Order::LessFrom55On => v55 < v54 && v57 < v54,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Order::MostOn55 => "most on 5.5",
            Order::LeastOn55 => "least on 5.5",
            Order::BackOn57 => "back on 5.7",
            Order::MoreFrom55On => "more from 5.5 on",
            Order::LessFrom55On => "less from 5.5 on",
        }
    }
}

/// A quantity of a run.
type Quantity = fn(&Figures) -> f64;

/// The differences that the measurements' own description names.
const DIFFERENCES: [(&str, Jobs, Machine, Order, Quantity); 7] = [
    ("wasted CPU-ms", Jobs::Free, Machine::Each, Order::MostOn55, |f| f.wasted_cpu_ms),
    ("wasted CPU-ms", Jobs::Free, Machine::Each, Order::BackOn57, |f| f.wasted_cpu_ms),
    ("newly idle: no busiest group", Jobs::Free, Machine::Each, Order::MoreFrom55On, |f| {
        f.balanced().newly_idle.no_busiest_group as f64
    }),
    ("newly idle: tasks pulled", Jobs::Free, Machine::All, Order::LeastOn55, |f| {
        f.balanced().newly_idle.moved as f64
    }),
    ("CPUs that new tasks start on", Jobs::Free, Machine::Each, Order::LessFrom55On, |f| {
        f64::from(f.first_cpus)
    }),
    ("busy CPUs: tasks pulled", Jobs::One("hogs_n1"), Machine::Each, Order::LessFrom55On, |f| {
        f.balanced().busy.moved as f64
    }),
    ("ms until n freed hogs have n CPUs", Jobs::One("hogs_cpu0"), Machine::Smt, Order::MostOn55, |f| {
        f.occupied_ms.unwrap_or(f64::INFINITY)
    }),
];

/// A quantity by version, real and simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Direction {
    /// What.
    pub quantity: &'static str,
    /// On machines with so many CPUs; none is all together.
    pub cpus: Option<u32>,
    /// Of which job; none is all whose tasks do not start pinned.
    pub job: Option<&'static str>,
    /// Values of 5.4, 5.5 and 5.7 on real kernels.
    pub real: [f64; 3],
    /// The same in the simulator.
    pub simulated: [f64; 3],
    /// How the versions differ.
    pub order: Order,
    /// Whether that is so on the real kernels.
    pub real_holds: bool,
    /// Whether it is so in the simulator.
    pub simulated_holds: bool,
}

/// A quantity summed over jobs, for the table of totals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Total {
    /// What.
    pub quantity: &'static str,
    /// On machines with so many CPUs.
    pub cpus: u32,
    /// Values of 5.4, 5.5 and 5.7 on real kernels.
    pub real: [f64; 3],
    /// The same in the simulator.
    pub simulated: [f64; 3],
}

/// The quantities of the table of totals.
const TOTALS: [(&str, Quantity); 19] = [
    ("makespan ms", |f| f.makespan_ms),
    ("switches", |f| f.switches as f64),
    ("idle entries", |f| f.idle_entries as f64),
    ("idle entries while a task waits", |f| f.idle_entries_while_waiting as f64),
    ("wake-ups", |f| f.wakeups as f64),
    ("wake-ups on the previous CPU", |f| f.wakeups_on_previous as f64),
    ("wake migrations", |f| f.wake_migrations as f64),
    ("balance migrations", |f| f.balance_migrations as f64),
    ("wasted CPU-ms", |f| f.wasted_cpu_ms),
    ("waiting ms", |f| f.waiting_ms),
    ("newly idle: tries", |f| f.balanced().newly_idle.tries as f64),
    ("newly idle: failed", |f| f.balanced().newly_idle.failed as f64),
    ("newly idle: no busiest group", |f| f.balanced().newly_idle.no_busiest_group as f64),
    ("newly idle: tasks pulled", |f| f.balanced().newly_idle.moved as f64),
    ("busy CPUs: tasks pulled", |f| f.balanced().busy.moved as f64),
    ("idle CPUs: tasks pulled", |f| f.balanced().idle.moved as f64),
    ("running tasks pushed", |f| f.balanced().pushed as f64),
    ("balance tries", |f| f.balanced().all().tries as f64),
    ("CPUs that new tasks start on", |f| f64::from(f.first_cpus)),
];

/// Comparisons with the names of their jobs.
pub type Named<'a> = (&'a str, &'a ManyComparison);

/// The differences between versions; nothing for machines or jobs that some version lacks.
pub fn directions(runs: &[Named<'_>]) -> Vec<Direction> {
    let mut found = Vec::new();
    for (quantity, jobs, machine, order, of) in DIFFERENCES {
        for cpus in machines(runs, machine) {
            let wanted = |(job, c): &Named<'_>| {
                let fits = match jobs {
                    Jobs::Free => !c.starts_pinned,
                    Jobs::One(name) => name == *job,
                };
                fits && cpus.is_none_or(|n| c.cpus.0 == n)
            };
            if let Some([real, simulated]) = by_version(runs, wanted, of) {
                let job = if let Jobs::One(name) = jobs { Some(name) } else { None };
                let (real_holds, simulated_holds) = (order.holds(real), order.holds(simulated));
                found.push(Direction {
                    quantity,
                    cpus,
                    job,
                    real,
                    simulated,
                    order,
                    real_holds,
                    simulated_holds,
                });
            }
        }
    }
    found
}

/// Quantities by version, summed over the jobs whose tasks do not start pinned.
pub fn totals(runs: &[Named<'_>]) -> Vec<Total> {
    let mut found = Vec::new();
    for cpus in machines(runs, Machine::Each).into_iter().flatten() {
        for (quantity, of) in TOTALS {
            let wanted = |(_, c): &Named<'_>| !c.starts_pinned && c.cpus.0 == cpus;
            if let Some([real, simulated]) = by_version(runs, wanted, of) {
                found.push(Total { quantity, cpus, real, simulated });
            }
        }
    }
    found
}

/// The machines of the three versions' captures, by number of CPUs.
fn machines(runs: &[Named<'_>], machine: Machine) -> Vec<Option<u32>> {
    if machine == Machine::All {
        return vec![None];
    }
    let ours = runs.iter().filter(|(_, c)| VERSIONS.contains(&c.profile));
    let smt = ours.filter(|(_, c)| machine == Machine::Each || c.cpus.1 > 1);
    let mut cpus: Vec<Option<u32>> = smt.map(|(_, c)| Some(c.cpus.0)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Sums over the wanted jobs that every version has: real, simulated.
fn by_version(
    runs: &[Named<'_>],
    wanted: impl Fn(&Named<'_>) -> bool,
    of: Quantity,
) -> Option<[[f64; 3]; 2]> {
    let has = |version: &str, job: &str, cpus: (u32, u32)| {
        runs.iter().any(|(j, c)| c.profile == version && *j == job && c.cpus == cpus)
    };
    let everywhere = |(job, c): &&Named<'_>| VERSIONS.iter().all(|v| has(v, job, c.cpus));
    let (mut sums, mut any) = ([[0.0; 3]; 2], false);
    for (_, c) in runs.iter().filter(|r| wanted(r)).filter(everywhere) {
        if let Some(v) = VERSIONS.iter().position(|v| *v == c.profile) {
            sums[0][v] += of(&c.real);
            sums[1][v] += of(&c.free);
            any = true;
        }
    }
    any.then_some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        assert!(Order::MostOn55.holds([1.0, 3.0, 2.0]) && !Order::MostOn55.holds([1.0, 2.0, 2.0]));
        assert!(Order::LeastOn55.holds([3.0, 1.0, 2.0]) && !Order::LeastOn55.holds([3.0, 2.0, 1.0]));
        assert!(Order::BackOn57.holds([1.0, 9.0, 4.0]) && !Order::BackOn57.holds([1.0, 9.0, 6.0]));
        assert!(Order::MoreFrom55On.holds([1.0, 2.0, 3.0]) && !Order::MoreFrom55On.holds([1.0, 2.0, 1.0]));
        assert!(Order::LessFrom55On.holds([3.0, 2.0, 1.0]) && !Order::LessFrom55On.holds([3.0, 3.0, 1.0]));
    }
}
