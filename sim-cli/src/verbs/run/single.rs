//! The report of a single run: one row a task or group of tasks, and the total.

use super::MAX_TEXT_ROWS;
use crate::experiment::{Row, RunResult};
use crate::header::{self, Header};
use crate::idle::IdleReport;
use crate::load::Loaded;
use crate::output::Report;
use crate::pace::PaceReport;
use crate::spread::SpreadReport;
use crate::text;
use crate::waits::{self, UnfinishedTask};
use crate::walltime::WalltimeReport;
use serde::Serialize;
use sim_core::observe::Latencies;
use sim_workloads::model::Headline;

#[derive(Debug, Serialize)]
pub(super) struct SingleReport {
    #[serde(flatten)]
    header: Header,
    configuration: serde_json::Value,
    ended_by: &'static str,
    end_time_ns: u64,
    measured_span_ns: u64,
    events: u64,
    context_switches: u64,
    nontask_time_ns: u64,
    stalled: Vec<String>,
    unfinished: Vec<UnfinishedTask>,
    /// What the workload models' real programs would have printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    results: Vec<ModelResult>,
    tasks: Vec<RowReport>,
    total: RowReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    several_cpus: Option<SpreadReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_time: Option<WalltimeReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<IdleReport>,
    pace: Option<PaceReport>,
    #[serde(skip)]
    cpus: u32,
}

/// A figure as a workload model's real program prints it.
#[derive(Debug, Serialize)]
struct ModelResult {
    metric: &'static str,
    value: f64,
    unit: &'static str,
    #[serde(skip)]
    title: &'static str,
}

/// Figures of a task, a group of tasks, or all.
#[derive(Debug, Serialize)]
struct RowReport {
    label: String,
    count: usize,
    cpu_time_ns: u64,
    /// Part of one CPU's time over the measured span.
    share: f64,
    latency_after_wakeup: LatencyReport,
    latency_after_preemption: LatencyReport,
    turns: u64,
    turn_mean_ns: Option<u64>,
    turn_max_ns: Option<u64>,
    voluntary_switches: u64,
    involuntary_switches: u64,
    wakeups: u64,
    wakeups_on_busy_cpu: u64,
    wakeup_preemptions: u64,
    wakeup_preemption_share: Option<f64>,
    tick_preemptions: u64,
    migrations: u64,
    work: u64,
    completion_time_ns: Option<u64>,
}

