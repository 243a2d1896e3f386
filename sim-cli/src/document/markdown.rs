//! A document as Markdown.

use super::{Block, Document};

impl Document {
    /// The Markdown; drawings are named as files beside it.
    pub(crate) fn markdown(&self) -> String {
        let blocks = self.blocks.iter().map(|block| format!("\n{}", block.markdown()));
        format!("# {}\n{}", self.title, blocks.collect::<String>())
    }
}

impl Block {
    fn markdown(&self) -> String {
        match self {
            Block::Heading(level, text) => format!("{} {text}\n", "#".repeat(usize::from(*level))),
            Block::Text(text) => format!("{text}\n"),
            Block::List(points) => points.iter().map(|p| format!("- {p}\n")).collect(),
            Block::Table(head, rows) => table(head, rows),
            Block::Plain(text) => format!("```text\n{}\n```\n", text.trim_end()),
            Block::Drawing { file, shows, .. } => format!("![{}]({file})\n", shows.replace(['[', ']'], "")),
            Block::Links(links) => links.iter().map(|(text, to)| format!("- [{text}]({to})\n")).collect(),
        }
    }
}

fn table(head: &[String], rows: &[Vec<String>]) -> String {
    // A bar would end the cell.
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<&str> = (0..head.len()).map(|i| if i == 0 { "---" } else { "---:" }).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    format!("{}| {} |\n{rows}", line(head), rule.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_separated_and_cells_stay_cells() {
        let mut d = Document::new("Title");
        d.text("  One.  ");
        d.table(&["a", "b"], vec![vec!["x|y".to_owned(), "1".to_owned()]]);
        d.drawing("d.svg", "a [picture]", String::new());
        assert_eq!(
            d.markdown(),
            "# Title\n\nOne.\n\n| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n\n![a picture](d.svg)\n"
        );
    }
}
