//! Feeds one reader; what it must do is in `readers/trace.rs`.

#![no_main]

#[path = "../readers/trace.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
