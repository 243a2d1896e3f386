//! What interrupts and the hypervisor leave of a CPU to fair tasks (smp.md §1.5).

use super::avg::{Scale, Signals};
use super::state::CAPACITY_SCALE;
use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;

const FULL: Scale = Scale { freq: CAPACITY_SCALE, cpu: CAPACITY_SCALE, runnable: 1 };

impl<H: Hooks> Kernel<H> {
    /// Averages the time taken by interrupts and the hypervisor, where it is accounted for: `nontask` ns just before now.
    ///
    /// Mirrors: `update_irq_load_avg()`, v4.19–v6.5; when within the time passed they came is not known to it either.
    pub(in crate::kernel) fn update_irq_load_avg(&mut self, cpu: CpuId, nontask: u64) {
        if !self.tracks_load() || !self.config.features.enabled(Feature::NontaskCapacity) {
            return;
        }
        let rq = &mut self.rqs[cpu.index()];
        let (clock, pelt) = (rq.clock, &mut rq.pelt);
        let running = nontask * pelt.freq_scale / CAPACITY_SCALE * pelt.cpu_scale / CAPACITY_SCALE;
        let busy = Signals { load: 1, runnable: 1, running: true };
        let before = pelt.avg_irq.accumulate(clock - running, Signals::default(), FULL);
        if pelt.avg_irq.accumulate(clock, busy, FULL) || before {
            pelt.avg_irq.average(1, 1);
        }
    }

    /// Computes the capacity that is left to the fair class. No class above it uses any (D-003).
    ///
    /// Mirrors: `update_cpu_capacity()`, `scale_rt_capacity()`, v4.19–v6.5.
    pub fn update_cpu_capacity(&mut self, cpu: CpuId) {
        let accounted = self.config.irq_time_accounting || self.config.steal_time_accounting;
        let pelt = &mut self.rqs[cpu.index()].pelt;
        let (full, irq) = (pelt.capacity_orig, pelt.avg_irq.util_avg);
        pelt.capacity = match full.checked_sub(irq) {
            // Of what others leave (all of it), the part that interrupts leave.
            Some(left) if accounted => left.max(1),
            Some(1..) => full,
            _ => 1,
        };
    }
}
