//! The decision tables of smp.md §9.1, every row on every profile with a column for it. Their values were computed by the
//! kernels' own functions.

use super::detach::{Failures, load_too_large};
use super::rules::BalanceRules;
use super::stats::{DomainStats, Env, GroupStats, find_busiest_group};
use crate::kernel::KernelConfig;
use crate::kernel::version::Profile;
use crate::observe::BalancedBecause;
use crate::observe::IdleType::{self, Idle, NewlyIdle, NotIdle};
use crate::observe::MigrationType::{self, Load, Task, Util};

const UP_TO_5_4: &[&str] = &["4.19", "5.4"];
const V5_5_TO_5_7: &[&str] = &["5.5", "5.6", "5.7"];
const FROM_5_5: &[&str] = &["5.5", "5.6", "5.7", "5.10", "5.12", "5.13", "5.15", "6.1", "6.5"];
const FROM_5_10: &[&str] = &["5.10", "5.12", "5.13", "5.15", "6.1", "6.5"];
const ALL: &[&str] = &["4.19", "5.4", "5.5", "5.6", "5.7", "5.10", "5.12", "5.13", "5.15", "6.1", "6.5"];

/// Tasks of one CPU: how many, and the sums of their signals.
#[derive(Clone, Copy)]
struct Cpu {
    nr: u32,
    util: u64,
    load: u64,
    runnable: u64,
}

const IDLE: Cpu = Cpu { nr: 0, util: 0, load: 0, runnable: 0 };

/// A CPU with `nr` tasks that would always run.
const fn hogs(nr: u32) -> Cpu {
    let n = nr as u64 * 1024;
    Cpu { nr, util: if nr > 0 { 1024 } else { 0 }, load: n, runnable: n }
}

const fn light(nr: u32, util: u64, load: u64, runnable: u64) -> Cpu {
    Cpu { nr, util, load, runnable }
}

/// A level of a machine.
#[derive(Clone, Copy)]
struct Level {
    pct: u64,
    prefer_sibling: bool,
    numa: bool,
    share_cache: bool,
    /// Capacity of one CPU.
    capacity: u64,
    /// CPUs per core.
    threads: u32,
}

const MC: Level =
    Level { pct: 117, prefer_sibling: true, numa: false, share_cache: true, capacity: 1024, threads: 2 };
const SMT: Level = Level { pct: 110, prefer_sibling: false, threads: 1, ..MC };
const MC_WITHOUT_SMT: Level = Level { prefer_sibling: false, threads: 1, ..MC };
const NODES: Level = Level { numa: true, share_cache: false, ..MC };

type Answer = Result<(MigrationType, i64), BalancedBecause>;

/// What `profile` makes of groups of CPUs, the local one first.
fn ask(profile: &str, level: Level, idle: IdleType, groups: &[&[Cpu]]) -> Answer {
    ask_rules(Profile::by_name(profile).unwrap().rules().balance, level, idle, groups)
}

fn ask_rules(rules: BalanceRules, level: Level, idle: IdleType, groups: &[&[Cpu]]) -> Answer {
    let env = Env {
        rules: &rules,
        idle,
        pct: level.pct,
        prefer_sibling: level.prefer_sibling,
        numa: level.numa,
        share_cache: level.share_cache,
        imb_numa_nr: 3,
        // An idle destination has no tasks; a busy one is asked for only where its group has none.
        dst_load_per_task: 0,
    };
    let stats = |cpus: &[Cpu]| {
        let weight = cpus.len() as u32;
        let mut g =
            GroupStats::empty(u64::from(weight) * level.capacity, weight, weight.div_ceil(level.threads));
        g.smt_core = level.threads == 2 && weight == 2;
        for c in cpus {
            g.load += c.load;
            g.plain_load += c.load;
            g.util += c.util.min(level.capacity);
            g.runnable += c.runnable;
            g.nr_running += c.nr;
            g.h_nr_running += c.nr;
            g.idle_cpus += u32::from(c.nr == 0);
        }
        g
    };
    let mut sds = DomainStats::begin(&env, stats(groups[0]));
    for (i, g) in groups.iter().enumerate().skip(1) {
        sds.add(&env, i, &stats(g));
    }
    find_busiest_group(&env, &sds).map(|i| (i.kind, i.amount))
}

