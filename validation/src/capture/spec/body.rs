//! The parser of a task's body: steps and nested blocks.

use super::parse::{cpus, push, short};
use super::token::{duration, number, span};
use super::{Limits, Object, ObjectIx, ObjectKind, Spec, SpecProblem, Step};

/// The reader of one task's body, for one instance.
pub(super) struct Blocks<'t, 's, I: Iterator<Item = &'t str>> {
    pub(super) words: std::iter::Peekable<I>,
    pub(super) instance: u32,
    pub(super) nodes: &'s mut usize,
    pub(super) spec: &'s mut Spec,
}

impl<'t, I: Iterator<Item = &'t str>> Blocks<'t, '_, I> {
    fn word(&mut self, what: &'static str) -> Result<&'t str, SpecProblem> {
        self.words.next().ok_or(SpecProblem::Missing(what))
    }

    /// Steps up to the closing brace, or to the end of the body at depth 0.
    pub(super) fn block(&mut self, depth: usize) -> Result<Vec<Step>, SpecProblem> {
        if depth > Limits::DEPTH {
            return Err(SpecProblem::TooDeep);
        }
        let mut steps = Vec::new();
        while let Some(word) = self.words.next() {
            if word == "}" {
                return if depth == 0 { Err(SpecProblem::StrayBrace) } else { Ok(steps) };
            }
            *self.nodes += 1;
            if *self.nodes >= Limits::NODES {
                return Err(SpecProblem::TooMany { what: "steps", max: Limits::NODES - 1 });
            }
            steps.push(self.step(word, depth)?);
        }
        if depth == 0 { Ok(steps) } else { Err(SpecProblem::Missing("a closing '}'")) }
    }

    fn step(&mut self, word: &str, depth: usize) -> Result<Step, SpecProblem> {
        Ok(match word {
            "run" => Step::Run(span(self.word("the length")?)?),
            "spin" => Step::Spin(self.count("the number of turns", u64::MAX)?),
            "sleep" => Step::Sleep(span(self.word("the length")?)?),
            "period" => Step::Period(match duration(self.word("the period")?)? {
                0 => return Err(SpecProblem::BadDuration("0".into())),
                ns => ns,
            }),
            "post" => Step::Post(self.object(ObjectKind::Semaphore)?, self.optional(1_000_000)?),
            "wait" => Step::Wait(self.object(ObjectKind::Semaphore)?),
            "write" => Step::Write(self.object(ObjectKind::Pipe)?, self.optional(65_536)?),
            "read" => Step::Read(self.object(ObjectKind::Pipe)?, self.optional(65_536)?),
            "barrier" => Step::Barrier(self.object(ObjectKind::Barrier)?, self.parties()?),
            "yield" => Step::Yield,
            "count" => Step::Count,
            "loop" => Step::Loop(self.count("the number of turns", u64::MAX)?, self.nested(depth)?),
            "for" => Step::For(duration(self.word("the length")?)?, self.nested(depth)?),
            "fork" => Step::Fork(self.nested(depth)?),
            "join" => Step::Join,
            "joinall" => Step::JoinAll,
            "jobs" => Step::Jobs {
                parallel: number(self.word("the number at a time")?, 1, 1_000_000)?,
                count: self.count("the number of jobs", 1_000_000)?,
                body: self.nested(depth)?,
            },
            "sysio" => Step::SysIo(self.count("the number of calls", u64::MAX)?),
            "aff" => Step::Affinity(cpus(self.word("the cpulist")?)?),
            "affall" => Step::AffinityAll(cpus(self.word("the cpulist")?)?),
            _ => return Err(SpecProblem::UnknownStep(word.to_owned())),
        })
    }

    fn count(&mut self, what: &'static str, max: u64) -> Result<u64, SpecProblem> {
        number(self.word(what)?, 0, max)
    }

    fn parties(&mut self) -> Result<u32, SpecProblem> {
        Ok(number(self.word("the number of parties")?, 1, Limits::TASKS as u64)? as u32)
    }

    /// A number if one follows, else 1.
    fn optional(&mut self, max: u64) -> Result<u32, SpecProblem> {
        match self.words.next_if(|w| w.starts_with(|c: char| c.is_ascii_digit())) {
            Some(word) => Ok(number(word, 1, max)? as u32),
            None => Ok(1),
        }
    }

    fn nested(&mut self, depth: usize) -> Result<Vec<Step>, SpecProblem> {
        match self.word("the block's '{'")? {
            "{" => self.block(depth + 1),
            other => Err(SpecProblem::NoBlock(other.to_owned())),
        }
    }

    fn object(&mut self, kind: ObjectKind) -> Result<ObjectIx, SpecProblem> {
        let name = self.word("the object's name")?.replacen('%', &self.instance.to_string(), 1);
        short(&name)?;
        let objects = &mut self.spec.objects;
        let ix = match objects.iter().position(|o| o.kind == kind && o.name == name) {
            Some(ix) => ix,
            None => {
                push(objects, Object { kind, name }, "semaphores, pipes and barriers", Limits::OBJECTS)?;
                objects.len() - 1
            }
        };
        Ok(ObjectIx(ix as u16))
    }
}
