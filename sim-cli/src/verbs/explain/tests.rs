//! A sentence for every rule, and what an override does.

use super::effect::Effect;
use super::instead::Wish;
use super::report::ExplainReport;
use super::sentence::Sentence;
use super::watch::{Entry, Wanted, Watch};
use super::words::{Book, Words};
use super::{at_time, one_decision, story};
use crate::failure::Failure;
use crate::load::{Loaded, ScenarioText};
use crate::output::Report;
use crate::simulate;
use sim_core::kernel::domains::Level;
use sim_core::kernel::hooks::NoHooks;
use sim_core::kernel::weight::LoadWeight;
use sim_core::kernel::{KernelConfig, Policy, Profile};
use sim_core::observe::{
    Balance, BalanceAttempt, BalanceOutcome, BalancedBecause, Buddy, Decision, GroupType, GroupView,
    IDLEST_LEVELS, IdleType, MigrateReason, MigrationType, Pick, PickRule, Place, PreemptRule, Select,
    SelectReason, SelectRule, Shares, SliceFloor, TickPreempt, TickRule, WakeupPreempt,
};
use sim_core::{CpuId, EntityId, Instant, Nanos, TaskId};

const MS: u64 = 1_000_000;
const BASE: u64 = 1_000 * MS;

/// Two tasks, hog and sleeper, on a machine with eight CPUs: latency 24 ms, granularities 3 and 4 ms.
fn say_on(profile: &str, nice: i8, decision: Decision) -> Sentence {
    let mut book = Book::default();
    book.name(TaskId(0), "hog", "hog#0", 0);
    book.name(TaskId(1), "sleeper", "sleeper#0", nice);
    book.place(EntityId(0), Some(TaskId(0)));
    book.place(EntityId(1), Some(TaskId(1)));
    book.place(EntityId(2), None);
    book.groups.insert(EntityId(2), "/a".to_owned());
    let kernel = KernelConfig::new(Profile::by_name(profile).unwrap(), 8);
    Words { book: &book, kernel: &kernel }.sentence(&decision)
}

fn say(decision: Decision) -> (String, String) {
    let s = say_on("6.1", 0, decision);
    (s.why, s.otherwise.unwrap_or_default())
}

fn weight(nice: i8) -> u64 {
    LoadWeight::of_task(nice, Policy::Normal).weight
}

fn wakeup(rule: PreemptRule, lead: i64, granularity: u64, preempt: bool) -> WakeupPreempt {
    WakeupPreempt {
        cpu: CpuId(0),
        curr: Some(TaskId(0)),
        wakee: TaskId(1),
        entity: EntityId(1),
        lead,
        granularity,
        weight: weight(0),
        curr_ran: Nanos(0),
        rule,
        preempt,
    }
}

#[test]
fn a_wakeup_by_granularity_names_the_tunable_and_its_edge() {
    let d =
        |lead, preempt| say(Decision::WakeupPreempt(wakeup(PreemptRule::Granularity, lead, 4 * MS, preempt)));
    let (why, otherwise) = d(1_900_000, false);
    assert_eq!(
        why,
        "sleeper is woken and does not preempt hog: its vruntime is 1.9 ms behind, not more than the wakeup granularity of 4 ms at nice 0"
    );
    assert_eq!(otherwise, "it would with sched_wakeup_granularity_ns <= 1.899999 ms");
    let (why, otherwise) = d(12_000_000, true);
    assert!(
        why.contains("preempts hog: its vruntime is 12 ms behind, more than the wakeup granularity of 4 ms"),
        "{why}"
    );
    assert_eq!(otherwise, "it would not with sched_wakeup_granularity_ns >= 12 ms or NO_WAKEUP_PREEMPTION");
    let (why, otherwise) = d(-5_000, false);
    assert!(why.ends_with("its vruntime is 5 us ahead, not behind"), "{why}");
    assert_eq!(otherwise, "no wakeup granularity would make it preempt");
    assert!(d(0, false).0.ends_with("its vruntime is the same, not behind"));
}

