//! Scratch comparison.
use std::path::Path;
use validation::capture::{Capture, find_captures};
use validation::measure::{Bins, Histogram, measure, timeline};
use validation::simulate::{Experiment, calibrate};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "calibrate" {
        let c = calibrate(Path::new(&args[2])).unwrap();
        println!("{}", serde_json::to_string_pretty(&c).unwrap());
        return;
    }
    let filter = args.get(2).cloned().unwrap_or_default();
    for p in find_captures(Path::new(&args[1])).unwrap() {
        let c = match Capture::load(&p) {
            Ok(c) => c,
            Err(e) => {
                println!("{e}");
                continue;
            }
        };
        if !c.id.to_string().contains(&filter) {
            continue;
        }
        let e = match Experiment::new(&c) {
            Ok(e) => e,
            Err(e) => {
                println!("{}: {e}", c.id);
                continue;
            }
        };
        let real = timeline(&c).unwrap();
        let sim = e.run(e.machine()).unwrap();
        let (mr, ms) = (measure(&real), measure(&sim));
        let bins = Bins::new(4_000_000);
        let turns = |m: &validation::measure::Measures, t: &validation::measure::Timeline| {
            Histogram::of(
                m.tasks.iter().filter(|x| t.label(x.who).measured).flat_map(|x| x.turns.clone()),
                &bins,
            )
        };
        let ov = turns(&mr, &real).overlap_pct(&turns(&ms, &sim));
        let mut worst = 0f64;
        let mut line = String::new();
        for t in &mr.tasks {
            let l = real.label(t.who);
            if !l.measured {
                continue;
            }
            let s = ms.tasks.iter().find(|s| sim.label(s.who).name == l.name && sim.label(s.who).measured);
            let (a, b) = (mr.share_pct(t), s.map_or(0.0, |s| ms.share_pct(s)));
            worst = worst.max((a - b).abs());
            line += &format!(" {}:{:.2}/{:.2}", l.name, a, b);
        }
        println!(
            "{:44} span {:.1}/{:.1} sw {}/{} ({:+.1}%) worst {:.2} overlap {:.1} |{}",
            c.id.to_string(),
            mr.span_ns as f64 / 1e6,
            ms.span_ns as f64 / 1e6,
            mr.switches,
            ms.switches,
            100.0 * (ms.switches as f64 / mr.switches as f64 - 1.0),
            worst,
            ov,
            line
        );
        if args.len() > 3 {
            let show = |t: &validation::measure::Timeline, n: usize| {
                let mut k = 0;
                for e in &t.events {
                    if e.at_ns + 100_000 < t.t0_ns {
                        continue;
                    }
                    println!(
                        "  {:>10.3} {}",
                        (e.at_ns as f64 - t.t0_ns as f64) / 1e3,
                        match e.kind {
                            validation::measure::EventKind::Switch { prev, next, prev_blocked } => format!(
                                "switch {} {} -> {}",
                                t.label(prev).name,
                                if prev_blocked { "S" } else { "R" },
                                t.label(next).name
                            ),
                            validation::measure::EventKind::Wakeup { task, need_resched_after, .. } =>
                                format!("wake {} {}", t.label(task).name, need_resched_after),
                            ref o => format!("{o:?}"),
                        }
                    );
                    k += 1;
                    if k > n {
                        break;
                    }
                }
            };
            let n: usize = args[3].parse().unwrap();
            println!(" REAL");
            show(&real, n);
            println!(" SIM");
            show(&sim, n);
        }
    }
}
