//! What scheduling events say: the long form (`prev_comm=…`) and the short one (`comm:pid [prio]`).

use super::line::digits;
use super::state::Left;

/// A task as an event names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its name.
    pub comm: &'a str,
    /// Its thread's number; 0 is a CPU's idle task.
    pub pid: u32,
    /// Its priority as the kernel counts: 100 to 139 is nice −20 to 19.
    pub prio: Option<i32>,
}

/// Which of the events that tell of wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// `sched_waking`: in the waker's context, before it.
    Waking,
    /// `sched_wakeup`: the task is runnable.
    Wakeup,
    /// `sched_wakeup_new`: a forked task is runnable for the first time.
    New,
}

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// `sched_switch`.
    Switch {
        /// Who leaves.
        prev: Named<'a>,
        /// Its state as written.
        state: &'a str,
        /// What becomes of it.
        left: Left,
        /// Who comes.
        next: Named<'a>,
    },
    /// A wake-up.
    Wake {
        /// Which event.
        wake: Wake,
        /// Who.
        task: Named<'a>,
        /// The CPU on whose queue it is put.
        target: Option<u32>,
        /// Whether it woke: old kernels print `success=0` where the task was awake.
        success: bool,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// Who.
        task: Named<'a>,
        /// From this CPU.
        from: u32,
        /// To this CPU.
        to: u32,
    },
    /// `sched_process_fork`.
    Fork {
        /// The parent.
        parent: Named<'a>,
        /// The child.
        child: Named<'a>,
    },
    /// `sched_process_exec`; the current task execs.
    Exec,
    /// `sched_process_exit`.
    Exit(Named<'a>),
    /// `sched_stat_runtime`.
    StatRuntime {
        /// Whose account.
        task: Named<'a>,
        /// CPU time added, ns.
        runtime_ns: u64,
        /// The task's vruntime after it, ns, where it is printed.
        vruntime_ns: Option<u64>,
    },
    /// `cpu_idle`: the state entered, or `None` when idle ends.
    Idle(Option<u32>),
}

/// Reads an event; `Ok(None)` for one that is not used.
///
/// # Errors
/// When a known event misses fields.
pub fn payload<'a>(event: &str, fields: &'a str) -> Result<Option<Payload<'a>>, Malformed> {
    let fields = fields.strip_prefix("[FAILED TO PARSE]").map_or(fields, str::trim_start);
    let read = match event {
        "sched_switch" => switch(fields),
        "sched_waking" => wake(fields, Wake::Waking),
        "sched_wakeup" => wake(fields, Wake::Wakeup),
        "sched_wakeup_new" => wake(fields, Wake::New),
        "sched_migrate_task" => migrate(fields),
        "sched_process_fork" => fork(fields),
        "sched_process_exec" => Some(Payload::Exec),
        "sched_process_exit" => named(fields).map(|(task, _)| Payload::Exit(task)),
        "sched_stat_runtime" => runtime(fields),
        "cpu_idle" => idle(fields),
        _ => return Ok(None),
    };
    read.map(Some).ok_or(Malformed)
}

/// A known event with fields missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// `comm=C pid=P prio=N …` or `C:P [N] …`, and what follows. A comm may hold anything, so keys are searched from the right.
fn named(fields: &str) -> Option<(Named<'_>, &str)> {
    if let Some(text) = fields.strip_prefix("comm=") {
        let (left, rest) = text.rsplit_once(" prio=").unwrap_or((text, ""));
        let (prio, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let (comm, pid) = left.rsplit_once(" pid=")?;
        let (pid, more) = pid.split_once(' ').unwrap_or((pid, ""));
        let prio = if prio.is_empty() { None } else { Some(number(prio)?) };
        return Some((Named { comm, pid: number(pid)?, prio }, if rest.is_empty() { more } else { rest }));
    }
    fields.match_indices(']').find_map(|(end, _)| {
        let task = short(&fields[..=end])?;
        Some((task, fields[end + 1..].trim_start()))
    })
}

/// `C:P [N]`, all of it.
fn short(text: &str) -> Option<Named<'_>> {
    let (task, prio) = text.trim().strip_suffix(']')?.rsplit_once(" [")?;
    let (comm, pid) = task.rsplit_once(':')?;
    Some(Named { comm, pid: number(pid)?, prio: Some(number(prio)?) })
}