/// The edge is exact: one nanosecond of the tunable less, and the kernel's own arithmetic goes the other way.
#[test]
fn the_granularity_of_another_nice_value_is_scaled() {
    let d = WakeupPreempt {
        weight: weight(5),
        ..wakeup(PreemptRule::Granularity, 12_000_000, 12_226_865, false)
    };
    let s = say_on("6.1", 5, Decision::WakeupPreempt(d));
    assert!(s.why.ends_with("the wakeup granularity of 4 ms, which is 12.226865 ms at nice 5"), "{}", s.why);
    let edge = s.otherwise.unwrap();
    let edge = edge.strip_prefix("it would with sched_wakeup_granularity_ns <= ").unwrap();
    let edge: Nanos = edge.parse().unwrap();
    let scaled =
        |g| sim_core::kernel::weight::calc_delta_fair(g, &mut LoadWeight::of_task(5, Policy::Normal), true);
    assert!(scaled(edge.0) < 12_000_000 && scaled(edge.0 + 1) >= 12_000_000);
}

#[test]
fn every_other_rule_of_a_wakeup_has_its_sentence() {
    let cases = [
        (PreemptRule::WakeeIsCurr, false, "it is the running task"),
        (PreemptRule::AlreadyResched, false, "a reschedule is due already"),
        (PreemptRule::CurrPolicyIdle, true, "the running task is SCHED_IDLE"),
        (PreemptRule::WakeePolicy, false, "it is SCHED_BATCH or SCHED_IDLE"),
        (PreemptRule::FeatureOff, false, "NO_WAKEUP_PREEMPTION is set"),
        (PreemptRule::IdleEntity, true, "and its own is not"),
        (PreemptRule::WakeeEntityIdle, false, "only its own side is idle"),
    ];
    for (rule, preempt, because) in cases {
        let (why, _) = say(Decision::WakeupPreempt(wakeup(rule, 0, 0, preempt)));
        assert!(why.contains(because), "{why}");
        assert_eq!(why.contains("does not preempt"), !preempt, "{why}");
    }
    let policy = say(Decision::WakeupPreempt(wakeup(PreemptRule::WakeePolicy, 0, 0, false))).1;
    assert_eq!(policy, "were it SCHED_OTHER, the vruntimes would be compared");
    // A group competes by its own weight, whatever its task's nice value.
    let group = WakeupPreempt {
        entity: EntityId(2),
        weight: weight(0) / 2,
        ..wakeup(PreemptRule::Granularity, 9 * MS as i64, 8 * MS, true)
    };
    let (why, otherwise) = say(Decision::WakeupPreempt(group));
    assert!(why.contains("the vruntime of group /a is 9 ms behind"), "{why}");
    assert!(why.ends_with("more than the wakeup granularity of 4 ms, which is 8 ms at weight 512"), "{why}");
    assert!(otherwise.starts_with("it would not with sched_wakeup_granularity_ns >= 4.5"), "{otherwise}");
    let idle = WakeupPreempt { curr: None, ..wakeup(PreemptRule::CurrIdleTask, 0, 0, true) };
    assert_eq!(
        say(Decision::WakeupPreempt(idle)).0,
        "sleeper is woken and preempts the idle task: any task does"
    );
}

#[test]
fn a_tick_names_the_slice_and_where_it_comes_from() {
    let d = |rule, ran, slice, lead| {
        say(Decision::TickPreempt(TickPreempt {
            cpu: CpuId(0),
            entity: EntityId(0),
            curr: TaskId(0),
            ran: Nanos(ran),
            slice: Nanos(slice),
            nr_running: 2,
            weight: weight(0),
            load: 2 * weight(0),
            above: Shares::new(),
            period_nr: 2,
            floor: SliceFloor::MinGranularity,
            left: Some(EntityId(1)),
            lead,
            rule,
            preempt: rule.preempts(),
        }))
    };
    let (why, otherwise) = d(TickRule::SliceUsed, 16 * MS, 12 * MS, 0);
    assert_eq!(
        why,
        "a tick takes the CPU from hog: it ran 16 ms, more than its slice of 12 ms (1024 of 2048 in weight, 2 runnable)"
    );
    // The kernel's division truncates: 32 ms halve to 15.999992 ms.
    assert!(otherwise.starts_with("it would go on with sched_latency_ns >= 32.0"), "{otherwise}");
    // BASE_SLICE: no slice is below the minimum granularity.
    assert!(otherwise.ends_with(" or sched_min_granularity_ns >= 16 ms"), "{otherwise}");
    let (why, otherwise) = d(TickRule::Hrtick, 12 * MS, 12 * MS, 0);
    assert!(why.starts_with("the high-resolution tick takes the CPU from hog: it ran 12 ms"), "{why}");
    assert!(otherwise.ends_with("; with NO_HRTICK until a tick"), "{otherwise}");
    let (why, otherwise) = d(TickRule::WithinSlice, 8 * MS, 12 * MS, 7 * MS as i64);
    assert!(
        why.contains("ran 8 ms of its slice of 12 ms") && why.ends_with("only 7 ms ahead of sleeper"),
        "{why}"
    );
    assert!(otherwise.starts_with("it would have to go with sched_latency_ns <= 16.0"), "{otherwise}");
    assert!(
        d(TickRule::BelowMinGranularity, MS, 12 * MS, 0)
            .0
            .ends_with("less than sched_min_granularity_ns (3 ms)")
    );
    assert!(d(TickRule::NotAhead, 8 * MS, 12 * MS, -1).0.ends_with("and is not ahead of sleeper"));
    assert!(
        d(TickRule::AheadByMoreThanSlice, 8 * MS, 12 * MS, 13 * MS as i64)
            .0
            .contains("13 ms ahead of sleeper")
    );
}

