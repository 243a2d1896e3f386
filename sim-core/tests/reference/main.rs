//! A slow, obvious model of one CPU's fair class, written from core.md without the kernel model's code, and random
//! histories on which the two must agree decision by decision: exact numbers, linear scans, nothing remembered that can
//! be counted.

mod agree;
mod compare;
mod history;
mod model;
mod ops;
mod pick;
mod preempt;
mod queue;
mod version;
mod weight;

use agree::Pair;
use history::histories;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Histories tried unless `CFSIM_HISTORIES` says otherwise.
const HISTORIES: u64 = 2000;
/// Operations of a history.
const LENGTH: usize = 200;

/// A number from the environment.
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|n| n.parse().unwrap_or_else(|_| panic!("{name} is a whole number")))
}

/// After every operation: clock, need_resched, who runs, every entity's vruntime, run time, slice, every queue's order,
/// floor, load, counts and buddies.
///
/// The same histories every time. `CFSIM_HISTORIES` tries more of them, `CFSIM_HISTORIES_SEED` others, and with
/// `CFSIM_UNSHRUNK` a failure is reported as found.
#[test]
fn agrees_with_the_kernel_model_on_random_histories() {
    let cases = asked("CFSIM_HISTORIES").unwrap_or(HISTORIES);
    let mut config = Config::with_cases(u32::try_from(cases).expect("a 32-bit number of histories"));
    config.source_file = Some(file!());
    if asked("CFSIM_UNSHRUNK").is_some() {
        (config.max_shrink_iters, config.failure_persistence) = (0, None);
    }
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&asked("CFSIM_HISTORIES_SEED").unwrap_or(0).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    TestRunner::new_with_rng(config, rng)
        .run(&histories(LENGTH), |h| Pair::play(&h).map_err(TestCaseError::fail))
        .unwrap_or_else(|e| panic!("{e}"));
}
