//! Random streams keyed by what draws from them.
//!
//! A stream belongs to (seed, path, purpose): the path names a task by its place in the scenario (`cc1#17`, not a pid
//! or an order of creation), so that changing a tunable, or adding a task, never changes what another task asks for.
//! Comparisons between two settings therefore use common random numbers.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// One stream of random numbers.
pub type Stream = Pcg64Mcg;

/// The stream of `path` for `purpose` under `seed`.
pub fn stream(seed: u64, path: &str, purpose: &str) -> Stream {
    let hash = fnv1a(fnv1a(fnv1a(FNV_OFFSET, &seed.to_le_bytes()), path.as_bytes()), &[0]);
    Pcg64Mcg::seed_from_u64(mix(fnv1a(hash, purpose.as_bytes())))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// 64-bit FNV-1a, continued from `hash`.
pub fn fnv1a(mut hash: u64, bytes: &[u8]) -> u64 {
    for b in bytes {
        hash = (hash ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// The finaliser of SplitMix64: spreads FNV's weak high bits over the word.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use rand_distr::{Distribution, Exp1, LogNormal};

    #[test]
    fn streams_differ_by_every_part_of_their_key() {
        let draw = |s, p, u| stream(s, p, u).next_u64();
        let base = draw(1, "a", "run");
        assert_eq!(base, draw(1, "a", "run"));
        for other in [draw(2, "a", "run"), draw(1, "b", "run"), draw(1, "a", "sleep"), draw(1, "ar", "un")] {
            assert_ne!(base, other);
        }
    }

    /// A dependency update that changes these values changes every result: it must be seen.
    #[test]
    fn golden_vectors() {
        let mut s = stream(42, "make/cc1#0", "run");
        let raw: Vec<u64> = (0..3).map(|_| s.next_u64()).collect();
        let exp: f64 = Exp1.sample(&mut s);
        let log: f64 = LogNormal::new(1.0, 0.5).unwrap().sample(&mut s);
        assert_eq!(raw, [7891616692059470001, 8860612318646316154, 14658639041680440690]);
        assert_eq!((exp.to_bits(), log.to_bits()), (4605584097517810780, 4609254645401231681));
    }
}
