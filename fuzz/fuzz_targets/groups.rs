//! Feeds one reader; what it must do is in `readers/groups.rs`.

#![no_main]

#[path = "../readers/groups.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