/// A distribution of run-queue latencies; no quantiles without values.
#[derive(Debug, Serialize)]
struct LatencyReport {
    count: u64,
    p50_ns: Option<u64>,
    p95_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

pub(super) fn report(loaded: &Loaded, result: &RunResult, warnings: Vec<String>) -> SingleReport {
    let span = result.span.0;
    SingleReport {
        header: Header { warnings, ..Header::new("run", loaded, 1) },
        configuration: header::configuration(loaded),
        ended_by: result.ended_by,
        end_time_ns: result.end_time.0,
        measured_span_ns: span,
        events: result.events,
        context_switches: result.context_switches,
        nontask_time_ns: result.nontask.0,
        stalled: result.stalled.clone(),
        unfinished: result.unfinished.clone(),
        results: result.headlines.iter().map(model_result).collect(),
        tasks: result.rows.iter().map(|row| row_report(row, span)).collect(),
        total: row_report(&result.total, span),
        several_cpus: result.spread.clone(),
        wall_time: result.walltime.clone(),
        idle: result.idle.clone(),
        pace: result.pace.clone(),
        cpus: loaded.resolved.config.kernel.cpus,
    }
}

fn model_result((headline, value): &(&'static Headline, f64)) -> ModelResult {
    let Headline { name, title, unit, .. } = *headline;
    ModelResult { metric: name, value: *value, unit, title }
}

fn row_report(row: &Row, span: u64) -> RowReport {
    let m = &row.metrics;
    let part = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
    RowReport {
        label: row.label.clone(),
        count: row.count,
        cpu_time_ns: m.cpu_time.0,
        share: part(m.cpu_time.0, span),
        latency_after_wakeup: latency_report(&m.latency_after_wakeup),
        latency_after_preemption: latency_report(&m.latency_after_preemption),
        turns: m.turns,
        turn_mean_ns: (m.turns > 0).then(|| m.turn_mean().0),
        turn_max_ns: (m.turns > 0).then_some(m.turn_max.0),
        voluntary_switches: m.voluntary,
        involuntary_switches: m.involuntary,
        wakeups: m.wakeups,
        wakeups_on_busy_cpu: m.wakeups_on_busy,
        wakeup_preemptions: m.wakeup_preemptions,
        wakeup_preemption_share: (m.wakeups_on_busy > 0)
            .then(|| part(m.wakeup_preemptions, m.wakeups_on_busy)),
        tick_preemptions: m.tick_preemptions,
        migrations: m.migrations,
        work: m.work,
        completion_time_ns: row.completion.map(|t| t.0),
    }
}

fn latency_report(latencies: &Latencies) -> LatencyReport {
    let count = latencies.count();
    let quantile = |q| (count > 0).then(|| latencies.quantile(q).0);
    LatencyReport {
        count,
        p50_ns: quantile(0.5),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        max_ns: (count > 0).then(|| latencies.max().0),
    }
}

impl SingleReport {
    /// The rows of a table, the total last.
    fn rows(&self, cells: impl Fn(&RowReport) -> Vec<String>) -> Vec<Vec<String>> {
        let shown = self.tasks.iter().take(MAX_TEXT_ROWS).chain([&self.total]);
        shown.map(|row| [vec![super::label(&row.label, row.count)], cells(row)].concat()).collect()
    }
}

fn ns(value: u64) -> String {
    text::duration(value as f64)
}

fn optional(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".to_owned())
}

impl Report for SingleReport {
    fn text(&self) -> String {
        let header = &self.header;
        let mut out = format!(
            "{}: kernel {}, {}, seed {}\nran {} of simulated time{}\n",
            header.scenario,
            header.kernel,
            text::plural(u64::from(self.cpus), "CPU"),
            header.seed,
            ns(self.end_time_ns),
            match header.warmup_ns {
                0 => String::new(),
                warmup => format!(", of which the first {} are left out below", ns(warmup)),
            }
        );
        if !self.unfinished.is_empty() {
            out += &format!("not finished: {}\n", waits::line(&self.unfinished));
        }
        out += &header.notes_text();
        if self.tasks.len() > MAX_TEXT_ROWS {
            out += &format!(
                "note: the first {MAX_TEXT_ROWS} of {} rows are shown; JSON has all\n",
                self.tasks.len()
            );
        }
        for r in &self.results {
            out += &format!("{}: {} {}\n", r.title, text::significant(r.value), r.unit);
        }
        out += "\n";
        out += &text::table(
            &["task", "CPU time", "of one CPU", "turns", "mean turn", "longest", "work", "completion"],
            self.rows(|r| {
                vec![
                    ns(r.cpu_time_ns),
                    text::percent(r.share),
                    r.turns.to_string(),
                    optional(r.turn_mean_ns.map(ns)),
                    optional(r.turn_max_ns.map(ns)),
                    r.work.to_string(),
                    optional(r.completion_time_ns.map(ns)),
                ]
            }),
        );
        for (title, latency) in [
            ("latency after a wake-up", (|r| &r.latency_after_wakeup) as fn(&RowReport) -> &LatencyReport),
            ("latency after preemption", |r| &r.latency_after_preemption),
        ] {
            out += "\n";
            out += &text::table(
                &[title, "count", "p50", "p95", "p99", "max"],
                self.rows(|r| {
                    let l = latency(r);
                    let quantiles = [l.p50_ns, l.p95_ns, l.p99_ns, l.max_ns].map(|q| optional(q.map(ns)));
                    [vec![l.count.to_string()], quantiles.to_vec()].concat()
                }),
            );
        }
        out += "\n";
        out += &text::table(
            &[
                "switches",
                "voluntary",
                "involuntary",
                "tick preempt.",
                "wakeup preempt.",
                "of wake-ups on busy",
                "migrations",
            ],
            self.rows(|r| {
                vec![
                    r.voluntary_switches.to_string(),
                    r.involuntary_switches.to_string(),
                    r.tick_preemptions.to_string(),
                    r.wakeup_preemptions.to_string(),
                    optional(r.wakeup_preemption_share.map(text::percent)),
                    r.migrations.to_string(),
                ]
            }),
        );
        out += "\nwakeup preemptions count for the task that woke, tick preemptions for the task that had to go\n";
        if let Some(spread) = &self.several_cpus {
            out += "\n";
            out += &spread.text();
        }
        if let Some(walltime) = &self.wall_time {
            out += "\n";
            out += &walltime.text();
        }
        if let Some(idle) = &self.idle {
            out += "\n";
            out += &idle.text();
        }
        if let Some(pace) = &self.pace {
            out += "\n";
            out += &pace.text(MAX_TEXT_ROWS);
        }
        out
    }
}
