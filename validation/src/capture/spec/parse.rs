//! The parser of the workload language: lines, tasks and their blocks.

use super::body::Blocks;
use super::token::{duration, number, signed};
use super::*;

/// Parses a spec.
///
/// # Errors
/// [`SpecError`] names the line and what is wrong there; nothing unknown is ignored.
pub fn parse_spec(text: &str) -> Result<Spec, SpecError> {
    if text.len() > Limits::BYTES {
        return Err(SpecError { line: 0, problem: SpecProblem::TooLarge(text.len()) });
    }
    let mut spec = Spec {
        seed: 1,
        slack: 1,
        lead: 50_000_000,
        phase: Phase::AfterTick(1_000_000),
        limit: None,
        chunk: 50_000,
        clock: Clock::Cpu,
        groups: Vec::new(),
        tasks: Vec::new(),
        objects: Vec::new(),
    };
    let mut nodes = 0;
    for (i, line) in text.split('\n').enumerate() {
        parse_line(&mut spec, &mut nodes, line).map_err(|problem| SpecError { line: i + 1, problem })?;
    }
    Ok(spec)
}

fn parse_line(spec: &mut Spec, nodes: &mut usize, line: &str) -> Result<(), SpecProblem> {
    let code = line.split('#').next().unwrap_or_default();
    let (head, body) = match code.split_once(':') {
        Some((head, body)) => (head, Some(body)),
        None => (code, None),
    };
    let mut words = head.split_ascii_whitespace();
    let Some(word) = words.next() else {
        return body.map_or(Ok(()), |b| Err(SpecProblem::LeftOver(b.trim().into())));
    };
    match word {
        "group" => return parse_group(spec, &mut words),
        "task" => return parse_task(spec, nodes, &mut words, body.ok_or(SpecProblem::NoBody)?),
        _ => {}
    }
    let value = words.next().ok_or(SpecProblem::Missing("a value"));
    match word {
        "seed" => spec.seed = signed(value?, i64::MIN, i64::MAX)? as u64,
        // The driver turns a slack of zero into one: zero would mean "the default" to the kernel.
        "slack" => spec.slack = duration(value?)?.max(1),
        "lead" => spec.lead = duration(value?)?,
        "limit" => spec.limit = Some(duration(value?)?).filter(|ns| *ns > 0),
        "chunk" => spec.chunk = duration(value?)?,
        "phase" if value == Ok("off") => spec.phase = Phase::Off,
        "phase" => spec.phase = Phase::AfterTick(duration(value?)?),
        "clock" => {
            spec.clock = match value? {
                "cpu" => Clock::Cpu,
                "loops" => Clock::Loops,
                found => return Err(SpecProblem::BadWord { found: found.into(), allowed: "cpu, loops" }),
            }
        }
        _ => return Err(SpecProblem::UnknownLine(word.to_owned())),
    }
    match words.next().or(body) {
        Some(rest) => Err(SpecProblem::LeftOver(rest.to_owned())),
        None => Ok(()),
    }
}

fn parse_group<'a>(spec: &mut Spec, words: &mut impl Iterator<Item = &'a str>) -> Result<(), SpecProblem> {
    let name = words.next().ok_or(SpecProblem::Missing("the group's name"))?;
    let mut group = Group { path: short(name)?.to_owned(), weight: None, max: None };
    for word in words {
        match word.split_once('=') {
            Some(("parent", p)) => group.path = format!("{}/{name}", short(p)?),
            Some(("weight", w)) => group.weight = Some(number(w, 1, 10_000)? as u32),
            Some(("max", m)) => {
                let (quota, period) = m.split_once('/').unwrap_or((m, "100ms"));
                let quota = if quota == "max" { None } else { Some(duration(quota)?) };
                group.max = Some(Bandwidth { quota, period: duration(period)? });
            }
            _ => return Err(SpecProblem::UnknownAttribute(word.to_owned())),
        }
    }
    push(&mut spec.groups, group, "groups", Limits::GROUPS)
}

fn parse_task<'a>(
    spec: &mut Spec,
    nodes: &mut usize,
    words: &mut impl Iterator<Item = &'a str>,
    body: &str,
) -> Result<(), SpecProblem> {
    let base = words.next().ok_or(SpecProblem::Missing("the task's name"))?;
    let mut count = 1;
    let mut task = Task {
        name: String::new(),
        instance: 0,
        nice: 0,
        cpus: None,
        start: 0,
        group: None,
        policy: Policy::Normal,
        body: Vec::new(),
    };
    for word in words {
        match word.split_once('=') {
            Some(("count", n)) => count = number(n, 1, Limits::TASKS as u64)? as u32,
            Some(("nice", n)) => task.nice = signed(n, -20, 19)? as i8,
            Some(("cpu", list)) => task.cpus = Some(cpus(list)?),
            Some(("start", at)) => task.start = duration(at)?,
            Some(("group", g)) => task.group = Some(g.to_owned()),
            Some(("policy", p)) => task.policy = policy(p)?,
            _ => return Err(SpecProblem::UnknownAttribute(word.to_owned())),
        }
    }
    for instance in 0..count {
        let mut blocks = Blocks { words: body.split_ascii_whitespace().peekable(), instance, nodes, spec };
        let body = blocks.block(0)?;
        let name =
            if count > 1 { format!("{}{instance}", clip(base, 11)) } else { clip(base, 15).to_owned() };
        push(
            &mut spec.tasks,
            Task { name: clip(&name, 15).to_owned(), instance, body, ..task.clone() },
            "tasks",
            Limits::TASKS,
        )?;
    }
    Ok(())
}

pub(super) fn push<T>(list: &mut Vec<T>, item: T, what: &'static str, max: usize) -> Result<(), SpecProblem> {
    if list.len() >= max {
        return Err(SpecProblem::TooMany { what, max });
    }
    list.push(item);
    Ok(())
}

pub(super) fn short(name: &str) -> Result<&str, SpecProblem> {
    if name.len() > Limits::NAME { Err(SpecProblem::LongName(name.to_owned())) } else { Ok(name) }
}

/// The first `max` bytes, cut back to a character's boundary.
fn clip(name: &str, max: usize) -> &str {
    let end = (0..=max.min(name.len())).rev().find(|i| name.is_char_boundary(*i)).unwrap_or(0);
    &name[..end]
}

pub(super) fn cpus(list: &str) -> Result<CpuMask, SpecProblem> {
    list.parse().map_err(|e: sim_core::cpumask::ParseCpuMaskError| SpecProblem::BadCpus(e.to_string()))
}

fn policy(word: &str) -> Result<Policy, SpecProblem> {
    match word {
        "other" => Ok(Policy::Normal),
        "batch" => Ok(Policy::Batch),
        "idle" => Ok(Policy::Idle),
        _ => Err(SpecProblem::BadWord { found: word.to_owned(), allowed: "other, batch, idle" }),
    }
}
