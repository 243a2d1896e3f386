//! Feeds one reader; what it must do is in `readers/rtapp.rs`.

#![no_main]

#[path = "../readers/rtapp.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
