//! Predicted against measured: on the diagonal a prediction is right.

use super::scale::Scale;
use super::{Anchor, COLOURS, GREY, Svg};

/// A comparison.
pub(crate) struct Dot {
    /// What it is.
    pub(crate) label: String,
    /// The group it belongs to, an index into the names.
    pub(crate) group: usize,
    /// Measured change, percent.
    pub(crate) measured: f64,
    /// Predicted change, percent.
    pub(crate) predicted: f64,
    /// 95 % interval of the prediction.
    pub(crate) interval: Option<(f64, f64)>,
}

const SIZE: f64 = 560.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = SIZE - 20.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = SIZE - 50.0;

/// Draws all comparisons, each group in its own colour.
pub(crate) fn scatter(title: &str, groups: &[&str], dots: &[Dot]) -> String {
    let mut svg = Svg::new(SIZE, SIZE);
    let values = || dots.iter().flat_map(|d| [d.measured, d.predicted]);
    let (across, up) = (Scale::signed_log(values(), LEFT, RIGHT), Scale::signed_log(values(), BOTTOM, TOP));
    svg.text((8.0, 18.0), Anchor::Start, title);
    for tick in across.ticks() {
        let (x, y) = (across.place(tick), up.place(tick));
        let style = if tick == 0.0 { "" } else { r#"stroke-width="0.3""# };
        svg.line((x, TOP), (x, BOTTOM), GREY, style);
        svg.line((LEFT, y), (RIGHT, y), GREY, style);
        svg.text((x, BOTTOM + 15.0), Anchor::Middle, &format!("{tick:+.0}"));
        svg.text((LEFT - 5.0, y + 4.0), Anchor::End, &format!("{tick:+.0}"));
    }
    // Both axes are alike, so equal values lie on the diagonal.
    svg.line((LEFT, BOTTOM), (RIGHT, TOP), GREY, r#"stroke-dasharray="4 3""#);
    svg.text(((LEFT + RIGHT) / 2.0, SIZE - 14.0), Anchor::Middle, "measured change, percent");
    svg.upward((14.0, (TOP + BOTTOM) / 2.0), "predicted change, percent");
    for (n, name) in groups.iter().enumerate() {
        let place = (LEFT + 150.0 * n as f64, 40.0);
        svg.dot((place.0, place.1 - 4.0), COLOURS[n % COLOURS.len()], n % 2 == 0, name);
        svg.text((place.0 + 8.0, place.1), Anchor::Start, name);
    }
    for d in dots {
        let colour = COLOURS[d.group % COLOURS.len()];
        let x = across.place(d.measured);
        if let Some((low, high)) = d.interval {
            let clip = |v: f64| up.place(v).clamp(TOP, BOTTOM);
            svg.line((x, clip(low)), (x, clip(high)), colour, r#"stroke-width="0.6""#);
        }
        let what = format!("{}: measured {:+.1} %, predicted {:+.1} %", d.label, d.measured, d.predicted);
        svg.dot((x, up.place(d.predicted)), colour, d.group % 2 == 0, &what);
    }
    svg.finish(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_lie_on_the_diagonal() {
        let dot = Dot { label: "d".to_owned(), group: 0, measured: 30.0, predicted: 30.0, interval: None };
        let svg = scatter("t", &["g"], &[dot]);
        let circle = svg.lines().rev().find(|l| l.starts_with("<circle")).unwrap();
        let number = |key: &str| -> f64 {
            let rest = circle.split(&format!("{key}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let (x, y) = (number("cx"), number("cy"));
        let (across, up) = ((x - LEFT) / (RIGHT - LEFT), (BOTTOM - y) / (BOTTOM - TOP));
        assert!((across - up).abs() < 1e-3, "{across} {up}");
    }
}
