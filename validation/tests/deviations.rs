//! Every shortcut named in the code stands in LIMITATIONS.md, and the reverse.

use std::collections::BTreeSet;
use std::path::Path;

fn ids(text: &str) -> impl Iterator<Item = String> + '_ {
    let digits = |at: usize| text.get(at + 2..at + 5).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    text.match_indices("D-").filter_map(move |(at, _)| digits(at)).map(|d| format!("D-{d}"))
}

fn in_sources(dir: &Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).expect("a source folder").map(|e| e.expect("an entry").path()) {
        if entry.is_dir() {
            in_sources(&entry, into);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            into.extend(ids(&std::fs::read_to_string(&entry).expect("a source file")));
        }
    }
}

#[test]
fn shortcuts_are_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut used = BTreeSet::new();
    for part in ["sim-core/src", "sim-workloads/src", "sim-cli/src", "validation/src"] {
        in_sources(&root.join(part), &mut used);
    }
    let page = std::fs::read_to_string(root.join("LIMITATIONS.md")).expect("LIMITATIONS.md");
    let rows =
        page.lines().filter(|l| l.starts_with("| D-")).flat_map(|l| ids(l).take(1).collect::<Vec<_>>());
    let documented: BTreeSet<String> = rows.collect();
    assert!(!used.is_empty());
    let undocumented: Vec<_> = used.difference(&documented).collect();
    assert!(undocumented.is_empty(), "not in LIMITATIONS.md: {undocumented:?}");
    let unused: Vec<_> = documented.difference(&used).collect();
    assert!(unused.is_empty(), "in LIMITATIONS.md but nowhere in the code: {unused:?}");
}
