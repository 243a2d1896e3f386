//! Wake-ups against a running task: core.md §15.4, row by row.

use crate::hand::{CPU0, Hand, MS};
use crate::support::profiles;
use sim_core::kernel::tunables::Tunable;
use sim_core::kernel::{Policy, Wake};
use sim_core::observe::PreemptRule;
use sim_core::{CpuId, GroupId, TaskId};

/// vruntime of the hog in every row.
const HOG: u64 = 1000 * MS;

/// A nice-0 hog alone on its CPU at vruntime 1 s, and a sleeper whose vruntime is `before`.
fn hog_and_sleeper(h: &mut Hand, nice: i8, policy: Policy, before: u64) -> (TaskId, TaskId) {
    let wakee = h.add_in(nice, policy, CPU0, GroupId::ROOT);
    if before > 0 {
        assert_eq!(nice, 0, "only nice-0 time is virtual time");
        h.wake(wakee);
        h.schedule(CPU0);
        h.pass(before);
        h.block(CPU0);
    }
    let hog = h.start(0);
    h.schedule(CPU0);
    let to_go = HOG - h.v(hog);
    h.pass(to_go);
    (hog, wakee)
}

/// v after placement, d, g, preempts.
type Row = (u64, i64, u64, bool);

fn check(h: &mut Hand, nice: i8, before: u64, expected: Row, what: &str) {
    let (hog, wakee) = hog_and_sleeper(h, nice, Policy::Normal, before);
    h.wake(wakee);
    let d = h.last_preempt();
    assert_eq!((h.v(hog), h.min_vruntime(CPU0)), (HOG, HOG), "{what}");
    assert_eq!((h.v(wakee), d.lead, d.granularity, d.preempt), expected, "{what}");
    assert_eq!((d.rule, h.need_resched(CPU0)), (PreemptRule::Granularity, expected.3), "{what}");
    let runs = h.schedule(CPU0);
    if expected.3 {
        assert_eq!(runs, Some(wakee), "{what}: who preempts is picked");
    }
}

#[test]
fn default_tunables() {
    let rows: [(i8, u64, Row); 9] = [
        (0, 0, (988 * MS, 12_000_000, 4_000_000, true)),
        (0, 995_999_999, (995_999_999, 4_000_001, 4_000_000, true)),
        (0, 996 * MS, (996 * MS, 4_000_000, 4_000_000, false)),
        (0, 997 * MS, (997 * MS, 3_000_000, 4_000_000, false)),
        (0, 980 * MS, (988 * MS, 12_000_000, 4_000_000, true)),
        (-10, 0, (988 * MS, 12_000_000, 428_990, true)),
        (4, 0, (988 * MS, 12_000_000, 9_683_215, true)),
        (5, 0, (988 * MS, 12_000_000, 12_226_865, false)),
        (19, 0, (988 * MS, 12_000_000, 273_066_666, false)),
    ];
    for profile in profiles() {
        for (nice, before, expected) in rows {
            let mut h = Hand::new(profile, 1);
            check(&mut h, nice, before, expected, &format!("{profile} nice {nice} from {before}"));
        }
    }
}

#[test]
fn tuned_profiles_and_features() {
    for profile in profiles() {
        let tuned = |nice, expected| {
            let mut h = Hand::new(profile, 1);
            h.set(Tunable::MinGranularity, 10 * MS);
            h.set(Tunable::WakeupGranularity, 15 * MS);
            check(&mut h, nice, 0, expected, &format!("{profile} throughput-performance nice {nice}"));
        };
        tuned(0, (988 * MS, 12_000_000, 15_000_000, false));
        tuned(-1, (988 * MS, 12_000_000, 12_028_191, false));
        tuned(-2, (988 * MS, 12_000_000, 9_684_741, true));

        let mut h = Hand::new(profile, 1);
        h.set(Tunable::Latency, 60 * MS);
        h.set(Tunable::MinGranularity, 15 * MS);
        h.set(Tunable::WakeupGranularity, 2 * MS);
        check(&mut h, 0, 0, (970 * MS, 30_000_000, 2_000_000, true), &format!("{profile} mssql"));

        let mut h = Hand::new(profile, 1);
        h.k.config.features.write("NO_GENTLE_FAIR_SLEEPERS").unwrap();
        check(&mut h, 0, 0, (976 * MS, 24_000_000, 4_000_000, true), &format!("{profile} not gentle"));
    }
}

