//! What is measured of a machine with several CPUs: how well tasks are spread, and what the spreading takes.
//!
//! **Span**: from T0, or from the moment at which tasks that started pinned are freed (the end of the task that frees
//! them), to the last time a measured task leaves a CPU. **Waiting**: runnable and not on a CPU. Kernel threads occupy
//! CPUs, but do not wait.

use super::{EventKind, SchedEvent, Timeline, Who};

/// What depends on the experiment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Name of the task whose end frees the others.
    pub freed_by: Option<&'a str>,
    /// Tasks that run without ever waiting for anything: so many CPUs can be kept busy.
    pub hogs: u32,
    /// Hardware threads of a core; CPUs of one core are neighbours.
    pub threads_per_core: u32,
}

/// The measures of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct ManyCpus {
    /// Length of the span, ns.
    pub span_ns: u64,
    /// From T0 to the end of the span, ns.
    pub makespan_ns: u64,
    /// Switches of all CPUs in the span.
    pub switches: u64,
    /// Switches to an idle task.
    pub idle_entries: u64,
    /// Those while a measured task waits on some CPU.
    pub idle_entries_while_waiting: u64,
    /// Wake-ups of measured tasks, first ones excluded.
    pub wakeups: u64,
    /// Those onto the CPU on which the task was last.
    pub wakeups_on_previous: u64,
    /// Changes of CPU by a wake-up.
    pub wake_migrations: u64,
    /// Changes of CPU while runnable.
    pub balance_migrations: u64,
    /// Integral of min(idle CPUs, waiting tasks) over time, CPU-ns.
    pub wasted_ns: u64,
    /// Idle time of all CPUs, ns.
    pub idle_ns: u64,
    /// Waiting time of all tasks, ns.
    pub waiting_ns: u64,
    /// From each wake-up, first ones included and those before T0 too, to the turn it led to, ns, sorted.
    pub latencies: Vec<u64>,
    /// Distinct CPUs on which tasks were put by their first wake-ups before T0.
    pub first_cpus: u32,
    /// From the span's start until as many CPUs as can be busy run measured tasks, ns.
    pub occupied_ns: Option<u64>,
    /// The same for cores, where they have several threads.
    pub cores_ns: Option<u64>,
    /// Busy CPUs that a running task sees on average, itself included.
    pub busy_cpus: f64,
}

impl ManyCpus {
    /// Changes of CPU in all.
    pub fn migrations(&self) -> u64 {
        self.wake_migrations + self.balance_migrations
    }

    /// The latency below which a share of the wake-ups lies, ns.
    pub fn latency(&self, share: f64) -> Option<u64> {
        self.latencies.get((self.latencies.len() as f64 * share) as usize).copied()
    }
}

/// Measures a timeline.
pub fn measure_many(timeline: &Timeline, wanted: &Wanted) -> ManyCpus {
    let end = timeline.end_ns();
    let start = wanted.freed_by.and_then(|name| exit_of(timeline, name)).unwrap_or(timeline.t0_ns).min(end);
    let mut walk = Walk::new(timeline, *wanted, start, end);
    for event in timeline.events.iter().take_while(|e| e.at_ns <= end) {
        walk.time_passes(event.at_ns);
        walk.event(event);
        walk.note_occupied(event.at_ns);
    }
    walk.finish()
}

fn exit_of(timeline: &Timeline, name: &str) -> Option<u64> {
    timeline.events.iter().find_map(|e| match e.kind {
        EventKind::Exit { task } if timeline.label(task).name == name => Some(e.at_ns),
        _ => None,
    })
}

/// Where a task is.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    measured: bool,
    runnable: bool,
    running: bool,
    /// Last CPU it ran or waited on.
    cpu: Option<u32>,
    woken_at: Option<u64>,
}

/// A machine while its events are gone through.
struct Walk<'a> {
    wanted: Wanted<'a>,
    t0: u64,
    start: u64,
    end: u64,
    now: u64,
    /// Current task by CPU; none is an idle task.
    curr: Vec<Option<Who>>,
    tasks: Vec<Place>,
    idle: Vec<bool>,
    idle_cpus: u64,
    waiting: u64,
    /// Weighted with themselves, for [`ManyCpus::busy_cpus`].
    busy_squared: u128,
    busy: u128,
    first: Vec<bool>,
    m: ManyCpus,
}

