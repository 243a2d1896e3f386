//! A record's program as a scenario.

use super::constants::Constants;
use super::record::Record;
use std::fmt::Write;

/// A program there is a model of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// netperf TCP_STREAM.
    Tcp,
    /// netperf UDP_STREAM.
    Udp,
    /// netperf TCP_RR.
    Rr,
    /// hackbench with processes and pipes.
    HackbenchPipes,
    /// hackbench with threads and sockets.
    HackbenchSockets,
    /// Two gzips.
    Gzip,
    /// pigz.
    Pigz,
    /// make and gcc.
    Make,
    /// The same beside an endless loop at nice 5.
    MakeHog,
}

impl Program {
    /// All programs.
    pub const ALL: [(&'static str, Program); 9] = [
        ("tcp", Program::Tcp),
        ("udp", Program::Udp),
        ("rr", Program::Rr),
        ("hbp1", Program::HackbenchPipes),
        ("hbs1", Program::HackbenchSockets),
        ("gzip", Program::Gzip),
        ("pigz", Program::Pigz),
        ("make", Program::Make),
        ("makehog", Program::MakeHog),
    ];

    /// The program of a record, if there is a model of it.
    pub fn of(record: &Record) -> Option<Program> {
        Program::ALL.iter().find(|(name, _)| *name == record.program).map(|(_, program)| *program)
    }

    /// How far the predicted ratio may be off, in percent. Fixed before the first comparison.
    pub fn tolerance_percent(self) -> f64 {
        match self {
            Program::Gzip | Program::Pigz | Program::Make | Program::MakeHog => 1.0,
            _ => 5.0,
        }
    }

    /// Whether repetitions are called differently.
    pub fn differs_by_rep(self) -> bool {
        self == Program::Udp
    }

    /// Path of the tasks whose switches the record counts: netserver is no descendant of netperf.
    pub fn counted(self) -> &'static str {
        match self {
            Program::Tcp | Program::Udp | Program::Rr => "netperf/client",
            Program::HackbenchPipes | Program::HackbenchSockets => "hackbench",
            Program::Gzip => "gzip",
            Program::Pigz => "pigz",
            Program::Make | Program::MakeHog => "make",
        }
    }

    /// Whether the throughput is what the program prints, not runs per second.
    pub fn prints_throughput(self) -> bool {
        matches!(self, Program::Tcp | Program::Udp | Program::Rr)
    }

    /// The workload table; `size` is the record's `SC`, `work` the fitted CPU time.
    fn workload(self, record: &Record, size: u64, work: u64) -> String {
        let netperf = |rest: String| format!("[workload.netperf]\naround_call = \"{work}ns\"\n{rest}");
        let hackbench = |rest: &str| {
            let table = "[workload.hackbench]\ngroups = 1\nfds = 10";
            format!("{table}\nloops = {size}\naround_call = \"{work}ns\"\n{rest}")
        };
        match self {
            Program::Tcp => netperf(format!(
                "test = \"TCP_STREAM\"\ncount = {size}\nsend_size = 256\nreceive_size = 256\n\
                 local_buffer = 8192\nremote_buffer = 8192\nnodelay = true\n"
            )),
            // The first repetition sends so many messages, later ones for a second.
            Program::Udp => {
                let most =
                    if record.rep == 0 { format!("count = {size}") } else { "length = \"1s\"".to_owned() };
                netperf(format!(
                    "test = \"UDP_STREAM\"\n{most}\nsend_size = 256\nlocal_buffer = 262144\nremote_buffer = 262144\n"
                ))
            }
            Program::Rr => netperf(format!("test = \"TCP_RR\"\ncount = {size}\n")),
            Program::HackbenchPipes => hackbench("pipe = true\n"),
            Program::HackbenchSockets => hackbench("threads = true\n"),
            Program::Gzip => {
                format!("[workload.gzip]\nfiles = 2\nsize = {}\nblock_work = \"{work}ns\"\n", size * 1024)
            }
            Program::Pigz => format!(
                "[workload.pigz]\nprocesses = 2\nblocksize = 32768\nsize = {}\nblock_work = \"{work}ns\"\n",
                size * 1024
            ),
            Program::MakeHog => {
                // More than twice as long as measured is no prediction any more.
                let longest = record.elapsed_ns.saturating_mul(2).clamp(1, 60_000_000_000);
                let make = Program::Make.workload(record, size, work);
                format!(
                    "{make}[task.hog]\nnice = 5\nprogram = [{{ forever = [{{ run = \"1s\" }}] }}]\n[run]\nduration = \"{longest}ns\"\n"
                )
            }
            Program::Make => format!(
                "[workload.kernel_compile]\njobs = 2\nobjects = {size}\nhand_over = \"file\"\nhelpers = []\n\
                 io_sleeps = 0\nsh = \"0ns\"\nmake_start = \"3ms\"\nmake_job = \"750us\"\ngcc = \"4400us\"\n\
                 link_start = \"5ms\"\nlink_object = \"0ns\"\ncc1 = \"{work}ns\"\n"
            ),
        }
    }

    /// The scenario of a record: its kernel and tunables, one CPU whose ticks begin at `phase_ns`.
    pub fn scenario(self, record: &Record, constants: &Constants, work: u64, phase_ns: u64) -> String {
        let (t, size) = (&record.tunables, record.spec.get("SC").and_then(|s| s.parse().ok()).unwrap_or(0));
        let mut text = format!(
            "name = \"{} {}\"\n[kernel]\nprofile = \"{}-debian\"\nhz = 250\npreempt = \"voluntary\"\n\
             sched_latency_ns = \"{}ns\"\nsched_min_granularity_ns = \"{}ns\"\nsched_wakeup_granularity_ns = \"{}ns\"\n",
            record.program,
            record.setting,
            record.kernel,
            t.latency_ns,
            t.min_granularity_ns,
            t.wakeup_granularity_ns
        );
        // Writing to a String cannot fail.
        if let Some(first) = t.child_runs_first {
            let _ = writeln!(text, "sched_child_runs_first = {first}");
        }
        if let Some(ns) = t.idle_min_granularity_ns {
            let _ = writeln!(text, "sched_idle_min_granularity_ns = \"{ns}ns\"");
        }
        let features: Vec<String> =
            t.features.split_whitespace().filter(|f| heeded(f)).map(|f| format!("{f:?}")).collect();
        let _ = write!(
            text,
            "features = [{}]\n[machine]\ncpus = 1\ntick_phase = \"{phase_ns}ns\"\n[costs]\n",
            features.join(", ")
        );
        for (name, ns) in &constants.costs_ns {
            let _ = writeln!(text, "{name} = \"{ns}ns\"");
        }
        if matches!(self, Program::Make | Program::MakeHog) {
            // rcu_preempt, which forks, execs and exits keep busy: in the d8 trace it has 254 turns in 1257 ms, two at a time.
            let start = phase_ns + RCU_AFTER_TICK_NS;
            let _ = write!(
                text,
                "[[machine.interference]]\nname = \"rcu_preempt\"\ncpu = 0\nkind = \"kthread\"\nstart = \"{start}ns\"\n\
                 period = \"8ms\"\ntime = \"2500ns\"\n"
            );
        }
        text + &self.workload(record, size, work)
    }
}

/// From a tick to the wake-up of rcu_preempt in its softirq, ns: the least that comes behind the tick.
const RCU_AFTER_TICK_NS: u64 = 2_000;

/// Features of the fair class; others are of classes that are not modelled.
fn heeded(word: &str) -> bool {
    let name = word.strip_prefix("NO_").unwrap_or(word);
    sim_core::kernel::features::Feature::by_name(name).is_some()
}
