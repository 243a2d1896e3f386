//! gzip and bzip2, taken off a stream.

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

const GZIP: &[u8] = &[0x1f, 0x8b];
const BZIP2: &[u8] = b"BZh";

/// A stream without its packing.
pub struct Unpacked<'a> {
    /// How it begins; `rest` begins with it too.
    pub head: Vec<u8>,
    /// All of it.
    pub rest: Box<dyn BufRead + 'a>,
    /// What it was packed with.
    pub packing: Option<&'static str>,
}

/// Recognises what a stream is packed with, and looks at so many bytes of what is in it, if there are so many.
///
/// # Errors
/// When it cannot be read or unpacked.
pub fn unpack<'a>(source: impl Read + 'a, head: usize) -> io::Result<Unpacked<'a>> {
    let (begin, whole) = peek(source, head.max(BZIP2.len()))?;
    let (packing, source): (_, Box<dyn Read + 'a>) = match &begin {
        b if b.starts_with(GZIP) => ("gzip", Box::new(MultiGzDecoder::new(whole))),
        b if b.starts_with(BZIP2) => ("bzip2", Box::new(MultiBzDecoder::new(whole))),
        _ => return Ok(Unpacked { head: begin, rest: Box::new(whole), packing: None }),
    };
    let (head, rest) = peek(source, head)?;
    Ok(Unpacked { head, rest: Box::new(rest), packing: Some(packing) })
}

/// The beginning of a stream, and all of it.
fn peek<'a>(source: impl Read + 'a, enough: usize) -> io::Result<(Vec<u8>, impl BufRead + 'a)> {
    let mut source = BufReader::new(source);
    let mut head = Vec::new();
    source.by_ref().take(enough as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(packed: &[u8]) -> (Option<&'static str>, Vec<u8>, String) {
        let unpacked = unpack(packed, 3).unwrap();
        let mut rest = unpacked.rest;
        let mut text = String::new();
        rest.read_to_string(&mut text).unwrap();
        (unpacked.packing, unpacked.head, text)
    }

    #[test]
    fn packed_and_not() {
        let text = "one two three";
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bzip2.write_all(text.as_bytes()).unwrap();
        let expected = |packing| (packing, b"one".to_vec(), text.to_owned());
        assert_eq!(read(text.as_bytes()), expected(None));
        assert_eq!(read(&gzip.finish().unwrap()), expected(Some("gzip")));
        assert_eq!(read(&bzip2.finish().unwrap()), expected(Some("bzip2")));
        assert_eq!(read(b"a"), (None, b"a".to_vec(), "a".to_owned()));
    }

    #[test]
    fn broken_packing_is_an_error() {
        assert!(unpack(&b"BZh9 no such thing"[..], 8).is_err());
        assert!(unpack(&b"\x1f\x8bno such thing"[..], 8).is_err());
    }
}
