//! The guest's file system: an uncompressed cpio archive of the kind kernels unpack at boot.
//!
//! Form: "newc" of cpio(5): a head of 6 + 13 × 8 hexadecimal digits, the name with its zero byte, the file; name and file are
//! padded with zeros to multiples of 4 bytes from the archive's start. The last entry is called `TRAILER!!!`.

use super::LabError;

/// The longest name, bytes.
pub const MAX_NAME: usize = 255;
/// The largest file, bytes.
const MAX_FILE: usize = 1 << 30;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const TEXT: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;
/// `/dev/console`, on which the kernel opens the first process' output (devices.txt: character, 5:1).
const CONSOLE: (u32, u32) = (5, 1);

/// The archive with the driver as `/init` and its plan as `/plan`.
///
/// # Errors
/// [`LabError::Pack`] when something is too large for the form.
pub fn initramfs(driver: &[u8], plan: &[u8]) -> Result<Vec<u8>, LabError> {
    let mut archive = Archive::default();
    for directory in ["dev", "proc", "sys"] {
        archive.add(directory, DIRECTORY, (0, 0), &[])?;
    }
    archive.add("dev/console", CHARACTER_DEVICE, CONSOLE, &[])?;
    archive.add("init", PROGRAM, (0, 0), driver)?;
    archive.add("plan", TEXT, (0, 0), plan)?;
    archive.add("TRAILER!!!", 0, (0, 0), &[])?;
    Ok(archive.bytes)
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Everything belongs to root and is from 1970: the same contents give the same bytes.
    fn add(
        &mut self,
        name: &str,
        mode: u32,
        (major, minor): (u32, u32),
        data: &[u8],
    ) -> Result<(), LabError> {
        if name.len() > MAX_NAME || data.len() > MAX_FILE {
            return Err(LabError::Pack(name.to_owned()));
        }
        self.entries += 1;
        let (inode, links, size, name_size) = (self.entries, 1, data.len() as u32, name.len() as u32 + 1);
        let (uid, gid, time, check) = (0, 0, 0, 0);
        let fields = [inode, mode, uid, gid, links, time, size, 0, 0, major, minor, name_size, check];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as `cpio -o -H newc` writes them, by the form of cpio(5).
    #[test]
    fn writes_newc() {
        let mut archive = Archive::default();
        archive.add("init", PROGRAM, (0, 0), b"abcde").unwrap();
        let head = "070701\
            00000001000081ed000000000000000000000001000000000000000500000000000000000000000000000000\
            0000000500000000";
        let expected = [head.as_bytes(), b"init\0\0", b"abcde\0\0\0"].concat();
        assert_eq!(archive.bytes, expected);
    }

    #[test]
    fn has_a_console_and_ends_with_the_trailer() {
        let archive = initramfs(b"driver", b"plan").unwrap();
        let text = String::from_utf8_lossy(&archive);
        assert!(text.contains("dev/console\0"));
        // Mode, and device 5:1.
        assert!(text.contains("00002180"));
        assert!(text.contains("0000000500000001"));
        assert!(text.trim_end_matches('\0').ends_with("TRAILER!!!"));
        assert_eq!(archive.len() % 4, 0);
        assert_eq!(archive, initramfs(b"driver", b"plan").unwrap());
    }

    #[test]
    fn refuses_long_names() {
        let mut archive = Archive::default();
        assert!(matches!(archive.add(&"x".repeat(256), TEXT, (0, 0), &[]), Err(LabError::Pack(_))));
    }
}
