//! Programs as text: a step a line, for programs that are long because they were recorded.
//!
//! ```text
//! run 12us
//! post 183:184        # wakes whoever waits for it
//! post 183:185 stay   # and stays in the kernel up to the end of the next system call
//! wait 184:183; sleep_until 1.5s
//! fork child-185 {
//!   run 3ms
//! }
//! ```

use super::step::Step;
use crate::dist::Dist;
use crate::units::{CpuList, MAX_DURATION, check_name};
use sim_core::Nanos;

/// Deepest nesting of children and loops.
const MAX_DEPTH: usize = 64;

/// Words that take a duration.
const TIMES: &[&str] = &["run", "run_cpu", "kernel", "sleep", "io", "sleep_until"];
/// Words that take the name of an object or a program.
const NAMES: &[&str] = &["post", "wait", "lock", "unlock", "exec"];
/// Words that take nothing, or something else.
const OTHERS: &[&str] =
    &["nice", "affinity", "yield", "exit", "wait_child", "wait_children", "fork NAME {", "repeat N {", "}"];

/// Reads a program; a mistake begins with its line in the text.
pub(super) fn program(text: &str) -> Result<Vec<Step>, String> {
    let mut open: Vec<(Step, usize)> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut outer: Vec<Vec<Step>> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        for statement in line.split(';').map(str::trim).filter(|s| !s.is_empty()) {
            let wrong = |message: String| format!("line {} of the program: {message}", i + 1);
            if statement == "}" {
                let (Some((mut step, _)), Some(before)) = (open.pop(), outer.pop()) else {
                    return Err(wrong("'}' closes nothing".to_owned()));
                };
                let body = std::mem::replace(&mut steps, before);
                if body.is_empty() {
                    return Err(wrong("nothing between '{' and '}'".to_owned()));
                }
                match &mut step {
                    Step::Fork { program, .. } => *program = body,
                    Step::Repeat { body: turns, .. } => *turns = body,
                    _ => {}
                }
                steps.push(step);
            } else if let Some(head) = statement.strip_suffix('{') {
                if open.len() >= MAX_DEPTH {
                    return Err(wrong(format!("nested more than {MAX_DEPTH} deep")));
                }
                open.push((opening(head.trim()).map_err(wrong)?, i + 1));
                outer.push(std::mem::take(&mut steps));
            } else {
                steps.push(plain(statement).map_err(wrong)?);
            }
        }
    }
    match open.last() {
        Some((_, line)) => Err(format!("line {line} of the program: '{{' is never closed")),
        None => Ok(steps),
    }
}

fn opening(head: &str) -> Result<Step, String> {
    match head.split_once([' ', '\t']).map(|(word, rest)| (word, rest.trim())) {
        Some(("fork", name)) => {
            check_name(name, true)?;
            Ok(Step::Fork { name: name.to_owned(), vfork: false, program: Vec::new() })
        }
        Some(("repeat", times)) => match times.parse::<u64>() {
            Ok(times) if (1..=super::step_reader::MAX_COUNT as u64).contains(&times) => {
                Ok(Step::Repeat { times, body: Vec::new() })
            }
            _ => Err(format!(
                "'{times:.40}' is no number of turns from 1 to {}",
                super::step_reader::MAX_COUNT
            )),
        },
        _ => Err(format!("'{head:.60} {{': write fork NAME {{ or repeat N {{")),
    }
}

fn plain(statement: &str) -> Result<Step, String> {
    let (word, rest) = statement.split_once([' ', '\t']).unwrap_or((statement, ""));
    let rest = rest.trim();
    if TIMES.contains(&word) {
        return timed(word, rest);
    }
    if NAMES.contains(&word) {
        return named(word, rest);
    }
    let alone = |step: Step| {
        if rest.is_empty() {
            Ok(step)
        } else {
            Err(format!("'{word}' stands alone, found '{rest:.60}' behind it"))
        }
    };
    match word {
        "nice" => match rest.parse::<i8>() {
            Ok(nice) if (-20..=19).contains(&nice) => Ok(Step::Nice(nice)),
            _ => Err(format!("'{rest:.40}' is no nice value from -20 to 19")),
        },
        "affinity" => rest.parse().map(|cpus| Step::Affinity(CpuList(cpus))).map_err(|e| format!("{e}")),
        "yield" => alone(Step::Yield),
        "exit" => alone(Step::Exit),
        "wait_child" => alone(Step::WaitChild),
        "wait_children" => alone(Step::WaitChildren),
        _ => {
            let all = [TIMES, NAMES, OTHERS].concat().join(", ");
            Err(format!("unknown step '{word:.40}': allowed are {all}; all others stand in lists only"))
        }
    }
}

