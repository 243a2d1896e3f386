//! Prints the delays of captured machines: `delays CAPTURE…`, each a file in the compact form or a capture's folder, or a
//! folder above several.

use std::path::Path;
use std::process::ExitCode;
use validation::capture::{Capture, CaptureError, find_captures};
use validation::delays::render;
use validation::measure::{EventKind, timeline, verdicts};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    if args.peek().is_none() {
        eprintln!("usage: delays CAPTURE...");
        return ExitCode::from(2);
    }
    match args.try_for_each(|arg| print(Path::new(&arg))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(3)
        }
    }
}

fn print(path: &Path) -> Result<(), CaptureError> {
    for path in find_captures(path)? {
        let capture = Capture::load(&path)?;
        print!("{}", render(&capture));
        need_resched(&capture);
        println!();
    }
    Ok(())
}

/// The wake-ups onto a busy CPU, and how soon a switch follows those that set need_resched.
fn need_resched(capture: &Capture) {
    let timeline = match timeline(capture) {
        Ok(timeline) => timeline,
        Err(e) => return println!("  {e}"),
    };
    let all = verdicts(&timeline);
    let next_switch = |at: u64| {
        let mut later = timeline.events.iter().skip_while(|e| e.at_ns < at);
        later.find(|e| matches!(e.kind, EventKind::Switch { .. })).map_or(u64::MAX, |e| e.at_ns - at)
    };
    let set: Vec<_> = all.iter().filter(|v| v.set).collect();
    let soon = set.iter().filter(|v| next_switch(v.at_ns) < 20_000).count();
    let unset_soon = all.iter().filter(|v| !v.set && !v.already_set && next_switch(v.at_ns) < 20_000).count();
    println!(
        "  wake-ups onto a busy CPU: {} | set need_resched: {}, of these a switch within 20 us: {soon}, just after a tick: {} | \
         set already: {} | not set: {}, of these a switch within 20 us: {unset_soon}",
        all.len(),
        set.len(),
        set.iter().filter(|v| v.after_tick).count(),
        all.iter().filter(|v| v.already_set).count(),
        all.iter().filter(|v| !v.set && !v.already_set).count(),
    );
}
