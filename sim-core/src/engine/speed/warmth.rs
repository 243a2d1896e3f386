//! Cold caches: a task that finds less of its working set than it left runs slower until it has loaded it.

use super::Simulation;
use crate::engine::queue::Happening;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::machine::{CacheConfig, FULL_SPEED};
use crate::observe::{Event, Observer};
use crate::time::Nanos;

/// How far the running task of a CPU has come in loading its working set, in time it works.
#[derive(Debug, Default)]
pub(super) struct Warmth {
    cold: Nanos,
    left: Nanos,
    /// It runs slower: until [`Happening::Warm`] comes, which may be a little after nothing is left.
    slow: bool,
}

impl Warmth {
    /// Speed as far as caches go.
    pub(super) fn factor(&self, config: &CacheConfig) -> u32 {
        if self.slow { config.cold_speed } else { FULL_SPEED }
    }

    /// The task has worked for so long; says whether it was cold.
    pub(super) fn pass(&mut self, done: Nanos) -> bool {
        self.left = self.left.saturating_sub(done);
        self.slow
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// A task leaves a CPU.
    pub(super) fn leave_caches(&mut self, cpu: CpuId, task: Option<TaskId>) {
        let Some(task) = task else { return };
        let config = &self.config.machine.cache;
        if config.is_off() {
            return;
        }
        let w = &self.pace.cpus[cpu.index()].warmth;
        let (done, all) = (w.cold.saturating_sub(w.left), w.cold);
        let t = &mut self.tasks[task.index()];
        t.footprint.leave(t.kind.working_set, (done.0, all.0), &mut self.pace.caches, config);
    }

    /// A task comes to a CPU.
    pub(super) fn enter_caches(&mut self, cpu: CpuId, task: Option<TaskId>) {
        let Some(task) = task else { return };
        let config = &self.config.machine.cache;
        if config.is_off() {
            return;
        }
        let c = &mut self.pace.cpus[cpu.index()];
        let t = &mut self.tasks[task.index()];
        let refill = t.footprint.arrive(t.kind.working_set, c.place, &self.pace.caches, config);
        let lost = refill.map_or(Nanos::ZERO, |r| config.time(&r));
        let cold = config.cold_phase(lost);
        c.warmth = Warmth { cold, left: cold, slow: !cold.is_zero() };
        if let Some(refill) = refill {
            self.observer.event(self.now, &Event::Refill { cpu, task, refill, lost });
        }
    }

    /// Foresees when the running task has loaded its working set.
    pub(in crate::engine) fn project_warmth(&mut self, cpu: CpuId, generation: u32) {
        let w = &self.pace.cpus[cpu.index()].warmth;
        if w.slow {
            let at = self.cpus[cpu.index()].progress_from.saturating_add(w.left);
            self.queue.push(at.max(self.now), Happening::Warm { cpu, generation });
        }
    }

    /// The running task has loaded its working set.
    pub(in crate::engine) fn on_warm(&mut self, cpu: CpuId, generation: u32) {
        if self.cpus[cpu.index()].progress_generation == generation {
            self.sync_burst(cpu);
            self.pace.cpus[cpu.index()].warmth.slow = false;
            self.respeed(cpu);
        }
    }

    /// A deep idle state has emptied the private caches of a CPU's core.
    pub(in crate::engine) fn core_flushed(&mut self, cpu: CpuId) {
        if !self.config.machine.cache.kept_in_idle {
            let core = self.pace.cpus[cpu.index()].place.core;
            self.pace.caches.flush(core);
        }
    }
}
