//! A page for each capture: what was measured, what the simulator does, and both event by event.

use super::side_by_side;
use crate::document::{Block, Document};
use crate::failure::Failure;
use crate::output::Talk;
use std::path::{Path, PathBuf};
use validation::capture::Capture;
use validation::kernels::{CaptureReport, Report, validate};

/// Events of each side that a page shows.
const EVENTS: usize = 200;

/// Writes the pages and `index` into a folder.
pub(super) fn write(folder: &Path, paths: &[PathBuf], report: &Report, talk: Talk) -> Result<(), Failure> {
    let mut index = Document::new("Captures of real kernels beside their simulations");
    index.blocks.push(Block::Plain(report.to_text()));
    let mut links = Vec::new();
    for (path, one) in paths.iter().zip(&report.captures) {
        let name = one.id.replace('/', "-");
        page(path, one)?.write(folder, &name)?;
        links.push((one.id.clone(), format!("{name}.html")));
    }
    index.heading(2, "Pages");
    index.blocks.push(Block::Links(links));
    let written = index.write(folder, "index")?;
    if let Some(file) = written.last() {
        talk.progress(&format!("{} pages, begin with {}", report.captures.len(), file.display()));
    }
    Ok(())
}

fn page(path: &Path, report: &CaptureReport) -> Result<Document, Failure> {
    let mut d = Document::new(&format!("Capture {}", report.id));
    if let Ok(capture) = Capture::load(path) {
        d.text(&format!("Kernel {}, {} CPUs.", capture.meta.kernel, capture.meta.smp));
    }
    d.heading(2, "Measured and simulated");
    d.blocks.push(Block::Plain(validate(vec![report.clone()]).to_text()));
    d.heading(2, "Event by event");
    match side_by_side::text(path, EVENTS) {
        Ok(text) => d.blocks.push(Block::Plain(text)),
        Err(failure) => d.text(&failure.to_string()),
    }
    Ok(d)
}
