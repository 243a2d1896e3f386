//! Records of real programs on real kernels: one per run.

use serde::Deserialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// The records handed to the project.
const HANDED: &str = include_str!("../../programs/records.json");
/// The most records of a file, and its largest size.
const MAX_RECORDS: usize = 10_000;
const MAX_BYTES: usize = 64 << 20;

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Record {
    /// Kernel: `6.1`.
    pub kernel: String,
    /// Which program.
    pub program: String,
    /// Name of the setting; what was set is in `tunables`.
    pub setting: String,
    /// Repetition.
    pub rep: u32,
    /// Whether the scheduler was traced, which takes time.
    #[serde(default)]
    pub traced: bool,
    /// What was written: `latency_ns=24000000`.
    #[serde(default)]
    pub set: Vec<String>,
    /// How the program was called.
    #[serde(default)]
    pub spec: BTreeMap<String, String>,
    /// Tunables as read back.
    pub tunables: Tunables,
    /// Elapsed time of the guest, ns.
    pub elapsed_ns: u64,
    /// Voluntary switches of the command and its descendants.
    pub nvcsw: u64,
    /// Involuntary ones.
    pub nivcsw: u64,
    /// Throughput.
    pub thr: f64,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
}

/// Tunables of a record that the fair class heeds on one CPU.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Tunables {
    /// `sched_latency_ns`.
    pub latency_ns: u64,
    /// `sched_min_granularity_ns`.
    pub min_granularity_ns: u64,
    /// `sched_wakeup_granularity_ns`.
    pub wakeup_granularity_ns: u64,
    /// `sched_features`.
    #[serde(default)]
    pub features: String,
    /// `sched_child_runs_first`.
    #[serde(default)]
    pub child_runs_first: Option<u64>,
    /// `sched_idle_min_granularity_ns`, where the kernel has it.
    #[serde(default)]
    pub idle_min_granularity_ns: Option<u64>,
    /// Whatever else was read back.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// Tunables that the scenario of a record sets.
const HEEDED: [&str; 6] = [
    "latency_ns",
    "min_granularity_ns",
    "wakeup_granularity_ns",
    "features",
    "child_runs_first",
    "idle_min_granularity_ns",
];
/// Tunables that do nothing to fair tasks on one CPU: those of balancing, statistics, scaling (what counts is read back), and
/// of other classes.
const IDLE: [&str; 14] = [
    "migration_cost_ns",
    "nr_migrate",
    "tunable_scaling",
    "schedstats",
    "energy_aware",
    "numa_balancing",
    "time_avg_ms",
    "shares_window_ns",
    "cfs_bandwidth_slice_us",
    "rt_period_us",
    "rt_runtime_us",
    "rr_timeslice_ms",
    "deadline_period_max_us",
    "deadline_period_min_us",
];

/// What is wrong with a file of records.
#[derive(Debug, Error)]
pub enum RecordsError {
    /// Not a list of records.
    #[error("not a list of records: {0}")]
    Json(#[from] serde_json::Error),
    /// Too many.
    #[error("{found} {what}: at most {allowed} are allowed")]
    TooMany {
        /// How many.
        found: usize,
        /// Of what.
        what: &'static str,
        /// The limit.
        allowed: usize,
    },
    /// A figure that cannot be.
    #[error("record {index} ({program} {setting}): its throughput is {thr}: a number above zero is allowed")]
    Throughput {
        /// Its place in the list.
        index: usize,
        /// Its program.
        program: String,
        /// Its setting.
        setting: String,
        /// What was found.
        thr: f64,
    },
}

impl Record {
    /// Reads a list of records; keys that are not needed are passed over.
    ///
    /// # Errors
    /// When the text is not such a list, is too large, or a throughput is not above zero.
    pub fn parse(text: &str) -> Result<Vec<Record>, RecordsError> {
        let too_many = |found, what, allowed| RecordsError::TooMany { found, what, allowed };
        if text.len() > MAX_BYTES {
            return Err(too_many(text.len(), "bytes", MAX_BYTES));
        }
        let records: Vec<Record> = serde_json::from_str(text)?;
        if records.len() > MAX_RECORDS {
            return Err(too_many(records.len(), "records", MAX_RECORDS));
        }
        match records.iter().enumerate().find(|(_, r)| !(r.thr.is_finite() && r.thr > 0.0)) {
            Some((index, r)) => Err(RecordsError::Throughput {
                index,
                program: r.program.clone(),
                setting: r.setting.clone(),
                thr: r.thr,
            }),
            None => Ok(records),
        }
    }

    /// The records handed to the project.
    ///
    /// # Errors
    /// Never, unless the project's own file is broken.
    pub fn handed() -> Result<Vec<Record>, RecordsError> {
        Record::parse(HANDED)
    }

    /// Something that was set or read back, which the model does not know: the prediction would be of another setting.
    pub fn unknown_setting(&self) -> Option<String> {
        let known = |key: &str| {
            let key = key.trim().trim_start_matches("kernel.").trim_start_matches("sched_");
            HEEDED.contains(&key) || IDLE.contains(&key)
        };
        // Sessions' groups are part of the experiment, not of its settings.
        let off = |(key, value): &(&String, &serde_json::Value)| *key == "autogroup_enabled" && **value == 0;
        let read = self.tunables.others.iter().filter(|other| !known(other.0) && !off(other));
        let read = read.map(|(key, value)| format!("{key}={value}"));
        let autogroup = "autogroup_enabled=0";
        let set =
            self.set.iter().filter(|word| *word != autogroup && !known(word.split('=').next().unwrap_or("")));
        set.cloned().chain(read).next()
    }

    /// Whether two runs did the same under the same kernel, tunables apart.
    pub fn is_alike(&self, other: &Record) -> bool {
        self.kernel == other.kernel && self.program == other.program && self.traced == other.traced
    }

    /// Whether the tunables are the defaults of a machine with 8 CPUs.
    pub fn is_baseline(&self) -> bool {
        self.setting == "d8"
    }
}
