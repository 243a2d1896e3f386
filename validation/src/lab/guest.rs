//! The guest's driver, built from its source with the system's C compiler.

use super::LabError;
use std::path::Path;
use std::process::Command;

/// The driver's source by file name.
const SOURCES: [(&str, &str); 7] = [
    ("guest.h", include_str!("../../lab/guest.h")),
    ("init.c", include_str!("../../lab/init.c")),
    ("system.c", include_str!("../../lab/system.c")),
    ("plan.c", include_str!("../../lab/plan.c")),
    ("clock.c", include_str!("../../lab/clock.c")),
    ("tasks.c", include_str!("../../lab/tasks.c")),
    ("run.c", include_str!("../../lab/run.c")),
];

/// The compiler tried when none is named.
pub const DEFAULT_COMPILER: &str = "cc";

/// Builds the driver in `dir` and gives the program.
///
/// # Errors
/// [`LabError::NoCompiler`] when the compiler cannot be started or does not build a static program.
pub fn build(compiler: &str, dir: &Path) -> Result<Vec<u8>, LabError> {
    let failed = |problem: String| LabError::NoCompiler { program: compiler.to_owned(), problem };
    let out = dir.join("init");
    let mut command = Command::new(compiler);
    // Without a build id, the same compiler gives the same bytes anywhere.
    command.args(["-O2", "-static", "-w", "-Wl,--build-id=none", "-o"]).arg(&out);
    for (name, text) in SOURCES {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(LabError::io(&path))?;
        if name.ends_with(".c") {
            command.arg(path);
        }
    }
    let output = command.output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first: Vec<&str> = said.lines().filter(|l| !l.contains("warning")).take(3).collect();
        return Err(failed(if first.is_empty() { output.status.to_string() } else { first.join("; ") }));
    }
    std::fs::read(&out).map_err(LabError::io(&out))
}
