//! One attempt to balance one domain (`struct lb_env`).

use super::detach::Failures;
use super::stats::{DomainStats, Imbalance};
use crate::id::CpuId;
use crate::kernel::domains::{DomainFlags, DomainId, Domains, SchedDomain, SchedGroup, SchedGroupId};
use crate::observe::{IdleType, MigrateReason, MigrationType};

/// Tasks looked at before the locks are dropped for a moment (`sched_nr_migrate_break`).
pub(super) const LOOP_BREAK: u32 = 32;

/// What an attempt knows and how far it has come.
pub(super) struct LbEnv<'d> {
    pub(super) domains: &'d Domains,
    pub(super) sd: DomainId,
    pub(super) domain: &'d SchedDomain,
    /// The CPU that balances.
    pub(super) this_cpu: CpuId,
    /// Where tasks go: `this_cpu`, or another CPU of its group that more tasks may use.
    pub(super) dst: CpuId,
    /// Where tasks come from.
    pub(super) src: CpuId,
    pub(super) idle: IdleType,
    /// Why tasks move.
    pub(super) reason: MigrateReason,
    /// What is left to move.
    pub(super) imbalance: Imbalance,
    /// Tasks looked at.
    pub(super) looked_at: u32,
    /// Of them before the next break.
    pub(super) loop_break: u32,
    /// Of them at most.
    pub(super) loop_max: u32,
    /// The loop stopped for a break.
    pub(super) need_break: bool,
    /// No task looked at may use the destination.
    pub(super) all_pinned: bool,
    /// Some task looked at may not use the destination.
    pub(super) some_pinned: bool,
    /// A CPU of the local group that a task refused by the destination may use.
    pub(super) new_dst: Option<CpuId>,
    /// CPUs given up.
    pub(super) excluded: Vec<CpuId>,
    pub(super) failures: Failures,
    pub(super) moved: u32,
    /// What was seen of the groups, for observers.
    pub(super) seen: Option<(DomainStats, Option<SchedGroupId>)>,
}

impl<'d> LbEnv<'d> {
    pub(super) fn new(
        domains: &'d Domains,
        sd: DomainId,
        cpu: CpuId,
        idle: IdleType,
        failed: u32,
        excluded: Vec<CpuId>,
    ) -> LbEnv<'d> {
        let domain = domains.domain(sd);
        LbEnv {
            domains,
            sd,
            domain,
            this_cpu: cpu,
            dst: cpu,
            src: cpu,
            idle,
            reason: if idle == IdleType::NewlyIdle {
                MigrateReason::NewIdle
            } else {
                MigrateReason::Periodic
            },
            imbalance: Imbalance { kind: MigrationType::Load, amount: 0 },
            looked_at: 0,
            loop_break: LOOP_BREAK,
            loop_max: 0,
            need_break: false,
            all_pinned: false,
            some_pinned: false,
            new_dst: None,
            excluded,
            failures: Failures { failed, nice_tries: domain.cache_nice_tries },
            moved: 0,
            seen: None,
        }
    }

    pub(super) fn is(&self, flags: DomainFlags) -> bool {
        self.domain.flags.has(flags)
    }

    pub(super) fn pct(&self) -> u64 {
        u64::from(self.domain.imbalance_pct)
    }

    pub(super) fn local_group(&self) -> &'d SchedGroup {
        self.domains.group(self.domains.local_group(self.domain))
    }

    /// CPUs of a group that take part.
    pub(super) fn cpus<'a>(&'a self, group: &'a SchedGroup) -> impl Iterator<Item = CpuId> + 'a {
        let overlap = self.is(DomainFlags::OVERLAP);
        group
            .cpus
            .iter()
            .filter(move |c| !self.excluded.contains(c) && (!overlap || self.domain.span.contains(*c)))
    }

    /// Whether CPUs outside the local group still take part.
    pub(super) fn has_other_cpus(&self) -> bool {
        let local = &self.local_group().cpus;
        self.domain.span.iter().any(|c| !local.contains(c) && !self.excluded.contains(&c))
    }

    pub(super) fn restart_loop(&mut self) {
        (self.looked_at, self.loop_break) = (0, LOOP_BREAK);
    }
}
