use super::*;
use proptest::prelude::*;

fn spec(text: &str) -> Spec {
    parse_spec(text).unwrap()
}

fn problem(text: &str) -> (usize, SpecProblem) {
    let e = parse_spec(text).unwrap_err();
    (e.line, e.problem)
}

#[test]
fn reads_every_line_and_step() {
    let s = spec(
        "# all of it\nseed 7\nslack 0\nlead 20ms\nphase off\nlimit 1.5s\nchunk 25us\nclock loops\n\
         group g weight=300 max=20ms/100ms\ngroup h parent=g max=max\n\
         task a count=2 nice=-5 cpu=0-1,3 start=3ms group=g/h policy=batch : \
         run 1ms..2ms spin 9 sleep 5 period 4ms post s% 3 post t wait s% write p% 64 read q barrier b 2 yield count \
         loop 3 { for 2s { fork { join } joinall } } jobs 2 6 { sysio 4 } aff 1 affall 0-1\n",
    );
    assert_eq!(
        (s.seed, s.slack, s.lead, s.phase, s.limit),
        (7, 1, 20_000_000, Phase::Off, Some(1_500_000_000))
    );
    assert_eq!((s.chunk, s.clock), (25_000, Clock::Loops));
    assert_eq!(s.groups[0].max, Some(Bandwidth { quota: Some(20_000_000), period: 100_000_000 }));
    assert_eq!((s.groups[1].path.as_str(), s.groups[1].max.unwrap().quota), ("g/h", None));
    let t = &s.tasks[1];
    assert_eq!((t.name.as_str(), t.nice, t.start, t.policy), ("a1", -5, 3_000_000, Policy::Batch));
    assert_eq!(t.cpus.as_ref().unwrap().count(), 3);
    assert_eq!(t.body[0], Step::Run(Span { lo: 1_000_000, hi: 2_000_000 }));
    assert_eq!(t.body[2], Step::Sleep(Span { lo: 5, hi: 5 }));
    let Step::Post(sem, 3) = t.body[4] else { panic!("{:?}", t.body[4]) };
    assert_eq!(s.objects[usize::from(sem.0)], Object { kind: ObjectKind::Semaphore, name: "s1".into() });
    assert_eq!(t.body[6], Step::Wait(sem));
    let Step::Loop(3, inner) = &t.body[12] else { panic!("{:?}", t.body[12]) };
    assert_eq!(inner[0], Step::For(2_000_000_000, vec![Step::Fork(vec![Step::Join]), Step::JoinAll]));
    assert_eq!(t.body[13], Step::Jobs { parallel: 2, count: 6, body: vec![Step::SysIo(4)] });
}

#[test]
fn one_task_keeps_its_plain_name_and_has_index_zero() {
    let s = spec("task ping count=1 : write a% read b%\ntask averyveryverylongname : yield\n");
    assert_eq!((s.tasks[0].name.as_str(), s.objects[0].name.as_str()), ("ping", "a0"));
    assert_eq!(s.tasks[1].name, "averyveryverylo");
    assert_eq!(spec("task abcdefghijklmno count=11 : yield").tasks[10].name, "abcdefghijk10");
}

#[test]
fn refuses_with_the_line() {
    assert_eq!(problem("\ntask a : nap 3\n"), (2, SpecProblem::UnknownStep("nap".into())));
    assert_eq!(problem("task a : run 3m\n"), (1, SpecProblem::BadDuration("3m".into())));
    assert_eq!(problem("task a : run 3ms..2ms\n"), (1, SpecProblem::BadDuration("3ms..2ms".into())));
    assert_eq!(
        problem("task a : for 1ms..2ms { yield }\n"),
        (1, SpecProblem::BadDuration("1ms..2ms".into()))
    );
    assert_eq!(problem("task a : loop 2 { yield"), (1, SpecProblem::Missing("a closing '}'")));
    assert_eq!(problem("task a : yield }"), (1, SpecProblem::StrayBrace));
    assert_eq!(problem("task a : fork yield"), (1, SpecProblem::NoBlock("yield".into())));
    assert_eq!(problem("task a colour=red : yield"), (1, SpecProblem::UnknownAttribute("colour=red".into())));
    assert_eq!(problem("task a"), (1, SpecProblem::NoBody));
    assert_eq!(problem("seed"), (1, SpecProblem::Missing("a value")));
    assert_eq!(problem("seed 1 2"), (1, SpecProblem::LeftOver("2".into())));
    assert!(matches!(problem("task a nice=20 : yield").1, SpecProblem::BadSigned { .. }));
    assert!(matches!(problem("task a : write p 65537").1, SpecProblem::BadNumber { .. }));
}

