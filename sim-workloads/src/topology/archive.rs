//! Copies of `/sys` in tar archives, as hwloc, lscpu and pepc keep them for their tests.

use super::{ImportError, SysFs};
use crate::packed::unpack;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// The most members of an archive that are looked at.
const MAX_MEMBERS: usize = 1_000_000;
/// The most bytes that are unpacked in all: 1 GiB.
const MAX_UNPACKED: u64 = 1 << 30;
/// The most bytes of files that are kept.
const MAX_KEPT: usize = 64 << 20;
/// The largest file of a tree.
const MAX_FILE: u64 = 1 << 20;
/// The largest list of files in one (pepc).
const MAX_INLINE: u64 = 32 << 20;

/// What of a tree tells of CPUs, and is kept.
const KEPT: [&str; 5] = [
    "sys/devices/system/cpu/",
    "sys/devices/system/node/",
    "sys/devices/cpu_core/",
    "sys/devices/cpu_atom/",
    "proc/cpuinfo",
];

/// A tree of small files that an archive holds.
#[derive(Debug, Default)]
pub struct Archive {
    /// By path from the root of the file system, without folders around it.
    files: BTreeMap<String, String>,
    kept: usize,
}

impl SysFs for Archive {
    fn read(&self, path: &str) -> Result<Option<String>, ImportError> {
        Ok(self.files.get(path).cloned())
    }
}

impl Archive {
    /// Whether a file, unpacked, begins as a tar archive does.
    pub fn is_one(head: &[u8]) -> bool {
        head.get(257..262) == Some(b"ustar")
    }

    /// Reads the part of an archive, packed or not, that tells of CPUs. Nothing is written to disk, links are not followed.
    ///
    /// # Errors
    /// When it is damaged, larger than is read, or holds no copy of `/sys`.
    pub fn read(source: impl Read) -> Result<Archive, ImportError> {
        let (text, _) = unpack(source).map_err(|e| failed(&e))?;
        let mut archive = tar::Archive::new(text.take(MAX_UNPACKED));
        let mut found = Archive::default();
        for (i, member) in archive.entries().map_err(|e| failed(&e))?.enumerate() {
            if i == MAX_MEMBERS {
                return Err(ImportError::TooMany { what: "files in the archive", limit: MAX_MEMBERS });
            }
            let mut member = member.map_err(|e| failed(&e))?;
            if !member.header().entry_type().is_file() {
                continue;
            }
            let path = String::from_utf8_lossy(&member.path_bytes()).into_owned();
            if path.ends_with("sys/inlinefiles.txt") {
                found.inline(&text_of(&mut member, &path, MAX_INLINE)?)?;
            } else if let Some(path) = told(&path) {
                let text = text_of(&mut member, path, MAX_FILE)?;
                found.keep(path, &text)?;
            }
        }
        if found.files.keys().all(|path| !path.starts_with("sys/")) {
            return Err(ImportError::missing("a copy of /sys/devices/system/cpu in the archive"));
        }
        Ok(found)
    }

    fn keep(&mut self, path: &str, text: &str) -> Result<(), ImportError> {
        let text = text.trim_end_matches(|c: char| c.is_whitespace() || c == '\0');
        self.kept += path.len() + text.len();
        if self.kept > MAX_KEPT {
            return Err(ImportError::TooLarge { bytes: self.kept, limit: MAX_KEPT });
        }
        self.files.insert(path.to_owned(), text.to_owned());
        Ok(())
    }

    /// pepc's lines `ro|/sys/…|value`.
    fn inline(&mut self, text: &str) -> Result<(), ImportError> {
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let mut parts = line.splitn(3, '|').skip(1);
            if let (Some(path), Some(value)) = (parts.next().and_then(told), parts.next()) {
                self.keep(path, value)?;
            }
        }
        Ok(())
    }
}

/// The part of a path that counts, of the files that do: archives have folders of their own around it.
fn told(path: &str) -> Option<&str> {
    let starts = |from: &str| KEPT.iter().any(|kept| from.starts_with(kept));
    let inner = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path).chain(inner).find(|from| starts(from))
}

/// A member's text, which may be cut: copies of /sys name sizes that files do not have.
fn text_of(member: &mut impl Read, path: &str, limit: u64) -> Result<String, ImportError> {
    let mut bytes = Vec::new();
    let failed = |e: io::Error| ImportError::Io { path: path.to_owned(), message: e.to_string() };
    member.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(ImportError::TooLarge { bytes: bytes.len(), limit: limit as usize });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn failed(error: &io::Error) -> ImportError {
    ImportError::Syntax { format: "tar archive", message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::read_sysfs;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            tar.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    const TWO_THREADS: [(&str, &str); 4] = [
        ("box/sys/devices/system/cpu/online", "0-1\n"),
        ("box/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0-1\n"),
        ("box/sys/devices/system/cpu/cpu1/topology/core_cpus_list", "0-1\n"),
        ("box/sys/class/net/eth0/mtu", "1500\n"),
    ];

    #[test]
    fn a_copy_of_sys_in_a_folder_of_its_own() {
        let found = Archive::read(&archive(&TWO_THREADS)[..]).unwrap();
        assert_eq!(found.files.len(), 3);
        let machine = read_sysfs(&found).unwrap();
        assert_eq!(machine.topology.cores().len(), 1);
    }

    #[test]
    fn pepcs_list_of_files() {
        let list = "# Format: <ro|rw>|<sysfs_path>|<value>\nro|/sys/devices/system/cpu/online|0-1\n\
                    ro|/sys/devices/system/cpu/cpu0/topology/core_cpus_list|0\nbroken\n";
        let found = Archive::read(&archive(&[("adl0/sys/inlinefiles.txt", list)])[..]).unwrap();
        assert_eq!(read_sysfs(&found).unwrap().topology.cores().len(), 2);
    }

    #[test]
    fn what_holds_no_sys_or_is_cut_is_refused() {
        let other = Archive::read(&archive(&[("a/readme", "x")])[..]).unwrap_err();
        assert!(other.to_string().contains("/sys/devices/system/cpu"), "{other}");
        let whole = archive(&TWO_THREADS);
        let cut = Archive::read(&whole[..700]).unwrap_err();
        assert!(cut.to_string().contains("tar archive") || cut.to_string().contains("eof"), "{cut}");
    }

    #[test]
    fn files_beyond_the_limit_are_refused() {
        let long = "7".repeat(MAX_FILE as usize + 1);
        let error = Archive::read(&archive(&[("sys/devices/system/cpu/online", &long)])[..]).unwrap_err();
        assert!(matches!(error, ImportError::TooLarge { .. }), "{error}");
    }
}
