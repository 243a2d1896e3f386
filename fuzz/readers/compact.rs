//! A capture in the compact form is refused, or encodes to bytes that read as the same capture. The bytes given are the text
//! inside the compression, which would otherwise hide it from mutation.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use validation::capture::compact::encode;
use validation::capture::{Capture, CaptureId};

fn load(bytes: &[u8]) -> Result<Capture, String> {
    let id = CaptureId { kind: String::new(), kernel: String::new(), name: String::new() };
    Capture::read_compact(id, bytes).map_err(|e| e.to_string())
}

/// Reads a compact capture whose text is any bytes.
pub(crate) fn read(data: &[u8]) {
    let mut gz = GzEncoder::new(Vec::new(), Compression::none());
    gz.write_all(data).expect("memory takes all bytes");
    match load(&gz.finish().expect("memory takes all bytes")) {
        Err(e) => assert!(!e.is_empty()),
        Ok(capture) => {
            let again = load(&encode(&capture).expect("a capture that was read can be written"));
            assert_eq!(again.as_ref(), Ok(&capture));
        }
    }
}
