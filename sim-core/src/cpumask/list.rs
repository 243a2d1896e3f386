//! The kernel's cpulists.

use super::{CpuMask, MAX_CPUS};
use crate::id::CpuId;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Why a text is not a cpulist.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{found:.40}' is not a list of CPUs: write numbers and ranges below {MAX_CPUS}, like 0-3,8")]
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

impl serde::Serialize for CpuMask {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
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
