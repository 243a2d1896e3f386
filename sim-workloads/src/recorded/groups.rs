//! The map of groups: which task belongs to which cgroup, which a trace of scheduling events does not show.

use super::error::TraceError;
use super::line::digits;
use std::collections::BTreeMap;

/// The largest map.
pub const MAX_MAP_BYTES: usize = 1 << 20;
/// The most lines of it.
const MAX_LINES: usize = 100_000;

/// Which tasks belong to which groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupMap {
    by_pid: BTreeMap<u32, String>,
    /// Names, those that end in `*` as beginnings of names; the first that fits counts.
    by_name: Vec<(String, bool, String)>,
    /// `cpu.weight` by group.
    weights: BTreeMap<String, u32>,
}

impl GroupMap {
    /// Reads lines of `PID /group`, `NAME /group`, `NAME* /group` and `/group WEIGHT`; `#` begins a comment.
    ///
    /// # Errors
    /// [`TraceError::Groups`] names the line and what is wrong.
    pub fn parse(text: &str) -> Result<GroupMap, TraceError> {
        let mut map = GroupMap::default();
        for (i, line) in text.lines().enumerate() {
            let wrong = |message: String| TraceError::Groups { line: i + 1, message };
            if text.len() > MAX_MAP_BYTES || i >= MAX_LINES {
                let message = format!("more than {MAX_LINES} lines or {MAX_MAP_BYTES} bytes");
                return Err(wrong(message));
            }
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            map.read(line).map_err(wrong)?;
        }
        Ok(map)
    }

    fn read(&mut self, line: &str) -> Result<(), String> {
        let expected = "write PID /group, NAME /group, NAME* /group or /group WEIGHT";
        let (left, right) =
            line.rsplit_once([' ', '\t']).ok_or_else(|| format!("'{line:.60}': {expected}"))?;
        let left = left.trim();
        if !right.starts_with('/') {
            let weight = digits::<u32>(right).filter(|w| (1..=10_000).contains(w));
            let weight = weight.ok_or_else(|| {
                format!("'{right:.60}' is neither a group's path nor a weight from 1 to 10000: {expected}")
            })?;
            let group = group(left)?;
            self.weights.insert(group, weight);
            return Ok(());
        }
        let group = group(right)?;
        match (digits::<u32>(left), left.strip_suffix('*')) {
            (Some(pid), _) => {
                self.by_pid.insert(pid, group);
            }
            (None, Some(beginning)) => self.by_name.push((beginning.to_owned(), true, group)),
            (None, None) => self.by_name.push((left.to_owned(), false, group)),
        }
        Ok(())
    }

    /// The group of a task: by its number, else by its name.
    pub(super) fn of(&self, pid: u32, comm: &str) -> Option<&str> {
        let fits = |(name, beginning, _): &&(String, bool, String)| {
            if *beginning { comm.starts_with(name.as_str()) } else { comm == name }
        };
        let named = || self.by_name.iter().find(fits).map(|(_, _, group)| group);
        self.by_pid.get(&pid).or_else(named).map(String::as_str)
    }

    pub(super) fn weight(&self, group: &str) -> Option<u32> {
        self.weights.get(group).copied()
    }
}

/// A path as scenarios write it.
fn group(text: &str) -> Result<String, String> {
    let part = |p: &str| crate::units::check_name(p, false).is_ok();
    match text.strip_prefix('/') {
        Some(parts) if parts.split('/').all(part) && parts.split('/').count() <= 16 => Ok(text.to_owned()),
        _ => Err(format!(
            "'{text:.60}' is not the path of a group, like /build/jobs: up to 16 names of letters, digits and _ - . + : @"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_by_number_name_and_beginning() {
        let map =
            GroupMap::parse("# who\n 12  /a\nWeb Content /b/c\nmake* /a # all of them\n/a 200\n\n").unwrap();
        assert_eq!(
            (map.of(12, "make"), map.of(13, "make-2"), map.of(1, "Web Content")),
            (Some("/a"), Some("/a"), Some("/b/c"))
        );
        assert_eq!((map.of(1, "Web"), map.weight("/a"), map.weight("/b")), (None, Some(200), None));
    }

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            (
                "12",
                "line 1 of the map of groups: '12': write PID /group, NAME /group, NAME* /group or /group WEIGHT",
            ),
            ("\nx 7", "line 2 of the map of groups: 'x' is not the path of a group"),
            ("/a 0", "'0' is neither a group's path nor a weight from 1 to 10000"),
            ("x /a b", "'b' is neither"),
            ("x /a//b", "'/a//b' is not the path of a group"),
            ("x /", "'/' is not the path"),
        ];
        for (text, message) in cases {
            let error = GroupMap::parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!(GroupMap::parse(&"x /a\n".repeat(MAX_LINES + 1)).is_err());
    }
}
