//! The small texts beside a trace: settings read back, what a capture says of itself, figures per task.

use validation::capture::meta::Meta;
use validation::capture::result::RunResult;
use validation::capture::tunables::parse_tunables;

/// Reads each from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(e) = parse_tunables(text) {
        assert!(!e.to_string().is_empty());
    }
    if let Ok(meta) = serde_json::from_str::<Meta>(text) {
        let _ = meta.profile();
    }
    if let Ok(result) = serde_json::from_str::<RunResult>(text) {
        let _ = result.top_level().count();
    }
}
