//! Ticks: the trace shows only the switches they lead to.

use super::replay::Replay;
use super::setup::SWITCH_FOLLOWS_NS;
use super::tally::{Answer, Kind};
use crate::capture::trace::TraceEvent;
use sim_core::kernel::Schedule;
use sim_core::observe::TickPreempt;
use sim_core::{CpuId, Instant, TaskId};

/// From a tick's clock sample to `__schedule`, when no switch shows it: the captures' constant 2 µs.
pub(super) const REPICK_NS: u64 = 2_000;

/// The last tick of a CPU.
#[derive(Debug, Default)]
pub(super) struct CpuTicks {
    /// It asked for a reschedule at this time and no switch has been seen yet.
    pending: Option<(u64, Answer)>,
    /// It asked for none, and that is counted as right.
    quiet: Option<(u64, Answer)>,
}

/// How a switch came about.
#[derive(Clone, Copy, Debug)]
pub(super) enum FromTick {
    /// Not by a tick.
    No,
    /// By a tick of the model's, too.
    Yes(Answer, u64),
    /// Nobody asked for it in the model.
    Unasked(u64),
}

impl Replay<'_> {
    /// Ticks up to the event at `at`; a tick whose reschedule led to no switch picked current again.
    pub(super) fn ticks_until(&mut self, at: u64) {
        while let Some(tick) = self.next_tick.filter(|t| *t <= at) {
            self.next_tick = Some(tick + self.setup.config.tick_ns());
            for cpu in (0..self.cpus.len()).map(CpuId::new) {
                self.settle_tick(cpu);
                self.now = self.now.max(tick);
                if self.kernel.rq(cpu).curr.is_some() {
                    self.tick(cpu);
                }
            }
        }
        for cpu in (0..self.cpus.len()).map(CpuId::new) {
            let pending = self.cpus[cpu.index()].ticks.pending;
            if pending.is_some_and(|(t, _)| at >= t + self.window) {
                self.settle_tick(cpu);
            }
        }
    }

    fn tick(&mut self, cpu: CpuId) {
        let rq = self.kernel.rq(cpu);
        let (already, waiting) = (rq.need_resched, rq.nr_running > 1);
        self.kernel.hooks.tick = None;
        self.kernel.scheduler_tick(cpu, Instant(self.now), &mut ());
        self.drain();
        if already {
            return;
        }
        let tasks = self.runnable_on(cpu);
        let known = tasks.iter().all(|t| self.known.vruntime(*t));
        let tolerance = self.tolerance(&tasks);
        let far = self.kernel.hooks.tick.is_some_and(|d| {
            // On several CPUs nobody sees when exactly the tick came.
            is_far(&d, tolerance, if self.cpus.len() > 1 { self.window } else { tolerance })
        });
        let answer = Answer {
            choice: waiting,
            decidable: known && far,
            right: true,
            first_come: true,
            previous_cpu: true,
            left: false,
        };
        let asked = self.kernel.rq(cpu).need_resched;
        let ticks = &mut self.cpus[cpu.index()].ticks;
        (ticks.pending, ticks.quiet) = (None, None);
        if asked {
            ticks.pending = Some((self.now, answer));
        } else if waiting {
            ticks.quiet = Some((self.now, answer));
            self.report.tick.count(answer);
        }
    }

    /// A tick's reschedule that showed no switch: the picker must have chosen current again.
    fn settle_tick(&mut self, cpu: CpuId) {
        let Some((at, answer)) = self.cpus[cpu.index()].ticks.pending.take() else { return };
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        self.now = self.now.max(at + REPICK_NS);
        let tasks = self.runnable_on(cpu);
        let tolerance = self.tolerance(&tasks);
        // Right if the model, too, would have picked current again.
        let right = self.schedule(cpu, Schedule::Preempt, Some(curr));
        let decidable = answer.decidable && self.kernel.hooks.margin.is_none_or(|m| m >= tolerance);
        let answer = Answer { right, decidable, ..answer };
        let stamp = at.saturating_add_signed(-self.setup.shift);
        self.report.count(Kind::Tick, answer, stamp, cpu.0, || {
            "the running task goes on; the model would have ended its turn".to_owned()
        });
    }

    /// How the switch of a task that stays runnable came about.
    pub(super) fn settle_switch(
        &mut self,
        event: &TraceEvent,
        cpu: CpuId,
        preempted: Option<TaskId>,
    ) -> FromTick {
        if let Some((at, answer)) = self.cpus[cpu.index()].ticks.pending.take() {
            return FromTick::Yes(answer, at);
        }
        let asked = self.kernel.rq(cpu).need_resched || self.next_tick.is_none();
        if preempted.is_some() && !asked { FromTick::Unasked(event.at_ns) } else { FromTick::No }
    }

    /// Counts what a switch says of the tick before it.
    pub(super) fn count_tick_switch(&mut self, cpu: CpuId, from: FromTick) {
        match from {
            FromTick::No => {}
            FromTick::Yes(answer, at) => {
                let answer = Answer { first_come: false, previous_cpu: false, ..answer };
                let stamp = at.saturating_add_signed(-self.setup.shift);
                self.report.count(Kind::Tick, answer, stamp, cpu.0, String::new);
            }
            FromTick::Unasked(stamp) => {
                let quiet = self.cpus[cpu.index()].ticks.quiet.take();
                let near = quiet.filter(|(at, _)| self.now < at + self.window.max(SWITCH_FOLLOWS_NS));
                if let Some((_, counted)) = near {
                    self.report.tick.was_wrong(counted);
                    let miss = Answer { right: false, ..counted };
                    self.report.missed(Kind::Tick, miss, stamp, cpu.0, || {
                        "ends the running task's turn; the model would not have".to_owned()
                    });
                } else {
                    // Something else that the trace does not show, like a task that yields.
                    self.report.misfits += 1;
                }
            }
        }
    }
}

/// Whether a tick's verdict would be the same a little earlier or later.
fn is_far(d: &TickPreempt, virtual_ns: u64, real_ns: u64) -> bool {
    let from_slice = d.ran.0.abs_diff(d.slice.0);
    let ahead = d.lead.abs_diff(d.slice.0.cast_signed());
    from_slice >= real_ns && (d.ran.0 > d.slice.0 || d.left.is_none() || ahead >= virtual_ns)
}
