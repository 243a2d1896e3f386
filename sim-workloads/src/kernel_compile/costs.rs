//! Default costs, each with its source.
//!
//! *Measured* means: CPU time (user + system, with the kernel's part of fork, exec and exit) of gcc 12.2 at `-O2`,
//! GNU make 4.3, dash and GNU ld 2.40 on the 2-CPU virtual machine described in `validation/workloads/README.md`,
//! by the scripts and with the tables that lie beside it; the C files are git 2.39.5's. *Traced* means: from the table
//! of a real `make -j2` under Linux 6.1 in the same file. *Perf* means: the `perf sched latency` table of a kernel
//! build on 8 CPUs at <https://www.brendangregg.com/blog/2017-03-16/perf-sched.html>. The rest are assumptions.

use super::Helper;
use crate::dist::{Dist, Shape};
use sim_core::Nanos;

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

fn lognormal(median: Nanos, sigma: f64) -> Dist {
    Dist { shape: Shape::LogNormal { median, sigma }, min: None, max: None }
}

/// cc1. Measured: log-normal, geometric mean 364 ms, sigma 0.890 (n = 59, mean 550 ms). Judged on files not used for
/// the fit: redis 7.0.15 244 ms and 1.02 (n = 38), Lua 5.4.4 217 ms and 1.01 (n = 34). A kernel's own files were not
/// measured: perf's build suggests a mean near 0.9 s, with a factor of two either way.
pub(super) fn cc1() -> Dist {
    lognormal(us(364_000), 0.890)
}
/// The gcc driver. Measured: log-normal, geometric mean 2.42 ms, sigma 0.163 (n = 59). Perf's build: mean 2.42 ms
/// (n = 18).
pub(super) fn gcc() -> Dist {
    lognormal(us(2_418), 0.163)
}
/// The shell of one recipe, without its children. Measured: 0.89 ms for one that forks two programs.
pub(super) fn sh() -> Dist {
    Dist::constant(us(893))
}
/// make until its first recipe runs. Measured on a makefile of three lines; kbuild's are far longer.
pub(super) fn make_start() -> Dist {
    Dist::constant(us(1_505))
}
/// make for one recipe: start it, reap it. Measured on recipes without dependencies; kbuild's cost more.
pub(super) fn make_job() -> Dist {
    Dist::constant(us(136))
}
/// ld for no object at all. Measured: the intercept of `ld -r` over 10, 20 and 40 objects.
pub(super) fn link_start() -> Dist {
    Dist::constant(us(4_974))
}
/// ld for each object. Measured: the slope of the same. A kernel is linked more than once, to build its symbol table.
pub(super) fn link_object() -> Dist {
    Dist::constant(Nanos(317_600))
}

/// What the shell runs after gcc. Perf: the seven commands seen six to ten times each in a second in which six or
/// seven objects were finished, so about one of each per object; each costs its total CPU time by its tasks. Their
/// order and that they do not vary are assumptions.
pub(super) fn helpers() -> Vec<Helper> {
    let costs = [
        ("fixdep", 13_511),
        ("mv", 3_025),
        ("objdump", 5_978),
        ("grep", 3_094),
        ("recordmcount", 2_090),
        ("cat", 2_000),
        ("rm", 2_096),
    ];
    costs.map(|(name, cost)| Helper { name: name.to_owned(), work: Dist::constant(us(cost)) }).into()
}

/// Blocking reads of one cc1 that the page cache does not answer: an assumption (the source file itself and one header
/// or directory; nothing is known of the machine in question).
pub(super) const IO_SLEEPS: u32 = 2;
/// How long such a read sleeps: an assumption, of the order of one read from a virtual disk on an SSD.
pub(super) fn io_sleep() -> Dist {
    Dist { shape: Shape::Exponential(us(300)), min: None, max: None }
}

/// Different headers of a build: an assumption, of the order of those a kernel's configuration reaches.
pub(super) fn distinct_headers() -> u32 {
    4000
}
/// The kernel's part of reading one header. Measured on the same machine: system time of open, fstat, two reads and
/// close over the 400 cached headers of a mean of 22 kB below `/usr/include`, 14 to 16 µs in three rounds of 8,000.
pub(super) fn header_scan() -> Dist {
    Dist::constant(us(16))
}
/// cc1 when it only preprocesses. Measured: `cc1 -E -lang-asm` of a file of five lines, 8.12 ms (n = 20); it stands
/// for all `.S` files (assumption).
pub(super) const PREPROCESS: Nanos = us(8_120);
/// Length of the text a `.S` file becomes: an assumption, two pieces.
pub(super) const ASSEMBLER_SOURCE_BYTES: u64 = 8_192;

/// Length of the assembler text that cc1 makes of so much work. Measured:
/// `length = (work − 89.9 ms) / 8.13 µs` (r = 0.97, n = 59), not below the shortest text seen, 1,366 bytes;
/// judged on redis r = 0.54 (one generated file of 760 kB spoils it), on Lua r = 0.82.
pub(super) fn assembler_bytes(cc1: Nanos) -> u64 {
    (cc1.saturating_sub(us(89_869)).0 / 8_128).max(1_366)
}
/// cc1's work before its first byte of text: every function is parsed before the first is written. Measured:
/// `94.7 ms + 0.178 · work` (R² = 0.95, n = 29); judged on redis: `102.9 ms + 0.144 · work` (n = 28).
pub(super) fn cc1_front(cc1: Nanos) -> Nanos {
    Nanos(us(94_748).0 + (u128::from(cc1.0) * 178 / 1000) as u64)
}
/// cc1 after its last write, mostly giving memory back. Measured: 3.44 ms, the median of the files written in one
/// piece (n = 4; redis 3.52 ms, n = 4). At most a tenth of the work, for users who ask for a tiny cc1.
pub(super) fn cc1_wrap_up(cc1: Nanos) -> Nanos {
    us(3_444).min(Nanos(cc1.0 / 10))
}

/// cc1 writes, and as reads, in pieces of this size. Measured: number of writes = length / 4096, rounded up.
pub(super) const PIECE: u64 = 4096;
/// as parses when it has collected this much or seen the end. Measured: below 64 KiB nothing but reading happens
/// before the end of input.
pub(super) const AS_BUFFER: u64 = 16 * PIECE;
/// as before its first read. Measured: median 3.05 ms (n = 29).
pub(super) const AS_START: Nanos = us(3_053);
/// as taking in one piece. Measured: 19 µs, over the texts below 60 kB.
pub(super) const AS_READ: Nanos = us(19);
/// as parsing, ns per byte. Measured: 45 within the input (texts above 64 KiB, n = 6), 40 in the rest after its end.
pub(super) const AS_PARSE_NS: u64 = 45;
/// as laying out and writing the object: fixed part and ns per byte of text. Measured: 1.69 ms and 17 ns (R² = 0.72).
pub(super) const AS_WRITE: Nanos = us(1_687);
/// See [`AS_WRITE`].
pub(super) const AS_WRITE_NS: u64 = 17;

/// Percent of the driver's work before cc1 starts. Traced: 2.3 ms of 3.3 ms after its exec.
pub(super) const GCC_BEFORE: u64 = 70;
/// Percent of the driver's work between starting cc1 and starting as. Traced: 0.27 ms of 3.3 ms.
pub(super) const GCC_BETWEEN: u64 = 8;
