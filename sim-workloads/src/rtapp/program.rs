//! Writes tasks with their programs.

use super::RtAppError;
use super::convert::is_known;
use super::event::{Event, Placed};
use super::names::Names;
use super::task::{Phase, Settings, Thread, Turns};
use sim_core::kernel::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The most steps of all programs together.
const MAX_STEPS: usize = 50_000;

/// Deepest chain of threads that fork each other.
const MAX_FORKS: usize = 8;

/// Writes tasks; names objects as it goes.
pub(super) struct Writer<'a> {
    threads: &'a [Thread],
    cpus: u32,
    names: &'a mut Names,
    /// How many threads meet at each barrier.
    parties: BTreeMap<String, u32>,
    /// Groups that are named.
    groups: BTreeSet<String>,
    steps: usize,
    /// Threads being written, the one that forks before the one it forks.
    chain: Vec<&'a str>,
    /// Whether a thread never ends by itself.
    pub(super) endless: bool,
    pub(super) notes: Vec<String>,
}

/// Who runs the program that is being written.
struct Who<'a> {
    thread: &'a Thread,
    /// Its name in the scenario.
    name: String,
    /// Instances of it exist beside each other.
    several: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(threads: &'a [Thread], cpus: u32, names: &'a mut Names) -> Writer<'a> {
        let (parties, chain, notes) = (BTreeMap::new(), Vec::new(), Vec::new());
        let groups = BTreeSet::new();
        Writer { threads, cpus, names, parties, groups, steps: 0, chain, endless: false, notes }
    }

    /// The tables of groups: those that tasks move to must be declared.
    pub(super) fn groups(&self) -> String {
        self.groups.iter().map(|path| format!("\n[group.\"{path}\"]\n")).collect()
    }

    /// The tables of barriers.
    pub(super) fn barriers(&self) -> String {
        self.parties.iter().map(|(name, n)| format!("\n[barriers.\"{name}\"]\nparties = {n}\n")).collect()
    }

    /// The table of a thread's task.
    pub(super) fn task(&mut self, thread: &'a Thread) -> Result<String, RtAppError> {
        let name = self.names.fresh("task", &thread.name);
        let mut out = format!("\n[task.\"{name}\"]\n");
        if thread.instances > 1 {
            let _ = writeln!(out, "count = {}", thread.instances);
        }
        let settings = &thread.settings;
        if let Some(policy) = settings.policy.filter(|p| *p != Policy::Normal) {
            let _ = writeln!(out, "policy = \"{}\"", policy_name(policy));
        }
        if let Some(nice) = nice(thread, settings)? {
            let _ = writeln!(out, "nice = {nice}");
        }
        if let Some(cpus) = &settings.cpus {
            let _ = writeln!(out, "cpus = \"{cpus}\"");
        }
        if let Some(group) = settings.group.as_ref().filter(|g| !g.is_empty()) {
            let _ = writeln!(out, "group = \"{}\"", self.group(thread, group)?);
        }
        if thread.delay_us > 0.0 {
            let _ = writeln!(out, "start = \"{}\"", us(thread.delay_us));
        }
        self.count_parties(thread)?;
        let who = Who { thread, name, several: thread.instances > 1 };
        out += "program = [\n";
        out += &self.thread(&who, 1)?;
        out += "]\n";
        Ok(out)
    }

    fn count_parties(&mut self, thread: &Thread) -> Result<(), RtAppError> {
        let mut met: Vec<String> = Vec::new();
        for event in thread.events() {
            let Event::Barrier(name) = &event.event else { continue };
            if thread.forks() || self.is_forked(&thread.name) {
                return Err(event
                    .place
                    .error("a barrier in a thread that forks or is forked: how many meet is not known"));
            }
            met.push(self.names.of("barrier", name));
        }
        met.sort();
        met.dedup();
        met.into_iter().for_each(|name| *self.parties.entry(name).or_default() += thread.instances);
        Ok(())
    }

    fn is_forked(&self, name: &str) -> bool {
        let forks = |e: &Placed| matches!(&e.event, Event::Fork(target) if target == name);
        self.threads.iter().any(|t| t.events().any(forks))
    }

    /// The program of a thread: its phases, as often as it goes round.
    fn thread(&mut self, who: &Who<'a>, depth: usize) -> Result<String, RtAppError> {
        let own = who.thread.phases.iter().any(|p| p.settings != Settings::default());
        let mut body = String::new();
        for phase in &who.thread.phases {
            body += &self.phase(who, phase, own, depth + 1)?;
            if phase.turns == Turns::Forever {
                break;
            }
        }
        if body.is_empty() {
            return Ok(format!("{}\"exit\",\n", indent(depth)));
        }
        let endless_phase = who.thread.phases.iter().any(|p| p.turns == Turns::Forever);
        let turns = if endless_phase { Turns::Times(1) } else { who.thread.turns };
        self.endless |= endless_phase || turns == Turns::Forever;
        Ok(looped(turns, body, depth))
    }

    fn phase(
        &mut self,
        who: &Who<'a>,
        phase: &'a Phase,
        own: bool,
        depth: usize,
    ) -> Result<String, RtAppError> {
        let mut settings = String::new();
        if own {
            settings = self.phase_settings(who.thread, phase, depth)?;
        }
        let mut body = String::new();
        for event in phase.events.iter().filter(|e| is_known(e)) {
            body += &self.event(who, event, depth + 1)?;
        }
        if body.is_empty() || phase.turns == Turns::Times(0) {
            return Ok(settings);
        }
        Ok(settings + &looped(phase.turns, body, depth))
    }

    /// What holds from this phase on. CPUs go back to the thread's own; the rest stays as it was.
    fn phase_settings(&mut self, thread: &Thread, phase: &Phase, depth: usize) -> Result<String, RtAppError> {
        let at = indent(depth);
        let mut out = String::new();
        let cpus = phase.settings.cpus.as_ref().or(thread.settings.cpus.as_ref());
        let named = thread.phases.iter().any(|p| p.settings.cpus.is_some());
        match cpus {
            Some(cpus) if named => {
                let _ = writeln!(out, "{at}{{ affinity = \"{cpus}\" }},");
            }
            None if named => {
                let _ = writeln!(out, "{at}{{ affinity = \"0-{}\" }},", self.cpus - 1);
            }
            _ => {}
        }
        if let Some(policy) = phase.settings.policy {
            let _ = writeln!(out, "{at}{{ policy = \"{}\" }},", policy_name(policy));
        }
        if let Some(nice) = nice(thread, &phase.settings)? {
            let _ = writeln!(out, "{at}{{ nice = {nice} }},");
        }
        if let Some(group) = &phase.settings.group {
            let group = if group.is_empty() { "/".to_owned() } else { self.group(thread, group)? };
            let _ = writeln!(out, "{at}{{ move_to_group = \"{group}\" }},");
        }
        self.steps += out.lines().count();
        Ok(out)
    }

    fn group(&mut self, thread: &Thread, path: &str) -> Result<String, RtAppError> {
        let mut out = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if part == "." || part == ".." || part.len() > 60 {
                return Err(thread.place.error(format!("'{path:.80}' is not the path of a group")));
            }
            out += "/";
            out += &self.names.of("group", part);
        }
        if out.is_empty() {
            return Ok("/".to_owned());
        }
        self.groups.insert(out.clone());
        Ok(out)
    }

    fn event(&mut self, who: &Who<'a>, placed: &'a Placed, depth: usize) -> Result<String, RtAppError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(placed
                .place
                .error(format!("more than {MAX_STEPS} events, those of forked threads included")));
        }
        let at = indent(depth);
        let mut name = |kind, name: &str| self.names.of(kind, name);
        let step = match &placed.event {
            Event::Run(t) => format!("{{ run = \"{}\" }}", us(*t)),
            Event::Sleep(t) => format!("{{ sleep = \"{}\" }}", us(*t)),
            Event::Runtime(t) if *t == 0.0 => return Ok(String::new()),
            Event::Runtime(t) => {
                // The clock is looked at every hundredth of the time, but not more often than every 10 us.
                let turn = (t / 100.0).max(10.0).min(*t);
                format!("{{ for = \"{}\", do = [{{ run = \"{}\" }}] }}", us(*t), us(turn))
            }
            Event::Timer { reference, period, absolute } => {
                if *period == 0.0 {
                    return Ok(String::new());
                }
                let timer = if reference.starts_with("unique") {
                    let percent = if who.several { ".%" } else { "" };
                    format!("{}{percent}", name("timer", &format!("{}.{reference}", who.name)))
                } else {
                    name("timer", reference)
                };
                let missed = if *absolute { ", missed = \"catch_up\"" } else { "" };
                format!("{{ timer = \"{timer}\", every = \"{}\"{missed} }}", us(*period))
            }
            Event::Lock(m) => format!("{{ lock = \"{}\" }}", name("mutex", m)),
            Event::Unlock(m) => format!("{{ unlock = \"{}\" }}", name("mutex", m)),
            Event::Wait { condition, mutex } => {
                let (condition, mutex) = (name("condition", condition), name("mutex", mutex));
                format!("{{ cond_wait = \"{condition}\", mutex = \"{mutex}\" }}")
            }
            Event::Sync { condition, mutex } => {
                let (condition, mutex) = (name("condition", condition), name("mutex", mutex));
                format!(
                    "{{ signal = \"{condition}\" }},\n{at}{{ cond_wait = \"{condition}\", mutex = \"{mutex}\" }}"
                )
            }
            Event::Signal(c) => format!("{{ signal = \"{}\" }}", name("condition", c)),
            Event::Broadcast(c) => format!("{{ broadcast = \"{}\" }}", name("condition", c)),
            Event::Suspend(c) => {
                let c = c.as_deref().unwrap_or(&who.thread.name);
                format!("{{ cond_wait = \"{}\" }}", name("condition", &format!("resume {c}")))
            }
            Event::Resume(c) => {
                format!("{{ broadcast = \"{}\" }}", name("condition", &format!("resume {c}")))
            }
            Event::Barrier(b) => format!("{{ barrier = \"{}\" }}", name("barrier", b)),
            Event::SemPost(s) => format!("{{ post = \"{}\" }}", name("semaphore", s)),
            Event::SemWait(s) => format!("{{ wait = \"{}\" }}", name("semaphore", s)),
            Event::Yield => "\"yield\"".to_owned(),
            Event::Fork(target) => return self.fork(placed, target, depth),
            Event::NotModelled(_) => return Ok(String::new()),
        };
        Ok(format!("{at}{step},\n"))
    }

    fn fork(&mut self, placed: &'a Placed, target: &'a str, depth: usize) -> Result<String, RtAppError> {
        let Some(thread) = self.threads.iter().find(|t| t.name == target) else {
            return Err(placed
                .place
                .error(format!("forks '{target:.60}', which is no thread of this workload")));
        };
        if self.chain.contains(&target) || self.chain.len() >= MAX_FORKS {
            let message =
                format!("'{target:.60}' forks itself, or forks go more than {MAX_FORKS} deep: not modelled");
            return Err(placed.place.error(message));
        }
        self.chain.push(target);
        let name = self.names.fresh("task", target);
        let at = indent(depth);
        let who = Who { thread, name: name.clone(), several: false };
        let mut program = self.inherited(thread, depth + 1)?;
        program += &self.thread(&who, depth + 1)?;
        self.chain.pop();
        Ok(format!("{at}{{ fork = \"{name}\", program = [\n{program}{at}] }},\n"))
    }

    /// A forked thread sets what it does not take from its parent.
    fn inherited(&mut self, thread: &Thread, depth: usize) -> Result<String, RtAppError> {
        let at = indent(depth);
        let mut out = String::new();
        if let Some(policy) = thread.settings.policy {
            let _ = writeln!(out, "{at}{{ policy = \"{}\" }},", policy_name(policy));
        }
        if let Some(nice) = nice(thread, &thread.settings)? {
            let _ = writeln!(out, "{at}{{ nice = {nice} }},");
        }
        if let Some(cpus) = &thread.settings.cpus {
            let _ = writeln!(out, "{at}{{ affinity = \"{cpus}\" }},");
        }
        if let Some(group) = &thread.settings.group {
            let group = self.group(thread, group)?;
            let _ = writeln!(out, "{at}{{ move_to_group = \"{group}\" }},");
        }
        if thread.delay_us > 0.0 {
            let _ = writeln!(out, "{at}{{ sleep = \"{}\" }},", us(thread.delay_us));
        }
        Ok(out)
    }
}

