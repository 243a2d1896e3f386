//! The text on captures of several CPUs.

use super::causes::cause_of;
use super::check::{Check, ManyBar};
use super::compare::ManyComparison;
use super::versions::{Direction, Named, Total, directions, totals};
use std::fmt::{Result, Write};

/// A table of all captures, the misses in detail, and the versions beside each other.
pub(in crate::kernels) fn write_many(out: &mut String, runs: &[(&str, &ManyComparison)]) -> Result {
    if runs.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:<34} {:>13} {:>13} {:>11} {:>11} {:>13} {:>13}  verdict",
        "several CPUs", "span ms r/s", "switches r/s", "wake mig.", "balanced", "wasted ms", "occupied ms"
    )?;
    for (id, c) in runs {
        let (r, s) = (&c.real, &c.simulated);
        writeln!(
            out,
            "{id:<34} {:>13} {:>13} {:>11} {:>11} {:>13} {:>13}  {}",
            format!("{:.1}/{:.1}", r.span_ms, s.span_ms),
            format!("{}/{}", r.switches, s.switches),
            format!("{}/{}", r.wake_migrations, s.wake_migrations),
            format!("{}/{}", r.balance_migrations, s.balance_migrations),
            format!("{:.1}/{:.1}", r.wasted_cpu_ms, s.wasted_cpu_ms),
            format!("{}/{}", number(r.occupied_ms), number(s.occupied_ms)),
            verdict(c)
        )?;
    }
    for (id, c) in runs.iter().filter(|(_, c)| !c.ok()) {
        write_miss(out, id, c)?;
    }
    let count = |keeps: fn(&ManyComparison) -> bool| runs.iter().filter(|(_, c)| keeps(c)).count();
    writeln!(
        out,
        "\nof {} captures of several CPUs, {} keep all bars, {} without what the real kernel differs from itself, {} without the simulator's band too; with starts of the simulator's own {}",
        runs.len(),
        count(ManyComparison::ok),
        count(ManyComparison::ok_alone),
        count(ManyComparison::within),
        count(ManyComparison::ok_free)
    )?;
    let named: Vec<Named<'_>> = runs.iter().map(|(id, c)| (job(id), *c)).collect();
    write_totals(out, &totals(&named))?;
    write_directions(out, &directions(&named))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"))
}

/// The job's name: the last part of a capture's.
pub(in crate::kernels) fn job(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

fn verdict(c: &ManyComparison) -> String {
    let missed: Vec<&str> = ManyBar::ALL.into_iter().filter(|b| !c.keeps(*b)).map(ManyBar::name).collect();
    if missed.is_empty() { "ok".to_owned() } else { missed.join(" ") }
}

fn write_miss(out: &mut String, id: &str, c: &ManyComparison) -> Result {
    writeln!(out, "\nmiss {id}:")?;
    for check in c.checks.iter().filter(|c| !c.ok) {
        let what = match &check.of {
            Some(task) => format!("share of {task}, %"),
            None if check.bar == ManyBar::Occupied => "every CPU busy after, ms".to_owned(),
            None => check.bar.name().to_owned(),
        };
        let Check { measured, simulated, allowed, band: (min, max), .. } = check;
        writeln!(
            out,
            "  {what}: real {}, simulated {} (may be {allowed:.1} off), band {min:.1}..{max:.1}",
            number(*measured),
            number(*simulated)
        )?;
    }
    writeln!(out, "  cause: {}", cause_of(job(id)).unwrap_or_else(|| "not known".to_owned()))
}

fn write_totals(out: &mut String, totals: &[Total]) -> Result {
    for (i, t) in totals.iter().enumerate() {
        if i == 0 {
            writeln!(out, "\nsums over the jobs that do not start pinned, 5.4 / 5.5 / 5.7:")?;
        }
        let what = format!("{} CPUs: {}", t.cpus, t.quantity);
        writeln!(out, "  {what:<42} real {:<26} simulated {}", three(t.real), three(t.simulated))?;
    }
    Ok(())
}

fn write_directions(out: &mut String, directions: &[Direction]) -> Result {
    for (i, d) in directions.iter().enumerate() {
        if i == 0 {
            writeln!(out, "\nwhat the rework of 5.5 changed, 5.4 / 5.5 / 5.7:")?;
        }
        let machine = d.cpus.map_or_else(|| "all".to_owned(), |n| format!("{n} CPUs"));
        let what = format!("{machine}: {}", d.quantity);
        let agrees = if d.simulated_holds == d.real_holds { "agrees" } else { "DIFFERS" };
        writeln!(
            out,
            "  {what:<42} real {:<26} simulated {:<26} {}: {agrees}",
            three(d.real),
            three(d.simulated),
            d.order.words()
        )?;
    }
    Ok(())
}

fn three(values: [f64; 3]) -> String {
    values.map(|v| if v.fract().abs() < 1e-9 { format!("{v:.0}") } else { format!("{v:.1}") }).join(" / ")
}
