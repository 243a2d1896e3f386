//! Feeds one reader; what it must do is in `readers/scenario.rs`.

#![no_main]

#[path = "../readers/scenario.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
