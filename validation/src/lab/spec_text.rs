//! A workload as text in the captures' language: the inverse of [`crate::capture::spec::parse_spec`].

use crate::capture::spec::{Clock, Group, Phase, Span, Spec, Step, Task};
use sim_core::kernel::Policy;
use std::fmt::Write;

/// The text of a spec: one line for each task, whose names are taken as they are.
pub fn spec_text(spec: &Spec) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = head(&mut out, spec);
    for group in &spec.groups {
        let _ = group_line(&mut out, group);
    }
    for task in &spec.tasks {
        let _ = task_line(&mut out, spec, task);
    }
    out
}

fn head(out: &mut String, spec: &Spec) -> std::fmt::Result {
    writeln!(out, "seed {}", spec.seed)?;
    writeln!(out, "slack {}", duration(spec.slack))?;
    writeln!(out, "lead {}", duration(spec.lead))?;
    match spec.phase {
        Phase::AfterTick(ns) => writeln!(out, "phase {}", duration(ns))?,
        Phase::Off => writeln!(out, "phase off")?,
    }
    if let Some(limit) = spec.limit {
        writeln!(out, "limit {}", duration(limit))?;
    }
    writeln!(out, "chunk {}", duration(spec.chunk))?;
    let clock = match spec.clock {
        Clock::Cpu => "cpu",
        Clock::Loops => "loops",
    };
    writeln!(out, "clock {clock}")
}

fn group_line(out: &mut String, group: &Group) -> std::fmt::Result {
    match group.path.rsplit_once('/') {
        Some((parent, name)) => write!(out, "group {name} parent={parent}")?,
        None => write!(out, "group {}", group.path)?,
    }
    if let Some(weight) = group.weight {
        write!(out, " weight={weight}")?;
    }
    if let Some(max) = group.max {
        let quota = max.quota.map_or_else(|| "max".to_owned(), duration);
        write!(out, " max={quota}/{}", duration(max.period))?;
    }
    writeln!(out)
}

fn task_line(out: &mut String, spec: &Spec, task: &Task) -> std::fmt::Result {
    write!(out, "task {}", task.name)?;
    if task.nice != 0 {
        write!(out, " nice={}", task.nice)?;
    }
    if let Some(cpus) = &task.cpus {
        write!(out, " cpu={cpus}")?;
    }
    if task.start > 0 {
        write!(out, " start={}", duration(task.start))?;
    }
    if let Some(group) = &task.group {
        write!(out, " group={group}")?;
    }
    match task.policy {
        Policy::Normal => {}
        Policy::Batch => write!(out, " policy=batch")?,
        Policy::Idle => write!(out, " policy=idle")?,
    }
    write!(out, " :")?;
    steps(out, spec, &task.body)?;
    writeln!(out)
}

fn steps(out: &mut String, spec: &Spec, body: &[Step]) -> std::fmt::Result {
    body.iter().try_for_each(|step| one_step(out, spec, step))
}

fn one_step(out: &mut String, spec: &Spec, step: &Step) -> std::fmt::Result {
    let name = |o: &crate::capture::spec::ObjectIx| spec.objects[usize::from(o.0)].name.as_str();
    match step {
        Step::Run(s) => write!(out, " run {}", span(*s)),
        Step::Spin(n) => write!(out, " spin {n}"),
        Step::Sleep(s) => write!(out, " sleep {}", span(*s)),
        Step::Period(ns) => write!(out, " period {}", duration(*ns)),
        Step::Post(o, n) => write!(out, " post {} {n}", name(o)),
        Step::Wait(o) => write!(out, " wait {}", name(o)),
        Step::Write(o, n) => write!(out, " write {} {n}", name(o)),
        Step::Read(o, n) => write!(out, " read {} {n}", name(o)),
        Step::Barrier(o, n) => write!(out, " barrier {} {n}", name(o)),
        Step::Yield => write!(out, " yield"),
        Step::Count => write!(out, " count"),
        Step::Join => write!(out, " join"),
        Step::JoinAll => write!(out, " joinall"),
        Step::SysIo(n) => write!(out, " sysio {n}"),
        Step::Affinity(mask) => write!(out, " aff {mask}"),
        Step::AffinityAll(mask) => write!(out, " affall {mask}"),
        Step::Loop(n, body) => block(out, spec, &format!("loop {n}"), body),
        Step::For(ns, body) => block(out, spec, &format!("for {}", duration(*ns)), body),
        Step::Fork(body) => block(out, spec, "fork", body),
        Step::Jobs { parallel, count, body } => block(out, spec, &format!("jobs {parallel} {count}"), body),
    }
}

fn block(out: &mut String, spec: &Spec, head: &str, body: &[Step]) -> std::fmt::Result {
    write!(out, " {head} {{")?;
    steps(out, spec, body)?;
    write!(out, " }}")
}

fn span(s: Span) -> String {
    s.constant().map_or_else(|| format!("{}..{}", duration(s.lo), duration(s.hi)), duration)
}

/// In the largest unit that needs no fraction.
fn duration(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.iter().find(|(unit, _)| ns > 0 && ns.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", ns / unit),
        None => format!("{ns}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spec::parse_spec;

    /// Every word of the language comes back as it was.
    #[test]
    fn is_read_back_as_it_was() {
        let text = "seed 7\nslack 50us\nlead 1s\nphase off\nlimit 1500ms\nchunk 20us\nclock loops\n\
            group a weight=50\ngroup b parent=a max=10ms/100ms\ngroup c parent=a/b max=max/50ms\n\
            task x nice=-5 cpu=0-2,4 start=3ms group=a/b policy=batch : run 1..2us sleep 1.5ms loop 3 { post s 2 wait s } for 1s { yield count }\n\
            task y policy=idle : spin 9 period 10ms write p 65536 read p barrier g 2 fork { run 1ns joinall } join jobs 2 5 { run 1ms } sysio 4 aff 1 affall 0-1";
        let spec = parse_spec(text).unwrap();
        let written = spec_text(&spec);
        assert_eq!(parse_spec(&written).unwrap(), spec, "{written}");
    }
}