fn timed(word: &str, rest: &str) -> Result<Step, String> {
    let time: Nanos = rest.parse().map_err(|e| format!("'{word}': {e}"))?;
    if time > MAX_DURATION {
        return Err(format!("'{rest}' is too long: at most 366 days are allowed"));
    }
    Ok(match word {
        "run" => Step::Run(Dist::constant(time)),
        "run_cpu" => Step::RunCpu(Dist::constant(time)),
        "kernel" => Step::Kernel(Dist::constant(time)),
        "sleep" => Step::Sleep(Dist::constant(time)),
        "io" => Step::Io(Dist::constant(time)),
        _ => Step::SleepUntil(time),
    })
}

fn named(word: &str, rest: &str) -> Result<Step, String> {
    let (held, stay) = rest.strip_suffix(" stay").map_or((rest, false), |held| (held, true));
    let (name, n) = held.split_once(' ').unwrap_or((held, "1"));
    check_name(name, true)?;
    let name = name.to_owned();
    Ok(match word {
        "post" => match n.trim().parse::<u32>() {
            Ok(n) if (1..=1_000_000).contains(&n) => Step::Post { semaphore: name, n, stay },
            _ => return Err(format!("'{n:.40}' is no number of posts from 1 to 1000000")),
        },
        _ if stay || rest.contains(' ') => return Err(format!("'{rest:.60}' is more than one name")),
        "wait" => Step::Wait(name),
        "lock" => Step::Lock(name),
        "unlock" => Step::Unlock(name),
        _ => Step::Exec(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_nest_and_share_lines() {
        let text = "run 1us # work\npost a 2; post a stay; wait b\n\nfork c {\n repeat 3 {\n yield }\n"
            .replace("yield }", "yield\n }");
        let text = format!("{text}}}\nsleep_until 2s; nice -3; affinity 0-1; exit");
        let us = Dist::constant(Nanos::from_micros(1));
        let turns = Step::Repeat { times: 3, body: vec![Step::Yield] };
        let expected = vec![
            Step::Run(us),
            Step::Post { semaphore: "a".to_owned(), n: 2, stay: false },
            Step::Post { semaphore: "a".to_owned(), n: 1, stay: true },
            Step::Wait("b".to_owned()),
            Step::Fork { name: "c".to_owned(), vfork: false, program: vec![turns] },
            Step::SleepUntil(Nanos::from_secs(2)),
            Step::Nice(-3),
            Step::Affinity(CpuList("0-1".parse().unwrap())),
            Step::Exit,
        ];
        assert_eq!(program(&text), Ok(expected));
    }

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            ("run 1us\nrun 5", "line 2 of the program: 'run': '5' has no unit"),
            ("run 600000min", "is too long"),
            ("walk 5us", "line 1 of the program: unknown step 'walk': allowed are run, run_cpu"),
            ("post a b", "'b' is no number of posts"),
            ("wait a b", "'a b' is more than one name"),
            ("wait a/b", "is not a name"),
            ("nice 20", "'20' is no nice value"),
            ("affinity 9-3", "'9-3' is not a list of CPUs"),
            ("yield 3", "'yield' stands alone"),
            ("}", "'}' closes nothing"),
            ("fork x {\n}", "line 2 of the program: nothing between"),
            ("run 1us\nfork x {\nyield", "line 2 of the program: '{' is never closed"),
            ("vfork x {", "write fork NAME"),
            ("repeat 0 {", "no number of turns"),
        ];
        for (text, message) in cases {
            let error = program(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!(program(&"fork x {\n".repeat(100_000)).unwrap_err().contains("more than 64 deep"));
    }
}
