//! Scratch.
fn main() {
    for p in std::env::args().skip(1) {
        let c = validation::capture::Capture::load(std::path::Path::new(&p)).unwrap();
        println!("{} {:?}", c.id, validation::kernels::conformance(&c).unwrap());
    }
}
