//! Kernel images: what an x86 boot header says of one.

use super::LabError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Where the header's magic stands (x86 boot protocol, "header").
const MAGIC_AT: usize = 0x202;
const MAGIC: &[u8] = b"HdrS";
/// Where the offset of the version string stands, counted from 0x200 ("kernel_version").
const VERSION_AT: usize = 0x20e;
/// The longest version string read.
const MAX_VERSION: u64 = 256;

/// The version string of a bzImage: `6.1.0-57-cloud-amd64 (…) #1 SMP …`.
///
/// # Errors
/// [`LabError::Kernel`] when the file cannot be read or is no x86 kernel image.
pub fn version(path: &Path) -> Result<String, LabError> {
    read_version(path).map_err(|problem| LabError::Kernel { path: path.to_path_buf(), problem })
}

fn read_version(path: &Path) -> Result<String, String> {
    let said = |e: std::io::Error| e.to_string();
    let mut file = File::open(path).map_err(said)?;
    let mut head = Vec::new();
    file.by_ref().take(1024).read_to_end(&mut head).map_err(said)?;
    let offset = match (head.get(MAGIC_AT..MAGIC_AT + 4), head.get(VERSION_AT..VERSION_AT + 2)) {
        (Some(magic), Some(&[low, high])) if magic == MAGIC => u64::from(u16::from_le_bytes([low, high])),
        _ => return Err("not an x86 kernel image".to_owned()),
    };
    file.seek(SeekFrom::Start(offset + 0x200)).map_err(said)?;
    let mut text = Vec::new();
    file.take(MAX_VERSION).read_to_end(&mut text).map_err(said)?;
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    let text = String::from_utf8_lossy(&text[..end]);
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    if plain.is_empty() { Err("a kernel image without a version".to_owned()) } else { Ok(plain) }
}

/// Refuses kernels that do not schedule by CFS: mainline left it with 6.6.
///
/// # Errors
/// [`LabError::Kernel`].
pub fn refuse_without_cfs(path: &Path, version: &str) -> Result<(), LabError> {
    match numbers(version) {
        Some((major, minor)) if (major, minor) > LAST_WITH_CFS => {
            let problem = format!(
                "kernel {major}.{minor} schedules by EEVDF; cfsim simulates CFS, which ended with 6.5"
            );
            Err(LabError::Kernel { path: path.to_path_buf(), problem })
        }
        _ => Ok(()),
    }
}

const LAST_WITH_CFS: (u32, u32) = (6, 5);

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The first word of a version string, as a file name: `6.1.0-57-cloud-amd64`.
pub fn release(version: &str) -> String {
    let word = version.split_whitespace().next().unwrap_or("unknown");
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    let name: String = word.chars().take(64).map(plain).collect();
    // Not a name that leads elsewhere.
    name.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(magic: &[u8], version: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x300];
        bytes[MAGIC_AT..MAGIC_AT + magic.len()].copy_from_slice(magic);
        bytes[VERSION_AT] = 0x80;
        bytes[0x280..0x280 + version.len()].copy_from_slice(version.as_bytes());
        bytes
    }

    #[test]
    fn reads_the_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bzImage");
        std::fs::write(&path, image(MAGIC, "6.1.0-57 (x) #1")).unwrap();
        assert_eq!(version(&path).unwrap(), "6.1.0-57 (x) #1");
        for bytes in [image(b"ELF!", "6.1"), Vec::new(), image(MAGIC, "")] {
            std::fs::write(&path, bytes).unwrap();
            assert!(matches!(version(&path), Err(LabError::Kernel { .. })));
        }
        assert!(version(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }

    #[test]
    fn knows_which_kernels_have_cfs() {
        let refused = |version: &str| refuse_without_cfs(Path::new("k"), version).is_err();
        assert!(refused("6.12.118+deb13-cloud-amd64 (x)") && refused("6.6.0-rc1") && refused("7.0"));
        assert!(!refused("6.5.13") && !refused("5.10.0-46-cloud-amd64") && !refused("my-kernel"));
    }

    #[test]
    fn releases_are_file_names() {
        assert_eq!(release("6.1.0-57-cloud-amd64 (debian)"), "6.1.0-57-cloud-amd64");
        assert_eq!(release("../../x y"), "_.._x");
        assert_eq!(release(""), "unknown");
    }
}
