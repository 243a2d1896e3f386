//! What tasks draw depends on what they are, and on nothing else.

use super::{brief, parse, trace};
use proptest::prelude::*;
use sim_core::program::Action;
use sim_core::rng::stream;
use sim_workloads::dist::Dist;

const DISTS: &[&str] = &[
    "\"1ms\"",
    "{ uniform = [\"1ms\", \"2ms\"] }",
    "{ exponential = \"1ms\" }",
    "{ lognormal = { median = \"1ms\", sigma = 0.5 } }",
    "{ pareto = { scale = \"1ms\", shape = 1.5 } }",
    "{ normal = { mean = \"1ms\", sd = \"300us\" }, min = \"0ns\" }",
    "{ empirical = [\"1ms\", \"2ms\", \"5ms\"] }",
];

fn dist(text: &str) -> Dist {
    #[derive(serde::Deserialize)]
    struct Table {
        value: Dist,
    }
    toml::from_str::<Table>(&format!("value = {text}")).expect(text).value
}

/// A dependency update or another platform that changes these values changes every result: it must be seen.
#[test]
fn golden_draws() {
    let draws = |text: &str| {
        let mut stream = stream(42, "cc1#17", "run");
        let dist = dist(text);
        [(); 4].map(|()| dist.sample(&mut stream).0)
    };
    let found: Vec<_> = DISTS.iter().map(|text| draws(text)).collect();
    let expected = [
        [1_000_000, 1_000_000, 1_000_000, 1_000_000],
        [1_202_002, 1_286_061, 1_640_055, 1_822_027],
        [921_079, 256_416, 724_461, 674_746],
        [442_935, 797_390, 1_186_020, 1_381_369],
        [2_904_660, 2_303_356, 1_346_445, 1_139_575],
        [511_400, 864_153, 1_102_362, 1_193_845],
        [1_000_000, 1_000_000, 5_000_000, 2_000_000],
    ];
    assert_eq!(found, expected);
}

/// Means and medians are what the documentation says: 200 000 draws, bounds of five standard errors.
#[test]
fn parameters_mean_what_they_say() {
    let n = 200_000;
    let sorted = |text: &str| {
        let mut stream = stream(7, "t", "run");
        let dist = dist(text);
        let mut draws: Vec<f64> = (0..n).map(|_| dist.sample(&mut stream).0 as f64 / 1e6).collect();
        draws.sort_by(f64::total_cmp);
        draws
    };
    let mean = |draws: &[f64]| draws.iter().sum::<f64>() / f64::from(n);
    let near = |found: f64, expected: f64, sd: f64| {
        let error = 5.0 * sd / f64::from(n).sqrt();
        assert!((found - expected).abs() < error, "{found} is not {expected} ± {error}");
    };
    near(mean(&sorted(DISTS[1])), 1.5, 1.0 / 12f64.sqrt());
    near(mean(&sorted(DISTS[2])), 1.0, 1.0);
    let lognormal = sorted(DISTS[3]);
    // The standard error of a median is 1 / (2 f √n), f the density there: 1 / (σ √(2π)).
    near(lognormal[n as usize / 2], 1.0, 0.5 * (std::f64::consts::TAU).sqrt() / 2.0);
    let mean_of_lognormal = (0.125f64).exp();
    near(mean(&lognormal), mean_of_lognormal, mean_of_lognormal * ((0.25f64).exp() - 1.0).sqrt());
    // P(x > 4) = 4^-1.5 = 1/8.
    let tail = sorted(DISTS[4]).iter().filter(|x| **x > 4.0).count() as f64 / f64::from(n);
    near(tail, 0.125, (0.125f64 * 0.875).sqrt());
    near(mean(&sorted(DISTS[5])), 1.0, 0.3);
    near(mean(&sorted(DISTS[6])), 8.0 / 3.0, 1.7);
}

#[test]
fn limits_are_kept_and_no_draw_is_endless() {
    let mut s = stream(1, "t", "run");
    let clamped = dist("{ exponential = \"1ms\", min = \"500us\", max = \"2ms\" }");
    let draws: Vec<u64> = (0..1000).map(|_| clamped.sample(&mut s).0).collect();
    assert_eq!((draws.iter().min(), draws.iter().max()), (Some(&500_000), Some(&2_000_000)));
    let heavy = dist("{ pareto = { scale = \"366000ms\", shape = 0.1 } }");
    let most = (0..1000).map(|_| heavy.sample(&mut s)).max();
    assert_eq!(most, Some(sim_workloads::units::MAX_DURATION));
}

const RANDOM: &str = r#"
[run]
duration = "10s"
[task.a]
count = 3
program = [{ forever = [{ run = { exponential = "1ms" } }, { sleep = { uniform = ["1ms", "2ms"] } },
    { fork = "c", program = [{ kernel = { exponential = "1us" } }] }] }]
"#;

/// Every random thing the task at `path` asks for, its children's included.
fn asks(text: &str, seed: u64, path: &str) -> Vec<String> {
    let mut built = parse(text).expect("valid").build(seed);
    let task = built.tasks.iter_mut().find(|t| t.path == path).expect(path);
    let mut asks = Vec::new();
    for (_, action) in trace(task.program.as_mut(), 60) {
        asks.push(format!("{action:?}"));
        if let Action::Fork(mut child) = action {
            asks.extend(brief(child.program.as_mut(), 60));
        }
    }
    asks
}

/// Only the lengths of runs.
fn runs(text: &str) -> Vec<String> {
    asks(text, 1, "a#0").into_iter().filter(|a| a.starts_with("Run")).take(10).collect()
}

#[test]
fn a_sleep_more_does_not_move_the_runs() {
    let more = RANDOM.replace("{ fork", "{ sleep = { exponential = \"1ms\" } }, { fork");
    assert_eq!(runs(RANDOM), runs(&more));
}

#[test]
fn tasks_and_seeds_differ() {
    assert_ne!(asks(RANDOM, 1, "a#0"), asks(RANDOM, 1, "a#1"));
    assert_ne!(asks(RANDOM, 1, "a#0"), asks(RANDOM, 2, "a#0"));
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_and_other_tasks_change_nothing(
        seed: u64, others in 1u32..5, before: bool, instance in 0u32..3,
    ) {
        let path = format!("a#{instance}");
        let base = asks(RANDOM, seed, &path);
        prop_assert_eq!(&base, &asks(RANDOM, seed, &path));
        let other = format!("[task.b]\ncount = {others}\nprogram = [{{ run = {{ exponential = \"1ms\" }} }}]\n");
        let text = if before { format!("{other}{RANDOM}") } else { format!("{RANDOM}{other}") };
        prop_assert_eq!(&base, &asks(&text, seed, &path));
        let more = RANDOM.replace("count = 3", "count = 7");
        prop_assert_eq!(&base, &asks(&more, seed, &path));
    }
}
