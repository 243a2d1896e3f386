//! The program as its users meet it.

mod exit_codes;
mod imports;
mod json;
#[cfg(target_os = "linux")]
mod lab;
mod scenarios;
mod sessions;

use assert_cmd::Command;

/// The program, started where the tests' data lie.
fn cfsim(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cfsim"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).args(args);
    command
}

/// Standard output of a call that succeeds.
fn stdout(args: &[&str]) -> String {
    let output = cfsim(args).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("output is UTF-8")
}
