//! Prints captures of several CPUs beside their simulations: `many PATH...`.
use validation::capture::{Capture, find_captures};
use validation::kernels::many::{MANY_BARS, ManyComparison, compare_many, directions, totals};

fn main() {
    let verbose = std::env::var("VERBOSE").is_ok();
    let paths = std::env::args().skip(1).flat_map(|p| find_captures(p.as_ref()).expect("a folder"));
    let (mut kept, mut all) = (0, 0);
    let mut runs: Vec<(String, ManyComparison)> = Vec::new();
    for path in paths.filter(|p| !p.to_string_lossy().contains("up1")) {
        let capture = match Capture::load(&path) {
            Ok(c) => c,
            Err(e) => { println!("{e}"); continue }
        };
        if std::env::var("DUMP").is_ok() {
            let e = validation::simulate::Experiment::new(&capture).expect("expressible");
            let t = e.run(e.machine()).expect("runs");
            let n = |w| t.label(w).name.as_str();
            use validation::measure::EventKind as K;
            for e in &t.events {
                let us = (e.at_ns as f64 - t.t0_ns as f64) / 1e3;
                match e.kind {
                    K::Switch { prev, prev_blocked, next } => println!("{us:>11.1} [{}] switch {} {} -> {}", e.cpu, n(prev), if prev_blocked { "S" } else { "R" }, n(next)),
                    K::Wakeup { task, target, new, .. } => println!("{us:>11.1} [{}] wakeup{} {} on {target}", e.cpu, if new { " new" } else { "" }, n(task)),
                    K::Migrate { task, to } => println!("{us:>11.1} [{}] migrate {} to {to}", e.cpu, n(task)),
                    _ => {}
                }
            }
            println!("machine {:?}", e_machine(&capture));
        }
        match compare_many(&capture, &MANY_BARS) {
            Err(e) => println!("{}: {e}", capture.id),
            Ok(c) => {
                all += 1;
                kept += u32::from(c.ok());
                let (r, s) = (&c.real, &c.simulated);
                let (rb, sb) = (r.balanced(), s.balanced());
                println!(
                    "{:<34} span {:.1}/{:.1} sw {}/{} idle {}/{} iw {}/{} wk {}/{} stay {}/{} mig w {}/{} b {}/{} wasted {:.1}/{:.1} wait {:.0}/{:.0} first {}/{} occ {:?}/{:?} cores {:?}/{:?} | new {:?} {:?} busy {}/{} idle {}/{} push {}/{} MISS {:?}",
                    capture.id.to_string(), r.makespan_ms, s.makespan_ms, r.switches, s.switches, r.idle_entries, s.idle_entries,
                    r.idle_entries_while_waiting, s.idle_entries_while_waiting, r.wakeups, s.wakeups, r.wakeups_on_previous,
                    s.wakeups_on_previous, r.wake_migrations, s.wake_migrations, r.balance_migrations, s.balance_migrations,
                    r.wasted_cpu_ms, s.wasted_cpu_ms, r.waiting_ms, s.waiting_ms, r.first_cpus, s.first_cpus,
                    r.occupied_ms, s.occupied_ms, r.cores_ms, s.cores_ms,
                    (rb.newly_idle.tries, rb.newly_idle.failed, rb.newly_idle.moved, rb.newly_idle.no_busiest_group),
                    (sb.newly_idle.tries, sb.newly_idle.failed, sb.newly_idle.moved, sb.newly_idle.no_busiest_group),
                    rb.busy.moved, sb.busy.moved, rb.idle.moved, sb.idle.moved, rb.pushed, sb.pushed, c.checks.iter().filter(|c| !c.ok).map(|c| c.bar).fold(Vec::new(), |mut v, b| { if !v.contains(&b) { v.push(b) } v }),
                );
                if verbose {
                    for x in c.checks.iter().filter(|x| !x.ok) {
                        println!("    {:?} {:?} real {:.2?} sim {:.2?} allowed {:.2} range {:.2?}", x.bar, x.of, x.measured, x.simulated, x.allowed, x.range);
                    }
                    println!("    chance {}", c.by_chance());
                }
                if std::env::var("SHARES").is_ok() {
                    for x in c.checks.iter().filter(|x| x.of.is_some()) {
                        println!("S {} {} {} {} {} {:?}", capture.id, x.of.as_deref().unwrap_or(""), x.measured.unwrap_or(0.0), x.simulated.unwrap_or(0.0), x.allowed, x.range.unwrap_or((0.0, 0.0)));
                    }
                }
                runs.push((capture.id.name.clone(), c));
            }
        }
    }
    println!("{kept}/{all}");
    let named: Vec<_> = runs.iter().map(|(n, c)| (n.as_str(), c)).collect();
    for t in totals(&named) { println!("{t:?}"); }
    for t in directions(&named) { println!("{t:?}"); }
}

fn e_machine(c: &Capture) -> validation::simulate::CaptureMachine {
    validation::simulate::Experiment::new(c).expect("expressible").machine().clone()
}
