//! Feeds one reader; what it must do is in `readers/hwloc.rs`.

#![no_main]

#[path = "../readers/imported.rs"]
mod imported;
#[path = "../readers/hwloc.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
