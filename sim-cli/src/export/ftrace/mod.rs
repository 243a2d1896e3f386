//! ftrace text, as `/sys/kernel/tracing/trace` shows it: an observer that writes each event as it comes.
//!
//! A line is `comm-pid [cpu] flags seconds.fraction: event: fields`, the columns as wide as the kernel makes them. Pids are
//! [`FIRST_PID`] plus the task's number; pid 0 is the idle task, called `<idle>` at the head of a line and `swapper/CPU` in
//! fields. Only the names and states of tasks and CPUs are kept in memory.

mod events;
mod flags;
mod line;
#[cfg(test)]
mod tests;

pub(crate) use events::{EventSet, TraceEvent};
pub(crate) use line::Style;

use flags::Flags;
use line::Line;
use sim_core::observe::{Context, Event, MigrateReason, Observer, SwitchKind};
use sim_core::{CpuId, Instant, TaskId};
use std::io::{self, Write};

/// Pid of the first task. An assumption: any number that is no kernel thread's on a booted machine.
pub(crate) const FIRST_PID: u64 = 1000;
/// The idle state entered: the simulator has one, and C1 is what a kernel numbers 1.
const IDLE_STATE: u32 = 1;
/// How `cpu_idle` prints the end of idling, −1 as an unsigned number.
const IDLE_EXIT: u32 = u32::MAX;
/// Paths below this are kernel threads, which sleep in state `I`.
const KERNEL_THREADS: &str = "kernel/";

/// A task as the trace shows it.
#[derive(Debug, Clone)]
struct Task {
    comm: String,
    /// The name it gives itself once it runs: a forked task bears its parent's until then.
    renames_to: Option<String>,
    nice: i8,
    cpu: CpuId,
    kernel_thread: bool,
    exiting: bool,
    /// Its name and nice value are known.
    told: bool,
}

/// A CPU as the trace shows it.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    curr: Option<TaskId>,
    need_resched: bool,
}

/// Writes a run as ftrace text. The first error of the writer ends the trace; [`Ftrace::finish`] reports it.
#[derive(Debug)]
pub(crate) struct Ftrace<W> {
    out: W,
    style: Style,
    events: EventSet,
    from: Instant,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    /// Who acts, and in what context.
    active: Option<(CpuId, Context)>,
    /// Between a wake-up's beginning and its end.
    waking: bool,
    line: Line,
    error: Option<io::Error>,
}

impl<W: Write> Ftrace<W> {
    /// Begins a trace of a machine with `cpus` CPUs: writes the header, then the chosen events from `from` on.
    pub(crate) fn new(out: W, style: Style, cpus: u32, events: EventSet, from: Instant) -> Ftrace<W> {
        let mut trace = Ftrace {
            out,
            style,
            events,
            from,
            tasks: Vec::new(),
            cpus: vec![Cpu::default(); cpus as usize],
            active: None,
            waking: false,
            line: Line::default(),
            error: None,
        };
        trace.error = trace.out.write_all(style.header(cpus).as_bytes()).err();
        trace
    }

