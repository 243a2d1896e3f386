//! Streams a trace: lines become events in order of time, and everything else is counted.

use super::error::{Nothing, TraceError};
use super::event::{Context, Event, Kind, Names, Task};
use super::line::{EventLine, Line, parse_line};
use super::order::Order;
use super::payload::{Named, Payload, payload};
use super::source::{Source, Wrapping, unwrap_html};
use super::stats::{Form, Limits, Stats};
use std::borrow::Cow;
use std::io::Read;

/// Receives the events of a trace.
pub(super) trait Sink {
    /// Takes the next event in order of time.
    fn event(&mut self, event: &Event, names: &Names) -> Result<(), TraceError>;
}

/// The most names of events that are told apart.
const MAX_EVENT_NAMES: usize = 2000;

/// Reads a trace to its end.
pub(super) fn read(
    source: impl Read,
    limits: &Limits,
    sink: &mut impl Sink,
) -> Result<(Stats, Names), TraceError> {
    let mut source = Source::open(source)?;
    let form = match source.wrapping {
        Wrapping::Plain => Form::Ftrace,
        Wrapping::Html => Form::Systrace,
        Wrapping::Atrace => Form::Atrace,
    };
    let stats = Stats { form, packing: source.packing, ..Stats::default() };
    let mut reader =
        Reader { limits, stats, names: Names::default(), order: Order::default(), known_form: false };
    let (mut raw, mut bytes) = (Vec::new(), 0);
    while let Some(taken) = source.line(limits.line, &mut raw)? {
        reader.stats.lines += 1;
        bytes += taken.bytes;
        if bytes > limits.bytes {
            return Err(TraceError::too_large(limits));
        }
        if taken.long {
            reader.stats.long += 1;
            continue;
        }
        // A comm is any bytes; what is not UTF-8 becomes replacement characters, the same every time.
        let line = String::from_utf8_lossy(&raw);
        let line = if source.wrapping == Wrapping::Html { unwrap_html(&line) } else { Cow::Borrowed(&*line) };
        if let Some(event) = reader.line(&line, source.wrapping)? {
            sink.event(&event, &reader.names)?;
        }
    }
    while let Some(event) = reader.order.pop() {
        sink.event(&event, &reader.names)?;
    }
    reader.finish()
}

struct Reader<'a> {
    limits: &'a Limits,
    stats: Stats,
    names: Names,
    order: Order,
    /// Some line was one of a trace.
    known_form: bool,
}