/// The nice value; of real-time threads, which are waived when they get here, a priority says nothing about it.
fn nice(thread: &Thread, settings: &Settings) -> Result<Option<i8>, RtAppError> {
    let realtime = |s: &Settings| s.not_modelled.iter().any(|(name, ..)| *name == "policy");
    match settings.nice {
        Some(_) if realtime(settings) || realtime(&thread.settings) => Ok(None),
        Some(nice) if nice > 19 => Err(thread
            .place
            .error(format!("priority {nice} of '{:.60}' is no nice value: -20 to 19", thread.name))),
        nice => Ok(nice),
    }
}

fn policy_name(policy: Policy) -> &'static str {
    match policy {
        Policy::Normal => "normal",
        Policy::Batch => "batch",
        Policy::Idle => "idle",
    }
}

fn looped(turns: Turns, body: String, depth: usize) -> String {
    let at = indent(depth);
    match turns {
        Turns::Forever => format!("{at}{{ forever = [\n{body}{at}] }},\n"),
        Turns::Times(0) => format!("{at}\"exit\",\n"),
        Turns::Times(1) => body,
        Turns::Times(n) => format!("{at}{{ repeat = {n}, do = [\n{body}{at}] }},\n"),
    }
}

fn indent(depth: usize) -> String {
    "    ".repeat(depth)
}

/// Microseconds as a duration, to the nanosecond.
fn us(t: f64) -> String {
    let ns = (t * 1000.0).round() as u64;
    if ns.is_multiple_of(1000) { format!("{}us", ns / 1000) } else { format!("{ns}ns") }
}
