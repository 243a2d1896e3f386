//! How the summary of a trace is printed.

use crate::output::Report;
use serde::Serialize;
use sim_core::Nanos;
use sim_workloads::recorded::Summary;

/// A trace's summary.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct TraceSummary(pub(super) Summary);

/// How many tasks and events the text shows.
const SHOWN: usize = 20;

impl Report for TraceSummary {
    fn text(&self) -> String {
        let s = &self.0;
        let stats = &s.stats;
        let packed = stats.packing.map(|packing| format!(", {packing}")).unwrap_or_default();
        let ticks = s.tick_hz.map_or(String::new(), |hz| format!(", ticks at {hz} Hz by its preemptions"));
        let mut out = format!(
            "{}{packed}: {} lines, stamps of {} digits\n{} CPUs ({}), {} from {}{ticks}\n{} switches, {} tasks\n",
            stats.form.name(),
            stats.lines,
            stats.digits,
            s.cpus.len(),
            ranges(&s.cpus),
            Nanos(s.span_ns),
            Nanos(s.begins_ns),
            s.switches,
            s.tasks.len(),
        );
        let l = &s.latency;
        out += &format!(
            "from wake-up to turn: {} times, median {}, 95 % within {}, at most {}\n",
            l.count,
            Nanos(l.p50_ns),
            Nanos(l.p95_ns),
            Nanos(l.max_ns)
        );
        out += &self.oddities();
        let mut events: Vec<(&String, &u64)> = stats.events.iter().collect();
        events.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
        out += "\nevents\n";
        for (name, times) in events.iter().take(SHOWN) {
            out += &format!("  {times:>9} {name}\n");
        }
        out += &more(events.len(), "kinds of events");
        out += "\n     CPU time   waits  preempted    latency    longest  nice  task\n";
        for t in s.tasks.iter().take(SHOWN) {
            let nice = t.nice.map_or("-".to_owned(), |n| n.to_string());
            out += &format!(
                "{:>13} {:>7} {:>10} {:>10} {:>10} {:>5}  {}-{}\n",
                Nanos(t.cpu_ns).to_string(),
                t.voluntary,
                t.involuntary,
                Nanos(t.mean_latency_ns).to_string(),
                Nanos(t.max_latency_ns).to_string(),
                nice,
                t.comm,
                t.pid
            );
        }
        out + &more(s.tasks.len(), "tasks")
    }
}

fn more(n: usize, what: &str) -> String {
    if n > SHOWN { format!("  … {} more {what} (--format json)\n", n - SHOWN) } else { String::new() }
}

impl TraceSummary {
    fn oddities(&self) -> String {
        let (s, odd) = (&self.0.stats, &self.0.odd);
        let counted = [
            (s.gaps, "gaps where events were lost"),
            (s.lost, "events lost in them"),
            (s.overwritten, "events overwritten before the trace was read"),
            (s.unsorted, "events out of order"),
            (s.late, "events too much out of order to be used"),
            (s.malformed, "lines that are no events"),
            (s.incomplete, "scheduling events with fields missing"),
            (s.long, "lines too long"),
            (odd.missing_wakeups, "tasks that went on though nothing woke them"),
            (odd.missing_switches, "switches missing"),
            (odd.spurious_wakeups, "wake-ups of tasks that did not wait"),
        ];
        let lines = counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("  {n:>9} {what}\n"));
        let first = s.first_malformed.map(|line| format!("            the first such line is {line}\n"));
        let all: String = lines.chain(first).collect();
        if all.is_empty() {
            "nothing lost, out of order or unknown\n".to_owned()
        } else {
            format!("what is wrong with it\n{all}")
        }
    }
}

/// `0-3,8`.
fn ranges(cpus: &[u32]) -> String {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => out.push((*cpu, *cpu)),
        }
    }
    let range = |(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    out.iter().map(range).collect::<Vec<_>>().join(",")
}
