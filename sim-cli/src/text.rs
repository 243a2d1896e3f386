//! How numbers and tables look.

use comfy_table::{CellAlignment, Table, presets};

/// A duration in the largest unit that leaves at least one digit before the point, with three significant digits.
pub(crate) fn duration(ns: f64) -> String {
    let (div, unit) = match ns.abs() {
        x if x < 1e3 => (1.0, "ns"),
        x if x < 1e6 => (1e3, "us"),
        x if x < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    if unit == "ns" {
        return format!("{ns:.0} ns");
    }
    format!("{} {unit}", significant(ns / div))
}

/// A number with three significant digits; whole from 100 on.
pub(crate) fn significant(x: f64) -> String {
    match x.abs() {
        a if a < 1e-9 => "0".to_owned(),
        a if a < 9.995 => format!("{x:.2}"),
        a if a < 99.95 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

/// A count with its noun: `1 seed`, `20 seeds`.
pub(crate) fn plural(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A share of one as percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A table without frames: the first column to the left, numbers to the right.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(head.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { 1 }, 1));
        column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    let lines = table.to_string();
    lines.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_significant_digits() {
        let show = [0.0, 999.0, 1_500.0, 12_345_678.0, 99_960_000.0, 1_234_567_890.0].map(duration);
        assert_eq!(show, ["0 ns", "999 ns", "1.50 us", "12.3 ms", "100 ms", "1.23 s"]);
    }
}
