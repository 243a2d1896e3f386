//! Feeds one reader; what it must do is in `readers/spec.rs`.

#![no_main]

#[path = "../readers/spec.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
