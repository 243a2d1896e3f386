//! The idlest group from 5.5 on: by type of group.

use super::Verdict;
use crate::kernel::select::rules::{IdlestNuma, SelectRules};
use crate::observe::{GroupType, IdlestFigures, IdlestRule};

/// A group's type with what groups of the same type are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypedGroup {
    /// The type.
    pub(super) group_type: GroupType,
    /// Utilisation of all its CPUs.
    pub(super) util: u64,
    /// Load by capacity, idle CPUs, tasks.
    pub(super) figures: IdlestFigures,
}

/// What the comparison takes from the domain and the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeTerms {
    /// `imbalance_pct` of the domain.
    pub(super) imbalance_pct: u32,
    /// CPUs of the domain.
    pub(super) weight: u32,
    /// Whether the domain spans NUMA nodes.
    pub(super) numa: bool,
    /// Tasks that may share a node without being spread (5.18 and later), at most the CPUs the task may use there.
    pub(super) imb_numa_nr: u32,
}

/// Finds the idlest group of a domain, shown one group after another in walk order.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdlestByType {
    terms: TypeTerms,
    rules: SelectRules,
    local: Option<TypedGroup>,
    best: Option<(usize, TypedGroup)>,
}

impl IdlestByType {
    pub(super) const fn new(terms: TypeTerms, rules: SelectRules) -> IdlestByType {
        IdlestByType { terms, rules, local: None, best: None }
    }

    /// Shows the group the walk stands in.
    pub(super) const fn local(&mut self, group: TypedGroup) {
        self.local = Some(group);
    }

    /// Shows another group, `index` in walk order.
    ///
    /// Mirrors: `update_pick_idlest()`, v5.5–v6.5.
    pub(super) fn other(&mut self, index: usize, group: TypedGroup) {
        let better = match &self.best {
            // The search begins with an overloaded group of the largest load.
            None => group.group_type < GroupType::Overloaded || group.figures.load < u64::from(u32::MAX),
            Some((_, best)) if group.group_type != best.group_type => group.group_type < best.group_type,
            Some((_, best)) => self.better_of_its_type(&group, best),
        };
        if better {
            self.best = Some((index, group));
        }
    }