impl<'a> Walk<'a> {
    fn new(timeline: &Timeline, wanted: Wanted<'a>, start: u64, end: u64) -> Walk<'a> {
        let cpus = timeline.cpus as usize;
        Walk {
            wanted,
            t0: timeline.t0_ns,
            start,
            end,
            now: start,
            curr: vec![None; cpus],
            tasks: timeline
                .tasks
                .iter()
                .map(|l| Place { measured: l.measured, ..Place::default() })
                .collect(),
            idle: timeline.tasks.iter().map(|l| l.pid == 0).collect(),
            idle_cpus: cpus as u64,
            waiting: 0,
            busy_squared: 0,
            busy: 0,
            first: vec![false; cpus],
            m: ManyCpus {
                span_ns: end - start,
                makespan_ns: end.saturating_sub(timeline.t0_ns),
                switches: 0,
                idle_entries: 0,
                idle_entries_while_waiting: 0,
                wakeups: 0,
                wakeups_on_previous: 0,
                wake_migrations: 0,
                balance_migrations: 0,
                wasted_ns: 0,
                idle_ns: 0,
                waiting_ns: 0,
                latencies: Vec::new(),
                first_cpus: 0,
                occupied_ns: None,
                cores_ns: None,
                busy_cpus: 1.0,
            },
        }
    }

    fn time_passes(&mut self, at: u64) {
        let dt = at.min(self.end).saturating_sub(self.now);
        if dt > 0 {
            self.now += dt;
            self.m.wasted_ns += dt * self.idle_cpus.min(self.waiting);
            self.m.idle_ns += dt * self.idle_cpus;
            self.m.waiting_ns += dt * self.waiting;
            let busy = u128::from(self.curr.len() as u64 - self.idle_cpus);
            self.busy += u128::from(dt) * busy;
            self.busy_squared += u128::from(dt) * busy * busy;
        }
    }

    fn in_span(&self, at: u64) -> bool {
        (self.start..=self.end).contains(&at)
    }

    fn event(&mut self, event: &SchedEvent) {
        let at = event.at_ns;
        match event.kind {
            // A re-pick is no switch.
            EventKind::Switch { prev, next, .. } if prev == next => {}
            EventKind::Switch { prev, prev_blocked, next } => {
                self.switch(event.cpu, at, prev, prev_blocked, next)
            }
            EventKind::Wakeup { task, target, new, .. } => self.wakeup(at, task, target, new),
            EventKind::Migrate { task, to } => self.migrate(at, task, to),
            EventKind::Fork { .. } | EventKind::Exit { .. } => {}
        }
    }

    /// Changes a task's state, and keeps the number of waiting ones.
    fn set(&mut self, who: Who, runnable: bool, running: bool) {
        let t = &mut self.tasks[who.0 as usize];
        let waits = |t: &Place| u64::from(t.measured && t.runnable && !t.running);
        self.waiting -= waits(t);
        (t.runnable, t.running) = (runnable, running);
        self.waiting += waits(t);
    }

    fn switch(&mut self, cpu: u32, at: u64, prev: Who, prev_blocked: bool, next: Who) {
        let idles = self.idle[next.0 as usize];
        if !self.idle[prev.0 as usize] {
            self.set(prev, !prev_blocked, false);
        }
        if !idles {
            self.set(next, true, true);
            let t = &mut self.tasks[next.0 as usize];
            t.cpu = Some(cpu);
            if let Some(woken) = t.woken_at.take().filter(|_| t.measured) {
                self.m.latencies.push(at.saturating_sub(woken));
            }
        }
        let curr = &mut self.curr[cpu as usize];
        let idled = curr.is_none();
        *curr = (!idles).then_some(next);
        self.idle_cpus = self.idle_cpus + u64::from(idles) - u64::from(idled);
        if self.in_span(at) {
            self.m.switches += 1;
            self.m.idle_entries += u64::from(idles);
            self.m.idle_entries_while_waiting += u64::from(idles && self.waiting > 0);
        }
    }

    fn wakeup(&mut self, at: u64, task: Who, target: u32, new: bool) {
        let t = &mut self.tasks[task.0 as usize];
        let (running, last) = (t.running, t.cpu.replace(target));
        if t.measured {
            t.woken_at = Some(at);
            if new && at < self.t0 {
                self.first[target as usize] = true;
            }
            if !new && self.in_span(at) {
                self.m.wakeups += 1;
                self.m.wakeups_on_previous += u64::from(last == Some(target));
            }
        }
        self.set(task, true, running);
    }

    fn migrate(&mut self, at: u64, task: Who, to: u32) {
        let in_span = self.in_span(at);
        let t = &mut self.tasks[task.0 as usize];
        let counted = u64::from(in_span && t.measured);
        if t.runnable {
            self.m.balance_migrations += counted;
            t.cpu = Some(to);
        } else {
            self.m.wake_migrations += counted;
        }
    }

    fn note_occupied(&mut self, at: u64) {
        if at < self.start
            || self.wanted.hogs == 0
            || self.m.occupied_ns.is_some() && self.m.cores_ns.is_some()
        {
            return;
        }
        let runs = |c: &Option<Who>| c.is_some_and(|w| self.tasks[w.0 as usize].measured);
        let busy = |parts: usize, now: usize| now >= parts.min(self.wanted.hogs as usize);
        let since = Some(at - self.start);
        let cpus = self.curr.iter().filter(|c| runs(c)).count();
        let cores = self.curr.chunks(self.wanted.threads_per_core.max(1) as usize);
        let (all, used) = (cores.len(), cores.filter(|core| core.iter().any(runs)).count());
        if self.m.occupied_ns.is_none() && busy(self.curr.len(), cpus) {
            self.m.occupied_ns = since;
        }
        if self.wanted.threads_per_core > 1 && self.m.cores_ns.is_none() && busy(all, used) {
            self.m.cores_ns = since;
        }
    }

    fn finish(mut self) -> ManyCpus {
        self.m.latencies.sort_unstable();
        self.m.first_cpus = self.first.iter().filter(|f| **f).count() as u32;
        if self.busy > 0 {
            self.m.busy_cpus = self.busy_squared as f64 / self.busy as f64;
        }
        self.m
    }
}

#[cfg(test)]
mod tests {
    use super::super::Label;
    use super::*;

