use super::*;
use crate::time::Nanos;
use proptest::prelude::*;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const C: CacheConfig = CacheConfig::I7_8700;

/// Cores 0 and 1 under cache 0, core 2 under cache 1 of the same node, core 3 under cache 2 of node 1.
fn place(core: u32) -> Place {
    Place { core, llc: core / 2 + u32::from(core == 3), node: u32::from(core == 3) }
}

fn levels() -> Levels {
    Levels { core: vec![0; 4], llc: vec![0; 3], flushes: vec![0; 4] }
}

/// A task with this working set that has run to warmth on core 0 and left it.
fn left_core_0(set: u64, levels: &mut Levels) -> Footprint {
    let mut f = Footprint::default();
    assert_eq!(f.arrive(set, place(0), levels, &C), None);
    f.leave(set, (0, 0), levels, &C);
    f
}

/// What the task pays where it goes on.
fn cost(f: &mut Footprint, set: u64, core: u32, levels: &Levels) -> Option<(RefillReason, Nanos)> {
    f.arrive(set, place(core), levels, &C).map(|r| (r.reason, C.time(&r)))
}

/// smp.md §8: 256 KiB from the last-level cache about 10 µs, 32 KiB about 1.3 µs; from memory 25 to 40 µs, 4 MiB 300 to 600.
#[test]
fn the_arithmetic_of_the_specification() {
    use RefillReason as R;
    for (set, core, reason, ns) in [
        (256 * KIB, 1, R::MovedCore, 10_240),
        (32 * KIB, 1, R::MovedCore, 1_280),
        (256 * KIB, 2, R::MovedLlc, 33_182),
        (4 * MIB, 2, R::MovedLlc, 530_924),
        // 4 MiB under the same cache: only the 256 KiB of the core.
        (4 * MIB, 1, R::MovedCore, 10_240),
        (256 * KIB, 3, R::MovedNode, 67_216),
    ] {
        let mut l = levels();
        let mut f = left_core_0(set, &mut l);
        assert_eq!(cost(&mut f, set, core, &l), Some((reason, Nanos(ns))), "{set} bytes to core {core}");
    }
}

/// Another task of 64 KiB has run to warmth: a quarter of the private cache, 1/192 of the last-level cache, is lost.
#[test]
fn what_ran_in_between_displaces_in_proportion() {
    let mut l = levels();
    let mut f = left_core_0(128 * KIB, &mut l);
    let (core, llc) = (l.core[0], l.llc[0]);
    l.load(place(0), 64 * KIB, 64 * KIB);
    assert_eq!((l.core[0], l.llc[0]), (core + 64 * KIB, llc + 64 * KIB));
    let refill = f.arrive(128 * KIB, place(0), &l, &C).unwrap();
    // 131072 · 65536 / 12 MiB = 682 bytes from memory, the rest of 32 KiB from the last-level cache.
    assert_eq!((refill.from_llc, refill.from_memory), (32 * KIB - 682, 682));
    assert_eq!((refill.reason, refill.remote), (RefillReason::Preempted, false));
}

#[test]
fn a_flush_costs_what_moving_to_another_core_costs() {
    let mut l = levels();
    let mut f = left_core_0(256 * KIB, &mut l);
    l.flush(0);
    assert_eq!(cost(&mut f, 256 * KIB, 0, &l), Some((RefillReason::Flushed, Nanos(10_240))));
}

#[test]
fn memory_stays_on_the_first_node() {
    let mut l = levels();
    let mut f = left_core_0(256 * KIB, &mut l);
    for (core, remote) in [(3, true), (0, false)] {
        let refill = f.arrive(256 * KIB, place(core), &l, &C).unwrap();
        assert_eq!((refill.reason, refill.remote), (RefillReason::MovedNode, remote));
        f.leave(256 * KIB, (1, 1), &mut l, &C);
    }
}

/// A task that leaves when a quarter is loaded has three quarters to load when it comes back.
#[test]
fn a_refill_cut_short_goes_on() {
    let mut l = levels();
    let mut f = left_core_0(256 * KIB, &mut l);
    f.arrive(256 * KIB, place(1), &l, &C).unwrap();
    f.leave(256 * KIB, (1, 4), &mut l, &C);
    assert_eq!(l.core[1], 64 * KIB);
    assert_eq!(cost(&mut f, 256 * KIB, 1, &l), Some((RefillReason::Preempted, Nanos(7_680))));
}

#[test]
fn the_phase_at_half_speed_is_twice_the_time_lost() {
    assert_eq!(C.cold_phase(Nanos(10_240)), Nanos(20_480));
    let quarter = CacheConfig { cold_speed: FULL_SPEED / 4, ..C };
    assert_eq!(quarter.cold_phase(Nanos(3)), Nanos(4));
}

proptest! {
    /// Whatever happened, coming back costs at most loading everything anew, and nothing without a working set.
    #[test]
    fn cost_is_bounded(
        set in 0u64..64 * MIB,
        way in proptest::collection::vec((0u32..4, 0u64..8 * MIB, any::<bool>(), 0u64..5), 1..20),
    ) {
        let mut l = levels();
        let mut f = left_core_0(set, &mut l);
        for (core, others, flush, done) in way {
            l.load(place(core), others, others);
            if flush {
                l.flush(core);
            }
            let refill = f.arrive(set, place(core), &l, &C);
            let everything = ns(set.min(C.llc_bytes), if core == 3 { C.remote_mb_s } else { C.memory_mb_s });
            prop_assert!(refill.is_none_or(|r| C.time(&r).0 <= everything + 1));
            prop_assert!(set > 0 || refill.is_none());
            f.leave(set, (done, 4), &mut l, &C);
        }
    }

    /// What is loaded only grows, and the more others load, the more it costs.
    #[test]
    fn more_in_between_costs_more(set in 1u64..2 * MIB, a in 0u64..16 * MIB, b in 0u64..16 * MIB) {
        let cost_after = |others| {
            let mut l = levels();
            let mut f = left_core_0(set, &mut l);
            l.load(place(0), others, others);
            cost(&mut f, set, 0, &l).map_or(Nanos::ZERO, |(_, ns)| ns)
        };
        prop_assert!(cost_after(a.min(b)) <= cost_after(a.max(b)));
    }
}
