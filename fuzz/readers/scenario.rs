//! A scenario is refused with a place and a message, or it resolves and builds.

use sim_workloads::scenario::Document;

/// Reads a scenario from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Document::parse(text, "fuzz.toml", &[]) {
        Err(e) => assert!(!e.render(false).is_empty()),
        Ok(document) => {
            if let Err(e) = document.resolve() {
                assert!(!e.render(false).is_empty());
            }
            let _ = document.scenario.build(document.scenario.seed);
        }
    }
}
