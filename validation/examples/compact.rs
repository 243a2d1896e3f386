//! Writes the compact form of captures: `compact OUT DIR…`, each DIR a capture's folder or one above several.

use std::path::Path;
use std::process::ExitCode;
use validation::capture::{CaptureError, compact::compact, find_captures};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((out, dirs)) = args.split_first().filter(|(_, dirs)| !dirs.is_empty()) else {
        eprintln!("usage: compact OUT DIR...");
        return ExitCode::from(2);
    };
    match dirs.iter().try_for_each(|dir| write(Path::new(dir), Path::new(out))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(3)
        }
    }
}

fn write(dir: &Path, out: &Path) -> Result<(), CaptureError> {
    for capture in find_captures(dir)? {
        println!("{}", compact(&capture, out)?.display());
    }
    Ok(())
}
