//! One line of a text trace, as ftrace, `trace-cmd report`, systrace and `perf script` write it.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// An event.
    Event(EventLine<'a>),
    /// Events of a CPU were lost here, so many if it says.
    Lost {
        /// Where, if it says.
        cpu: Option<u32>,
        /// How many, if it says.
        events: Option<u64>,
    },
    /// A comment, a heading, or nothing.
    Comment,
    /// A frame of a stack, which belongs to the event before it.
    Stack,
    /// Something else.
    Other,
}

/// The head of an event's line, and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLine<'a> {
    /// Name of the task that was current.
    pub comm: &'a str,
    /// Its thread's number; 0 is a CPU's idle task.
    pub pid: u32,
    /// On which CPU.
    pub cpu: u32,
    /// The flags column, where there is one.
    pub flags: Option<&'a str>,
    /// When, ns of the trace's clock.
    pub at_ns: u64,
    /// Digits of the stamp after the point.
    pub digits: u8,
    /// As `perf script` writes it.
    pub perf: bool,
    /// The event, without its system; empty for a traced function.
    pub event: &'a str,
    /// What follows.
    pub fields: &'a str,
}

/// Parses a line without its end.
pub fn parse_line(line: &str) -> Line<'_> {
    let trimmed = line.trim();
    if trimmed.is_empty() || line.starts_with('#') || is_heading(trimmed) {
        return Line::Comment;
    }
    if let Some(event) = event_line(line) {
        return Line::Event(event);
    }
    lost(trimmed).unwrap_or(if is_stack(line) { Line::Stack } else { Line::Other })
}

/// Whether a text, of which this is the beginning, is a trace.
pub fn is_trace(text: &str) -> bool {
    let tells = |line: &str| {
        line.starts_with("# tracer:")
            || line.starts_with("CPU 0 is empty")
            || matches!(parse_line(line), Line::Event(_))
    };
    text.lines().take(HEADING_LINES).any(tells)
}

/// Where a trace shows nothing of its kind so far into it, it is none.
const HEADING_LINES: usize = 300;

/// Headings of `trace-cmd report`, and where a CPU's buffer begins.
fn is_heading(line: &str) -> bool {
    let value = |name: &str| {
        line.strip_prefix(name).map(str::trim_start).and_then(|rest| rest.strip_prefix('=')).map(str::trim)
    };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    ["version", "cpus"].iter().any(|name| value(name).is_some_and(number))
        || line
            .strip_prefix("CPU ")
            .and_then(|rest| rest.split_once(' '))
            .is_some_and(|(cpu, rest)| number(cpu) && rest == "is empty")
}

/// `CPU:2 [LOST 17 EVENTS]`, `CPU:0 [EVENTS DROPPED]`, `CPU:0 [17 EVENTS DROPPED]`.
fn lost(line: &str) -> Option<Line<'static>> {
    let rest = line.strip_prefix("CPU:")?;
    let (cpu, what) = rest.trim_end().strip_suffix(']')?.split_once('[')?;
    if !what.contains("LOST") && !what.contains("DROPPED") {
        return None;
    }
    Some(Line::Lost { cpu: digits(cpu.trim()), events: what.split(' ').find_map(digits) })
}

/// ` => do_syscall_64`, ` <stack trace>`, or an address and a symbol, as perf prints them.
fn is_stack(line: &str) -> bool {
    let indented = line.starts_with([' ', '\t']);
    let text = line.trim_start();
    let address = || {
        let (address, rest) = text.split_once(' ').unwrap_or((text, ""));
        address.len() >= 4 && address.bytes().all(|b| b.is_ascii_hexdigit()) && !rest.is_empty()
    };
    text.starts_with("=> ") || text.starts_with("<stack trace>") || indented && address()
}

/// A comm may hold spaces, dashes and brackets, so every ` [` is tried until what stands around it fits.
fn event_line(line: &str) -> Option<EventLine<'_>> {
    line.match_indices('[').find_map(|(at, _)| {
        let task = line[..at].strip_suffix([' ', '\t', ')'])?;
        // The bracket that closes a TGID column may touch the CPU's.
        let task = if line[..at].ends_with(')') { &line[..at] } else { task };
        event_at(task, &line[at + 1..])
    })
}

fn event_at<'a>(task: &'a str, rest: &'a str) -> Option<EventLine<'a>> {
    let (cpu, rest) = rest.split_once(']')?;
    let cpu = digits(cpu)?;
    let (first, after) = word(rest)?;
    let (flags, (at_ns, places), rest) = match stamp(first) {
        Some(at) => (None, at, after),
        None => {
            let (second, after) = word(after)?;
            (Some(first), stamp(second)?, after)
        }
    };
    let (comm, pid, perf) = current(task)?;
    // perf may print the period of its counter first.
    let rest = match word(rest) {
        Some((period, after)) if perf && digits::<u64>(period).is_some() => after.trim_start(),
        _ => rest.trim_start(),
    };
    let (event, fields) = match rest.split_once(": ") {
        Some((event, fields)) if !event.contains(' ') => (event, fields.trim_start()),
        _ => rest.strip_suffix(':').filter(|e| !e.contains(' ')).map_or(("", rest), |event| (event, "")),
    };
    let event = event.rsplit_once(':').map_or(event, |(_, event)| event);
    Some(EventLine { comm, pid, cpu, flags, at_ns, digits: places, perf, event, fields })
}

/// The next word and what follows it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `comm-pid`, `comm-pid  (tgid)`, or perf's `comm pid/tid` and `comm tid`; whether it is perf's.
fn current(task: &str) -> Option<(&str, u32, bool)> {
    let task = task.trim();
    let task = match task.strip_suffix(')').and_then(|t| t.rsplit_once('(')) {
        Some((task, _)) => task.trim_end(),
        None => task,
    };
    let last = task.rsplit([' ', '\t']).next()?;
    let tid = last.rsplit_once('/').map_or(Some(last), |(pid, tid)| digits::<u32>(pid).map(|_| tid));
    if let Some(tid) = tid.and_then(digits) {
        let comm = task[..task.len() - last.len()].trim_end();
        return Some((comm, tid, true));
    }
    let (comm, pid) = task.rsplit_once('-')?;
    Some((comm, digits(pid)?, false))
}

/// `seconds.fraction:` as ns, and the digits of the fraction.
fn stamp(text: &str) -> Option<(u64, u8)> {
    let (seconds, fraction) = text.strip_suffix(':')?.split_once('.')?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let unit = 10u64.pow(9 - fraction.len() as u32);
    let ns =
        digits::<u64>(seconds)?.checked_mul(1_000_000_000)?.checked_add(digits::<u64>(fraction)? * unit)?;
    // Room for sums of stamps and spans.
    (ns <= u64::MAX / 4).then_some((ns, fraction.len() as u8))
}

/// A number of decimal digits only.
pub(super) fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}