    /// Writes what is buffered and gives the writer back.
    ///
    /// # Errors
    /// The first error of the writer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].curr
    }

    /// The CPU that acts and its context; `own` when nobody said.
    fn actor(&self, own: CpuId) -> (CpuId, Context) {
        self.active.unwrap_or((own, Context::Task))
    }

    /// Writes a line of `cpu`.
    fn write(
        &mut self,
        at: Instant,
        cpu: CpuId,
        flags: Flags,
        event: TraceEvent,
        fields: std::fmt::Arguments,
    ) {
        if self.error.is_some() || at < self.from || !self.events.contains(event) {
            return;
        }
        let (comm, pid) = match self.current(cpu) {
            Some(task) => (self.tasks[task.index()].comm.as_str(), pid(task)),
            None => ("<idle>", 0),
        };
        let flags = Flags { need_resched: self.cpus[cpu.index()].need_resched, ..flags };
        let text = self.line.format(&self.style, (comm, pid), cpu, flags, at, event.name(), fields);
        self.error = self.out.write_all(text.as_bytes()).err();
    }

    /// `comm= pid= prio=` of a task.
    fn task_fields(&self, task: TaskId) -> String {
        let t = &self.tasks[task.index()];
        format!("comm={} pid={} prio={}", t.comm, pid(task), prio(t.nice))
    }

    fn switch(
        &mut self,
        at: Instant,
        cpu: CpuId,
        prev: Option<TaskId>,
        kind: SwitchKind,
        next: Option<TaskId>,
    ) {
        self.cpus[cpu.index()].need_resched = false;
        let state = match kind {
            SwitchKind::Blocked if prev.is_some_and(|p| self.tasks[p.index()].kernel_thread) => "I",
            // Every wait of a program (pipe, futex, sleep, child) is interruptible.
            SwitchKind::Blocked => "S",
            // Somebody waits for every process, if only init.
            SwitchKind::Exited => "Z",
            SwitchKind::Preempted if self.active == Some((cpu, Context::KernelPreempt)) => "R+",
            SwitchKind::Preempted | SwitchKind::Yielded | SwitchKind::FromIdle => "R",
        };
        let named = |task: Option<TaskId>| match task {
            Some(t) => (self.tasks[t.index()].comm.clone(), pid(t), prio(self.tasks[t.index()].nice)),
            None => (format!("swapper/{}", cpu.0), 0, prio(0)),
        };
        let ((pc, pp, pprio), (nc, np, nprio)) = (named(prev), named(next));
        self.write(at, cpu, Flags::task(2), TraceEvent::SchedSwitch, format_args!(
            "prev_comm={pc} prev_pid={pp} prev_prio={pprio} prev_state={state} ==> next_comm={nc} next_pid={np} next_prio={nprio}"
        ));
        self.cpus[cpu.index()].curr = next;
        if let Some(n) = next {
            let t = &mut self.tasks[n.index()];
            t.cpu = cpu;
            if let Some(name) = t.renames_to.take() {
                t.comm = name;
            }
        }
    }

    /// A line about a wake-up, from the CPU and context it happens in.
    fn wake_line(&mut self, at: Instant, target: CpuId, task: TaskId, event: TraceEvent) {
        let (cpu, context) = self.actor(target);
        let curr = self.current(cpu);
        let exiting = curr.is_some_and(|c| self.tasks[c.index()].exiting);
        let flags = Flags::wakeup(event, context, curr.is_none(), exiting);
        let fields = self.task_fields(task);
        self.write(at, cpu, flags, event, format_args!("{fields} target_cpu={:03}", target.0));
    }

    fn stat_runtime(&mut self, at: Instant, task: TaskId, runtime: u64, vruntime: u64) {
        let own = self.tasks[task.index()].cpu;
        // Another CPU charges a task only when it wakes another onto that CPU.
        let (cpu, context) = if self.waking { self.actor(own) } else { (own, self.actor(own).1) };
        let flags = Flags::charge(self.waking, context);
        let (comm, pid) = (self.tasks[task.index()].comm.clone(), pid(task));
        let fields = format_args!("comm={comm} pid={pid} runtime={runtime} [ns] vruntime={vruntime} [ns]");
        self.write(at, cpu, flags, TraceEvent::SchedStatRuntime, fields);
    }

    fn fork(&mut self, at: Instant, parent: Option<TaskId>, child: TaskId) {
        let (comm, nice, cpu) = match parent.map(|p| &self.tasks[p.index()]) {
            Some(p) => (p.comm.clone(), p.nice, p.cpu),
            None => (String::new(), 0, CpuId(0)),
        };
        if let Some(p) = parent {
            let (ppid, cpid) = (pid(p), pid(child));
            let fields = format_args!("comm={comm} pid={ppid} child_comm={comm} child_pid={cpid}");
            self.write(at, cpu, Flags::PLAIN, TraceEvent::SchedProcessFork, fields);
        }
        self.tasks.push(Task {
            comm,
            renames_to: None,
            nice,
            cpu,
            kernel_thread: false,
            exiting: false,
            told: false,
        });
    }

    fn migrate(&mut self, at: Instant, task: TaskId, from: CpuId, to: CpuId) {
        let (cpu, context) = self.actor(from);
        let flags = Flags::migrate(self.waking, context, self.current(cpu).is_none());
        let fields = self.task_fields(task);
        let places = format_args!("{fields} orig_cpu={} dest_cpu={}", from.0, to.0);
        self.write(at, cpu, flags, TraceEvent::SchedMigrateTask, places);
    }
}