    const IDLE: Who = Who(0);
    const A: Who = Who(1);
    const B: Who = Who(2);
    const K: Who = Who(3);

    fn event(at_ns: u64, cpu: u32, kind: EventKind) -> SchedEvent {
        SchedEvent { at_ns, cpu, kind }
    }
    fn switch(at: u64, cpu: u32, prev: Who, prev_blocked: bool, next: Who) -> SchedEvent {
        event(at, cpu, EventKind::Switch { prev, prev_blocked, next })
    }
    fn wakeup(at: u64, task: Who, target: u32, new: bool) -> SchedEvent {
        let (need_resched_before, need_resched_after) = (false, false);
        let (curr_is_idle, after_tick) = (false, false);
        let kind = EventKind::Wakeup {
            task,
            target,
            new,
            need_resched_before,
            need_resched_after,
            curr_is_idle,
            after_tick,
        };
        event(at, target, kind)
    }

    /// Two hogs woken on CPU 0; B waits there 40 ns beside an idle CPU, is pulled, and later sleeps and wakes elsewhere.
    fn example() -> Timeline {
        let label = |name: &str, pid, measured| Label { name: name.into(), pid, measured };
        let tasks = vec![
            label("swapper/0", 0, false),
            label("a", 1, true),
            label("b", 2, true),
            label("k", 3, false),
        ];
        let events = vec![
            wakeup(50, B, 1, true),
            switch(55, 1, IDLE, false, B),
            switch(60, 1, B, true, IDLE),
            wakeup(100, A, 0, false),
            wakeup(100, B, 0, false),
            switch(110, 0, IDLE, false, A),
            event(150, 1, EventKind::Migrate { task: B, to: 1 }),
            switch(150, 1, IDLE, false, B),
            switch(200, 1, B, true, IDLE),
            event(210, 0, EventKind::Migrate { task: B, to: 0 }),
            wakeup(210, B, 0, false),
            wakeup(220, K, 1, false),
            switch(225, 1, IDLE, false, K),
            switch(230, 0, A, false, B),
            switch(235, 1, K, true, IDLE),
            event(240, 0, EventKind::Exit { task: B }),
            switch(250, 0, B, true, A),
            switch(300, 0, A, true, IDLE),
            wakeup(400, K, 1, false),
        ];
        Timeline { cpus: 2, tasks, events, t0_ns: 100 }
    }

    #[test]
    fn measures_the_spreading_of_tasks() {
        let m = measure_many(&example(), &Wanted { hogs: 2, threads_per_core: 1, freed_by: None });
        assert_eq!((m.span_ns, m.makespan_ns), (200, 200));
        // From T0 on; idle entries of CPU 1 at 200 and 235, of CPU 0 at 300; someone waits at 235 (A).
        assert_eq!((m.switches, m.idle_entries, m.idle_entries_while_waiting), (8, 3, 1));
        // B was on CPU 1 last both times; A was nowhere yet.
        assert_eq!((m.wakeups, m.wakeups_on_previous), (3, 0));
        assert_eq!((m.wake_migrations, m.balance_migrations, m.migrations()), (1, 1, 2));
        // Waiting: A and B for 10, B for 40, B for 20 from 210, A for 20 from 230.
        assert_eq!(m.waiting_ns, 20 + 40 + 20 + 20);
        // Beside idle CPUs: two for 10, one for 40, one from 210 to 225, one from 235 to 250.
        assert_eq!(m.wasted_ns, 20 + 40 + 15 + 15);
        assert_eq!(m.idle_ns, 20 + 40 + 25 + 65);
        assert_eq!((m.latencies.as_slice(), m.latency(0.5)), (&[5, 10, 20, 50][..], Some(20)));
        assert_eq!((m.first_cpus, m.occupied_ns, m.cores_ns), (1, Some(50), None));
        // Two CPUs busy for 60, one for 130.
        assert!((m.busy_cpus - (4.0 * 60.0 + 130.0) / (2.0 * 60.0 + 130.0)).abs() < 1e-9);
    }

    #[test]
    fn counts_cores_and_from_the_time_tasks_are_freed() {
        let smt = Wanted { hogs: 2, threads_per_core: 2, freed_by: Some("b") };
        let m = measure_many(&example(), &smt);
        assert_eq!((m.span_ns, m.makespan_ns, m.switches), (60, 200, 2));
        assert_eq!((m.occupied_ns, m.cores_ns), (None, Some(0)));
        let none = measure_many(&example(), &Wanted::default());
        assert_eq!((none.occupied_ns, none.cores_ns), (None, None));
    }
}
