//! Sets of CPUs, printed and parsed as the kernel's cpulists (`0-3,8`).

use crate::id::CpuId;
use fixedbitset::FixedBitSet;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The most CPUs a machine may have.
pub const MAX_CPUS: u32 = 4096;

/// A set of CPUs.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct CpuMask(FixedBitSet);

impl CpuMask {
    /// CPUs `0..n`.
    pub fn first(n: u32) -> CpuMask {
        let mut bits = FixedBitSet::with_capacity(n as usize);
        bits.insert_range(..);
        CpuMask(bits)
    }
    /// Just one CPU.
    pub fn one(cpu: CpuId) -> CpuMask {
        [cpu].into_iter().collect()
    }
    /// Whether `cpu` is a member.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(cpu.index())
    }
    /// Adds `cpu`.
    pub fn insert(&mut self, cpu: CpuId) {
        self.0.grow(cpu.index() + 1);
        self.0.insert(cpu.index());
    }
    /// Number of CPUs.
    pub fn count(&self) -> usize {
        self.0.count_ones(..)
    }
    /// Whether there is no CPU in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_clear()
    }
    /// Members in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.0.ones().map(CpuId::new)
    }
    /// The lowest-numbered CPU.
    pub fn lowest(&self) -> Option<CpuId> {
        self.iter().next()
    }
    /// Whether every member lies below `n`.
    pub fn within(&self, n: u32) -> bool {
        self.0.maximum().is_none_or(|m| m < n as usize)
    }
}

impl FromIterator<CpuId> for CpuMask {
    fn from_iter<I: IntoIterator<Item = CpuId>>(iter: I) -> CpuMask {
        let mut mask = CpuMask::default();
        iter.into_iter().for_each(|c| mask.insert(c));
        mask
    }
}

/// Why a text is not a cpulist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{found}' is not a list of CPUs: write numbers and ranges below {MAX_CPUS}, like 0-3,8")]
pub struct ParseCpuMaskError {
    /// The offending part.
    pub found: String,
}

impl FromStr for CpuMask {
    type Err = ParseCpuMaskError;
    fn from_str(text: &str) -> Result<CpuMask, ParseCpuMaskError> {
        let mut mask = CpuMask::default();
        for part in text.trim().split(',') {
            let bad = || ParseCpuMaskError { found: part.to_owned() };
            let (a, b) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
            let number = |s: &str| s.parse::<u32>().ok().filter(|n| *n < MAX_CPUS).ok_or_else(bad);
            let (a, b) = (number(a)?, number(b)?);
            if a > b {
                return Err(bad());
            }
            (a..=b).for_each(|c| mask.insert(CpuId(c)));
        }
        Ok(mask)
    }
}

impl fmt::Display for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(|c| c.0).peekable();
        let mut first = true;
        while let Some(start) = cpus.next() {
            let mut end = start;
            while cpus.next_if_eq(&(end + 1)).is_some() {
                end += 1;
            }
            let comma = if std::mem::take(&mut first) { "" } else { "," };
            if start == end { write!(f, "{comma}{start}")? } else { write!(f, "{comma}{start}-{end}")? }
        }
        Ok(())
    }
}
impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rejects_what_is_not_a_cpulist() {
        for bad in ["", "a", "3-1", "0-", "4096", "1,,2"] {
            assert!(bad.parse::<CpuMask>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn prints_what_it_parses(cpus in proptest::collection::btree_set(0u32..200, 1..40)) {
            let mask: CpuMask = cpus.iter().map(|c| CpuId(*c)).collect();
            prop_assert_eq!(mask.to_string().parse::<CpuMask>().unwrap(), mask);
        }
    }
}
