//! The lab driver's random numbers, so that the simulator draws the very same lengths.

use super::Span;

/// Marsaglia's xorshift64 with shifts 13, 7, 17, seeded as the lab's driver seeds it.
///
/// The parent starts at `seed × 0x9E3779B97F4A7C15 | 1`. Each task of the spec, in order, gets the parent's next value
/// `| 1` as its state, and so does a forked child from its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabRandom(u64);

impl LabRandom {
    /// The parent's stream under a seed.
    pub fn for_seed(seed: u64) -> LabRandom {
        LabRandom(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The stream of a task started by the owner of this one; this stream advances by one value.
    pub fn child(&mut self) -> LabRandom {
        LabRandom(self.next() | 1)
    }

    /// A length from the span. A constant span draws nothing.
    pub fn pick(&mut self, span: Span) -> u64 {
        if span.hi <= span.lo {
            return span.lo;
        }
        match (span.hi - span.lo).checked_add(1) {
            Some(width) => span.lo + self.next() % width,
            None => self.next(),
        }
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
