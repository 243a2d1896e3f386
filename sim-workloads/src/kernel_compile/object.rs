//! What one object file asks for: all its random draws, made from its path alone.

use super::inputs::{Kind, PageCache, Read};
use super::{KernelCompile, costs};
use crate::dist::Dist;
use crate::units::MAX_DURATION;
use sim_core::Nanos;
use sim_core::rng;

/// The work of one object file, in the nanoseconds of the machine to be simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectWork {
    /// Path of the object: `make/obj#17`.
    pub path: String,
    /// What its job does.
    pub kind: Kind,
    /// Of make, to start and reap its shell.
    pub make: Nanos,
    /// Of the shell.
    pub sh: Nanos,
    /// Of the gcc driver: before cc1, between cc1 and as, after both.
    pub gcc: [Nanos; 3],
    /// Of cc1, in user mode: before its first write, from there to its last, after it.
    pub cc1: [Nanos; 3],
    /// What cc1 reads before its first write.
    pub reads: Vec<Read>,
    /// Of as.
    pub assembler: AsWork,
    /// Of each helper.
    pub helpers: Vec<Nanos>,
}

/// The work of one as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AsWork {
    /// Length of its input.
    pub bytes: u64,
    /// Before its first read.
    pub start: Nanos,
    /// For taking in one piece.
    pub read: Nanos,
    /// For parsing one full buffer.
    pub parse: Nanos,
    /// After the end of input.
    pub finish: Nanos,
}

impl AsWork {
    fn new(bytes: u64, scale: impl Fn(Nanos) -> Nanos) -> AsWork {
        let rest = bytes % costs::AS_BUFFER;
        let finish = costs::AS_WRITE + Nanos(bytes * costs::AS_WRITE_NS + rest * costs::AS_PARSE_NS);
        AsWork {
            bytes,
            start: scale(costs::AS_START),
            read: scale(costs::AS_READ),
            parse: scale(Nanos(costs::AS_BUFFER * costs::AS_PARSE_NS)),
            finish: scale(finish),
        }
    }
    /// Number of pieces the text is handed over in.
    pub(super) fn pieces(&self) -> u64 {
        self.bytes.div_ceil(costs::PIECE)
    }
    /// Length of piece `i`.
    pub(super) fn piece(&self, i: u64) -> u64 {
        (self.bytes - i * costs::PIECE).min(costs::PIECE)
    }
    /// Whether piece `i` fills the buffer.
    pub(super) fn fills_buffer(&self, i: u64) -> bool {
        let taken_in = i * costs::PIECE + self.piece(i);
        taken_in.is_multiple_of(costs::AS_BUFFER)
    }
    /// All of it.
    pub(super) fn total(&self) -> Nanos {
        let buffers = self.bytes / costs::AS_BUFFER;
        self.start + Nanos(self.read.0 * self.pieces()) + Nanos(self.parse.0 * buffers) + self.finish
    }
}

impl ObjectWork {
    /// The draws of object `k`: they depend on the seed, the name of the build and `k`, and on nothing else.
    pub(super) fn draw(spec: &KernelCompile, seed: u64, k: u32) -> ObjectWork {
        let path = format!("{}/obj#{k}", spec.name);
        let draw =
            |dist: &Dist, who: &str| dist.sample(&mut rng::stream(seed, &format!("{path}/{who}"), "run"));
        let scale = |n: Nanos| spec.scaled(n);
        let kind = spec.mix.map_or(Kind::Compile, |mix| mix.draw(&mut rng::stream(seed, &path, "kind")));
        let (cc1, bytes) = match kind {
            Kind::Compile => {
                let cc1 = draw(&spec.cc1, "cc1");
                (cc1, costs::assembler_bytes(cc1))
            }
            Kind::Assemble | Kind::Script => (costs::PREPROCESS, costs::ASSEMBLER_SOURCE_BYTES),
        };
        let wrap_up = costs::cc1_wrap_up(cc1);
        let front = costs::cc1_front(cc1).min(cc1.saturating_sub(wrap_up));
        let rest = cc1.saturating_sub(front).saturating_sub(wrap_up);
        let gcc = scale(draw(&spec.gcc, "gcc"));
        let before = percent(gcc, costs::GCC_BEFORE);
        let between = percent(gcc, costs::GCC_BETWEEN);
        let helper = |(i, h): (usize, &super::Helper)| scale(draw(&h.work, &format!("helper#{i}")));
        let reads = reads(spec, seed, &path, k, scale(front));
        let scans = reads.iter().map(|r| r.scan).sum();
        ObjectWork {
            kind,
            make: scale(draw(&spec.make_job, "make")),
            sh: scale(draw(&spec.sh, "sh")),
            gcc: [before, between, gcc.saturating_sub(before).saturating_sub(between)],
            cc1: [scale(front).saturating_sub(scans), scale(rest), scale(wrap_up)],
            reads,
            assembler: AsWork::new(bytes, scale),
            helpers: spec.helpers.iter().enumerate().map(helper).collect(),
            path,
        }
    }
    /// CPU time of everything the object needs.
    pub(super) fn total(&self) -> Nanos {
        let recipe = [self.make, self.sh].into_iter().chain(self.helpers.iter().copied());
        if self.kind == Kind::Script {
            return recipe.sum();
        }
        let compiler = self.cc1.into_iter().chain(self.reads.iter().map(|r| r.scan));
        recipe.chain(self.gcc).chain([self.assembler.total()]).chain(compiler).sum()
    }
}

