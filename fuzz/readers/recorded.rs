//! A recorded trace is refused with a message, or becomes a scenario that can be read, whose programs end: it is run.

use sim_workloads::recorded::{GroupMap, Limits, Options, Part, Sleeps, import, summarize};
use sim_workloads::scenario::{Document, ErrorKind};

/// Reads a trace from any bytes, plain or packed.
pub(crate) fn read(data: &[u8]) {
    let limits = Limits { bytes: 1 << 20, line: 512, tasks: 200, cpus: 63 };
    let summary = summarize(data, &limits, Part::default());
    let groups = GroupMap::parse("a /x\nb* /x/y\n/x 50").expect("it is a map");
    let sleeps = if data.len().is_multiple_of(2) { Sleeps::Absolute } else { Sleeps::Relative };
    let options = Options { groups, sleeps, ..Options::default() };
    match import(data, &limits, &options) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(imported) => {
            assert_eq!(summary.expect("what can be imported can be summed up"), imported.summary);
            match Document::parse(&imported.scenario, "imported.toml", &[]) {
                Ok(document) => {
                    document.resolve().unwrap_or_else(|e| panic!("{e}\n{}", imported.scenario));
                }
                // Times further apart than a scenario may last.
                Err(error) => {
                    let limit = matches!(error.kind, ErrorKind::Limit | ErrorKind::BadValue);
                    assert!(limit, "{error}\n{}", imported.scenario);
                }
            }
        }
    }
}