    fn better_of_its_type(&self, group: &TypedGroup, best: &TypedGroup) -> bool {
        match group.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => group.figures.load < best.figures.load,
            GroupType::HasSpare => {
                let (idle, most) = (group.figures.idle_cpus, best.figures.idle_cpus);
                idle > most || (idle == most && self.rules.idlest_util_tie && group.util < best.util)
            }
            _ => false,
        }
    }

    /// The group to go to, if not the local one.
    ///
    /// Mirrors: `find_idlest_group()`, v5.5–v6.5.
    pub(super) fn verdict(&self) -> Verdict {
        let local = self.local.map(|g| g.figures);
        let best = self.best.map(|(_, g)| g.figures);
        let verdict = |rule, go| Verdict { local, best, rule, go };
        let Some((index, b)) = self.best else { return verdict(IdlestRule::NoOther, None) };
        let Some(l) = self.local else { return verdict(IdlestRule::NoLocal, Some(index)) };
        let (rule, go) = if l.group_type == b.group_type {
            self.same_type(&l, &b)
        } else {
            (IdlestRule::GroupType, l.group_type > b.group_type)
        };
        verdict(rule, go.then_some(index))
    }

    fn same_type(&self, l: &TypedGroup, b: &TypedGroup) -> (IdlestRule, bool) {
        match l.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let (pct, numa) = (u64::from(self.terms.imbalance_pct), self.terms.numa);
                let imbalance = 1024 * (pct - 100) / 100;
                let (l, b) = (l.figures.load, b.figures.load);
                if numa && b + imbalance >= l {
                    return (IdlestRule::NumaTolerance, false);
                }
                (IdlestRule::Load, b < l + imbalance && 100 * l > pct * b)
            }
            GroupType::HasSpare if self.terms.numa && self.tolerated(&l.figures, &b.figures) => {
                (IdlestRule::NumaTolerance, false)
            }
            GroupType::HasSpare => (IdlestRule::IdleCpus, l.figures.idle_cpus < b.figures.idle_cpus),
            _ => (IdlestRule::GroupType, false),
        }
    }

    /// Whether a task stays on its node although another has more idle CPUs. Preferred nodes are left out (smp.md §7).
    fn tolerated(&self, l: &IdlestFigures, b: &IdlestFigures) -> bool {
        match self.rules.idlest_numa {
            IdlestNuma::IdleCpu => l.idle_cpus > 0,
            IdlestNuma::QuarterBusy => l.nr_running < self.terms.weight >> 2,
            IdlestNuma::ImbNumaNr => {
                l.nr_running < self.terms.imb_numa_nr && l.idle_cpus.abs_diff(b.idle_cpus) <= 2
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::CpuId;
    use GroupType::{FullyBusy, HasSpare, Overloaded};

    const MC: TypeTerms = TypeTerms { imbalance_pct: 117, weight: 12, numa: false, imb_numa_nr: 0 };
    const NODES: TypeTerms = TypeTerms { imbalance_pct: 125, weight: 48, numa: true, imb_numa_nr: 3 };

    fn group(group_type: GroupType, load: u64, idle_cpus: u32, nr_running: u32, util: u64) -> TypedGroup {
        let figures =
            IdlestFigures { cpu: CpuId(0), load, load_with_blocked: 0, spare: 0, idle_cpus, nr_running };
        TypedGroup { group_type, util, figures }
    }
    fn spare(idle: u32, util: u64) -> TypedGroup {
        group(HasSpare, 0, idle, 0, util)
    }

    /// Rules of 5.7, which has none of the bugs.
    fn rules() -> SelectRules {
        SelectRules { idlest_group: crate::kernel::rules::IdlestGroup::GroupType, ..SelectRules::v4_19() }
    }

    fn verdict(
        terms: TypeTerms,
        rules: SelectRules,
        local: TypedGroup,
        others: &[TypedGroup],
    ) -> (Option<usize>, IdlestRule) {
        let mut search = IdlestByType::new(terms, rules);
        search.local(local);
        others.iter().enumerate().for_each(|(n, g)| search.other(n, *g));
        let v = search.verdict();
        (v.go, v.rule)
    }

    /// smp.md §3.6.3: the first core with more idle threads to 5.8, the least utilised one of those from 5.9 on.
    #[test]
    fn forks_spread_to_idle_cores() {
        let others = [spare(2, 300), spare(2, 100), spare(2, 100), spare(1, 0)];
        assert_eq!(verdict(MC, rules(), spare(1, 0), &others), (Some(0), IdlestRule::IdleCpus));
        let tie = SelectRules { idlest_util_tie: true, ..rules() };
        assert_eq!(verdict(MC, tie, spare(1, 0), &others).0, Some(1));
    }

    #[test]
    fn equally_many_idle_cpus_keep_the_task() {
        assert_eq!(verdict(MC, rules(), spare(2, 900), &[spare(2, 0); 5]), (None, IdlestRule::IdleCpus));
    }

    #[test]
    fn the_less_busy_type_wins() {
        let busy = group(FullyBusy, 500, 0, 2, 2048);
        let overloaded = group(Overloaded, 100, 0, 4, 2048);
        assert_eq!(verdict(MC, rules(), busy, &[overloaded, spare(1, 0)]), (Some(1), IdlestRule::GroupType));
        assert_eq!(verdict(MC, rules(), busy, &[overloaded]), (None, IdlestRule::GroupType));
        assert_eq!(verdict(MC, rules(), overloaded, &[busy]), (Some(0), IdlestRule::GroupType));
    }

    /// Busy groups by load: with 117 %, an own load of 1500 goes to 1200 (difference above 174, 1500 · 100 > 117 · 1200)
    /// and not to 1300.
    #[test]
    fn busy_groups_compare_by_load() {
        let busy = |load| group(FullyBusy, load, 0, 2, 2048);
        assert_eq!(verdict(MC, rules(), busy(1500), &[busy(1600), busy(1200)]), (Some(1), IdlestRule::Load));
        assert_eq!(verdict(MC, rules(), busy(1500), &[busy(1300)]), (None, IdlestRule::Load));
        let between_nodes = TypeTerms { imbalance_pct: 125, numa: true, ..MC };
        assert_eq!(
            verdict(between_nodes, rules(), busy(1456), &[busy(1200)]),
            (None, IdlestRule::NumaTolerance),
            "1200 + 256 is not below 1456"
        );
        // Bug (a) of 5.5 and 5.6: without loads nothing moves.
        assert_eq!(verdict(MC, rules(), busy(0), &[busy(0)]), (None, IdlestRule::Load));
    }

    /// smp.md §3.6.3, NUMA rows: 24 of 48 CPUs a node, `imb_numa_nr` 3.
    #[test]
    fn nodes_keep_tasks_by_version() {
        let with = |idlest_numa| SelectRules { idlest_numa, ..rules() };
        let local = |nr: u32| group(HasSpare, 0, 24 - nr, nr, 0);
        let empty = group(HasSpare, 0, 24, 0, 0);
        let go = |rule, nr| verdict(NODES, with(rule), local(nr), &[empty]).0.is_some();
        assert!(!go(IdlestNuma::IdleCpu, 23) && go(IdlestNuma::IdleCpu, 24));
        assert!(!go(IdlestNuma::QuarterBusy, 11) && go(IdlestNuma::QuarterBusy, 12));
        assert!(!go(IdlestNuma::ImbNumaNr, 2) && go(IdlestNuma::ImbNumaNr, 3));
        let apart = group(HasSpare, 0, 20, 1, 0);
        assert!(
            verdict(NODES, with(IdlestNuma::ImbNumaNr), apart, &[empty]).0.is_some(),
            "4 more idle CPUs there"
        );
    }

    #[test]
    fn without_an_own_group_any_will_do() {
        let mut search = IdlestByType::new(MC, rules());
        search.other(4, group(Overloaded, 9, 0, 9, 9));
        assert_eq!((search.verdict().go, search.verdict().rule), (Some(4), IdlestRule::NoLocal));
    }
}
