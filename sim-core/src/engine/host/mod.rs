//! Virtual machines: the simulated CPUs are threads of a host, which is a simulation of its own with its own kernel.
//!
//! Both share one clock: at one instant what happens on the host comes first. A virtual CPU executes while its thread is
//! in the guest on a host CPU with nothing else to do ([`VcpuState::Runs`]); otherwise it is absent: its task makes no
//! progress, its interrupts and rescheduling wait (`deferred.rs`). A guest's CPU that idles halts: its thread leaves the
//! guest, polls, sleeps (`thread.rs`); the next interrupt for it wakes the thread.

mod others;
mod thread;

pub(super) use thread::VcpuThread;

use super::Simulation;
use super::config::{Limits, SimConfig, SimError};
use super::queue::Happening;
use crate::id::CpuId;
use crate::kernel::hooks::{Hooks, NoHooks};
use crate::machine::HostConfig;
use crate::observe::{Event, Observer, VcpuState};
use crate::program::Objects;
use crate::time::{Instant, Nanos};

/// The host of a run.
pub(super) struct Host {
    sim: Simulation<(), NoHooks>,
    config: HostConfig,
    seed: u64,
}

/// A virtual CPU that does not execute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absence {
    /// Since when.
    pub(super) since: Instant,
    /// It has halted, or had: nothing is lost but the time to wake it.
    pub(super) halted: bool,
    /// What its thread does now, and since when.
    state: VcpuState,
    state_since: Instant,
    /// How long it has waited for a host CPU.
    waited: Nanos,
}

impl Absence {
    fn new(now: Instant, state: VcpuState) -> Absence {
        let halted = state == VcpuState::Halts;
        Absence { since: now, halted, state, state_since: now, waited: Nanos::ZERO }
    }

    /// A CPU that has not been used yet.
    pub(super) fn since_boot() -> Absence {
        Absence::new(Instant::ZERO, VcpuState::Halts)
    }

    fn change(&mut self, now: Instant, state: VcpuState) {
        if self.state == VcpuState::Waits {
            self.waited += now - self.state_since;
        }
        (self.state, self.state_since) = (state, now);
    }
}

impl Host {
    pub(super) fn new(config: &HostConfig, limits: Limits) -> Host {
        let machine = (*config.machine).clone();
        let sim_config = SimConfig { kernel: config.kernel.clone(), machine, duration: None, limits };
        let sim = Simulation::new(sim_config, Objects::default(), ());
        Host { sim, config: config.clone(), seed: 0 }
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.seed = seed;
        self.sim.seed(seed);
    }

    /// The host has booted: its guests' threads exist.
    pub(super) fn start(&mut self) {
        for (i, cpus) in self.config.vcpus.iter().enumerate() {
            self.sim.add_vcpu(format!("vcpu{i}"), cpus.clone(), self.config.halt_poll);
        }
        self.add_other_guests();
        self.sim.start();
    }

