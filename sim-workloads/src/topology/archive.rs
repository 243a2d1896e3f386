//! Descriptions of machines as they come: plain or packed, a text or an archive of `/sys`.

use super::error::ImportError;
use super::sysfs::SysFs;
use super::{MAX_BYTES, check_size};
use crate::unpack::unpack;
use std::collections::BTreeMap;
use std::io::Read;

/// The most bytes of an archive that are unpacked: 512 MiB.
const MAX_UNPACKED: u64 = 512 << 20;
/// The most entries of an archive that are looked at.
const MAX_ENTRIES: usize = 1_000_000;
/// The most bytes of its files that are kept: 64 MiB.
const MAX_KEPT: usize = 64 << 20;
/// The largest file that is kept: one of `/sys` is a page, `cpuinfo` of a large machine a few MiB.
const MAX_FILE: u64 = 16 << 20;
/// A file in which lines like `rw|/sys/devices/…|value` stand for many of `/sys`, as pepc's dumps have it.
const INLINE: &str = "inlinefiles.txt";
/// Where a tar archive says that it is one.
const USTAR: std::ops::Range<usize> = 257..262;

/// What a file holds.
#[derive(Debug)]
pub enum Contents {
    /// A text.
    Text(String),
    /// A tar archive of a tree like `/sys`.
    Archive(Archive),
}

/// The files of an archive that say what a machine is.
#[derive(Debug, Default)]
pub struct Archive {
    /// By path from the root of the file system.
    files: BTreeMap<String, String>,
    bytes: usize,
}

/// Whether a stream that begins so is a tar archive.
pub fn is_archive(head: &[u8]) -> bool {
    head.get(USTAR) == Some(b"ustar")
}

/// Reads a description of a machine, of which gzip or bzip2 is taken off.
///
/// # Errors
/// When it cannot be read or unpacked, is no text, or is too large.
pub fn read_contents(source: impl Read) -> Result<Contents, ImportError> {
    let unpacked = unpack(source, USTAR.end).map_err(|e| ImportError::unreadable("the file", &e))?;
    if is_archive(&unpacked.head) {
        return Archive::read(unpacked.rest.take(MAX_UNPACKED)).map(Contents::Archive);
    }
    let mut bytes = Vec::new();
    let read = unpacked.rest.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|e| ImportError::unreadable("the file", &e))?;
    let text = String::from_utf8(bytes).map_err(|_| ImportError::UnknownFormat)?;
    check_size(&text)?;
    Ok(Contents::Text(text))
}

impl Archive {
    fn read(source: impl Read) -> Result<Archive, ImportError> {
        let failed = |e: std::io::Error| ImportError::unreadable("the archive", &e);
        let mut archive = Archive::default();
        let mut tar = tar::Archive::new(source);
        for (i, entry) in tar.entries().map_err(failed)?.enumerate() {
            if i == MAX_ENTRIES {
                return Err(ImportError::TooMany { what: "files in the archive", limit: MAX_ENTRIES });
            }
            let mut entry = entry.map_err(failed)?;
            let path = entry.path().map_err(failed)?.to_string_lossy().into_owned();
            let Some(place) = Place::of(&path) else { continue };
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let mut bytes = Vec::new();
            entry.by_ref().take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
            if bytes.len() as u64 > MAX_FILE {
                return Err(ImportError::TooLarge { bytes: bytes.len(), limit: MAX_FILE as usize });
            }
            // Files of bytes, like device trees', say nothing that is read here.
            let Ok(text) = String::from_utf8(bytes) else { continue };
            archive.add(place, &text)?;
        }
        if archive.files.is_empty() {
            return Err(ImportError::missing("/sys/devices/system/cpu in the archive"));
        }
        Ok(archive)
    }

