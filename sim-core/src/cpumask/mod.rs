//! Sets of CPUs, printed and parsed as the kernel's cpulists (`0-3,8`).
//!
//! Scanning, counting and combining in place allocate nothing.

mod list;

pub use list::ParseCpuMaskError;

use crate::id::CpuId;

/// The most CPUs a machine may have: their numbers are below it.
pub const MAX_CPUS: u32 = 4096;

const BITS: usize = u64::BITS as usize;

/// A set of CPUs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct CpuMask {
    /// 64 CPUs each, lowest first; the last word is never zero, so that equal sets are equal in every way.
    words: Vec<u64>,
}

impl CpuMask {
    /// CPUs `0..n`.
    pub fn first(n: u32) -> CpuMask {
        let mut words = vec![u64::MAX; n as usize / BITS];
        let rest = n as usize % BITS;
        if rest > 0 {
            words.push((1 << rest) - 1);
        }
        CpuMask { words }
    }
    /// Just one CPU.
    pub fn one(cpu: CpuId) -> CpuMask {
        [cpu].into_iter().collect()
    }
    /// Whether `cpu` is a member.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.word(cpu.index() / BITS) >> (cpu.index() % BITS) & 1 == 1
    }
    /// Adds `cpu`.
    pub fn insert(&mut self, cpu: CpuId) {
        let i = cpu.index() / BITS;
        if i >= self.words.len() {
            self.words.resize(i + 1, 0);
        }
        self.words[i] |= 1 << (cpu.index() % BITS);
    }
    /// Takes `cpu` out.
    pub fn remove(&mut self, cpu: CpuId) {
        if let Some(word) = self.words.get_mut(cpu.index() / BITS) {
            *word &= !(1 << (cpu.index() % BITS));
            self.trim();
        }
    }
    /// Takes all CPUs out.
    pub fn clear(&mut self) {
        self.words.clear();
    }
    /// Becomes a copy of `other`, in the memory it has.
    pub fn copy_from(&mut self, other: &CpuMask) {
        self.words.clone_from(&other.words);
    }
    /// Adds the members of `other`.
    pub fn or_with(&mut self, other: &CpuMask) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }
    /// Keeps only members of `other`.
    pub fn and_with(&mut self, other: &CpuMask) {
        self.words.truncate(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
        self.trim();
    }
    /// Takes the members of `other` out.
    pub fn and_not_with(&mut self, other: &CpuMask) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
        self.trim();
    }
    /// Members of both, as a new set.
    pub fn and(&self, other: &CpuMask) -> CpuMask {
        let mut mask = self.clone();
        mask.and_with(other);
        mask
    }
    /// Number of CPUs (`cpumask_weight`).
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
    /// Number of CPUs in both (`cpumask_weight_and`).
    pub fn count_and(&self, other: &CpuMask) -> usize {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }
    /// Whether there is no CPU in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
    /// Whether every member is one of `other`.
    pub fn is_subset(&self, other: &CpuMask) -> bool {
        self.words.iter().enumerate().all(|(i, w)| w & !other.word(i) == 0)
    }
    /// Whether some CPU is in both.
    pub fn intersects(&self, other: &CpuMask) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }
    /// Members in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        Ones::new(0, self.words.len(), |i| self.words[i])
    }
    /// Members of both in increasing order (`for_each_cpu_and`).
    pub fn iter_and<'a>(&'a self, other: &'a CpuMask) -> impl Iterator<Item = CpuId> + 'a {
        let words = self.words.len().min(other.words.len());
        Ones::new(0, words, move |i| self.words[i] & other.words[i])
    }
    /// Members from `start` on in increasing order, then those below it (`for_each_cpu_wrap`).
    pub fn iter_wrap(&self, start: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        wrap(start, self.words.len(), |i| self.words[i])
    }
    /// Members of both from `start` on in increasing order, then those below it.
    pub fn iter_and_wrap<'a>(&'a self, other: &'a CpuMask, start: CpuId) -> impl Iterator<Item = CpuId> + 'a {
        let words = self.words.len().min(other.words.len());
        wrap(start, words, move |i| self.words[i] & other.words[i])
    }
    /// The lowest-numbered CPU (`cpumask_first`).
    pub fn lowest(&self) -> Option<CpuId> {
        self.iter().next()
    }
    /// The lowest-numbered CPU in both (`cpumask_first_and`).
    pub fn lowest_and(&self, other: &CpuMask) -> Option<CpuId> {
        self.iter_and(other).next()
    }
    /// The highest-numbered CPU.
    pub fn highest(&self) -> Option<CpuId> {
        let last = self.words.len().checked_sub(1)?;
        Some(CpuId::new(last * BITS + BITS - 1 - self.words[last].leading_zeros() as usize))
    }
    /// Whether every member lies below `n`.
    pub fn within(&self, n: u32) -> bool {
        self.highest().is_none_or(|cpu| cpu.0 < n)
    }

    fn word(&self, i: usize) -> u64 {
        self.words.get(i).copied().unwrap_or(0)
    }
    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

