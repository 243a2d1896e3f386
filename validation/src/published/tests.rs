use super::*;

fn tolerances() -> Tolerances {
    let aims = Aims {
        right_signs: 0.9,
        right_nulls: 0.9,
        median_error_points: 3.0,
        p90_error_points: 10.0,
        coverage: [0.85, 0.99],
    };
    Tolerances {
        spread_percent: 2.0,
        effect_spreads: 2.0,
        within_points: 3.0,
        within_spreads: 2.0,
        within_share: 0.25,
        aims,
    }
}

fn measured(change: f64, spread: Option<f64>, suitability: Suitability) -> Measurement {
    let text = String::new;
    Measurement {
        id: "m".to_owned(),
        series: "s".to_owned(),
        source: Citation { url: text(), title: text(), author: text(), date: text() },
        kernels: [text(), text()],
        tunable: text(),
        values: None,
        workload: text(),
        x: Default::default(),
        metric: text(),
        unit: text(),
        better: Better::Lower,
        base: None,
        variant: None,
        change_percent: Some(change),
        spread_percent: spread,
        suitability,
        split: Split::Judge,
        note: None,
    }
}

fn judged(change: f64, spread: Option<f64>, (low, mean, high): (f64, f64, f64)) -> Judged {
    let m = measured(change, spread, Suitability::Quantitative);
    let prediction = Prediction { mean, interval95: Some((low, high)) };
    Judged::of(&m, prediction, &tolerances()).unwrap()
}

#[test]
fn a_change_of_more_than_two_spreads_has_a_sign() {
    let right = judged(-10.0, None, (-9.0, -8.0, -7.0));
    assert_eq!((right.right_sign, right.right_null, right.within), (Some(true), None, Some(true)));
    assert_eq!(judged(-10.0, None, (7.0, 8.0, 9.0)).right_sign, Some(false));
    assert_eq!(judged(-10.0, None, (-17.0, -8.0, 1.0)).right_sign, Some(false), "not told from zero");
    // Four percent and more is null at a spread of two.
    assert_eq!(judged(4.0, None, (-1.0, 0.0, 1.0)).right_null, Some(true));
    assert_eq!(judged(4.1, None, (-1.0, 0.0, 1.0)).right_null, None);
    assert_eq!(judged(8.0, Some(4.0), (-1.0, 0.0, 1.0)).right_sign, None);
}

#[test]
fn null_is_as_close_to_zero_as_a_prediction_may_be_off() {
    assert_eq!(judged(1.0, None, (3.0, 4.0, 5.0)).right_null, Some(true), "two spreads");
    assert_eq!(judged(1.0, None, (3.0, 4.1, 5.0)).right_null, Some(false));
    assert_eq!(judged(1.0, Some(0.5), (2.0, 3.0, 4.0)).right_null, Some(true), "three points");
    assert_eq!(judged(1.0, Some(0.5), (2.0, 3.1, 4.0)).right_null, Some(false));
}

#[test]
fn sizes_agree_within_points_spreads_or_a_quarter() {
    assert_eq!(judged(-40.0, None, (-31.0, -30.0, -29.0)).within, Some(true));
    assert_eq!(judged(-40.0, None, (-31.0, -29.9, -29.0)).within, Some(false));
    assert_eq!(judged(-40.0, Some(6.0), (-31.0, -28.0, -29.0)).within, Some(true));
    assert_eq!(judged(-40.0, None, (-41.0, -30.0, -20.0)).covered, Some(true));
    assert_eq!(judged(-42.0, None, (-41.0, -30.0, -20.0)).covered, Some(false));
    let direction = measured(200.0, None, Suitability::Direction);
    let prediction = Prediction { mean: 1.0, interval95: Some((0.5, 1.5)) };
    let j = Judged::of(&direction, prediction, &tolerances()).unwrap();
    assert_eq!((j.right_sign, j.within, j.covered, j.error_points), (Some(true), None, None, None));
}

#[test]
fn a_summary_misses_what_it_cannot_show() {
    let rows = [
        judged(-10.0, None, (-11.0, -9.0, -8.0)),
        judged(-20.0, None, (-11.0, -9.0, -8.0)),
        judged(0.0, None, (-1.0, 0.5, 1.0)),
    ];
    let s = Summary::of("all", rows.iter());
    assert_eq!((s.signs, s.nulls), (Rate { right: 2, of: 2 }, Rate { right: 1, of: 1 }));
    assert_eq!((s.median_error_points, s.p90_error_points), (Some(1.0), Some(11.0)));
    assert_eq!(s.coverage, Rate { right: 2, of: 3 });
    assert_eq!(s.missed(&tolerances().aims), ["90th percentile of the error", "coverage of the intervals"]);
    assert_eq!(Summary::of("none", [].iter()).missed(&tolerances().aims).len(), 5);
}

/// The project's own data: every series is run or says why not, every record too.
#[test]
fn the_projects_data_are_whole() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("published");
    let published = Published::load(&dir).unwrap();
    assert_eq!(published.measurements.len(), 341);
    for series in published.series.values() {
        for (id, point) in &series.points {
            let file = published.scenario(series, point);
            let text = std::fs::read_to_string(&file).unwrap();
            for side in series.sides(point) {
                let settings: Vec<_> = side.into_iter().collect();
                let document =
                    sim_workloads::scenario::Document::parse(&text, &file.display().to_string(), &settings);
                let resolved = document.and_then(|d| d.resolve());
                assert!(resolved.is_ok(), "{id}: {}", resolved.unwrap_err());
            }
        }
    }
}
