//! Turn lengths weighted by time, and how much two such histograms have in common.

/// Edges of bins: powers of two µs below one tick, and (k+½) ticks, so that a turn that ends by a tick lies in the middle
/// of its bin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bins {
    tick_ns: u64,
    below: Vec<u64>,
}

impl Bins {
    /// The bins for a tick of so many ns (at least one).
    pub fn new(tick_ns: u64) -> Bins {
        let tick_ns = tick_ns.max(1);
        let powers = (0..44).map(|k| 1_000u64 << k);
        let mut below: Vec<u64> = powers.chain([tick_ns / 2]).filter(|edge| *edge < tick_ns).collect();
        below.sort_unstable();
        below.dedup();
        Bins { tick_ns, below }
    }

    /// The number of the bin of a length: the lower edge belongs to the bin.
    pub fn index(&self, length_ns: u64) -> usize {
        let below = self.below.partition_point(|edge| *edge <= length_ns);
        // Edges above one tick: 1.5, 2.5, … ticks. The length in half ticks, less one, tells which.
        let above = (u128::from(length_ns) * 2 / u128::from(self.tick_ns)).saturating_sub(1) / 2;
        below + usize::try_from(above).unwrap_or(usize::MAX - below)
    }
}

/// Time spent in turns, by their length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    weight: std::collections::BTreeMap<usize, u64>,
    total: u64,
}

impl Histogram {
    /// The histogram of turns of these lengths (ns), each weighing its length.
    pub fn of(turns: impl IntoIterator<Item = u64>, bins: &Bins) -> Histogram {
        let mut h = Histogram::default();
        for turn in turns {
            *h.weight.entry(bins.index(turn)).or_default() += turn;
            h.total += turn;
        }
        h
    }

    /// Time in all turns, ns.
    pub fn total_ns(&self) -> u64 {
        self.total
    }

    /// What two histograms share, 0 … 100 %: the sum over bins of the lesser part of time. Two empty ones share all.
    pub fn overlap_pct(&self, other: &Histogram) -> f64 {
        if self.total == 0 || other.total == 0 {
            return if self.total == other.total { 100.0 } else { 0.0 };
        }
        let part = |w: u64, total: u64| w as f64 / total as f64;
        let shared = |(bin, w): (&usize, &u64)| {
            let o = other.weight.get(bin).copied().unwrap_or(0);
            part(*w, self.total).min(part(o, other.total))
        };
        100.0 * self.weight.iter().map(shared).sum::<f64>()
    }
}