/// Cores of an i7-8700: the local one, the loaded one, and four others that are all alike.
fn cores<'a>(local: &'a [Cpu; 2], loaded: &'a [Cpu; 2], others: &'a [Cpu; 2]) -> [&'a [Cpu]; 6] {
    [local, loaded, others, others, others, others]
}

/// The rows do not depend on the order in which the other groups are walked.
fn expect(row: &str, profiles: &[&str], level: Level, idle: IdleType, groups: &[&[Cpu]], want: Answer) {
    let mut reversed = groups.to_vec();
    reversed[1..].reverse();
    for (p, groups) in profiles.iter().flat_map(|p| [(p, groups), (p, &reversed)]) {
        let got = ask(p, level, idle, groups);
        match want {
            // The tables say only that nothing moves.
            Err(_) => assert!(got.is_err(), "{row} on {p}: {got:?}"),
            Ok(_) => assert_eq!(got, want, "{row} on {p}"),
        }
    }
}

const BALANCED: Answer = Err(BalancedBecause::NoBusiest);
const FREE: [Cpu; 2] = [IDLE, IDLE];
const FULL: [Cpu; 2] = [hogs(1), hogs(1)];

#[test]
fn cores_of_one_socket_with_an_idle_destination() {
    let s1 = cores(&FREE, &FULL, &FREE);
    expect("S1", UP_TO_5_4, MC, Idle, &s1, Ok((Load, 1024)));
    expect("S1", FROM_5_5, MC, Idle, &s1, Ok((Task, 1)));
    let smt_gain = Level { capacity: 589, ..MC };
    expect("S1-4.19", &["4.19"], smt_gain, Idle, &s1, Ok((Load, 1024)));
    let three = [hogs(2), hogs(1)];
    let s2 = cores(&FREE, &three, &FREE);
    expect("S2", UP_TO_5_4, MC, Idle, &s2, Ok((Load, 1024)));
    expect("S2", V5_5_TO_5_7, MC, Idle, &s2, Ok((Util, 2048)));
    expect("S2", FROM_5_10, MC, Idle, &s2, Ok((Task, 1)));
    let stacked = [hogs(2), IDLE];
    let s3 = cores(&FREE, &stacked, &FREE);
    expect("S3", UP_TO_5_4, MC, Idle, &s3, Ok((Load, 1024)));
    expect("S3", FROM_5_5, MC, Idle, &s3, Ok((Task, 1)));
    let one = [hogs(1), IDLE];
    expect("S4", ALL, MC, Idle, &cores(&one, &FULL, &one), BALANCED);
    let s5 = cores(&one, &three, &FULL);
    expect("S5", UP_TO_5_4, MC, Idle, &s5, Ok((Load, 1024)));
    expect("S5", V5_5_TO_5_7, MC, Idle, &s5, Ok((Util, 1024)));
    expect("S5", FROM_5_10, MC, Idle, &s5, Ok((Task, 1)));
    let s8_core = [light(1, 200, 200, 200); 2];
    let s8 = cores(&FREE, &s8_core, &FREE);
    expect("S8", UP_TO_5_4, MC, Idle, &s8, Ok((Load, 200)));
    expect("S8", FROM_5_5, MC, Idle, &s8, Ok((Task, 1)));
}

