//! `lscpu -p` and `lscpu -J -e`: a row for each CPU. `lscpu -J` alone is a summary ([`super::summary`]).

use super::cpus::{CpuRecord, Draft, Unit, cpu_number};
use super::{ImportError, Imported, check_size, summary};
use serde_json::Value;
use sim_core::cpumask::MAX_CPUS;

/// A row's columns by name, as read.
type Row<'a> = Vec<(&'a str, &'a str)>;

/// Whether a line names the columns of `lscpu -p`.
pub(super) fn is_header(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(|l| {
        let first = l.trim_start().split(',').next().unwrap_or_default();
        first.trim().eq_ignore_ascii_case("cpu")
    })
}

/// Reads the output of `lscpu -p` or `lscpu -p=COLUMNS`. Of several blocks in a file, the first counts.
///
/// # Errors
/// When there is no line of columns, or a row is not one.
pub fn read_lscpu_parsable(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    let mut lines = text.lines().enumerate().skip_while(|(_, l)| !is_header(l));
    let (_, header) =
        lines.next().ok_or_else(|| ImportError::missing("the line of columns '# CPU,Core,…'"))?;
    let columns: Vec<&str> = header.trim_start_matches(['#', ' ']).split([',', ':']).map(str::trim).collect();
    let mut draft = Draft::new("lscpu -p");
    let rows = lines.take_while(|(_, l)| !l.starts_with('#')).filter(|(_, l)| !l.trim().is_empty());
    for (i, line) in rows {
        let values: Vec<&str> = line.split([',', ':']).map(str::trim).collect();
        if values.len() != columns.len() {
            let message = format!("line {}: {} columns, not {}", i + 1, values.len(), columns.len());
            return Err(ImportError::Syntax { format: "output of lscpu -p", message });
        }
        let row = columns.iter().copied().zip(values).collect();
        add_row(&mut draft, &row, &format!("line {}", i + 1))?;
    }
    finish(draft)
}

/// Reads the output of `lscpu -J`, with or without `-e`.
///
/// # Errors
/// When it is not, or describes what cannot be represented.
pub fn read_lscpu_json(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    let syntax = |e: serde_json::Error| ImportError::Syntax { format: "JSON", message: e.to_string() };
    let root: Value = serde_json::from_str(text).map_err(syntax)?;
    if let Some(fields) = root.get("lscpu").and_then(Value::as_array) {
        return summary::read_fields(&summary::json_fields(fields), "lscpu -J");
    }
    let rows = root.get("cpus").and_then(Value::as_array);
    let rows = rows.ok_or_else(|| ImportError::missing("the list 'lscpu' or 'cpus'"))?;
    let mut draft = Draft::new("lscpu -J -e");
    for (i, row) in rows.iter().enumerate() {
        let place = format!("cpus[{i}]");
        let object = row.as_object().ok_or_else(|| ImportError::bad(&place, row.to_string(), "a table"))?;
        let texts: Vec<(&str, String)> = object.iter().map(|(k, v)| (k.as_str(), scalar(v))).collect();
        let mut columns: Row<'_> = Vec::new();
        for (key, value) in &texts {
            // Caches come as one column, "l1d:l1i:l2:l3".
            let (keys, values): (Vec<_>, Vec<_>) = (key.split(':').collect(), value.split(':').collect());
            let no_caches = values.len() == 1 && is_unknown(values[0]);
            if keys.len() != values.len() && !no_caches {
                return Err(ImportError::bad(format!("{place}.{key:.40}"), value, "as many values as names"));
            }
            columns.extend(keys.into_iter().zip(values.into_iter().chain(std::iter::repeat("-"))));
        }
        add_row(&mut draft, &columns, &place)?;
    }
    finish(draft)
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Not known, or not there.
fn is_unknown(value: &str) -> bool {
    matches!(value, "" | "-" | "-1")
}

fn add_row(draft: &mut Draft, row: &Row<'_>, place: &str) -> Result<(), ImportError> {
    let text = |name: &str| {
        let found = row.iter().find(|(column, _)| column.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value).filter(|v| !is_unknown(v))
    };
    let number = |name: &str| {
        let parse = |t: &str| t.parse::<u32>().ok().filter(|n| *n < u32::MAX / 2);
        let bad = |t: &str| ImportError::bad(format!("{place}, column {name}"), t, "a whole number");
        text(name).map(|t| parse(t).ok_or_else(|| bad(t))).transpose()
    };
    let cpu = cpu_number(place, text("cpu").unwrap_or_default())?;
    if draft.cpus.contains_key(&cpu) {
        return Err(ImportError::bad(place, cpu.0.to_string(), "each CPU once"));
    }
    if draft.cpus.len() >= MAX_CPUS as usize {
        return Err(ImportError::TooMany { what: "CPUs", limit: MAX_CPUS as usize });
    }
    // Sockets are numbered within books, and books within drawers, on some machines.
    let socket = number("socket")?;
    let outer = number("drawer")?.unwrap_or(0).saturating_mul(1 << 12) + number("book")?.unwrap_or(0);
    let unit = |n: Option<u32>, around: u32| n.map(|n| -> Unit { (around, n) });
    let l2 = number("l2")?.or(number("l2d")?);
    let offline =
        matches!(text("online").map(str::to_ascii_lowercase).as_deref(), Some("n" | "no" | "false" | "0"));
    // Cores are numbered within their socket with -y, and within their cluster on arm64 before lscpu learned of clusters:
    // the socket and the second-level cache, which threads of a core share, tell them apart, and do no harm otherwise.
    let around = socket.unwrap_or(0).saturating_mul(1 << 16).saturating_add(l2.map_or(0, |n| n + 1));
    let record = CpuRecord {
        offline,
        core: unit(number("core")?, around),
        cluster: unit(number("cluster")?, socket.unwrap_or(0)),
        l2: unit(l2, 0),
        l3: unit(number("l3")?, 0),
        package: unit(socket, outer),
        node: number("node")?,
        ..CpuRecord::default()
    };
    draft.cpus.insert(cpu, record);
    Ok(())
}

fn finish(mut draft: Draft) -> Result<Imported, ImportError> {
    if draft.cpus.is_empty() {
        return Err(ImportError::missing("a row for each CPU"));
    }
    let online = || draft.cpus.values().filter(|r| !r.offline);
    if online().all(|r| r.l2.is_none() && r.l3.is_none()) {
        draft.notes.push("no shared caches are said: each core counts as alone".to_owned());
    }
    draft.finish()
}