/// The set bits of words `at..end` in increasing order.
struct Ones<F> {
    at: usize,
    end: usize,
    /// Bits of word `at - 1` still to come.
    rest: u64,
    word: F,
}

impl<F: Fn(usize) -> u64> Ones<F> {
    fn new(at: usize, end: usize, word: F) -> Ones<F> {
        Ones { at, end, rest: 0, word }
    }
}

impl<F: Fn(usize) -> u64> Iterator for Ones<F> {
    type Item = CpuId;
    fn next(&mut self) -> Option<CpuId> {
        while self.rest == 0 {
            if self.at >= self.end {
                return None;
            }
            self.rest = (self.word)(self.at);
            self.at += 1;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(CpuId::new((self.at - 1) * BITS + bit))
    }
}

/// The set bits from `start` on, then those below it.
fn wrap<'a>(
    start: CpuId,
    words: usize,
    word: impl Fn(usize) -> u64 + Copy + 'a,
) -> impl Iterator<Item = CpuId> + 'a {
    let (split, low) = (start.index() / BITS, (1 << (start.index() % BITS)) - 1);
    let from = Ones::new(split, words, move |i| if i == split { word(i) & !low } else { word(i) });
    let below = Ones::new(0, words.min(split + 1), move |i| if i == split { word(i) & low } else { word(i) });
    from.chain(below)
}

impl FromIterator<CpuId> for CpuMask {
    fn from_iter<I: IntoIterator<Item = CpuId>>(iter: I) -> CpuMask {
        let mut mask = CpuMask::default();
        iter.into_iter().for_each(|c| mask.insert(c));
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type Set = BTreeSet<u32>;

    fn mask(set: &Set) -> CpuMask {
        set.iter().map(|c| CpuId(*c)).collect()
    }
    fn numbers(iter: impl Iterator<Item = CpuId>) -> Vec<u32> {
        iter.map(|c| c.0).collect()
    }
    fn sets() -> impl Strategy<Value = Set> {
        proptest::collection::btree_set(0u32..300, 0..60)
    }

    #[test]
    fn first_holds_what_it_says() {
        for n in [0, 1, 63, 64, 65, 4096] {
            assert_eq!(numbers(CpuMask::first(n).iter()), (0..n).collect::<Vec<_>>());
            assert!(CpuMask::first(n).within(n) && (n == 0 || !CpuMask::first(n).within(n - 1)));
        }
    }

    proptest! {
        #[test]
        fn operations_are_those_of_sets(a in sets(), b in sets(), start in 0u32..310) {
            let (x, y) = (mask(&a), mask(&b));
            let both: Set = a.intersection(&b).copied().collect();
            let mut z = x.clone();
            z.or_with(&y);
            prop_assert_eq!(&z, &mask(&a.union(&b).copied().collect()));
            z.and_not_with(&y);
            prop_assert_eq!(&z, &mask(&a.difference(&b).copied().collect()));
            z.copy_from(&x);
            z.and_with(&y);
            prop_assert_eq!(&z, &mask(&both));
            prop_assert_eq!(&x.and(&y), &z);
            prop_assert_eq!(numbers(x.iter_and(&y)), both.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(x.count(), a.len());
            prop_assert_eq!(x.count_and(&y), both.len());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.intersects(&y), !both.is_empty());
            prop_assert_eq!(x.lowest().map(|c| c.0), a.first().copied());
            prop_assert_eq!(x.highest().map(|c| c.0), a.last().copied());
            prop_assert_eq!(x.lowest_and(&y).map(|c| c.0), both.first().copied());
            let wrapped = |s: &Set| s.range(start..).chain(s.range(..start)).copied().collect::<Vec<_>>();
            prop_assert_eq!(numbers(x.iter_wrap(CpuId(start))), wrapped(&a));
            prop_assert_eq!(numbers(x.iter_and_wrap(&y, CpuId(start))), wrapped(&both));
            for cpu in &a {
                z.copy_from(&x);
                z.remove(CpuId(*cpu));
                prop_assert!(!z.contains(CpuId(*cpu)) && z.count() == a.len() - 1);
            }
        }
    }
}