#[test]
fn refuses_what_exceeds_its_limits() {
    assert!(matches!(problem(&"#".repeat(Limits::BYTES + 1)), (0, SpecProblem::TooLarge(_))));
    let deep = |n: usize| format!("task a : {} {}", "fork { ".repeat(n), "} ".repeat(n));
    assert!(parse_spec(&deep(Limits::DEPTH)).is_ok());
    assert_eq!(problem(&deep(Limits::DEPTH + 1)).1, SpecProblem::TooDeep);
    let tasks = |n: usize| "task a : yield\n".repeat(n);
    assert!(parse_spec(&tasks(Limits::TASKS)).is_ok());
    assert!(matches!(problem(&tasks(Limits::TASKS + 1)), (513, SpecProblem::TooMany { .. })));
    let steps = format!("task a count=512 : {}", "yield ".repeat(128));
    assert!(matches!(problem(&steps).1, SpecProblem::TooMany { what: "steps", .. }));
}

#[test]
fn durations_round_half_up_as_the_driver_does() {
    let ns = |d: &str| match spec(&format!("task a : run {d}")).tasks[0].body[0] {
        Step::Run(s) => s.lo,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(
        (ns("1.5us"), ns("0.0004us"), ns("0.0005us"), ns(".25ms"), ns("7")),
        (1_500, 0, 1, 250_000, 7)
    );
}

/// Values worked out by hand from the three shifts: see the numbers in the comments.
#[test]
fn random_stream_is_the_driver_s() {
    let mut parent = LabRandom::for_seed(1);
    assert_eq!(parent, LabRandom::for_seed(1));
    // Parent: 0x9E3779B97F4A7C15 → 0xDC1B77AE0BF34DAD → 0x64F0EEB9026E6076.
    let mut first = parent.child();
    let second = parent.child();
    // The first task's state 0xDC1B…DAD gives 0x64F0EEB9026E6076, and that mod 18 000 001 is 10 973 325.
    assert_eq!(first.pick(Span { lo: 2_000_000, hi: 20_000_000 }), 12_973_325);
    // The second task's state is 0x64F0EEB9026E6076 | 1.
    assert_eq!(format!("{second:?}"), format!("LabRandom({})", 0x64F0_EEB9_026E_6077_u64));
    // The first task's next value is 0x7B07CE91E5906136: its forked child starts there, | 1.
    assert_eq!(format!("{:?}", first.child()), format!("LabRandom({})", 0x7B07_CE91_E590_6137_u64));
    // A constant span draws nothing.
    let before = first.clone();
    assert_eq!(first.pick(Span { lo: 5, hi: 5 }), 5);
    assert_eq!(first, before);
    assert_eq!(format!("{:?}", LabRandom::for_seed(7)), format!("LabRandom({})", 0x5384_5412_7B09_6493_u64));
}

proptest! {
    #[test]
    fn never_panics(text in "(seed|task a|group g|limit|count=9|:|run|loop|fork|\\{|\\}|1ms|99999999999999999999|\\.\\.|%|=|[ \n]|.){0,60}") {
        let _ = parse_spec(&text);
    }

    #[test]
    fn picks_within_the_span(seed in any::<u64>(), lo in any::<u64>(), width in any::<u64>()) {
        let span = Span { lo, hi: lo.saturating_add(width) };
        let got = LabRandom::for_seed(seed).pick(span);
        prop_assert!((span.lo..=span.hi).contains(&got));
    }
}
