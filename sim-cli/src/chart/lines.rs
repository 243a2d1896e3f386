//! Values along an axis: a sweep.

use super::scale::Scale;
use super::{Anchor, COLOURS, GREY, Svg};

/// A value with its 95 % interval.
pub(crate) type Value = (f64, Option<(f64, f64)>);

/// A line with the intervals of its values.
pub(crate) struct Line {
    /// Its name.
    pub(crate) name: String,
    /// Value and interval at each place along the axis; none where there is none.
    pub(crate) values: Vec<Option<Value>>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = HEIGHT - 55.0;
/// At most so many labels along the axis.
const LABELS: usize = 13;

/// Draws lines over labelled places; `mark` is where something happens, between that place and the one before.
pub(crate) fn lines(
    title: &str,
    x: &str,
    labels: &[String],
    y: &str,
    lines: &[Line],
    mark: Option<usize>,
) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let all = lines.iter().flat_map(|l| l.values.iter().flatten());
    let all = all.flat_map(|(v, i)| [Some(*v), i.map(|i| i.0), i.map(|i| i.1)]).flatten();
    let up = Scale::even(all, BOTTOM, TOP);
    let step = (RIGHT - LEFT) / labels.len().max(1) as f64;
    let across = |i: usize| LEFT + (i as f64 + 0.5) * step;
    svg.text((LEFT, 18.0), Anchor::Start, title);
    for tick in up.ticks() {
        let at = up.place(tick);
        svg.line((LEFT, at), (RIGHT, at), GREY, r#"stroke-width="0.3""#);
        svg.text((LEFT - 6.0, at + 4.0), Anchor::End, &number(tick));
    }
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), GREY, "");
    for (i, label) in labels.iter().enumerate().step_by(labels.len().div_ceil(LABELS).max(1)) {
        svg.text((across(i), BOTTOM + 16.0), Anchor::Middle, label);
    }
    svg.text(((LEFT + RIGHT) / 2.0, HEIGHT - 18.0), Anchor::Middle, x);
    svg.upward((16.0, (TOP + BOTTOM) / 2.0), y);
    if let Some(i) = mark {
        let at = across(i) - step / 2.0;
        svg.line((at, TOP), (at, BOTTOM), GREY, r#"stroke-dasharray="4 3""#);
    }
    for (n, line) in lines.iter().enumerate() {
        let colour = COLOURS[n % COLOURS.len()];
        let known = line.values.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?)));
        let path: Vec<(f64, f64)> = known.clone().map(|(i, (v, _))| (across(i), up.place(v))).collect();
        svg.path(&path, colour);
        for (i, (value, interval)) in known {
            if let Some((low, high)) = interval {
                svg.line((across(i), up.place(low)), (across(i), up.place(high)), colour, "");
            }
            let what = format!("{} at {}: {}", line.name, labels[i], number(value));
            svg.dot((across(i), up.place(value)), colour, n % 2 == 0, &what);
        }
        if lines.len() > 1 {
            let place = (LEFT + 8.0 + 190.0 * n as f64, TOP - 6.0);
            svg.dot((place.0, place.1 - 4.0), colour, n % 2 == 0, &line.name);
            svg.text((place.0 + 8.0, place.1), Anchor::Start, &line.name);
        }
    }
    svg.finish(title)
}

/// A number as short as it may be.
fn number(x: f64) -> String {
    let a = x.abs();
    match a {
        _ if a >= 1e6 || (a > 0.0 && a < 1e-3) => format!("{x:.1e}"),
        _ if a >= 100.0 => format!("{x:.0}"),
        _ => format!("{x:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_its_interval_is_drawn() {
        let values = vec![Some((1.0, Some((0.5, 1.5)))), None, Some((3.0, None))];
        let labels: Vec<String> = ["1 ms", "2 ms", "3 ms"].map(str::to_owned).to_vec();
        let one = Line { name: "wait".to_owned(), values };
        let svg = lines("waits & more", "granularity", &labels, "ms", &[one], Some(2));
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("waits &amp; more") && svg.contains("stroke-dasharray"));
        assert!(svg.contains("wait at 3 ms: 3"));
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 12.0, 99.5, 1234.4, 2.5e6].map(number);
        assert_eq!(shown, ["0", "0.25", "12", "99.5", "1234", "2.5e6"]);
    }
}
