//! The idlest group up to 5.4: by load and spare capacity.

use super::Verdict;
use crate::observe::{IdlestFigures, IdlestRule};

/// What the comparison takes from the domain and the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoadTerms {
    /// `imbalance_pct` of the domain.
    pub(super) imbalance_pct: u32,
    /// Whether the domain spans NUMA nodes.
    pub(super) numa: bool,
    /// Whether the task is new: spare capacity does not count for it.
    pub(super) fork: bool,
    /// The task's utilisation.
    pub(super) task_util: u64,
}

/// Finds the idlest group of a domain, shown one group after another in walk order.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdlestByLoad {
    terms: LoadTerms,
    local: Option<IdlestFigures>,
    best: Option<(usize, IdlestFigures)>,
    roomiest: Option<(usize, IdlestFigures)>,
}

impl IdlestByLoad {
    pub(super) const fn new(terms: LoadTerms) -> IdlestByLoad {
        IdlestByLoad { terms, local: None, best: None, roomiest: None }
    }

    /// How far loads may differ and count as equal, in units of capacity.
    fn imbalance(&self) -> u64 {
        1024 * (u64::from(self.terms.imbalance_pct) - 100) / 100
    }

    /// The percentage by which loads with blocked tasks must differ.
    fn scale(&self) -> u64 {
        100 + (u64::from(self.terms.imbalance_pct) - 100) / 2
    }

    /// Shows the group the walk stands in.
    pub(super) const fn local(&mut self, figures: IdlestFigures) {
        self.local = Some(figures);
    }

    /// Shows another group, `index` in walk order.
    pub(super) fn other(&mut self, index: usize, group: IdlestFigures) {
        if self.roomiest.is_none_or(|(_, r)| group.spare > r.spare) {
            self.roomiest = Some((index, group));
        }
        let Some((_, best)) = self.best else {
            self.best = Some((index, group));
            return;
        };
        if best.load > group.load + self.imbalance() {
            self.best = Some((index, group));
        } else if group.load < best.load + self.imbalance()
            && 100 * best.load_with_blocked > self.scale() * group.load_with_blocked
        {
            // Runnable loads are close: load with blocked tasks decides, and the first one's runnable load stays the
            // measure.
            self.best = Some((index, IdlestFigures { load: best.load, ..group }));
        }
    }

    /// The group to go to, if not the local one.
    ///
    /// Mirrors: `find_idlest_group()`, v4.19–v5.4.
    pub(super) fn verdict(&self) -> Verdict {
        let local = self.local;
        let stay = |rule| Verdict { local, best: self.best.map(|(_, g)| g), rule, go: None };
        let go = |rule, (index, group)| Verdict { local, best: Some(group), rule, go: Some(index) };
        if !self.terms.fork
            && let Some(verdict) = self.by_spare_capacity()
        {
            return verdict;
        }
        let Some(best) = self.best else { return stay(IdlestRule::NoOther) };
        let Some(l) = local else { return go(IdlestRule::NoLocal, best) };
        let (b, imbalance) = (best.1, self.imbalance());
        if self.terms.numa && b.load + imbalance >= l.load {
            return stay(IdlestRule::NumaTolerance);
        }
        let less_blocked = 100 * l.load_with_blocked < self.scale() * b.load_with_blocked;
        if b.load > l.load + imbalance || (l.load < b.load + imbalance && less_blocked) {
            return stay(IdlestRule::Load);
        }
        go(IdlestRule::Load, best)
    }