fn place(initial: bool, before: u64, offset: u64, base: u64, after: u64) -> Place {
    Place {
        cpu: CpuId(0),
        entity: EntityId(1),
        task: Some(TaskId(1)),
        initial,
        min_vruntime: BASE,
        before,
        base,
        offset,
        idle: false,
        slept_long: false,
        after,
    }
}

#[test]
fn a_placement_names_the_sleepers_limit() {
    let credit = 12 * MS;
    let (why, otherwise) =
        say(Decision::Place(place(false, BASE - 50 * MS, credit, BASE - credit, BASE - credit)));
    assert_eq!(
        why,
        "sleeper comes back with a vruntime 50 ms before min_vruntime: raised to the sleeper's limit of 12 ms (half of sched_latency_ns, GENTLE_FAIR_SLEEPERS) before it"
    );
    assert_eq!(
        otherwise,
        "with NO_GENTLE_FAIR_SLEEPERS the limit would be 24 ms; it would keep its own with sched_latency_ns >= 100 ms"
    );
    let (why, otherwise) = say(Decision::Place(place(false, BASE - MS, credit, BASE - credit, BASE - MS)));
    assert!(why.contains("a vruntime 1 ms before min_vruntime and keeps it"), "{why}");
    assert_eq!(otherwise, "it would be raised with sched_latency_ns <= 1.999999 ms");
    let ahead = place(false, BASE + MS, credit, BASE - credit, BASE + MS);
    assert_eq!(say(Decision::Place(ahead)).1, "", "nothing raises a vruntime after min_vruntime");
    let new = place(true, BASE + MS, 4 * MS, BASE + 4 * MS, BASE + 4 * MS);
    let (why, otherwise) = say(Decision::Place(new));
    assert!(why.starts_with("sleeper is new: placed 4 ms after min_vruntime, one slice of its own"), "{why}");
    assert_eq!(otherwise, "with NO_START_DEBIT it would be placed 1 ms after min_vruntime");
    let far = place(true, BASE + 9 * MS, 4 * MS, BASE + 4 * MS, BASE + 9 * MS);
    let (why, otherwise) = say(Decision::Place(far));
    assert!(why.contains("placed 9 ms after min_vruntime, as its parent; one slice"), "{why}");
    assert_eq!(otherwise, "");
    let idle = Place { idle: true, ..place(false, 0, 1_500_000, BASE - 1_500_000, BASE - 1_500_000) };
    assert!(say(Decision::Place(idle)).0.contains("1.5 ms (half of sched_min_granularity_ns,"));
    assert!(say_on("5.10", 0, Decision::Place(idle)).why.contains("half of sched_latency_ns"));
    let long = Place { slept_long: true, ..place(false, 0, credit, BASE - credit, BASE - credit) };
    assert!(say(Decision::Place(long)).0.contains("slept for months"));
}