/// A decimal number, perhaps negative, or a hexadecimal one.
fn number<T: TryFrom<i128>>(text: &str) -> Option<T> {
    let text = text.trim();
    let value = match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(hex), _) => i128::from_str_radix(hex, 16).ok()?,
        (None, Some(negative)) => -digits::<i128>(negative)?,
        (None, None) => digits::<i128>(text)?,
    };
    T::try_from(value).ok()
}

fn switch(fields: &str) -> Option<Payload<'_>> {
    let Some(text) = fields.strip_prefix("prev_comm=") else {
        return fields.match_indices(" ==> ").find_map(|(at, arrow)| {
            let (task, state) = fields[..at].rsplit_once(' ')?;
            let next = &fields[at + arrow.len()..];
            let next = &next[..=next.rfind(']')?];
            Some(Payload::Switch { prev: short(task)?, state, left: Left::parse(state)?, next: short(next)? })
        });
    };
    let (left, next) = text.rsplit_once(" next_comm=")?;
    let left = left.strip_suffix(" ==>").unwrap_or(left);
    let (left, state) = left.rsplit_once(" prev_state=")?;
    let (left, prio) = left.rsplit_once(" prev_prio=")?;
    let (comm, pid) = left.rsplit_once(" prev_pid=")?;
    let prev = Named { comm, pid: number(pid)?, prio: Some(number(prio)?) };
    let (next, prio) = next.rsplit_once(" next_prio=")?;
    let (comm, pid) = next.rsplit_once(" next_pid=")?;
    let prio = prio.split(' ').next().unwrap_or_default();
    let next = Named { comm, pid: number(pid)?, prio: Some(number(prio)?) };
    Some(Payload::Switch { prev, state, left: Left::parse(state)?, next })
}

/// The value of `key` among words.
fn value<'a>(words: &'a str, key: &str) -> Option<&'a str> {
    words.split_ascii_whitespace().find_map(|word| word.strip_prefix(key))
}

fn wake(fields: &str, wake: Wake) -> Option<Payload<'_>> {
    let (task, rest) = named(fields)?;
    let target = match value(rest, "target_cpu=").or_else(|| value(rest, "CPU:")) {
        Some(cpu) => Some(number(cpu)?),
        None => None,
    };
    Some(Payload::Wake { wake, task, target, success: value(rest, "success=") != Some("0") })
}

fn migrate(fields: &str) -> Option<Payload<'_>> {
    let (task, rest) = named(fields)?;
    Some(Payload::Migrate {
        task,
        from: number(value(rest, "orig_cpu=")?)?,
        to: number(value(rest, "dest_cpu=")?)?,
    })
}

fn fork(fields: &str) -> Option<Payload<'_>> {
    let (parent, child) = fields.rsplit_once(" child_comm=")?;
    let (comm, pid) = parent.rsplit_once(" pid=")?;
    let parent = Named { comm: comm.strip_prefix("comm=")?, pid: number(pid)?, prio: None };
    let (comm, pid) = child.rsplit_once(" child_pid=")?;
    let pid = pid.split(' ').next().unwrap_or_default();
    Some(Payload::Fork { parent, child: Named { comm, pid: number(pid)?, prio: None } })
}

fn runtime(fields: &str) -> Option<Payload<'_>> {
    let (left, rest) = fields.strip_prefix("comm=")?.rsplit_once(" runtime=")?;
    let (comm, pid) = left.rsplit_once(" pid=")?;
    let task = Named { comm, pid: number(pid)?, prio: None };
    let (runtime, rest) = rest.split_once(" [ns]").unwrap_or((rest, ""));
    let vruntime = value(rest, "vruntime=").map(number);
    let vruntime_ns = match vruntime {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Payload::StatRuntime { task, runtime_ns: number(runtime)?, vruntime_ns })
}

fn idle(fields: &str) -> Option<Payload<'_>> {
    let state: u32 = number(value(fields, "state=")?)?;
    // The event prints −1 as an unsigned number when idle ends.
    Some(Payload::Idle((state != u32::MAX).then_some(state)))
}
