//! Scratch.
use validation::kernels::{CaptureReport, validate};
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let r =
        validate(std::path::Path::new(&dir), |p| p.iter().map(|p| CaptureReport::of(p)).collect()).unwrap();
    print!("{}", r.to_text());
}
