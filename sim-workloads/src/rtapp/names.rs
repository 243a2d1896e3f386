//! Names as scenarios allow them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The longest name kept.
const MAX: usize = 48;

/// Names of rt-app by what they are, and what they became: letters, digits and a few signs, and different where they differed.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: BTreeMap<(&'static str, String), String>,
    /// Names in use, with the number last tried behind them.
    taken: BTreeMap<(&'static str, String), u32>,
}

impl Names {
    /// The name for `name` among those of its `kind`.
    pub(super) fn of(&mut self, kind: &'static str, name: &str) -> String {
        let key = (kind, name.to_owned());
        if let Some(given) = self.given.get(&key) {
            return given.clone();
        }
        let fresh = self.fresh(kind, name);
        self.given.insert(key, fresh.clone());
        fresh
    }

    /// A name that nobody else has, even if `name` comes again.
    pub(super) fn fresh(&mut self, kind: &'static str, name: &str) -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() || "_-.+:@".contains(c) { c } else { '_' };
        let mut plain: String = name.chars().map(allowed).take(MAX).collect();
        if plain.is_empty() {
            plain.push('_');
        }
        if let Entry::Vacant(free) = self.taken.entry((kind, plain.clone())) {
            free.insert(1);
            return plain;
        }
        loop {
            let last = self.taken.entry((kind, plain.clone())).or_default();
            *last += 1;
            let candidate = format!("{plain}-{last}");
            if let Entry::Vacant(free) = self.taken.entry((kind, candidate.clone())) {
                free.insert(1);
                return candidate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_stay_different_and_equal_ones_equal() {
        let mut names = Names::default();
        assert_eq!(names.of("mutex", "a b"), "a_b");
        assert_eq!(names.of("mutex", "a_b"), "a_b-2");
        assert_eq!(names.of("mutex", "a b"), "a_b");
        assert_eq!(names.of("timer", "a b"), "a_b");
        assert_eq!(names.fresh("task", "x"), "x");
        assert_eq!(names.fresh("task", "x"), "x-2");
    }
}