#[test]
fn a_pick_names_candidates_and_their_distance() {
    let buddy = |behind, granularity| Some(Buddy { entity: EntityId(1), behind, granularity });
    let pick = Pick {
        cpu: CpuId(0),
        curr: Some(EntityId(1)),
        left: EntityId(0),
        left_weight: weight(0),
        second: Some(EntityId(1)),
        second_behind: 2 * MS as i64,
        next: None,
        last: None,
        left_yielded: false,
        chosen: EntityId(0),
        rule: PickRule::Leftmost,
    };
    assert_eq!(say(Decision::Pick(pick)).0, "hog is picked: smallest vruntime, 2 ms before sleeper");
    let current = Pick { rule: PickRule::Current, second: None, second_behind: 0, ..pick };
    assert_eq!(
        say(Decision::Pick(current)).0,
        "hog stays: still the smallest vruntime, nothing else is runnable here"
    );
    let skip = Pick { rule: PickRule::Skip, chosen: EntityId(1), left_yielded: true, ..pick };
    assert_eq!(
        say(Decision::Pick(skip)).0,
        "sleeper is picked: hog has a vruntime 2 ms smaller, but yielded"
    );
    let second_behind = 9 * MS as i64;
    let kept = Pick { left_yielded: true, second_behind, ..pick };
    let (why, otherwise) = say(Decision::Pick(kept));
    assert!(
        why.ends_with("; it yielded, but sleeper is 9 ms further on, more than the granularity of 4 ms"),
        "{why}"
    );
    assert_eq!(otherwise, "hog would have to wait with sched_wakeup_granularity_ns >= 9 ms");
    let near = buddy(2 * MS as i64, 4 * MS);
    let next = Pick { rule: PickRule::NextBuddy, chosen: EntityId(1), next: near, ..pick };
    assert_eq!(
        say(Decision::Pick(next)).0,
        "sleeper is picked as next buddy: hog has a vruntime 2 ms smaller, not more than the granularity of 4 ms"
    );
    let both = Pick { rule: PickRule::NextBuddy, next: buddy(0, 4 * MS), ..pick };
    let (why, otherwise) = say(Decision::Pick(both));
    assert_eq!(why, "hog is picked: a buddy, and the smallest vruntime, 2 ms before sleeper");
    assert_eq!(otherwise, "");
    let last = Pick { rule: PickRule::LastBuddy, chosen: EntityId(1), last: near, ..pick };
    let (why, otherwise) = say(Decision::Pick(last));
    assert!(why.starts_with("sleeper is picked as last buddy"), "{why}");
    assert_eq!(
        otherwise,
        "hog would be picked with sched_wakeup_granularity_ns <= 1.999999 ms or NO_LAST_BUDDY"
    );
    let far = Pick { last: buddy(9 * MS as i64, 4 * MS), ..pick };
    assert!(
        say(Decision::Pick(far))
            .0
            .ends_with("the last buddy sleeper is 9 ms further on, more than the granularity of 4 ms")
    );
    let group = Pick { left: EntityId(2), chosen: EntityId(2), ..pick };
    assert!(say(Decision::Pick(group)).0.starts_with("group /a is picked"));
}

#[test]
fn choices_of_a_cpu_name_the_rule() {
    let select = |rule, target, chosen| {
        say(Decision::Select(Select {
            task: TaskId(1),
            reason: SelectReason::Wake,
            by: CpuId(3),
            sync: false,
            prev: CpuId(0),
            prev_nr_running: 3,
            flips: None,
            affine: None,
            target: CpuId(target),
            search: None,
            idlest: [None; IDLEST_LEVELS],
            chosen_nr_running: 1,
            chosen: CpuId(chosen),
            rule,
        }))
        .0
    };
    assert!(
        select(SelectRule::OnlyAllowed, 0, 2).starts_with("sleeper goes to CPU 2: the only one it may use")
    );
    assert!(select(SelectRule::TargetIdle, 0, 0).starts_with("sleeper goes back to CPU 0, which is idle"));
    assert!(
        select(SelectRule::TargetIdle, 3, 3).starts_with("sleeper goes to its waker's CPU 3, which is idle")
    );
    assert!(
        select(SelectRule::IdleCore, 0, 2).starts_with("sleeper goes to CPU 2, whose whole core is idle")
    );
}

#[test]
fn moves_say_which_pass_made_them() {
    for (reason, told) in
        [(MigrateReason::NewIdle, "about to idle"), (MigrateReason::Periodic, "in its periodic balance")]
    {
        let (task, from, to) = (TaskId(0), CpuId(0), CpuId(1));
        let d = Balance { task, from, to, from_nr_running: 3, to_nr_running: 0, reason, pull: true };
        let expected = format!("CPU 1, {told} with 0 runnable tasks, takes hog from CPU 0 with 3");
        assert_eq!(say(Decision::Balance(d)).0, expected);
    }
}