impl Reader<'_> {
    fn line(&mut self, line: &str, wrapping: Wrapping) -> Result<Option<Event>, TraceError> {
        match parse_line(line) {
            Line::Event(event) => return self.event(&event),
            Line::Comment => self.comment(line, wrapping),
            Line::Stack => self.stats.stacks += 1,
            Line::Lost { cpu, events } => return self.lost(cpu, events),
            Line::Other if wrapping == Wrapping::Html => {}
            Line::Other => {
                self.stats.malformed += 1;
                self.stats.first_malformed.get_or_insert(self.stats.lines);
            }
        }
        Ok(None)
    }

    fn comment(&mut self, line: &str, wrapping: Wrapping) {
        self.known_form |= line.starts_with("# tracer:");
        if wrapping == Wrapping::Plain && line.trim_start().starts_with("cpus") {
            (self.stats.form, self.known_form) = (Form::TraceCmd, true);
        }
        // # entries-in-buffer/entries-written: 116/120   #P:1
        let counts = line.strip_prefix("# entries-in-buffer/entries-written:").map(str::trim_start);
        let numbers =
            counts.and_then(|c| c.split_once(' ').map_or(Some(c), |(c, _)| Some(c))?.split_once('/'));
        if let Some((kept, written)) =
            numbers.and_then(|(k, w)| k.parse::<u64>().ok().zip(w.parse::<u64>().ok()))
        {
            self.stats.overwritten += written.saturating_sub(kept);
        }
    }

    fn lost(&mut self, cpu: Option<u32>, events: Option<u64>) -> Result<Option<Event>, TraceError> {
        self.stats.gaps += 1;
        self.stats.lost += events.unwrap_or(0);
        let Some(cpu) = cpu else { return Ok(None) };
        self.check_cpu(cpu)?;
        if self.stats.events.is_empty() {
            return Ok(None);
        }
        let current = Task { pid: 0, comm: self.names.get("<idle>"), prio: None };
        let event =
            Event { at_ns: self.order.latest, cpu, current, context: Context::Unknown, kind: Kind::Lost };
        Ok(self.order.push(event))
    }

    fn check_cpu(&self, cpu: u32) -> Result<(), TraceError> {
        let max = self.limits.cpus;
        if cpu > max { Err(TraceError::Cpu { line: self.stats.lines, found: cpu, max }) } else { Ok(()) }
    }

    fn event(&mut self, line: &EventLine<'_>) -> Result<Option<Event>, TraceError> {
        self.known_form = true;
        self.check_cpu(line.cpu)?;
        if line.perf && self.stats.form == Form::Ftrace {
            self.stats.form = Form::Perf;
        }
        self.stats.digits = self.stats.digits.max(line.digits);
        self.count(line.event);
        let read = match payload(line.event, line.fields) {
            Ok(read) => read,
            Err(_) => {
                self.stats.incomplete += 1;
                self.stats.first_malformed.get_or_insert(self.stats.lines);
                None
            }
        };
        let kind = read.map_or(Kind::Other, |p| self.kind(&p));
        self.stats.used += u64::from(kind != Kind::Other);
        let current = self.task(&Named { comm: line.comm, pid: line.pid, prio: None });
        if self.names.len() > self.limits.tasks {
            return Err(TraceError::TooManyTasks(self.limits.tasks));
        }
        let context = Context::of(line.flags);
        Ok(self.order.push(Event { at_ns: line.at_ns, cpu: line.cpu, current, context, kind }))
    }

    fn count(&mut self, event: &str) {
        let name = match event {
            "" => "(function)",
            // As the first kernels with it print it.
            "0" => "tracing_mark_write",
            _ => event,
        };
        if let Some(count) = self.stats.events.get_mut(name) {
            *count += 1;
            return;
        }
        let name = if self.stats.events.len() < MAX_EVENT_NAMES { name } else { "(others)" };
        *self.stats.events.entry(name.to_owned()).or_default() += 1;
    }

    fn task(&mut self, named: &Named<'_>) -> Task {
        let prio = named.prio.map(|p| p.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16);
        Task { pid: named.pid, comm: self.names.get(named.comm), prio }
    }

    fn kind(&mut self, payload: &Payload<'_>) -> Kind {
        match payload {
            Payload::Switch { prev, left, next, .. } => {
                Kind::Switch { prev: self.task(prev), left: *left, next: self.task(next) }
            }
            Payload::Wake { success: false, .. } => Kind::Other,
            Payload::Wake { wake, task, target, .. } => {
                Kind::Wake { wake: *wake, task: self.task(task), target: *target }
            }
            Payload::Migrate { .. } => Kind::Migrate,
            Payload::Fork { parent, child } => {
                Kind::Fork { parent: self.task(parent), child: self.task(child) }
            }
            Payload::Exec => Kind::Exec,
            Payload::Exit(task) => Kind::Exit(self.task(task)),
            Payload::StatRuntime { .. } | Payload::Idle(_) => Kind::Other,
        }
    }

    fn finish(mut self) -> Result<(Stats, Names), TraceError> {
        (self.stats.unsorted, self.stats.late) = (self.order.unsorted, self.order.late);
        if self.stats.used > 0 {
            return Ok((self.stats, self.names));
        }
        let mut events: Vec<(String, u64)> = self.stats.events.into_iter().collect();
        events.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        Err(TraceError::NoEvents(Box::new(Nothing {
            lines: self.stats.lines,
            events,
            malformed: self.stats.malformed + self.stats.long,
            first_malformed: self.stats.first_malformed,
            known_form: self.known_form,
        })))
    }
}
