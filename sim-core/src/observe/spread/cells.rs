//! Neighbourhoods of CPUs: how many idle, how many tasks wait.

use crate::cpumask::CpuMask;
use crate::id::CpuId;

/// CPUs of one kind of neighbourhood: cores, caches, nodes or the machine.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) of_cpu: Vec<u32>,
    pub(super) masks: Vec<CpuMask>,
    idle: Vec<u32>,
    pub(super) waiting: Vec<u32>,
    /// Sum of min(idle, waiting) over the cells.
    pub(super) wasted: u64,
    /// Cells with at least two busy CPUs.
    pub(super) shared: u64,
}

impl Cells {
    pub(super) fn new(cpus: usize, masks: Vec<CpuMask>) -> Cells {
        let mut of_cpu = vec![0; cpus];
        for (i, mask) in masks.iter().enumerate() {
            mask.iter().for_each(|c| of_cpu[c.index()] = i as u32);
        }
        let idle = masks.iter().map(|m| m.count() as u32).collect();
        Cells { of_cpu, idle, waiting: vec![0; masks.len()], masks, wasted: 0, shared: 0 }
    }

    pub(super) fn change(&mut self, cpu: CpuId, idle: i32, waiting: i32) {
        let i = self.of_cpu[cpu.index()] as usize;
        let size = self.masks[i].count() as u32;
        let busy = |idle: u32| u64::from(size - idle >= 2);
        self.wasted -= u64::from(self.idle[i].min(self.waiting[i]));
        self.shared -= busy(self.idle[i]);
        self.idle[i] = self.idle[i].wrapping_add_signed(idle);
        self.waiting[i] = self.waiting[i].wrapping_add_signed(waiting);
        self.wasted += u64::from(self.idle[i].min(self.waiting[i]));
        self.shared += busy(self.idle[i]);
    }
}