    fn add(&mut self, place: Place, text: &str) -> Result<(), ImportError> {
        match place {
            Place::File(path) => self.put(path, text),
            Place::Inline => {
                let lines = text.lines().filter_map(|line| {
                    let (_, rest) = line.split_once('|')?;
                    rest.split_once('|')
                });
                for (path, value) in lines {
                    if let Some(Place::File(path)) = Place::of(path) {
                        self.put(path, value)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn put(&mut self, path: String, text: &str) -> Result<(), ImportError> {
        let text = text.trim_end_matches(|c: char| c.is_whitespace() || c == '\0').to_owned();
        self.bytes += path.len() + text.len();
        if self.bytes > MAX_KEPT {
            return Err(ImportError::TooLarge { bytes: self.bytes, limit: MAX_KEPT });
        }
        self.files.insert(path, text);
        Ok(())
    }
}

/// What an entry of an archive is.
enum Place {
    /// A file of `/sys` or `/proc` by its path from the root.
    File(String),
    /// Many files in one.
    Inline,
}

impl Place {
    /// By its path in the archive, which may lie below some folder.
    fn of(path: &str) -> Option<Place> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.last() == Some(&INLINE) {
            return Some(Place::Inline);
        }
        let wanted = |parts: &[&str]| {
            matches!(
                parts,
                ["sys", "devices", "system", "cpu" | "node", ..]
                    | ["sys", "devices", "cpu_core" | "cpu_atom", "cpus"]
                    | ["proc", "cpuinfo"]
            )
        };
        (0..parts.len()).find(|i| wanted(&parts[*i..])).map(|i| Place::File(parts[i..].join("/")))
    }
}

impl SysFs for Archive {
    fn read(&self, path: &str) -> Result<Option<String>, ImportError> {
        Ok(self.files.get(path).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{read_idle_sysfs, read_sysfs};
    use super::*;
    use std::io::Write;

    /// Two cores with one state, and what an archive has beside that.
    const FILES: &[(&str, &str)] = &[
        ("dump/sys/devices/system/cpu/online", "0-1\n"),
        ("dump/sys/devices/system/cpu/present", "0-1\n"),
        ("dump/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"),
        ("dump/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
        ("dump/sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n"),
        (
            "dump/sys/inlinefiles.txt",
            "ro|/sys/devices/system/cpu/cpu1/topology/thread_siblings_list|1\nno line\n",
        ),
        ("dump/etc/passwd", "x\n"),
    ];

    fn tar(files: &[(&str, &str)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            tar.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap()
    }

    fn archive(bytes: &[u8]) -> Archive {
        match read_contents(bytes).unwrap() {
            Contents::Archive(archive) => archive,
            Contents::Text(text) => panic!("{text}"),
        }
    }

    #[test]
    fn a_machine_comes_out_of_an_archive() {
        let plain = tar(FILES);
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bzip2.write_all(&plain).unwrap();
        for bytes in [plain, bzip2.finish().unwrap()] {
            let archive = archive(&bytes);
            assert_eq!(archive.files.len(), FILES.len() - 1, "{archive:?}");
            let topology = read_sysfs(&archive).unwrap().topology;
            assert_eq!((topology.cores().len(), topology.packages().len()), (2, 1));
            assert!(read_idle_sysfs(&archive).unwrap().is_none());
        }
    }

    #[test]
    fn cores_come_from_cpuinfo_and_caches_from_their_order() {
        let mut list = "ro|/sys/devices/system/cpu/online|0-3\n".to_owned();
        let mut info = String::new();
        for cpu in 0..4 {
            let (first, last) = (cpu / 2 * 2, cpu / 2 * 2 + 1);
            for (index, shared) in
                [(0, cpu.to_string()), (1, cpu.to_string()), (2, format!("{first}-{last}"))]
            {
                list += &format!(
                    "ro|/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/shared_cpu_list|{shared}\n"
                );
            }
            info += &format!("processor\t: {cpu}\nphysical id\t: 0\ncore id\t\t: {}\n\n", cpu / 2 * 4);
        }
        let files = [("x/sys/inlinefiles.txt", list.as_str()), ("x/proc/cpuinfo", info.as_str())];
        let machine = read_sysfs(&archive(&tar(&files))).unwrap();
        let of = |units: &[sim_core::CpuMask]| units.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(of(machine.topology.cores()), ["0-1", "2-3"]);
        assert_eq!(of(machine.topology.llcs()), ["0-1", "2-3"]);
        assert_eq!(machine.topology.packages().len(), 1);
    }

    #[test]
    fn archives_of_something_else_and_broken_ones_are_refused() {
        let refused = |bytes: &[u8]| read_contents(bytes).unwrap_err().to_string();
        assert!(refused(&tar(&[("a/b", "x")])).contains("/sys/devices/system/cpu in the archive is missing"));
        let whole = tar(FILES);
        assert!(refused(&whole[..700]).contains("the archive"), "{}", refused(&whole[..700]));
        assert!(refused(b"BZh9 no such thing").contains("the file"));
        assert!(refused(&[0xff; 300]).contains("not a description of a machine"));
    }

    #[test]
    fn texts_stay_texts() {
        assert!(
            matches!(read_contents(&b"CPU(s): 2\n"[..]), Ok(Contents::Text(text)) if text == "CPU(s): 2\n")
        );
    }
}
