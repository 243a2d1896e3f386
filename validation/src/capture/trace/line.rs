//! One line of the lab's ftrace text.

use super::{Flags, Interner, TaskIx, TraceEvent, TraceKind};
use sim_workloads::recorded::{self, Named, Payload, Wake, payload};

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
    let recorded::Line::Event(head) = recorded::parse_line(line) else { return Line::Malformed };
    let Some(flags) = head.flags.and_then(Flags::parse) else { return Line::Malformed };
    let read = match payload(head.event, head.fields) {
        Ok(Some(Payload::Wake { wake: Wake::Waking, .. }) | None) => return Line::Unknown,
        Ok(Some(read)) => read,
        Err(_) => return Line::Malformed,
    };
    match kind(&read, names) {
        None => Line::Malformed,
        Some(kind) => {
            let current = names.get(head.pid, head.comm);
            Line::Event(TraceEvent { at_ns: head.at_ns, cpu: head.cpu, current, flags, kind })
        }
    }
}

/// What the captures need of an event; `None` when it is not there.
fn kind(read: &Payload<'_>, names: &mut Interner) -> Option<TraceKind> {
    Some(match read {
        // The captured kernels write letters.
        Payload::Switch { state, .. } if state.starts_with(|c: char| c.is_ascii_digit()) => return None,
        Payload::Switch { prev, state, next, .. } => TraceKind::Switch {
            prev: task(prev, names),
            prev_state: (*state).to_owned(),
            next: task(next, names),
        },
        Payload::Wake { wake, task: woken, target, .. } => {
            TraceKind::Wakeup { task: task(woken, names), target_cpu: (*target)?, new: *wake == Wake::New }
        }
        Payload::Migrate { task: moved, from, to } => {
            TraceKind::Migrate { task: task(moved, names), from: *from, to: *to }
        }
        Payload::Fork { parent, child } => {
            TraceKind::Fork { parent: task(parent, names), child: task(child, names) }
        }
        Payload::Exec => TraceKind::Exec,
        Payload::Exit(gone) => TraceKind::Exit(task(gone, names)),
        Payload::StatRuntime { task: charged, runtime_ns, vruntime_ns } => TraceKind::StatRuntime {
            task: task(charged, names),
            runtime_ns: *runtime_ns,
            vruntime_ns: (*vruntime_ns)?,
        },
        Payload::Idle(state) => TraceKind::Idle(*state),
    })
}

fn task(named: &Named<'_>, names: &mut Interner) -> TaskIx {
    if let Some(prio) = named.prio.and_then(|prio| u32::try_from(prio).ok()) {
        names.prios.insert(named.pid, prio);
    }
    names.get(named.pid, named.comm)
}