/// A task's pid.
const fn pid(task: TaskId) -> u64 {
    FIRST_PID + task.0 as u64
}

/// The kernel's priority of a nice value.
const fn prio(nice: i8) -> i32 {
    120 + nice as i32
}

impl<W: Write> Observer for Ftrace<W> {
    fn identity(&mut self, task: TaskId, name: &str, path: &str, nice: i8) {
        let Some(t) = self.tasks.get_mut(task.index()) else { return };
        t.nice = nice;
        t.kernel_thread = path.starts_with(KERNEL_THREADS);
        let name = line::comm(name);
        if t.told || t.comm.is_empty() {
            t.comm = name;
        } else {
            t.renames_to = Some(name);
        }
        t.told = true;
    }

    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Context { cpu, context } => (self.active, self.waking) = (Some((cpu, context)), false),
            Event::NeedResched { cpu } => self.cpus[cpu.index()].need_resched = true,
            Event::Repick { cpu, .. } => self.cpus[cpu.index()].need_resched = false,
            Event::Switch { cpu, prev, kind, next } => self.switch(at, cpu, prev, kind, next),
            Event::Waking { task, by, .. } => {
                self.active.get_or_insert((by, Context::Task));
                // Before placement, so the line still names the CPU the task comes from.
                let prev_cpu = self.tasks[task.index()].cpu;
                self.wake_line(at, prev_cpu, task, TraceEvent::SchedWaking);
                self.waking = true;
            }
            Event::Wakeup { task, cpu, new, .. } => {
                self.tasks[task.index()].cpu = cpu;
                let kind = if new { TraceEvent::SchedWakeupNew } else { TraceEvent::SchedWakeup };
                self.wake_line(at, cpu, task, kind);
                self.waking = false;
            }
            Event::Migrate { task, from, to, reason } => {
                // The kernel does not trace where a new task is sent.
                if reason != MigrateReason::Fork {
                    self.migrate(at, task, from, to);
                }
                self.tasks[task.index()].cpu = to;
            }
            Event::StatRuntime { task, runtime, vruntime } => {
                self.stat_runtime(at, task, runtime.0, vruntime);
            }
            Event::Fork { parent, child } => self.fork(at, parent, child),
            Event::Exec { task } => {
                let (t, pid) = (&self.tasks[task.index()], pid(task));
                let (name, cpu) = (t.comm.clone(), t.cpu);
                let fields = format_args!("filename={name} pid={pid} old_pid={pid}");
                self.write(at, cpu, Flags::PLAIN, TraceEvent::SchedProcessExec, fields);
            }
            Event::Exit { task } => {
                let (fields, cpu) = (self.task_fields(task), self.tasks[task.index()].cpu);
                self.write(at, cpu, Flags::PLAIN, TraceEvent::SchedProcessExit, format_args!("{fields}"));
                self.tasks[task.index()].exiting = true;
            }
            Event::CpuIdle { cpu, enter, state } => {
                let state = if enter { state.map_or(IDLE_STATE, u32::from) } else { IDLE_EXIT };
                let fields = format_args!("state={state} cpu_id={}", cpu.0);
                self.write(at, cpu, Flags::idle(enter), TraceEvent::CpuIdle, fields);
            }
            Event::TickPreempt { .. }
            | Event::Count { .. }
            | Event::Record { .. }
            | Event::LoadBalance { .. }
            | Event::ActiveBalance { .. }
            | Event::NonTask { .. }
            | Event::Net { .. }
            | Event::Overhead { .. }
            | Event::Vcpu { .. }
            | Event::IdleLeft { .. }
            | Event::CoreDepth { .. }
            | Event::StopRuntime { .. }
            | Event::Progress { .. }
            | Event::Refill { .. } => {}
        }
    }
}
