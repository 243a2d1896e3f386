//! A sysfs tree is refused with a message, or holds what machines must. The tree is given as lines of `path: content`.

use super::imported;
use sim_workloads::topology::{ImportError, SysFs, read_idle_sysfs, read_sysfs};
use std::collections::BTreeMap;

/// Files by path.
pub(crate) struct Lines<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Lines<'a> {
    /// The tree a text stands for.
    pub(crate) fn new(text: &'a str) -> Lines<'a> {
        let file = |l: &'a str| l.split_once(':').map(|(path, content)| (path, content.trim()));
        Lines(text.lines().filter_map(file).collect())
    }
}

impl SysFs for Lines<'_> {
    fn read(&self, path: &str) -> Result<Option<String>, ImportError> {
        Ok(self.0.get(path).map(|text| (*text).to_owned()))
    }
}

/// Reads a machine from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = read_sysfs(&Lines::new(text));
    imported::check(read.map(|i| i.topology).map_err(|e| e.to_string()));
    if let Ok(Some(idle)) = read_idle_sysfs(&Lines::new(text)) {
        imported::check_idle(&idle);
    }
}
