//! The headline figures: one line for each bar, here and in the README.

use crate::document::{Block, Document};
use crate::failure::Failure;
use crate::output::Report;
use serde::{Deserialize, Serialize};
use validation::kernels::Tally;

/// One line of the scoreboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Headline {
    /// What is judged.
    pub(super) what: String,
    /// What is reached.
    pub(super) reached: String,
    /// What is asked for.
    pub(super) bar: String,
    /// Whether it is met.
    pub(super) met: bool,
}

impl Headline {
    pub(super) fn of(what: &str, tally: &Tally) -> Headline {
        Headline {
            what: what.to_owned(),
            reached: format!("{} of {} = {:.1} %", tally.kept, tally.of, tally.pct()),
            bar: format!("{:.0} %", tally.required_pct),
            met: tally.met() && tally.of > 0,
        }
    }
}

/// The headlines as a table.
pub(super) fn scoreboard(headlines: &[Headline]) -> Block {
    let head = ["judged", "reached", "bar", "met"].map(str::to_owned).to_vec();
    let rows = headlines.iter().map(|h| {
        vec![h.what.clone(), h.reached.clone(), h.bar.clone(), if h.met { "yes" } else { "no" }.to_owned()]
    });
    Block::Table(head, rows.collect())
}

#[derive(Serialize)]
pub(super) struct Scoreboard<'a> {
    pub(super) headlines: &'a [Headline],
}

impl Report for Scoreboard<'_> {
    fn text(&self) -> String {
        let mut d = Document::default();
        d.blocks.push(scoreboard(self.headlines));
        d.markdown().trim_start_matches("# \n").trim_start().to_owned()
    }
}

/// Between these lines the headline figures stand.
const MARKS: [&str; 2] = ["<!-- validation -->", "<!-- /validation -->"];

/// A text with the headline figures put between its marks.
pub(super) fn with_headlines(text: &str, headlines: &[Headline]) -> Result<String, Failure> {
    let (start, end) = (text.find(MARKS[0]), text.find(MARKS[1]));
    let (Some(start), Some(end)) = (start, end) else {
        return Err(Failure::Usage(format!(
            "no lines '{}' and '{}' to put figures between",
            MARKS[0], MARKS[1]
        )));
    };
    let mut d = Document::default();
    d.blocks.push(scoreboard(headlines));
    let table = d.markdown();
    let table = table.trim_start_matches("# \n").trim();
    Ok(format!("{}{}\n\n{table}\n\n{}", &text[..start], MARKS[0], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::super::part::Part;
    use super::*;
    use clap::ValueEnum;
    use serde_json::Value;
    use std::fs;
    use std::path::Path;

    fn headline() -> Headline {
        Headline::of("shares", &Tally { kept: 19, of: 20, required_pct: 95.0 })
    }

    #[test]
    fn figures_go_between_their_marks_again_and_again() {
        let text = format!("a\n{}\nold\n{}\nb\n", MARKS[0], MARKS[1]);
        let once = with_headlines(&text, &[headline()]).unwrap();
        assert!(once.contains("| shares | 19 of 20 = 95.0 % | 95 % | yes |") && !once.contains("old"));
        assert!(once.starts_with("a\n") && once.ends_with("\nb\n"));
        assert_eq!(with_headlines(&once, &[headline()]).unwrap(), once);
        assert!(with_headlines("a", &[]).is_err());
    }

    /// The README's figures are those of the report in the repository.
    #[test]
    fn the_readme_shows_the_reports_figures() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let Ok(report) = fs::read_to_string(root.join("validation/reports/validation.json")) else {
            panic!("no report: cfsim validate --report validation/reports --readme README.md");
        };
        let report: Value = serde_json::from_str(&report).unwrap();
        let parts = Part::value_variants().iter().filter_map(|p| report["parts"].get(p.name()));
        let headlines: Vec<Headline> =
            parts.flat_map(|p| serde_json::from_value::<Vec<Headline>>(p.clone()).unwrap()).collect();
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        assert_eq!(with_headlines(&readme, &headlines).unwrap(), readme);
    }
}