#[test]
fn attempts_to_balance_tell_groups_and_outcome() {
    let view = |cpu, kind, nr_running, idle_cpus| GroupView {
        cpu: CpuId(cpu),
        weight: 2,
        kind,
        nr_running,
        idle_cpus,
        load: 1024 * u64::from(nr_running),
        util: 1024,
        capacity: 2048,
    };
    let attempt = |outcome| {
        let d = BalanceAttempt {
            cpu: CpuId(1),
            level: Level::Mc,
            idle: IdleType::NewlyIdle,
            local: Some(view(1, GroupType::HasSpare, 0, 2)),
            busiest: Some(view(0, GroupType::FullyBusy, 2, 0)),
            kind: MigrationType::Task,
            left: 1,
            from: Some(CpuId(0)),
            failures: 2,
            moved: 1,
            outcome,
        };
        say(Decision::BalanceAttempt(d)).0
    };
    assert_eq!(
        attempt(BalanceOutcome::Failed),
        "CPU 1, about to idle, balances its MC domain: nothing could be moved, the 3rd failed attempt in a row; its own \
         group, 2 CPUs from CPU 1, is with spare capacity: 0 runnable tasks, 2 idle, load 0, utilisation 1024 of 2048; the \
         busiest group, 2 CPUs from CPU 0, is fully busy: 2 runnable tasks, 0 idle, load 2048, utilisation 1024 of 2048"
    );
    assert!(attempt(BalanceOutcome::Moved).contains("moved 1 task by number of tasks; its own"));
    let because = BalanceOutcome::NoBusiestGroup(BalancedBecause::SingleTask);
    assert!(attempt(because).contains("balanced, since the busiest group has a single task"));
}

const SLEEPER: &str = r#"
name = "two hogs and a sleeper"
[kernel]
profile = "6.1"
sched_latency_ns = "24ms"
sched_min_granularity_ns = "3ms"
sched_wakeup_granularity_ns = "4ms"
[costs]
preset = "zero"
[run]
duration = "200ms"
[task.hog]
count = 2
program = [{ forever = [{ run = "10ms" }] }]
[task.sleeper]
start = "50ms"
program = [{ run = "1ms" }, { forever = [{ sleep = "1s" }] }]
"#;

fn load() -> Loaded {
    ScenarioText::of("test.toml", SLEEPER).with(&[]).unwrap()
}

/// The number of the first decision of `loaded` for which `is` holds.
fn number_of(loaded: &Loaded, is: impl Fn(&Decision) -> bool) -> u64 {
    let all = |name: &str| Wanted::Task { name: name.to_owned(), from: Instant::ZERO, to: Instant::NEVER };
    let mut found = Vec::new();
    for name in ["sleeper", "hog"] {
        let mut simulation = simulate::prepare(loaded, 1, None, Watch::new(all(name)), NoHooks);
        simulation.run().unwrap();
        found.extend(simulation.observer.kept.iter().filter_map(|e| match e {
            Entry::Decision(r) if is(&r.decision) => Some(r.number),
            _ => None,
        }));
    }
    found.into_iter().min().unwrap()
}

fn woken_onto_hog(d: &Decision) -> bool {
    matches!(d, Decision::WakeupPreempt(d) if d.wakee == TaskId(2) && d.rule == PreemptRule::Granularity && d.preempt)
}

fn instead(loaded: &Loaded, number: u64, wish: &str) -> Result<ExplainReport, Failure> {
    one_decision(loaded, number, Some(&wish.parse().unwrap()))
}

fn effect(loaded: &Loaded, number: u64, wish: &str) -> Effect {
    instead(loaded, number, wish).unwrap().effect.unwrap()
}

/// The sleeper preempts at 50 ms and so waits no time at all; forbidden to, it waits for a tick that takes the CPU from
/// the hog.
#[test]
fn a_wakeup_that_must_not_preempt_waits_for_a_tick() {
    let loaded = load();
    let number = number_of(&loaded, woken_onto_hog);
    let effect = effect(&loaded, number, "no-preempt");
    assert!(!effect.same_schedule);
    let sleeper = serde_json::to_value(&effect.tasks).unwrap();
    let sleeper = sleeper.as_array().unwrap().iter().find(|t| t["task"] == "sleeper").unwrap().clone();
    let max = |i: usize| sleeper["latency_after_wakeup_max_ns"][i].as_u64().unwrap();
    assert_eq!(max(0), 0);
    assert!((1..=16 * MS).contains(&max(1)) && (50 * MS + max(1)).is_multiple_of(4 * MS), "{}", max(1));
    let divergence = effect.divergence.unwrap();
    assert!(divergence.as_is.unwrap().ends_with("hog#0 is to be rescheduled"));
    assert!(divergence.instead.unwrap().ends_with("hog#0 is not rescheduled"));
}

