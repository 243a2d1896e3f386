//! What one object file asks for: all its random draws, made from its path alone.

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
    /// Of make, to start and reap its shell.
    pub make: Nanos,
    /// Of the shell.
    pub sh: Nanos,
    /// Of the gcc driver: before cc1, between cc1 and as, after both.
    pub gcc: [Nanos; 3],
    /// Of cc1: before its first write, from there to its last, after it.
    pub cc1: [Nanos; 3],
    /// Sleeps of cc1 while it reads its input.
    pub io: Vec<Nanos>,
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
        let cc1 = draw(&spec.cc1, "cc1");
        let wrap_up = costs::cc1_wrap_up(cc1);
        let front = costs::cc1_front(cc1).min(cc1.saturating_sub(wrap_up));
        let rest = cc1.saturating_sub(front).saturating_sub(wrap_up);
        let gcc = scale(draw(&spec.gcc, "gcc"));
        let before = percent(gcc, costs::GCC_BEFORE);
        let between = percent(gcc, costs::GCC_BETWEEN);
        let mut io = rng::stream(seed, &format!("{path}/cc1"), "sleep");
        let helper = |(i, h): (usize, &super::Helper)| scale(draw(&h.work, &format!("helper#{i}")));
        ObjectWork {
            make: scale(draw(&spec.make_job, "make")),
            sh: scale(draw(&spec.sh, "sh")),
            gcc: [before, between, gcc.saturating_sub(before).saturating_sub(between)],
            cc1: [scale(front), scale(rest), scale(wrap_up)],
            io: (0..spec.io_sleeps).map(|_| spec.io_sleep.sample(&mut io)).collect(),
            assembler: AsWork::new(costs::assembler_bytes(cc1), scale),
            helpers: spec.helpers.iter().enumerate().map(helper).collect(),
            path,
        }
    }
    /// CPU time of everything the object needs.
    pub(super) fn total(&self) -> Nanos {
        let parts = [self.make, self.sh, self.assembler.total()].into_iter();
        parts.chain(self.gcc).chain(self.cc1).chain(self.helpers.iter().copied()).sum()
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
    /// CPU time of the link.
    pub(super) fn link_work(&self, seed: u64) -> Nanos {
        let mut stream = rng::stream(seed, &format!("{}/ld", self.name), "run");
        let objects = self.link_object.sample(&mut stream).0.saturating_mul(u64::from(self.objects));
        self.scaled(Nanos(self.link_start.sample(&mut stream).0.saturating_add(objects)))
    }
}

fn percent(n: Nanos, percent: u64) -> Nanos {
    Nanos((u128::from(n.0) * u128::from(percent) / 100) as u64)
}

/// Part `i` of `total` cut in `n` parts that differ by at most a nanosecond and add up exactly.
pub(super) fn part(total: Nanos, i: u64, n: u64) -> Nanos {
    let upto = |i: u64| (u128::from(total.0) * u128::from(i) / u128::from(n)) as u64;
    Nanos(upto(i + 1) - upto(i))
}