#[test]
fn cores_of_one_socket_with_a_busy_destination() {
    let s6_core = [hogs(2), hogs(1)];
    let s6 = cores(&FULL, &s6_core, &FULL);
    expect("S6", UP_TO_5_4, MC, NotIdle, &s6, Ok((Load, 1024)));
    expect("S6", FROM_5_5, MC, NotIdle, &s6, Ok((Load, 170)));
    let s7_core = [hogs(2), hogs(2)];
    let s7 = cores(&FULL, &s7_core, &FULL);
    expect("S7", UP_TO_5_4, MC, NotIdle, &s7, Ok((Load, 1024)));
    expect("S7", FROM_5_5, MC, NotIdle, &s7, Ok((Load, 340)));
    let local = [light(1, 200, 200, 210); 2];
    let four = [light(2, 400, 400, 450); 2];
    let s9 = cores(&local, &four, &FREE);
    expect("S9", UP_TO_5_4, MC, NotIdle, &s9, BALANCED);
    expect("S9", &FROM_5_5[..8], MC, NotIdle, &s9, Ok((Task, 1)));
    expect("S9", &["6.5"], MC, NotIdle, &s9, BALANCED);
    let s10 = cores(&local, &four, &local);
    expect("S10", UP_TO_5_4, MC, NotIdle, &s10, Ok((Load, 200)));
    expect("S10", &FROM_5_5[1..8], MC, NotIdle, &s10, Ok((Task, 1)));
    // 5.5 keeps the first of the groups with equally many idle CPUs, whatever their tasks.
    assert_eq!(ask("5.5", MC, NotIdle, &s10), Ok((Task, 1)));
    let loaded_last = [s10[0], s10[2], s10[3], s10[4], s10[5], s10[1]];
    assert_eq!(ask("5.5", MC, NotIdle, &loaded_last), Err(BalancedBecause::BusyCpu));
    expect("S10", &["6.5"], MC, NotIdle, &s10, BALANCED);
}

#[test]
fn threads_of_one_core() {
    let stacked = light(2, 300, 400, 420);
    expect("T1", ALL, SMT, Idle, &[&[IDLE], &[hogs(1)]], BALANCED);
    let t2: [&[Cpu]; 2] = [&[IDLE], &[hogs(2)]];
    expect("T2", UP_TO_5_4, SMT, Idle, &t2, Ok((Load, 1024)));
    expect("T2", V5_5_TO_5_7, SMT, Idle, &t2, Ok((Util, 1024)));
    expect("T2", FROM_5_10, SMT, Idle, &t2, Ok((Task, 1)));
    let t3: [&[Cpu]; 2] = [&[IDLE], &[stacked]];
    expect("T3", UP_TO_5_4, SMT, Idle, &t3, BALANCED);
    expect("T3", FROM_5_5, SMT, Idle, &t3, Ok((Task, 1)));
    expect("T4", UP_TO_5_4, SMT, NewlyIdle, &t3, Ok((Load, 200)));
    expect("T4", FROM_5_5, SMT, NewlyIdle, &t3, Ok((Task, 1)));
    let t5: [&[Cpu]; 2] = [&[hogs(1)], &[hogs(2)]];
    expect("T5", UP_TO_5_4, SMT, NotIdle, &t5, Ok((Load, 1024)));
    expect("T5", FROM_5_5, SMT, NotIdle, &t5, Ok((Load, 512)));
    let t6: [&[Cpu]; 2] = [&[hogs(1)], &[hogs(3)]];
    expect("T6", ALL, SMT, NotIdle, &t6, Ok((Load, 1024)));
}

#[test]
fn one_level_without_smt() {
    let n1: [&[Cpu]; 6] = [&[IDLE], &[IDLE], &[light(2, 200, 200, 200)], &[IDLE], &[IDLE], &[IDLE]];
    expect("N1", UP_TO_5_4, MC_WITHOUT_SMT, Idle, &n1, BALANCED);
    expect("N1", FROM_5_5, MC_WITHOUT_SMT, Idle, &n1, Ok((Task, 1)));
    assert!(ALL.iter().all(|p| ask(p, MC_WITHOUT_SMT, NewlyIdle, &n1).is_ok()));
    let one: &[Cpu] = &[hogs(1)];
    expect("N2", ALL, MC_WITHOUT_SMT, Idle, &[&[IDLE], one, one, one, one, one], BALANCED);
    let two: &[Cpu] = &[hogs(2)];
    for (row, groups) in [("N3", [one, two, two, one]), ("N4", [one, &[hogs(3)], one, one])] {
        expect(row, UP_TO_5_4, MC_WITHOUT_SMT, NotIdle, &groups, Ok((Load, 1024)));
        expect(row, FROM_5_5, MC_WITHOUT_SMT, NotIdle, &groups, Ok((Load, 512)));
    }
}

