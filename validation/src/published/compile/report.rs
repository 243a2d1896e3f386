//! What a fit makes of every point, and the table of it.

use super::TOLERANCE_PERCENT;
use crate::published::Role;
use serde::Serialize;
use std::fmt::Write;

/// One published time and the simulator's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// The curve.
    pub curve: String,
    /// What it is for.
    pub role: Role,
    /// N of `make -jN`.
    pub jobs: u32,
    /// As published.
    pub published_s: f64,
    /// As simulated.
    pub simulated_s: f64,
    /// Why it misses, if it was known to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl Predicted {
    /// How far the simulator is off, percent.
    pub fn off_by(&self) -> f64 {
        (self.simulated_s / self.published_s - 1.0) * 100.0
    }
    /// Whether it judges, and is off by more than the tolerance.
    pub fn missed(&self) -> bool {
        self.role == Role::Judge && self.off_by().abs() > TOLERANCE_PERCENT
    }
}

/// The build of a machine: what two points say of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fitted {
    /// Object files.
    pub objects: u32,
    /// Factor on all CPU times.
    pub work_scale: f64,
    /// CPU time after the link, s.
    pub tail_s: f64,
}

/// A machine's fit and predictions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineReport {
    /// Name of the series.
    pub name: String,
    /// The fit.
    pub fitted: Fitted,
    /// Every published time.
    pub rows: Vec<Predicted>,
}

/// All machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct CompileReport(pub Vec<MachineReport>);

impl CompileReport {
    /// The predictions that miss.
    pub fn missed(&self) -> impl Iterator<Item = (&MachineReport, &Predicted)> {
        self.0.iter().flat_map(|m| m.rows.iter().filter(|r| r.missed()).map(move |r| (m, r)))
    }

    /// As a table for people.
    pub fn to_text(&self) -> String {
        let mut out =
            String::from("machine            curve         role    jobs  published  simulated   off by\n");
        for machine in &self.0 {
            for r in &machine.rows {
                let late = if r.missed() { "  missed" } else { "" };
                // Writing to a String cannot fail.
                let _ = writeln!(
                    out,
                    "{:<18} {:<12}  {:<5} {:>6} {:>8.1} s {:>8.1} s {:>+7.1} %{late}",
                    machine.name,
                    r.curve,
                    r.role.name(),
                    r.jobs,
                    r.published_s,
                    r.simulated_s,
                    r.off_by()
                );
            }
            let Fitted { objects, work_scale, tail_s } = machine.fitted;
            let _ = writeln!(
                out,
                "{:<18} fitted: {objects} objects, CPU times x {work_scale:.3}, serial part {tail_s:.1} s\n",
                ""
            );
        }
        let judged = self.0.iter().flat_map(|m| &m.rows).filter(|r| r.role == Role::Judge).count();
        let missed = self.missed().count();
        let _ = writeln!(out, "{} of {judged} predictions within {TOLERANCE_PERCENT} %", judged - missed);
        for (machine, r) in self.missed() {
            let cause = r.cause.as_deref().unwrap_or("no cause is known");
            let _ = writeln!(out, "  {} {} -j{}: {cause}", machine.name, r.curve, r.jobs);
        }
        out
    }
}
