//! Charts as SVG: self-contained, with text as text, readable without colour.

mod bars;
mod lines;
mod scale;
mod scatter;

pub(crate) use bars::{Bar, bars};
pub(crate) use lines::{Line, lines};
pub(crate) use scatter::{Dot, scatter};

use std::fmt::Write;

/// Colours of series, told apart by people who see few of them (Okabe and Ito, 2008).
pub(crate) const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Colour of axes and grids.
const GREY: &str = "#888888";

/// Text as it may stand in SVG and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}

/// Where a text is tied to its point.
#[derive(Debug, Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing under way.
struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    fn new(width: f64, height: f64) -> Svg {
        Svg { width, height, body: String::new() }
    }

    // Writing to a String cannot fail.
    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, style: &str) {
        let _ = writeln!(
            self.body,
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}" {style}/>"#
        );
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let (anchor, text) = (anchor.name(), escape(text));
        let _ = writeln!(self.body, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#);
    }

    /// A text that runs upwards, for an axis to the left.
    fn upward(&mut self, (x, y): (f64, f64), text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle" transform="rotate(-90 {x:.1} {y:.1})">{text}</text>"#
        );
    }

    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
        );
    }

    /// A dot that says what it is when pointed at.
    fn dot(&mut self, (x, y): (f64, f64), colour: &str, filled: bool, title: &str) {
        let fill = if filled { colour } else { "#ffffff" };
        let title = escape(title);
        let _ = writeln!(
            self.body,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" stroke="{colour}" fill="{fill}"><title>{title}</title></circle>"#
        );
    }

    fn path(&mut self, points: &[(f64, f64)], colour: &str) {
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let list = list.join(" ");
        let _ = writeln!(
            self.body,
            r#"<polyline points="{list}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#
        );
    }

    /// The whole drawing, with its title for those who cannot see it.
    fn finish(self, title: &str) -> String {
        let Svg { width, height, body } = self;
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\">\n<title>{title}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("a<b & \"c\">"), "a&lt;b &amp; &quot;c&quot;&gt;");
        let mut svg = Svg::new(10.0, 10.0);
        svg.text((1.0, 2.0), Anchor::End, "</text><script>");
        assert!(!svg.finish("</title><script>").contains("<script>"));
    }
}
