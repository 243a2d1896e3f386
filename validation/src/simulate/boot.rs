//! What a machine with several CPUs did before the driver started: the shell has just started one program after another, on
//! this CPU and that, and what the programs left keeps the idle CPUs ticking (RCU callbacks). So every CPU has balanced for
//! itself until now, found nothing to do, and waits for as long as its domains allow. When exactly it last did so is not
//! known: it differs by seed.

use crate::capture::spec::{LabRandom, Span};
use crate::capture::{Capture, clock::TICK_NS, trace::TraceKind};
use sim_core::machine::KeptTicks;
use sim_core::{CpuId, Instant, Nanos};

/// From the machine's start to that of the driver: long enough for the intervals of every domain to have doubled.
const BOOT: Nanos = Nanos::from_millis(96);
/// A CPU's last tick comes up to so many ticks before the driver's start.
const TICKS_BEFORE: u64 = 2;
/// A tick's handler has begun this long after its timer, ns: each CPU of the emulator waits for the others' slices.
const HANDLED_WITHIN: u64 = 40_000;

/// When the machine is ready for the driver, after its start.
pub(super) fn boot_ends() -> Nanos {
    BOOT
}

/// Ticks of idle CPUs before the driver's start.
pub(super) fn before_the_driver(cpus: u32, seed: u32) -> Vec<KeptTicks> {
    let mut random = LabRandom::for_seed(seed.into());
    let mut of = |cpu: u32| {
        let early = random.pick(Span { lo: 0, hi: TICKS_BEFORE });
        KeptTicks { cpu: CpuId(cpu), from: Instant::ZERO, until: Instant(BOOT.0 - early * TICK_NS) }
    };
    (0..cpus).map(&mut of).collect()
}

/// Ticks of idle CPUs that a trace shows. `to_sim` turns a trace stamp into simulated time.
pub(super) fn shown(capture: &Capture, to_sim: impl Fn(u64) -> Option<Instant>) -> Vec<KeptTicks> {
    let left_idle = |kind: &TraceKind| matches!(kind, TraceKind::Idle(None));
    let ticks = capture.trace.events.iter().filter(|e| left_idle(&e.kind)).filter_map(|e| {
        let since = capture.clock.since_tick(e.at_ns).filter(|ns| *ns < HANDLED_WITHIN)?;
        let at = to_sim(e.at_ns - since)?;
        Some(KeptTicks { cpu: CpuId(e.cpu), from: at, until: at + Nanos(1) })
    });
    ticks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_ticks_until_shortly_before_the_driver_by_seed() {
        let of = |seed| before_the_driver(8, seed);
        for kept in (0..9).map(of) {
            assert_eq!(kept.len(), 8);
            let near = |k: &KeptTicks| k.until.0 <= BOOT.0 && BOOT.0 - k.until.0 <= TICKS_BEFORE * TICK_NS;
            assert!(kept.iter().all(near), "{kept:?}");
        }
        assert_eq!(of(1), of(1));
        assert!((1..9).any(|seed| of(seed) != of(0)));
    }
}
