//! Prints captures of several CPUs beside their simulations: `many PATH...`.
use validation::capture::{Capture, find_captures};
use validation::kernels::many::{MANY_BARS, compare_many};

fn main() {
    let verbose = std::env::var("VERBOSE").is_ok();
    let paths = std::env::args().skip(1).flat_map(|p| find_captures(p.as_ref()).expect("a folder"));
    let (mut kept, mut all) = (0, 0);
    for path in paths.filter(|p| !p.to_string_lossy().contains("up1")) {
        let capture = match Capture::load(&path) {
            Ok(c) => c,
            Err(e) => { println!("{e}"); continue }
        };
        match compare_many(&capture, &MANY_BARS) {
            Err(e) => println!("{}: {e}", capture.id),
            Ok(c) => {
                all += 1;
                kept += u32::from(c.misses.is_empty());
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
                    rb.busy.moved, sb.busy.moved, rb.idle.moved, sb.idle.moved, rb.pushed, sb.pushed, c.misses,
                );
                if verbose {
                    for x in c.shares.iter().filter(|x| !x.ok) {
                        println!("    {} real {:.2} sim {:.2} turn {:.2}", x.name, x.measured_pct, x.simulated_pct, x.turn_pct);
                    }
                }
            }
        }
    }
    println!("{kept}/{all}");
}
