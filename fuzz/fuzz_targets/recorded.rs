//! Feeds one reader; what it must do is in `readers/recorded.rs`.

#![no_main]

#[path = "../readers/recorded.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
