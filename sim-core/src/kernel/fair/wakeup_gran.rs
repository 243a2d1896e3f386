//! How far behind a wakee or a candidate has to be, before weights.

use crate::id::{EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::kernel::rules::WakeupGran;

/// Fair tasks from which a queue is long for [`WakeupGran::ByThresholds`]: the default `sched_latency` holds as many minimum
/// granularities on one CPU and as many wakeup granularities on many (6 at boot; patches.md §5.1).
const LONG_QUEUE: u32 = 6;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// A choice of the next entity, between candidates.
    AtPick,
    /// A wake-up while `curr` runs.
    AtWakeup {
        /// The running task.
        curr: TaskId,
    },
}

impl<H: Hooks> Kernel<H> {
    /// The granularity of a comparison with `a`, ns.
    ///
    /// Mirrors: `wakeup_gran()`, v4.19–v6.5, and three posted patches (patches.md §1, §5.1, §5.3).
    pub(super) fn wakeup_gran(&self, a: EntityId, asked: Asked) -> u64 {
        let t = &self.config.tunables;
        let plain = t.wakeup_granularity_ns;
        match (self.config.rules.wakeup_gran, asked) {
            (WakeupGran::ByQueueLength, Asked::AtWakeup { curr }) => {
                let se = self.tasks[curr.index()].se;
                let q = self.entities[se.index()].cfs_rq;
                let nr = u64::from(self.cfs_rqs[q.index()].nr_running);
                if nr > 1 { plain * (nr / 2).min(t.nr_latency) } else { plain }
            }
            (WakeupGran::ByThresholds, Asked::AtWakeup { .. }) => {
                let q = self.entities[a.index()].cfs_rq;
                let nr = self.cfs_rqs[q.index()].h_nr_running;
                let gentle = self.config.features.enabled(Feature::GentleFairSleepers);
                match nr {
                    _ if gentle && nr <= LONG_QUEUE / 2 => plain,
                    _ if nr <= LONG_QUEUE => {
                        if gentle {
                            t.latency_ns / 2
                        } else {
                            plain
                        }
                    }
                    _ => t.latency_ns,
                }
            }
            (WakeupGran::UntilMinRun, _) if self.entities[a.index()].ran() < t.min_granularity_ns => {
                plain + t.min_granularity_ns
            }
            _ => plain,
        }
    }
}
