//! The corpora of the fuzz targets for captures, replayed.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap is a failed test; clippy exempts only test functions"
)]

#[path = "../../fuzz/readers/compact.rs"]
mod compact;
#[path = "../../fuzz/readers/settings.rs"]
mod settings;
#[path = "../../fuzz/readers/spec.rs"]
mod spec;
#[path = "../../fuzz/readers/trace.rs"]
mod trace;

fn replay(corpus: &str, read: impl Fn(&[u8])) {
    let folder = format!("{}/../fuzz/corpus/{corpus}", env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    assert!(files.len() >= 5, "{corpus}: {} files", files.len());
    for file in files {
        read(&std::fs::read(file).unwrap());
    }
}

#[test]
fn every_capture_text_of_the_corpora_is_read_or_refused() {
    replay("compact", compact::read);
    replay("settings", settings::read);
    replay("spec", spec::read);
    replay("trace", trace::read);
}
