//! Takes gzip and bzip2 off what is read. How much comes out is for the reader to limit.

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// What bytes are packed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// gzip.
    Gzip,
    /// bzip2.
    Bzip2,
}

impl Packing {
    /// The packing of a file that begins like this.
    pub fn of(head: &[u8]) -> Option<Packing> {
        if head.starts_with(&[0x1f, 0x8b]) {
            return Some(Packing::Gzip);
        }
        let level = head.strip_prefix(b"BZh")?.first()?;
        (b'1'..=b'9').contains(level).then_some(Packing::Bzip2)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Bzip2 => "bzip2",
        }
    }
}

/// A stream without its packing, if it has one that is known. One layer is taken off.
///
/// # Errors
/// When its beginning cannot be read.
pub fn unpack<'a>(source: impl Read + 'a) -> io::Result<(Box<dyn BufRead + 'a>, Option<Packing>)> {
    let mut source = BufReader::new(source);
    let mut head = Vec::new();
    source.by_ref().take(4).read_to_end(&mut head)?;
    let packing = Packing::of(&head);
    let whole = Cursor::new(head).chain(source);
    let text: Box<dyn BufRead + 'a> = match packing {
        None => Box::new(whole),
        Some(Packing::Gzip) => Box::new(BufReader::new(MultiGzDecoder::new(whole))),
        Some(Packing::Bzip2) => Box::new(BufReader::new(MultiBzDecoder::new(whole))),
    };
    Ok((text, packing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn both(text: &[u8]) -> [(Vec<u8>, Packing); 2] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        gz.write_all(text).unwrap();
        bz.write_all(text).unwrap();
        [(gz.finish().unwrap(), Packing::Gzip), (bz.finish().unwrap(), Packing::Bzip2)]
    }

    #[test]
    fn packed_streams_come_out_as_they_went_in() {
        let text = b"one\ntwo\n".repeat(1000);
        for (bytes, packing) in both(&text) {
            let mut out = Vec::new();
            let (mut source, found) = unpack(&bytes[..]).unwrap();
            source.read_to_end(&mut out).unwrap();
            assert_eq!((out, found), (text.clone(), Some(packing)));
        }
        let (mut source, found) = unpack(&b"BZh"[..]).unwrap();
        let mut out = Vec::new();
        source.read_to_end(&mut out).unwrap();
        assert_eq!((&out[..], found), (&b"BZh"[..], None));
    }

    #[test]
    fn packed_streams_that_end_early_are_errors() {
        for (bytes, packing) in both(&b"one\ntwo\n".repeat(1000)) {
            let (mut source, _) = unpack(&bytes[..bytes.len() - 9]).unwrap();
            assert!(source.read_to_end(&mut Vec::new()).is_err(), "{packing:?}");
        }
    }
}
