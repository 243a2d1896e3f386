//! cfsim
fn main() {}
