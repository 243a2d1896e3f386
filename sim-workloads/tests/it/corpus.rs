//! The corpus of the fuzz target for scenarios, replayed.

#[path = "../../../fuzz/readers/scenario.rs"]
mod scenario;

#[test]
fn every_scenario_of_the_corpus_is_read_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/scenario");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    assert!(files.len() >= 10, "{} files", files.len());
    for file in files {
        scenario::read(&std::fs::read(file).unwrap());
    }
}