    /// A task that has run needs room for half of what it used: at home if there is, else where most is.
    fn by_spare_capacity(&self) -> Option<Verdict> {
        let spare = self.local.map_or(0, |l| l.spare);
        let most = self.roomiest.map_or(0, |(_, r)| r.spare);
        let needed = self.terms.task_util / 2;
        let verdict =
            |rule, go| Some(Verdict { local: self.local, best: self.roomiest.map(|(_, g)| g), rule, go });
        if spare > needed && self.scale() * spare > 100 * most {
            return verdict(IdlestRule::LocalSpare, None);
        }
        let (index, _) = self.roomiest.filter(|_| most > needed)?;
        verdict(IdlestRule::MostSpare, Some(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::CpuId;

    const MC: LoadTerms = LoadTerms { imbalance_pct: 117, numa: false, fork: true, task_util: 0 };
    const SMT: LoadTerms = LoadTerms { imbalance_pct: 110, ..MC };

    /// (R, A, S) of the local group and of the others.
    fn verdict(
        terms: LoadTerms,
        local: (u64, u64, u64),
        others: &[(u64, u64, u64)],
    ) -> (Option<usize>, IdlestRule) {
        let figures = |(load, load_with_blocked, spare)| IdlestFigures {
            cpu: CpuId(0),
            load,
            load_with_blocked,
            spare,
            idle_cpus: 0,
            nr_running: 0,
        };
        let mut search = IdlestByLoad::new(terms);
        search.local(figures(local));
        others.iter().enumerate().for_each(|(i, g)| search.other(i, figures(*g)));
        let v = search.verdict();
        (v.go, v.rule)
    }

    /// smp.md §3.6.2: a parent of load 1024 leaves its core for the first empty one.
    #[test]
    fn a_heavy_parent_sends_its_child_to_the_first_empty_core() {
        assert_eq!(verdict(MC, (512, 512, 0), &[(0, 0, 0); 5]).0, Some(0));
    }

    /// The same with blocked load on the other cores: the least one, group 3.
    #[test]
    fn blocked_load_decides_among_equally_runnable_cores() {
        let others = [300, 250, 400, 180, 300].map(|a| (0, a, 0));
        assert_eq!(verdict(MC, (512, 512, 0), &others).0, Some(3));
    }

    /// smp.md §9.4 F2: a light parent keeps its child near when the others carry blocked load.
    #[test]
    fn a_light_parent_keeps_its_child() {
        let others = [300, 250, 400, 180, 300].map(|a| (0, a, 0));
        assert_eq!(verdict(MC, (150, 150, 0), &others), (None, IdlestRule::Load));
        assert_eq!(verdict(SMT, (300, 300, 0), &[(0, 0, 0)]).0, Some(0), "then its sibling thread takes it");
    }

    /// With no load anywhere the last comparison is 0 < 0, so that an equal group wins (F1).
    #[test]
    fn of_two_empty_groups_the_other_wins() {
        assert_eq!(verdict(SMT, (0, 0, 0), &[(0, 0, 0)]).0, Some(0));
    }

    /// F3, F4: equal load everywhere.
    #[test]
    fn equal_loads_keep_the_child() {
        assert_eq!(verdict(MC, (512, 512, 0), &[(512, 512, 0); 5]), (None, IdlestRule::Load));
        assert_eq!(verdict(MC, (1024, 1024, 0), &[(1024, 1024, 0); 5]), (None, IdlestRule::Load));
    }

    /// E2: a task alone on its thread has its own thread's room (108 · 1024 > 100 · 1024) and stays when it execs.
    #[test]
    fn exec_stays_where_its_own_thread_has_room() {
        let terms = LoadTerms { fork: false, task_util: 1024, ..MC };
        let found = verdict(terms, (1024, 1024, 1024), &[(0, 0, 1024); 5]);
        assert_eq!(found, (None, IdlestRule::LocalSpare));
    }

    /// A crowded home: the first group with most room, if that is more than half the task.
    #[test]
    fn exec_goes_where_most_room_is() {
        let terms = LoadTerms { fork: false, task_util: 600, ..MC };
        let others = [(0, 0, 800), (0, 0, 900), (0, 0, 900)];
        assert_eq!(verdict(terms, (2048, 2048, 100), &others), (Some(1), IdlestRule::MostSpare));
        let none_has_room = [(2048, 2048, 300), (2048, 2048, 200)];
        assert_eq!(verdict(terms, (2048, 2048, 100), &none_has_room), (None, IdlestRule::Load));
    }

    /// Between nodes (imbalance 256) a difference of less than that is let be.
    #[test]
    fn numa_nodes_tolerate_the_imbalance() {
        let node = LoadTerms { imbalance_pct: 125, numa: true, ..MC };
        assert_eq!(verdict(node, (256, 900, 0), &[(0, 0, 0)]), (None, IdlestRule::NumaTolerance));
        assert_eq!(verdict(node, (257, 900, 0), &[(0, 0, 0)]), (Some(0), IdlestRule::Load));
    }
}
