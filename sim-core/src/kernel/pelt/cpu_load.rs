//! `cpu_load[]`: the runnable load of a CPU seen through ever slower averages (4.19; smp.md §2.7).

use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::time::Instant;

/// Averages kept, the present load included (`CPU_LOAD_IDX_MAX`).
const INDEXES: usize = 5;
/// Powers of two of missed ticks that the table covers.
const POWERS: usize = 7;
/// After so many missed ticks nothing is left.
const FULL_DECAY: u64 = 1 << POWERS;

/// What 2^j idle ticks leave of average i, of 128: ((s−1)/s)^(2^j), s = 2^i.
const DEGRADE: [[u64; POWERS]; INDEXES] = factors();

const fn factors() -> [[u64; POWERS]; INDEXES] {
    const ONE: u128 = 1 << 62;
    let mut table = [[0; POWERS]; INDEXES];
    let mut i = 1;
    while i < INDEXES {
        let (mut factor, mut j) = (ONE - (ONE >> i), 0);
        while j < POWERS {
            table[i][j] = ((factor * 128) >> 62) as u64;
            factor = (factor * factor) >> 62;
            j += 1;
        }
        i += 1;
    }
    table
}

/// What missed ticks leave of average `index`.
///
/// Mirrors: `decay_load_missed()`, v4.19.
fn decay_missed(mut load: u64, missed: u64, index: usize) -> u64 {
    if missed >= FULL_DECAY {
        return 0;
    }
    for (j, factor) in DEGRADE[index].iter().enumerate() {
        if missed >> j & 1 == 1 {
            load = load * factor / 128;
        }
    }
    load
}

/// One update after `ticks` ticks, all but the last of them idle.
///
/// Mirrors: `cpu_load_update()`, v4.19.
fn update(loads: &mut [u64; INDEXES], load: u64, ticks: u64) {
    loads[0] = load;
    for (i, kept) in loads.iter_mut().enumerate().skip(1) {
        let old = decay_missed(*kept, ticks - 1, i);
        let scale = 1 << i;
        // Rising loads are rounded up, so that they arrive.
        let new = if load > old { load + scale - 1 } else { load };
        *kept = (old * (scale - 1) + new) / scale;
    }
}

impl<H: Hooks> Kernel<H> {
    /// At a tick, or on behalf of a CPU that idles without ticks: takes the present load into the averages. At most once per
    /// jiffy; jiffies without an update were idle.
    ///
    /// Mirrors: `cpu_load_update_active()`, `cpu_load_update_idle()`, `cpu_load_update_nohz_stop()`, v4.19.
    pub fn cpu_load_update(&mut self, cpu: CpuId, now: Instant) {
        if !self.config.rules.pelt.cpu_load_array || !self.tracks_load() {
            return;
        }
        let (load, jiffies) = (self.cpu_load(cpu), self.jiffies(now));
        let pelt = &mut self.rqs[cpu.index()].pelt;
        let ticks = jiffies.saturating_sub(pelt.last_load_update);
        if ticks > 0 {
            pelt.last_load_update = jiffies;
            update(&mut pelt.cpu_load, load, ticks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// smp.md §2.7: each step by the formula given there.
    #[test]
    fn one_tick_of_each_average() {
        let mut loads = [0; INDEXES];
        update(&mut loads, 1024, 1);
        // (0 · (s−1) + 1024 + s − 1) / s
        assert_eq!(loads, [1024, 512, 256, 128, 64]);
        update(&mut loads, 1024, 1);
        assert_eq!(loads, [1024, 768, 448, 240, 124]);
        update(&mut loads, 0, 1);
        assert_eq!(loads, [0, 384, 336, 210, 116]);
    }

    /// A lasting load is reached exactly, and idle time forgets it.
    #[test]
    fn rises_to_the_load_and_falls_to_nothing() {
        let mut loads = [0; INDEXES];
        for _ in 0..200 {
            update(&mut loads, 1000, 1);
        }
        assert_eq!(loads, [1000; INDEXES]);
        update(&mut loads, 0, 129);
        assert_eq!(loads, [0; INDEXES]);
    }

    /// Missed ticks decay as so many idle ticks would, but for the rounding of a factor of 128 each.
    #[test]
    fn missed_ticks_are_idle_ticks() {
        for missed in 0..127u64 {
            for index in 1..INDEXES {
                let exact = 10_000.0 * (1.0 - 0.5f64.powi(index as i32)).powi(missed as i32);
                let kept = decay_missed(10_000, missed, index) as f64;
                // Each of up to seven factors is rounded down by less than 1/128 of the load it is applied to.
                assert!(kept <= exact && exact - kept < 7.0 * 10_000.0 / 128.0 + 7.0, "{missed} {index}");
            }
        }
        assert_eq!(DEGRADE[2], [96, 72, 40, 12, 1, 0, 0]);
    }
}