/// The hog is 10 ms after min_vruntime at the wake-up: a sleeper less than the granularity of 4 ms before it has to wait.
#[test]
fn placing_where_it_was_placed_is_refused_and_elsewhere_shows() {
    let loaded = load();
    let number = number_of(
        &loaded,
        |d| matches!(d, Decision::Place(d) if d.task == Some(TaskId(2)) && d.min_vruntime > 0),
    );
    let refused = instead(&loaded, number, "place -12ms").map(|_| ()).unwrap_err();
    assert!(refused.to_string().ends_with("went that way already"), "{refused}");
    let latency = |wish| {
        let effect = serde_json::to_value(effect(&loaded, number, wish)).unwrap();
        let sleeper = effect["tasks"].as_array().unwrap().iter().find(|t| t["task"] == "sleeper").cloned();
        sleeper.map_or(0, |t| t["latency_after_wakeup_max_ns"][1].as_u64().unwrap())
    };
    assert_eq!(latency("place -11ms"), 0);
    assert!(latency("place 8ms") > 0);
}

#[test]
fn another_task_can_be_picked() {
    let loaded = load();
    let number = number_of(&loaded, |d| matches!(d, Decision::Pick(d) if d.second.is_some()));
    let report = one_decision(&loaded, number, None).unwrap().text();
    let (chosen, other) =
        if report.contains("hog#0 is picked") { ("hog#0", "hog#1") } else { ("hog#1", "hog#0") };
    assert!(!effect(&loaded, number, &format!("pick {other}")).same_schedule);
    for (wish, why) in [
        (format!("pick {chosen}"), "went that way already"),
        ("pick nobody".to_owned(), "no task is called 'nobody'"),
        ("pick sleeper".to_owned(), "'sleeper' is not runnable there"),
        ("preempt".to_owned(), "can be answered by 'pick NAME' instead"),
    ] {
        let refused = instead(&loaded, number, &wish).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(why), "{wish}: {refused}");
    }
}

#[test]
fn wishes_are_read_or_refused() {
    let ok = |s: &str| s.parse::<Wish>().unwrap();
    assert_eq!(ok("no-preempt"), Wish::Preempt(false));
    assert_eq!(ok("pick a b"), Wish::Pick("a b".to_owned()));
    assert_eq!(ok("place -1.5ms"), Wish::Place(-1_500_000));
    assert_eq!(ok("cpu 3"), Wish::Cpu(3));
    for bad in ["", "pick", "place", "place 3", "cpu x", "stay here", "dance"] {
        assert!(bad.parse::<Wish>().is_err(), "{bad}");
    }
}

#[test]
fn the_state_at_a_time_names_who_runs_and_who_waits() {
    let report = at_time(&load(), Nanos(50 * MS + 500_000)).unwrap();
    let text = report.text();
    assert!(text.contains("  sleeper runs since 50.000000 ms, for 500 us"), "{text}");
    assert!(text.contains("hog#1 waits since") && text.contains("number 1 in the queue"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["state"]["cpus"][0]["queue"].as_array().unwrap().len(), 3);
    let asleep = at_time(&load(), Nanos(20 * MS)).unwrap().text();
    assert!(asleep.contains("On no queue:\n  sleeper has not started"), "{asleep}");
}

#[test]
fn a_story_is_in_order_and_only_of_its_task() {
    let loaded = load();
    let report = story(&loaded, "sleeper", None, Some(Nanos(100 * MS))).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    let told = json["story"].as_array().unwrap();
    let times: Vec<u64> = told.iter().map(|t| t["at_ns"].as_u64().unwrap()).collect();
    assert!(times.is_sorted() && times.last() <= Some(&(100 * MS)));
    assert!(told.iter().all(|t| t["text"].as_str().unwrap().contains("sleeper")), "{json}");
    assert!(told.iter().any(|t| t["record"]["decision"] == "wakeup_preempt"));
    assert!(story(&loaded, "nobody", None, None).is_err());
    assert!(story(&loaded, "sleeper", Some(Nanos(2)), Some(Nanos(1))).is_err());
}

#[test]
fn a_decision_beyond_the_last_is_refused() {
    let refused = one_decision(&load(), 1_000_000_000, None).map(|_| ()).unwrap_err();
    assert!(refused.to_string().starts_with("there is no decision 1000000000: the run has "), "{refused}");
}
