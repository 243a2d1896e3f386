//! How durations spread, in bounded memory: sixteen classes between one power of two and the next.

/// A histogram of durations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spread {
    classes: Vec<u64>,
    count: u64,
    most: u64,
}

/// Sixteen classes for each of 61 powers of two, after those of 0 to 15.
const CLASSES: usize = 16 * 61;

impl Default for Spread {
    fn default() -> Spread {
        Spread { classes: vec![0; CLASSES], count: 0, most: 0 }
    }
}

/// The class of a duration.
fn class(ns: u64) -> usize {
    let above = (64 - ns.leading_zeros()).saturating_sub(5);
    above as usize * 16 + (ns >> above) as usize
}

/// The lowest duration of a class.
fn lowest(class: usize) -> u64 {
    if class < 32 { class as u64 } else { (16 + class as u64 % 16) << (class / 16 - 1) }
}

impl Spread {
    pub(super) fn add(&mut self, ns: u64) {
        self.classes[class(ns).min(CLASSES - 1)] += 1;
        self.count += 1;
        self.most = self.most.max(ns);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// The duration that `percent` of all do not exceed, to a sixteenth.
    pub(super) fn percentile(&self, percent: u64) -> Option<u64> {
        let wanted = (self.count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        self.classes
            .iter()
            .position(|n| {
                seen += n;
                seen >= wanted
            })
            .map(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other() {
        for ns in (0..5000).chain([1 << 40, (1 << 40) + (1 << 36), u64::MAX]) {
            let low = lowest(class(ns));
            assert!(low <= ns && ns - low <= ns / 16, "{ns}: {low}");
        }
        let mut spread = Spread::default();
        assert_eq!(spread.percentile(50), None);
        (1..=100).for_each(|ns| spread.add(ns));
        assert_eq!(
            (spread.percentile(10), spread.percentile(50), spread.count(), spread.most()),
            (Some(10), Some(50), 100, 100)
        );
    }
}
