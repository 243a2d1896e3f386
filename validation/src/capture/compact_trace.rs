//! The trace section of the compact form (see [`super::compact`] for the lines).

use super::compact::CompactError;
use super::trace::{Flags, TaskIx, TaskName, Trace, TraceEvent, TraceKind, TraceLimits};
use std::fmt::Write;

pub(super) fn encode_trace(trace: &Trace) -> String {
    let mut text = String::new();
    for task in &trace.tasks {
        text += &format!("t {} {}\n", task.pid, task.comm);
    }
    let mut last = 0;
    for event in &trace.events {
        // Per-CPU buffers are merged by time, but equal clocks on several CPUs are not promised: differences wrap.
        let dt = event.at_ns.wrapping_sub(last);
        last = event.at_ns;
        let dt = if dt.is_multiple_of(1000) { format!("{}u", dt / 1000) } else { dt.to_string() };
        text += &format!(
            "{dt} {} {} {} {}\n",
            event.cpu,
            event.current.0,
            event.flags.as_str(),
            kind(&event.kind)
        );
    }
    text
}

fn kind(kind: &TraceKind) -> String {
    let mut s = String::new();
    // Writing into a String cannot fail.
    let _ = match kind {
        TraceKind::Switch { prev, prev_state, next } => write!(s, "s {} {prev_state} {}", prev.0, next.0),
        TraceKind::Wakeup { task, target_cpu, new } => {
            write!(s, "{} {} {target_cpu}", if *new { 'n' } else { 'w' }, task.0)
        }
        TraceKind::Migrate { task, from, to } => write!(s, "m {} {from} {to}", task.0),
        TraceKind::Fork { parent, child } => write!(s, "f {} {}", parent.0, child.0),
        TraceKind::Exec => write!(s, "e"),
        TraceKind::Exit(task) => write!(s, "x {}", task.0),
        TraceKind::StatRuntime { task, runtime_ns, vruntime_ns } => {
            write!(s, "r {} {runtime_ns} {vruntime_ns}", task.0)
        }
        TraceKind::Idle(Some(state)) => write!(s, "i {state}"),
        TraceKind::Idle(None) => write!(s, "i -"),
    };
    s
}

pub(super) fn decode_trace(lines: &[&str], limits: TraceLimits) -> Result<Trace, CompactError> {
    let mut trace = Trace::default();
    let mut now = 0;
    for (i, line) in lines.iter().enumerate() {
        let bad = || CompactError::Trace { line: i + 1 };
        if line.len() > limits.line || trace.events.len() >= limits.events {
            return Err(bad());
        }
        if let Some(task) = line.strip_prefix("t ") {
            trace.tasks.push(task_name(task).ok_or_else(bad)?);
        } else {
            let event = event(line, now, trace.tasks.len()).ok_or_else(bad)?;
            now = event.at_ns;
            trace.events.push(event);
        }
    }
    Ok(trace)
}

fn task_name(text: &str) -> Option<TaskName> {
    let (pid, comm) = text.split_once(' ')?;
    Some(TaskName { pid: pid.parse().ok()?, comm: comm.to_owned() })
}

fn event(line: &str, now: u64, tasks: usize) -> Option<TraceEvent> {
    let mut words = line.split(' ');
    let dt = words.next()?;
    let dt = match dt.strip_suffix('u') {
        Some(us) => us.parse::<u64>().ok()?.checked_mul(1000)?,
        None => dt.parse().ok()?,
    };
    let task = |w: Option<&str>| w?.parse().ok().filter(|ix| (*ix as usize) < tasks).map(TaskIx);
    let cpu = words.next()?.parse().ok()?;
    let current = task(words.next())?;
    let flags = Flags::parse(words.next()?)?;
    let kind = match words.next()? {
        "s" => TraceKind::Switch {
            prev: task(words.next())?,
            prev_state: words.next().filter(|s| !s.is_empty())?.to_owned(),
            next: task(words.next())?,
        },
        k @ ("w" | "n") => TraceKind::Wakeup {
            task: task(words.next())?,
            target_cpu: words.next()?.parse().ok()?,
            new: k == "n",
        },
        "m" => TraceKind::Migrate {
            task: task(words.next())?,
            from: words.next()?.parse().ok()?,
            to: words.next()?.parse().ok()?,
        },
        "f" => TraceKind::Fork { parent: task(words.next())?, child: task(words.next())? },
        "e" => TraceKind::Exec,
        "x" => TraceKind::Exit(task(words.next())?),
        "r" => TraceKind::StatRuntime {
            task: task(words.next())?,
            runtime_ns: words.next()?.parse().ok()?,
            vruntime_ns: words.next()?.parse().ok()?,
        },
        "i" => TraceKind::Idle(match words.next()? {
            "-" => None,
            state => Some(state.parse().ok()?),
        }),
        _ => return None,
    };
    words.next().is_none().then_some(TraceEvent { at_ns: now.wrapping_add(dt), cpu, current, flags, kind })
}
