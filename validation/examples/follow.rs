use validation::capture::{Capture, find_captures};
use validation::conformance::{Report, follow_capture};
fn main() {
    let mut total = Report::default();
    let (mut skipped, mut n) = (0, 0);
    for a in std::env::args().skip(1) {
        for p in find_captures(a.as_ref()).unwrap() {
            let Ok(_) = Capture::load(&p) else { continue };
            let c = Capture::load(&p).unwrap();
            match follow_capture(&c) {
                Ok(r) => {
                    n += 1;
                    for m in &r.misses {
                        println!("{} {:.6} {} {:?} {}", c.id, m.at_ns as f64 / 1e9, m.cpu, m.kind, m.what);
                    }
                    let t = &r.next_task;
                    let q = &r.preemption;
                    println!(
                        "# {} {}/{} {}/{} misfits {}",
                        c.id,
                        t.right,
                        t.decidable(),
                        q.right,
                        q.decidable(),
                        r.misfits
                    );
                    total.add(&r);
                }
                Err(_) => skipped += 1,
            }
        }
    }
    println!("{n} followed, {skipped} left out\n{}{:?}", total.to_text(0), total.missed_bars());
}
