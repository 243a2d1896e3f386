//! Feeds one reader; what it must do is in `readers/compact.rs`.

#![no_main]

#[path = "../readers/compact.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
