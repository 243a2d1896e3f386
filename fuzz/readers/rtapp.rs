//! An rt-app workload is refused with a place and a message, or becomes a scenario that at most contradicts itself, as the
//! workload does: it is well-formed in any case.

use sim_workloads::rtapp::{Options, WAIVABLE, import};
use sim_workloads::scenario::{Document, ErrorKind};

/// Reads a workload from any bytes, with everything waived.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let waive = WAIVABLE.iter().map(|(name, _)| (*name).to_owned()).collect();
    match import(&[("fuzz.json", text)], &Options { waive, cpus: None }) {
        Err(error) => {
            assert!(error.place.line >= 1 && error.place.column >= 1);
            assert!(error.file.is_some() && !error.message.is_empty(), "{error}");
        }
        Ok(imported) => match Document::parse(&imported.scenario, "imported.toml", &[]) {
            Ok(document) => {
                document.resolve().unwrap_or_else(|e| panic!("{e}\n{}", imported.scenario));
            }
            Err(error) => {
                let contradiction =
                    matches!(error.kind, ErrorKind::Inconsistent | ErrorKind::Limit | ErrorKind::BadValue);
                assert!(contradiction, "{error}\n{}", imported.scenario);
            }
        },
    }
}
