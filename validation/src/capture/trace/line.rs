//! One line of ftrace text.

use super::{Flags, Interner, TaskIx, TraceEvent, TraceKind};

/// What a line turned out to be.
pub(super) enum Line {
    /// An event of a known kind.
    Event(TraceEvent),
    /// A well-formed event of another kind.
    Unknown,
    /// Not a line of ftrace text, or a known event with fields missing.
    Malformed,
}

/// Parses `   comm-pid  [cpu] flags  seconds.fraction: event: fields`.
pub(super) fn parse_line(line: &str, names: &mut Interner) -> Line {
    let Some(head) = head(line) else { return Line::Malformed };
    let fields = head.fields;
    let kind = match head.event {
        "sched_switch" => switch(fields, names),
        "sched_wakeup" => wakeup(fields, names, false),
        "sched_wakeup_new" => wakeup(fields, names, true),
        "sched_migrate_task" => migrate(fields, names),
        "sched_process_fork" => fork(fields, names),
        "sched_process_exec" => Some(TraceKind::Exec),
        "sched_process_exit" => {
            task(fields, "comm=", " pid=", " prio=", names).map(|(t, _)| TraceKind::Exit(t))
        }
        "sched_stat_runtime" => runtime(fields, names),
        "cpu_idle" => idle(fields),
        _ => return Line::Unknown,
    };
    match kind {
        None => Line::Malformed,
        Some(kind) => {
            let current = names.get(head.pid, head.comm);
            Line::Event(TraceEvent { at_ns: head.at_ns, cpu: head.cpu, current, flags: head.flags, kind })
        }
    }
}

struct Head<'a> {
    comm: &'a str,
    pid: u32,
    cpu: u32,
    flags: Flags,
    at_ns: u64,
    event: &'a str,
    fields: &'a str,
}

/// A comm may hold spaces, dashes and brackets, so every ` [` is tried until what stands around it fits.
fn head(line: &str) -> Option<Head<'_>> {
    line.match_indices(" [").find_map(|(at, _)| head_at(&line[..at], &line[at + 2..]))
}

fn head_at<'a>(task: &'a str, rest: &'a str) -> Option<Head<'a>> {
    let (cpu, rest) = rest.split_once("] ")?;
    let (flags, rest) = rest.trim_start().split_once(' ')?;
    let (stamp, rest) = rest.trim_start().split_once(": ")?;
    let (event, fields) = rest.split_once(": ")?;
    let task = task.trim();
    // With the record-tgid option there is "(tgid)" between the pid and the CPU.
    let task = if task.ends_with(')') { task.rsplit_once('(')?.0.trim_end() } else { task };
    let (comm, pid) = task.rsplit_once('-')?;
    Some(Head {
        comm,
        pid: digits(pid)?,
        cpu: digits(cpu)?,
        flags: Flags::parse(flags)?,
        at_ns: nanos(stamp)?,
        event,
        fields,
    })
}

/// Seconds with up to nine digits of fraction, as ns.
fn nanos(stamp: &str) -> Option<u64> {
    let (seconds, fraction) = stamp.split_once('.')?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let unit = 10u64.pow(9 - fraction.len() as u32);
    digits::<u64>(seconds)?.checked_mul(1_000_000_000)?.checked_add(digits::<u64>(fraction)? * unit)
}

fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The task in `{comm_key}COMM{pid_key}PID{end_key}…`, and what follows `end_key`. Keys are searched from the right,
/// because the comm may hold anything.
fn task<'a>(
    s: &'a str,
    comm_key: &str,
    pid_key: &str,
    end_key: &str,
    names: &mut Interner,
) -> Option<(TaskIx, &'a str)> {
    let (left, rest) = s.rsplit_once(end_key)?;
    let (left, pid) = left.rsplit_once(pid_key)?;
    let pid = digits(pid)?;
    let shown = rest.split(' ').next().and_then(digits);
    if let Some(prio) = shown.filter(|_| end_key.ends_with("prio=")) {
        names.prios.insert(pid, prio);
    }
    Some((names.get(pid, left.strip_prefix(comm_key)?), rest))
}

fn switch(fields: &str, names: &mut Interner) -> Option<TraceKind> {
    let (left, right) = fields.split_once(" ==> ")?;
    let (left, state) = left.rsplit_once(" prev_state=")?;
    let (prev, _) = task(left, "prev_comm=", " prev_pid=", " prev_prio=", names)?;
    let (next, _) = task(right, "next_comm=", " next_pid=", " next_prio=", names)?;
    // States are a letter or a few joined by '|', with a '+' for a preempted task.
    let plain = !state.is_empty()
        && state.len() <= 16
        && state.bytes().all(|b| b.is_ascii_alphabetic() || b"|+".contains(&b));
    plain.then(|| TraceKind::Switch { prev, prev_state: state.to_owned(), next })
}

fn wakeup(fields: &str, names: &mut Interner, new: bool) -> Option<TraceKind> {
    let (task, rest) = task(fields, "comm=", " pid=", " prio=", names)?;
    let (_, cpu) = rest.split_once("target_cpu=")?;
    Some(TraceKind::Wakeup { task, target_cpu: digits(cpu.trim_end())?, new })
}

fn migrate(fields: &str, names: &mut Interner) -> Option<TraceKind> {
    let (task, rest) = task(fields, "comm=", " pid=", " prio=", names)?;
    let (_, cpus) = rest.split_once(" orig_cpu=")?;
    let (from, to) = cpus.split_once(" dest_cpu=")?;
    Some(TraceKind::Migrate { task, from: digits(from)?, to: digits(to.trim_end())? })
}

fn fork(fields: &str, names: &mut Interner) -> Option<TraceKind> {
    let (parent, child) = fields.split_once(" child_comm=")?;
    let (parent, pid) = parent.rsplit_once(" pid=")?;
    let (child, child_pid) = child.rsplit_once(" child_pid=")?;
    let parent = names.get(digits(pid)?, parent.strip_prefix("comm=")?);
    Some(TraceKind::Fork { parent, child: names.get(digits(child_pid.trim_end())?, child) })
}

fn runtime(fields: &str, names: &mut Interner) -> Option<TraceKind> {
    let (task, rest) = task(fields, "comm=", " pid=", " runtime=", names)?;
    let (runtime, rest) = rest.split_once(" [ns]")?;
    let vruntime = rest.split_once("vruntime=").and_then(|(_, v)| v.split_once(" [ns]")).map(|(v, _)| v)?;
    Some(TraceKind::StatRuntime { task, runtime_ns: digits(runtime)?, vruntime_ns: digits(vruntime)? })
}

fn idle(fields: &str) -> Option<TraceKind> {
    let state: u32 = digits(fields.strip_prefix("state=")?.split(' ').next()?)?;
    // The event prints −1 as an unsigned number when idle ends.
    Some(TraceKind::Idle((state != u32::MAX).then_some(state)))
}
