//! A study as a document: the question, what was asked of the simulator, tables and drawings.

use super::{Compared, StudyReport, Titled};
use crate::attribution::Attribution;
use crate::chart::{self, Bar};
use crate::document::{Block, Document};
use crate::sweeping::Sweep;
use crate::text::plural;

impl StudyReport {
    /// The document; drawings are called after `name`.
    pub(super) fn document(&self, name: &str) -> Document {
        let mut d = Document::new(name);
        d.text(&self.question.split_whitespace().collect::<Vec<_>>().join(" "));
        d.text(&format!(
            "Made by `cfsim study` {}; every figure comes from a run anyone can repeat.",
            env!("CARGO_PKG_VERSION")
        ));
        for (i, part) in self.comparisons.iter().enumerate() {
            comparison(&mut d, part, &format!("{name}-compare-{}.svg", i + 1));
        }
        for (i, part) in self.sweeps.iter().enumerate() {
            sweep(&mut d, part, &format!("{name}-sweep-{}", i + 1));
        }
        for (i, part) in self.attributions.iter().enumerate() {
            attribution(&mut d, part, &format!("{name}-attribute-{}.svg", i + 1));
        }
        if !self.not_modelled_yet.is_empty() {
            d.heading(2, "Not modelled, and so not in these figures");
            d.blocks.push(Block::List(self.not_modelled_yet.clone()));
        }
        d
    }
}

fn head<T>(d: &mut Document, part: &Titled<T>, runs: u32) {
    d.heading(2, &part.title);
    d.text(&format!("{}, {}.", part.scenario, plural(u64::from(runs), "seed")));
    if !part.notes.is_empty() {
        d.blocks.push(Block::List(part.notes.clone()));
    }
}

fn comparison(d: &mut Document, part: &Titled<Compared>, file: &str) {
    let c = &part.result.comparison;
    head(d, part, c.runs);
    d.text(&format!("A: {}. B: {}.", c.a.title(), c.b.title()));
    d.table(&["figure", "A", "B", "B against A, 95 % interval", "B is"], c.rows());
    for p in &part.result.published {
        d.text(&p.text());
    }
    let bars = part.result.published.iter().filter_map(|p| {
        let predicted = p.predicted_percent?;
        Some(Bar {
            label: p.title.to_owned(),
            measured: Some(p.published_percent),
            predicted: predicted.mean,
            interval: predicted.interval95,
        })
    });
    let bars: Vec<Bar> = bars.collect();
    if !bars.is_empty() {
        d.drawing(file, "Published and predicted change", chart::bars(&part.title, &bars));
    }
}

fn sweep(d: &mut Document, part: &Titled<Sweep>, file: &str) {
    head(d, part, part.result.runs);
    d.blocks.push(Block::Plain(part.result.text()));
    for (i, (metric, svg)) in part.result.drawings().into_iter().enumerate() {
        d.drawing(&format!("{file}-{}.svg", i + 1), &format!("{metric} by {}", part.result.key), svg);
    }
}

fn attribution(d: &mut Document, part: &Titled<Attribution>, file: &str) {
    head(d, part, part.result.runs);
    d.blocks.push(Block::Plain(part.result.text()));
    d.drawing(file, "Share of each mechanism, points", chart::bars(&part.title, &part.result.bars()));
}
