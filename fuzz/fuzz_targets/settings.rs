//! Feeds one reader; what it must do is in `readers/settings.rs`.

#![no_main]

#[path = "../readers/settings.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