    pub(super) fn next_event(&self) -> Option<Instant> {
        self.sim.next_event()
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Something happens on the host.
    pub(super) fn step_host(&mut self, at: Instant) -> Result<(), SimError> {
        if let Some(host) = &mut self.host {
            host.sim.step(at)?;
            host.sim.end_polling();
        }
        for i in 0..self.cpus.len() {
            self.look_at_vcpu(CpuId::new(i));
        }
        Ok(())
    }

    /// What kept a virtual CPU busy on the host is over.
    pub(super) fn on_vcpu(&mut self, cpu: CpuId, generation: u32) {
        if self.cpus[cpu.index()].absence_generation == generation {
            self.look_at_vcpu(cpu);
            // Something else may have come meanwhile.
            self.expect_vcpu(cpu);
        }
    }

    /// When what holds a virtual CPU ends, nothing happens on the host: it is looked at then.
    fn expect_vcpu(&mut self, cpu: CpuId) {
        let Some(host) = &self.host else { return };
        if let Some(until) = host.sim.vcpu_held_until(cpu.index()).filter(|until| *until > self.now) {
            let c = &mut self.cpus[cpu.index()];
            c.absence_generation = c.absence_generation.wrapping_add(1);
            let generation = c.absence_generation;
            self.queue.push(until, Happening::Vcpu { cpu, generation });
        }
    }

    /// Takes over what the thread of a CPU does.
    fn look_at_vcpu(&mut self, cpu: CpuId) {
        let Some(host) = &self.host else { return };
        let state = host.sim.vcpu_state(cpu.index(), self.now);
        match (self.cpus[cpu.index()].absence, state) {
            (None, VcpuState::Runs) => {}
            (Some(absence), _) if absence.state == state => {}
            (Some(absence), VcpuState::Runs) => self.vcpu_returns(cpu, absence),
            (before, _) => self.vcpu_leaves(cpu, before, state),
        }
    }

    /// A virtual CPU stops executing, or its thread does something else.
    fn vcpu_leaves(&mut self, cpu: CpuId, before: Option<Absence>, state: VcpuState) {
        self.sync_burst(cpu);
        let mut absence = before.unwrap_or_else(|| Absence::new(self.now, state));
        absence.change(self.now, state);
        let c = &mut self.cpus[cpu.index()];
        c.absence = Some(absence);
        c.progress_generation = c.progress_generation.wrapping_add(1);
        self.observer.event(self.now, &Event::Vcpu { cpu, state });
        if state == VcpuState::Held {
            self.expect_vcpu(cpu);
        }
    }

    /// A virtual CPU executes again: what it was at is shifted by its absence, what waited happens.
    fn vcpu_returns(&mut self, cpu: CpuId, mut absence: Absence) {
        absence.change(self.now, VcpuState::Runs);
        self.kernel.account_nontask(cpu, absence.waited, true);
        let c = &mut self.cpus[cpu.index()];
        c.absence = None;
        if !absence.halted {
            let lost = self.now - absence.since;
            c.progress_from = c.progress_from.max(absence.since).saturating_add(lost);
            if c.irq_until > absence.since {
                c.irq_until = c.irq_until.saturating_add(lost);
            }
        }
        self.observer.event(self.now, &Event::Vcpu { cpu, state: VcpuState::Runs });
        self.project(cpu);
        self.arm_deferred(cpu);
        // What called it back may be past.
        self.halt_if_idle(cpu);
        if self.cpus[cpu.index()].deferred.is_empty() {
            self.idle_again(cpu);
        }
    }

    /// A CPU of a guest without idle states halts as soon as it has nothing to do.
    pub(super) fn halt_if_idle(&mut self, cpu: CpuId) {
        let (rq, c) = (self.kernel.rq(cpu), &self.cpus[cpu.index()]);
        if self.host.is_some()
            && self.idle.is_none()
            && rq.curr.is_none()
            && !rq.need_resched
            && c.absence.is_none()
            && c.deferred.is_empty()
            && !self.in_softirq(cpu)
        {
            self.halt_vcpu(cpu);
        }
    }

    /// A CPU of a guest halts, when what it still does in the kernel is done.
    pub(super) fn halt_vcpu(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.index()];
        let Some(host) = &mut self.host else { return };
        let busy = c.progress_from.max(c.irq_until).saturating_since(self.now);
        c.absence = Some(Absence::new(self.now, VcpuState::Halts));
        host.sim.leave_guest(cpu.index(), busy + host.config.exits.exit, self.now);
        self.observer.event(self.now, &Event::Vcpu { cpu, state: VcpuState::Halts });
    }

    /// An interrupt comes for a CPU that does not execute: if it has halted, its thread is woken.
    pub(super) fn kick_vcpu(&mut self, cpu: CpuId) {
        let halted = self.cpus[cpu.index()].absence.is_some_and(|a| a.halted);
        if let Some(host) = self.host.as_mut().filter(|_| halted) {
            host.sim.interrupt_vcpu(cpu.index(), host.config.exits.wake, self.now);
            self.look_at_vcpu(cpu);
        }
    }

    /// Whether a virtual CPU has something to do as soon as the host lets it.
    pub(super) fn waits_for_host(&self) -> bool {
        self.cpus.iter().any(|c| c.absence.is_some_and(|a| !a.halted || !c.deferred.is_empty()))
    }

    /// From the decision to interrupt a CPU until it hears of it.
    pub(super) fn ipi_to(&self, cpu: CpuId) -> Nanos {
        let halted = self.cpus[cpu.index()].absence.is_some_and(|a| a.halted);
        match &self.host {
            Some(host) if halted => host.config.exits.kick,
            _ => self.cost().ipi,
        }
    }

    /// Whether a CPU is a virtual one that does not execute.
    pub(super) fn is_absent(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].absence.is_some()
    }

    /// What leaving a halt takes beside the interrupt: with a host, that is the host's affair.
    pub(super) fn halt_exit(&self) -> Nanos {
        if self.host.is_some() { Nanos::ZERO } else { self.cost().idle_exit }
    }
}
