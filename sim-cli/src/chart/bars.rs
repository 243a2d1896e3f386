//! Measured and predicted changes side by side.

use super::scale::Scale;
use super::{Anchor, COLOURS, GREY, Svg};

/// A pair of changes, percent.
pub(crate) struct Bar {
    /// What it is of.
    pub(crate) label: String,
    /// As measured; none where nothing is published.
    pub(crate) measured: Option<f64>,
    /// As predicted.
    pub(crate) predicted: f64,
    /// 95 % interval of the prediction.
    pub(crate) interval: Option<(f64, f64)>,
}

const WIDTH: f64 = 640.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 46.0;
const ROW: f64 = 30.0;

/// Draws a pair of bars a row: measured above, predicted below with its interval.
pub(crate) fn bars(title: &str, rows: &[Bar]) -> String {
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 40.0);
    let ends = |b: &Bar| [b.measured, Some(b.predicted), b.interval.map(|i| i.0), b.interval.map(|i| i.1)];
    let across = Scale::signed_log(rows.iter().flat_map(|b| ends(b).into_iter().flatten()), LEFT, RIGHT);
    svg.text((8.0, 18.0), Anchor::Start, title);
    for (i, name) in ["measured", "predicted, 95 %"].into_iter().enumerate() {
        let x = LEFT + 130.0 * i as f64;
        svg.rect((x, 28.0), (10.0, 10.0), COLOURS[i]);
        svg.text((x + 14.0, 37.0), Anchor::Start, name);
    }
    for tick in across.ticks() {
        let at = across.place(tick);
        let style = if tick == 0.0 { "" } else { r#"stroke-width="0.3""# };
        svg.line((at, TOP), (at, bottom), GREY, style);
        svg.text((at, bottom + 15.0), Anchor::Middle, &format!("{tick:+.0}"));
    }
    svg.text(((LEFT + RIGHT) / 2.0, bottom + 32.0), Anchor::Middle, "change, percent");
    let zero = across.place(0.0);
    for (i, b) in rows.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        svg.text((LEFT - 8.0, y + 18.0), Anchor::End, &b.label);
        let mut bar = |value: f64, y: f64, colour: &str| {
            let end = across.place(value);
            svg.rect((zero.min(end), y), ((end - zero).abs().max(0.8), 9.0), colour);
        };
        if let Some(measured) = b.measured {
            bar(measured, y + 5.0, COLOURS[0]);
        }
        bar(b.predicted, y + 15.0, COLOURS[1]);
        if let Some((low, high)) = b.interval {
            let at = y + 19.5;
            svg.line((across.place(low), at), (across.place(high), at), "#000000", "");
        }
    }
    svg.finish(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_a_measurement_has_one_bar() {
        let row =
            |measured| Bar { label: "r".to_owned(), measured, predicted: -4.0, interval: Some((-5.0, -3.0)) };
        let rects = |rows: &[Bar]| bars("t", rows).matches("<rect").count();
        assert_eq!(rects(&[row(Some(-8.0))]) - rects(&[row(None)]), 1);
    }
}
