//! A document as one HTML page that needs nothing else.

use super::{Block, Document};
use crate::chart::escape;

/// The style: one column, wide tables scroll, numbers to the right.
const STYLE: &str = "\
body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.2rem;border-bottom:1px solid #ddd}h3{font-size:1.05rem}
table{border-collapse:collapse;display:block;overflow-x:auto;font-size:.86rem;margin:.6rem 0}
th,td{padding:.18rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid #e6e6e6}
th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid #999}
pre{background:#f5f5f5;padding:.7rem;overflow-x:auto;font-size:.82rem}
figure{margin:1rem 0}svg{max-width:100%;height:auto}figcaption{color:#555;font-size:.85rem}";

impl Document {
    /// The page.
    pub(crate) fn html(&self) -> String {
        let title = escape(&self.title);
        let body: String = self.blocks.iter().map(Block::html).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}\n</style>\n\
             </head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
        )
    }
}

impl Block {
    fn html(&self) -> String {
        match self {
            Block::Heading(level, text) => format!("<h{level}>{}</h{level}>\n", escape(text)),
            Block::Text(text) => format!("<p>{}</p>\n", escape(text)),
            Block::List(points) => {
                let points: String = points.iter().map(|p| format!("<li>{}</li>\n", escape(p))).collect();
                format!("<ul>\n{points}</ul>\n")
            }
            Block::Table(head, rows) => {
                let line = |tag: &str, cells: &[String]| {
                    let cells: String =
                        cells.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect();
                    format!("<tr>{cells}</tr>\n")
                };
                let rows: String = rows.iter().map(|row| line("td", row)).collect();
                format!("<table>\n{}{rows}</table>\n", line("th", head))
            }
            Block::Plain(text) => format!("<pre>{}</pre>\n", escape(text.trim_end())),
            Block::Drawing { shows, svg, .. } => {
                format!("<figure>\n{svg}<figcaption>{}</figcaption>\n</figure>\n", escape(shows))
            }
            Block::Links(links) => {
                let link = |(text, to): &(String, String)| {
                    format!("<li><a href=\"{}\">{}</a></li>\n", escape(to), escape(text))
                };
                format!("<ul>\n{}</ul>\n", links.iter().map(link).collect::<String>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text_and_drawings_are_inside() {
        let mut d = Document::new("a < b");
        d.text("<script>");
        d.table(&["<i>"], vec![vec!["&".to_owned()]]);
        d.drawing("d.svg", "shows", "<svg></svg>\n".to_owned());
        let page = d.html();
        assert!(!page.contains("<script>") && !page.contains("<i>"));
        assert!(page.contains("<td>&amp;</td>") && page.contains("<figure>\n<svg></svg>"));
    }
}
