//! Files of other programs as they come: packed, in archives, binary, or nothing of the kind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::cfsim;
use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

/// What `cfsim import auto` says of a file, and whether it took it.
fn auto(folder: &Path, name: &str) -> (bool, String) {
    let output = cfsim(&["import", "auto"])
        .args([folder.join(name).as_os_str(), "-o".as_ref(), folder.join("out.toml").as_os_str()])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{name}: {:?}", output.status);
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn packed_files_are_recognised_by_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let trace =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/two-tasks.trace.txt")).unwrap();
    let texts: [(&str, &[u8]); 3] = [
        ("trace", &trace),
        ("rt-app", b"{\"tasks\": {\"t\": {\"loop\": 1, \"run\": 5}}}"),
        ("lscpu", b"# CPU,Core,Socket,Node,,L1d,L1i,L2\n0,0,0,0,,0,0,0\n1,0,0,0,,0,0,0\n"),
    ];
    for (name, text) in texts {
        fs::write(folder.path().join("plain"), text).unwrap();
        fs::write(folder.path().join("packed"), gzip(text)).unwrap();
        assert!(auto(folder.path(), "plain").0, "{name}");
        let plain = fs::read_to_string(folder.path().join("out.toml")).unwrap();
        let (taken, said) = auto(folder.path(), "packed");
        assert!(taken, "{name}: {said}");
        let packed = fs::read_to_string(folder.path().join("out.toml")).unwrap();
        let body =
            |text: &str| text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(body(&packed), body(&plain), "{name}");
    }
}

#[test]
fn what_is_nothing_of_the_kind_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cut = gzip(&b"# tracer: nop\n".repeat(100));
    let files: [(&str, &[u8], &str); 7] = [
        ("empty", b"", "an empty file"),
        ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "of no known kind"),
        ("zip", b"PK\x03\x04rest", "zip archive"),
        ("elf", b"\x7fELF\x02\x01", "a program"),
        ("utf16", b"\xff\xfe{\0}\0", "UTF-16"),
        ("cut", &cut[..cut.len() - 9], "cannot read"),
        ("empty.gz", &gzip(b""), "an empty file"),
    ];
    for (name, bytes, word) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
        let (taken, said) = auto(folder.path(), name);
        assert!(!taken && said.contains(word) && said.lines().count() == 1, "{name}: {said}");
    }
    fs::create_dir(folder.path().join("folder")).unwrap();
    assert!(auto(folder.path(), "folder").1.contains("--sysfs-root"));
    assert!(auto(folder.path(), "nowhere").1.contains("cannot read"));
    #[cfg(unix)]
    assert!(auto(Path::new("/dev"), "null").1.contains("no regular file"));
}

/// The beginning of every trace.dat.
const TRACE_DAT: &[u8] = b"\x17\x08\x44tracing6\0\0\0";

#[test]
#[cfg(unix)]
fn a_trace_dat_is_read_by_trace_cmd() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (dat, program) = (folder.path().join("t.dat"), folder.path().join("trace-cmd"));
    fs::write(&dat, TRACE_DAT).unwrap();
    let with = |script: &str| {
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut cfsim = Process::new(env!("CARGO_BIN_EXE_cfsim"));
        cfsim
            .args(["import", "trace", "--summary"])
            .arg(&dat)
            .env("PATH", folder.path())
            .stdin(Stdio::null());
        cfsim.output().unwrap()
    };
    let good = "#!/bin/sh\n[ \"$1 $2 $3\" = 'report -t -i' ] || exit 1\n[ -f \"$4\" ] || exit 1\necho 'cpus=1'\n\
                echo '   a-5 [000] 1.000000000: sched_switch: a:5 [120] S ==> b:6 [120]'\n\
                echo '   b-6 [000] 1.000500000: sched_switch: b:6 [120] S ==> a:5 [120]'\n";
    let read = with(good);
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    assert!(
        read.status.success() && text.contains("trace-cmd") && text.contains("2 switches, 2 tasks"),
        "{text}"
    );
    let failed = with(&format!("{good}exit 7\n"));
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(failed.status.code() == Some(3) && said.contains("trace-cmd report failed"), "{said}");
}

#[test]
fn without_trace_cmd_a_trace_dat_is_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let dat = folder.path().join("t.dat");
    fs::write(&dat, TRACE_DAT).unwrap();
    let mut cfsim = Process::new(env!("CARGO_BIN_EXE_cfsim"));
    let output = cfsim.args(["import", "trace"]).arg(&dat).env("PATH", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("trace-cmd report -t") && said.contains("install"),
        "{said}"
    );
}
