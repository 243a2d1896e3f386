//! The threads of virtual CPUs, on the host: in the guest they run until it halts; out of it they poll, then sleep.

use super::super::Simulation;
use super::super::actions::Attempt;
use super::super::exec::{Burst, Op, Then};
use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::task::TaskState;
use crate::kernel::{Policy, TaskParams};
use crate::machine::HaltPoll;
use crate::observe::{Event, Observer, VcpuState};
use crate::program::{Action, Program, ProgramContext, Work};
use crate::time::{Instant, Nanos};

/// The thread of one virtual CPU.
#[derive(Debug)]
pub(crate) struct VcpuThread {
    task: TaskId,
    out: Out,
    /// An interrupt has come since it halted.
    kicked: bool,
    halted_at: Instant,
    /// How long it polls.
    poll: Nanos,
    halt_poll: HaltPoll,
    /// What is left to do from the interrupt to the guest.
    wake: Nanos,
}

/// What a thread does out of the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Out {
    /// It leaves the guest.
    Leaving,
    /// It waits for an interrupt without giving its CPU away.
    Polling,
    /// It sleeps.
    Asleep,
}

/// The guest's code: as far as the host can tell it never ends.
struct GuestCode;

impl Program for GuestCode {
    fn next(&mut self, _: &ProgramContext) -> Action {
        Action::Run(Work::Capacity(Nanos::MAX))
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Creates the thread of the next virtual CPU, halted.
    pub(super) fn add_vcpu(&mut self, name: String, cpus_allowed: CpuMask, halt_poll: HaltPoll) {
        let params = TaskParams { nice: 0, policy: Policy::Normal, cpus_allowed, group: GroupId::ROOT };
        let task = self.kernel.add_task(&params);
        self.observer.event(self.now, &Event::Fork { parent: None, child: task });
        self.push_exec(Box::new(GuestCode), name.clone(), name, None, self.now);
        self.enter(task, Nanos::ZERO, Then::Attempt(Op::Vcpu(self.vcpus.len() as u32)));
        self.vcpus.push(VcpuThread {
            task,
            out: Out::Asleep,
            kicked: false,
            halted_at: self.now,
            poll: Nanos::ZERO,
            halt_poll,
            wake: Nanos::ZERO,
        });
    }

    /// What the thread of a virtual CPU does.
    pub(super) fn vcpu_state(&self, vcpu: usize, now: Instant) -> VcpuState {
        let v = &self.vcpus[vcpu];
        let task = self.kernel.task(v.task);
        let wanted = v.kicked || !self.tasks[v.task.index()].in_kernel;
        if task.state == TaskState::Sleeping || !wanted {
            VcpuState::Halts
        } else if !task.on_cpu {
            VcpuState::Waits
        } else {
            match self.vcpu_held_until(vcpu) {
                None => VcpuState::Wakes,
                Some(until) if until > now => VcpuState::Held,
                Some(_) => VcpuState::Runs,
            }
        }
    }

    /// When a virtual CPU whose thread is in the guest, on a CPU, can execute.
    pub(super) fn vcpu_held_until(&self, vcpu: usize) -> Option<Instant> {
        let v = &self.vcpus[vcpu];
        let task = self.kernel.task(v.task);
        let in_guest = task.on_cpu && !self.tasks[v.task.index()].in_kernel;
        in_guest.then(|| self.cpus[task.cpu.index()].progress_from)
    }

    /// A virtual CPU that executes halts: its thread leaves the guest, which takes `work`.
    pub(super) fn leave_guest(&mut self, vcpu: usize, work: Nanos, now: Instant) {
        self.advance_to(now);
        let v = &mut self.vcpus[vcpu];
        (v.out, v.kicked, v.halted_at) = (Out::Leaving, false, now);
        let task = v.task;
        let cpu = self.kernel.task(task).cpu;
        self.sync_burst(cpu);
        self.enter(task, work, Then::Attempt(Op::Vcpu(vcpu as u32)));
        self.project(cpu);
    }

    /// An interrupt comes for a halted virtual CPU; from its thread's seeing it to the guest takes `wake`.
    pub(super) fn interrupt_vcpu(&mut self, vcpu: usize, wake: Nanos, now: Instant) {
        let v = &mut self.vcpus[vcpu];
        if std::mem::replace(&mut v.kicked, true) {
            return;
        }
        v.wake = wake;
        let (task, out) = (v.task, v.out);
        self.advance_to(now);
        match out {
            Out::Leaving => {}
            Out::Polling => self.cut_burst(task),
            Out::Asleep => {
                // The thread that sends the interrupt wakes it, or a timer of the CPU it last ran on. Deviates: D-191.
                let by = self.kernel.task(task).cpu;
                self.wake(task, by, None);
                self.settle(Nanos::ZERO);
            }
        }
    }

    /// The burst of a task ends now. Its end is forecast once: of two threads that both poll, each would void the other's.
    fn cut_burst(&mut self, task: TaskId) {
        if self.tasks[task.index()].burst == Burst::NONE {
            return;
        }
        let cpu = self.kernel.task(task).cpu;
        self.sync_burst(cpu);
        self.tasks[task.index()].burst = Burst::NONE;
        self.project(cpu);
    }

    /// Polling ends when another task wants the CPU. A thread that was called while it polled is on its way into the guest.
    pub(super) fn end_polling(&mut self) {
        for i in 0..self.vcpus.len() {
            let v = &self.vcpus[i];
            let rq = self.kernel.rq(self.kernel.task(v.task).cpu);
            if v.out == Out::Polling && !v.kicked && (rq.need_resched || rq.nr_running > 1) {
                self.cut_burst(v.task);
            }
        }
    }

    /// A thread out of the guest has done what it was at.
    pub(in super::super) fn vcpu_out_of_guest(&mut self, cpu: CpuId, vcpu: u32) -> Attempt {
        let wanted = self.kernel.rq(cpu).need_resched || self.kernel.rq(cpu).nr_running > 1;
        let now = self.now;
        let v = &mut self.vcpus[vcpu as usize];
        if v.kicked {
            v.poll = v.halt_poll.adapted(v.poll, now.saturating_since(v.halted_at));
            return Attempt::Done(v.wake);
        }
        if v.out == Out::Leaving && !v.poll.is_zero() && !wanted {
            v.out = Out::Polling;
            return Attempt::Then(v.poll, Op::Vcpu(vcpu));
        }
        v.out = Out::Asleep;
        Attempt::Block(Then::Attempt(Op::Vcpu(vcpu)))
    }
}