/// Rows decided by policy, and by a reschedule already asked for; all other pairs of policies with them.
#[test]
fn policies() {
    use Policy::{Batch, Idle, Normal};
    let table = [
        (Normal, Normal, true, PreemptRule::Granularity),
        (Normal, Batch, false, PreemptRule::WakeePolicy),
        (Normal, Idle, false, PreemptRule::WakeePolicy),
        (Batch, Normal, true, PreemptRule::Granularity),
        (Batch, Batch, false, PreemptRule::WakeePolicy),
        (Batch, Idle, false, PreemptRule::WakeePolicy),
        (Idle, Normal, true, PreemptRule::CurrPolicyIdle),
        (Idle, Batch, true, PreemptRule::CurrPolicyIdle),
        (Idle, Idle, false, PreemptRule::WakeePolicy),
    ];
    for profile in profiles() {
        for (of_hog, of_wakee, preempts, rule) in table {
            let mut h = Hand::new(profile, 1);
            let wakee = h.add_in(0, of_wakee, CPU0, GroupId::ROOT);
            let hog = h.add_in(0, of_hog, CPU0, GroupId::ROOT);
            h.wake(hog);
            h.schedule(CPU0);
            h.pass(1000 * MS);
            h.wake(wakee);
            let d = h.last_preempt();
            assert_eq!((d.preempt, d.rule), (preempts, rule), "{profile} {of_hog:?} {of_wakee:?}");
            assert_eq!(h.need_resched(CPU0), preempts);
        }
    }
}

#[test]
fn a_second_wakee_finds_the_reschedule_asked_for() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let (first, (_, second)) = (h.add(0), hog_and_sleeper(&mut h, 0, Policy::Normal, 0));
        h.wake(first);
        h.wake(second);
        let d = h.last_preempt();
        assert_eq!((d.wakee, d.preempt, d.rule), (second, false, PreemptRule::AlreadyResched), "{profile}");
        assert_eq!(h.schedule(CPU0), Some(first), "{profile}");
    }
}

/// core.md §15.4, last paragraph: a nice-5 wakee, the hog just switched in at a tick. HZ 250: the tick after 4 ms finds
/// the hog 12 ms + 4 ms ahead, the one after 8 ms finds it 20 ms ahead of a slice of 18.08 ms.
#[test]
fn a_wakee_that_does_not_preempt_waits_for_the_second_tick() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let wakee = h.add(5);
        let other = h.start(0);
        h.schedule(CPU0);
        h.pass(1000 * MS);
        h.block(CPU0);
        let hog = h.start(0);
        h.schedule(CPU0);
        // Bring the hog level with the queue's floor, then let it be switched in anew.
        let lag = h.min_vruntime(CPU0) - h.v(hog);
        h.pass(lag);
        h.block(CPU0);
        h.wake(hog);
        h.schedule(CPU0);
        h.wake(wakee);
        assert_eq!((h.last_preempt().lead, h.last_preempt().preempt), (12_000_000, false), "{profile}");
        let ticks: Vec<bool> = (0..2)
            .map(|_| {
                h.pass(4 * MS);
                h.tick(CPU0);
                h.need_resched(CPU0)
            })
            .collect();
        assert_eq!(ticks, [false, true], "{profile}");
        assert_eq!(h.schedule(CPU0), Some(wakee), "{profile}");
        assert_eq!(h.k.task(other).nivcsw, 0);
    }
}

/// core.md §7.1 step 2 and §3.1: up to 6.2 a preemption check follows when the task that is woken still runs, and leaves
/// the clock of the wake-up to a reschedule asked for before; from 6.3 on the reschedule samples it anew.
#[test]
fn waking_a_task_that_has_not_left_its_cpu() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 2);
        let (task, _waiting) = (h.start(0), h.start(0));
        assert_eq!(h.schedule(CPU0), Some(task), "{profile}");
        h.pass(20 * MS);
        h.tick(CPU0);
        assert!(h.need_resched(CPU0), "{profile}: 20 ms are more than a slice of 12 ms");
        h.k.set_sleeping(task);
        h.pass(1000);
        let woken = h.k.try_to_wake_up(task, CpuId(1), None, false, h.now, &mut h.log);
        assert_eq!(woken, Wake::Enqueued(CPU0), "{profile}");
        h.pass(1000);
        h.schedule(CPU0);
        let after_tick = if profile == "6.5" { 2000 } else { 1000 };
        assert_eq!(h.k.task_entity(task).sum_exec_runtime, 20 * MS + after_tick, "{profile}");
    }
}