/// Two nodes of 24 CPUs: tasks on the local and the busiest, then the answer by version. Zero and `None` are both
/// "balanced".
#[test]
fn two_nodes() {
    const V5_5: &[&str] = &["5.5"];
    const V5_6_TO_5_10: &[&str] = &["5.6", "5.7", "5.10"];
    const V5_11_TO_5_17: &[&str] = &["5.12", "5.13", "5.15"];
    const FROM_5_18: &[&str] = &["6.1", "6.5"];
    let table: [(usize, usize, i64, [i64; 4]); 7] = [
        (0, 1, 0, [0, 0, 0, 0]),
        (0, 2, 1024, [1, 0, 0, 0]),
        (0, 3, 1536, [1, 1, 0, 1]),
        (0, 4, 2040, [2, 2, 0, 2]),
        (2, 5, 1536, [1, 1, 0, 1]),
        (4, 7, 1536, [1, 1, 1, 1]),
        (4, 8, 2040, [2, 2, 2, 2]),
    ];
    let node = |tasks: usize| -> Vec<Cpu> { (0..24).map(|i| hogs(u32::from(i < tasks))).collect() };
    let want = |kind, amount| if amount == 0 { BALANCED } else { Ok((kind, amount)) };
    for (local, busiest, load, tasks) in table {
        let row = format!("{local},{busiest}");
        let groups: [&[Cpu]; 2] = [&node(local), &node(busiest)];
        expect(&row, UP_TO_5_4, NODES, Idle, &groups, want(Load, load));
        for (profiles, n) in [V5_5, V5_6_TO_5_10, V5_11_TO_5_17, FROM_5_18].into_iter().zip(tasks) {
            expect(&row, profiles, NODES, Idle, &groups, want(Task, n));
        }
    }
}

/// After how many failures a task of load 1024 moves for these imbalances (rows S6, S7, T5, N3).
#[test]
fn failures_until_a_hog_moves() {
    let first = |profile: &str, imbalance, nice_tries| {
        let rules = Profile::by_name(profile).unwrap().rules().balance;
        (0..64)
            .find(|failed| !load_too_large(&rules, 1024, imbalance, Failures { failed: *failed, nice_tries }))
    };
    let rows = [("S6", 170, 1, 2, 3), ("S7", 340, 1, 2, 2), ("T5", 512, 0, 0, 1), ("N3", 512, 1, 0, 1)];
    for (row, imbalance, nice_tries, v5_5, v5_10) in rows {
        for p in UP_TO_5_4 {
            // 5.4 asks for a whole task.
            assert_eq!(first(p, 1024, nice_tries), Some(0), "{row} on {p}");
        }
        for p in V5_5_TO_5_7 {
            assert_eq!(first(p, imbalance, nice_tries), Some(v5_5), "{row} on {p}");
        }
        for p in FROM_5_10 {
            assert_eq!(first(p, imbalance, nice_tries), Some(v5_10), "{row} on {p}");
        }
    }
}

/// patches.md §2, rows 3 and 4, with a patch of 5.4 switched on.
#[test]
fn steps_of_the_rework() {
    let patched = |patch| {
        let mut config = KernelConfig::new(Profile::by_name("5.4").unwrap(), 2);
        config.switch_rule(patch).unwrap();
        config.rules.balance
    };
    // Two hogs on one of six cores: the average is 170, so 340 of load fit into the idle core; a task has 1,024.
    let s1 = cores(&FREE, &FULL, &FREE);
    assert_eq!(ask_rules(patched("no-small-imbalance"), MC, Idle, &s1), Ok((Load, 340)));
    assert_eq!(ask_rules(patched("group-types-first-form"), MC, Idle, &s1), Ok((Task, 1)));
    // Two light tasks on a sibling, which is no overloaded group: taken by 5.5, left alone by the first form.
    let light: [Cpu; 1] = [Cpu { util: 300, ..hogs(2) }];
    let threads: [&[Cpu]; 2] = [&[IDLE], &light];
    assert_eq!(ask("5.5", SMT, Idle, &threads), Ok((Task, 1)));
    let first = ask_rules(patched("group-types-first-form"), SMT, Idle, &threads);
    assert_eq!(first, Err(BalancedBecause::IdleCpus));
}
