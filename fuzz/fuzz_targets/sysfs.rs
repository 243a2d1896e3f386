//! Feeds one reader; what it must do is in `readers/sysfs.rs`.

#![no_main]

#[path = "../readers/imported.rs"]
mod imported;
#[path = "../readers/sysfs.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reader::read(data));