impl KernelCompile {
    /// CPU time on the machine to be simulated, never above [`MAX_DURATION`].
    pub(super) fn scaled(&self, n: Nanos) -> Nanos {
        Nanos((n.0 as f64 * self.work_scale + 0.5) as u64).min(MAX_DURATION)
    }
    /// CPU time of the make at `path` before its first job.
    pub(super) fn make_start_work(&self, seed: u64, path: &str) -> Nanos {
        self.scaled(self.make_start.sample(&mut rng::stream(seed, path, "start")))
    }
    /// CPU time of a step of the build that may be left out, as what `who` runs.
    pub(super) fn step_work(&self, seed: u64, step: Option<&Dist>, who: &str) -> Option<Nanos> {
        step.map(|work| self.scaled(work.sample(&mut rng::stream(seed, who, "run"))))
    }
    /// CPU time of the link.
    pub(super) fn link_work(&self, seed: u64) -> Nanos {
        let mut stream = rng::stream(seed, &format!("{}/ld", self.name), "run");
        let objects = self.link_object.sample(&mut stream).0.saturating_mul(u64::from(self.objects));
        self.scaled(Nanos(self.link_start.sample(&mut stream).0.saturating_add(objects)))
    }
}

/// What the compiler of object `k` reads; the kernel's part is not more than `front`, the work it is part of.
fn reads(spec: &KernelCompile, seed: u64, path: &str, k: u32, front: Nanos) -> Vec<Read> {
    let who = format!("{path}/cc1");
    let cold = spec.page_cache == PageCache::Cold;
    let mut sleeps = rng::stream(seed, &who, "sleep");
    let mut sleep = || Some(spec.io_sleep.sample(&mut sleeps));
    let waits = spec.io_sleeps + u32::from(cold);
    let mut reads: Vec<Read> = (0..waits).map(|_| Read { sleep: sleep(), scan: Nanos::ZERO }).collect();
    if let Some(headers) = &spec.headers {
        let mut stream = rng::stream(seed, &who, "headers");
        let first = if cold { headers.first_reads(k, &mut stream) } else { 0 };
        let most = Nanos(front.0 / u64::from(headers.count));
        // First reads lie evenly among the others.
        let is_first = |i: u32| upto(first, i + 1, headers.count) > upto(first, i, headers.count);
        reads.extend((0..headers.count).map(|i| Read {
            sleep: if is_first(i) { sleep() } else { None },
            scan: spec.scaled(headers.scan.sample(&mut stream)).min(most),
        }));
    }
    reads
}

/// The first `i` of `n` shares of a whole number, rounded down.
fn upto(whole: u32, i: u32, n: u32) -> u64 {
    u64::from(whole) * u64::from(i) / u64::from(n)
}

fn percent(n: Nanos, percent: u64) -> Nanos {
    Nanos((u128::from(n.0) * u128::from(percent) / 100) as u64)
}

/// Part `i` of `total` cut in `n` parts that differ by at most a nanosecond and add up exactly.
pub(super) fn part(total: Nanos, i: u64, n: u64) -> Nanos {
    let upto = |i: u64| (u128::from(total.0) * u128::from(i) / u128::from(n)) as u64;
    Nanos(upto(i + 1) - upto(i))
}
