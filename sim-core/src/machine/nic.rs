//! A network card with several receive queues, the line to it, and the kernel's budgets for its packets.

use crate::id::CpuId;
use crate::time::Nanos;
use serde::Serialize;

/// A network card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NicConfig {
    /// By receive queue, the CPU that is interrupted. A connection belongs to one queue: the first to the first, and so on.
    pub queues: Vec<CpuId>,
    /// Frames that a queue holds (`ethtool -g`). Default of i40e and ixgbe: 512.
    pub ring: u32,
    /// From the first frame to the interrupt (`ethtool -C rx-usecs`). Deviates: D-272.
    pub rx_usecs: Nanos,
    /// Frames after which the interrupt comes at once (`ethtool -C rx-frames`); 0 for any number.
    pub rx_frames: u32,
    /// Rate of the line, 10^6 bits per second.
    pub line_mbit: u32,
    /// From the other machine to this one, one way. Deviates: D-272.
    pub latency: Nanos,
    /// Full segments of one connection that come together are merged before the protocols see them.
    pub gro: bool,
    /// Frames per round of the receiving softirq (`net.core.netdev_budget`).
    pub budget: u32,
    /// Time per round (`net.core.netdev_budget_usecs`).
    pub budget_time: Nanos,
    /// Frames per poll of a queue (`net.core.dev_weight`).
    pub weight: u32,
}

impl NicConfig {
    /// The most receive queues of a card that is not described.
    pub const QUEUES: u32 = 8;

    /// A 10 Gbit/s card of a machine with so many CPUs: a queue a CPU, up to 8. Budgets: the kernel's defaults
    /// (Documentation/admin-guide/sysctl/net.rst).
    pub fn typical(cpus: u32) -> NicConfig {
        NicConfig {
            queues: (0..cpus.clamp(1, NicConfig::QUEUES)).map(CpuId).collect(),
            ring: 512,
            rx_usecs: Nanos::from_micros(20),
            rx_frames: 0,
            line_mbit: 10_000,
            latency: Nanos::from_micros(10),
            gro: true,
            budget: 300,
            budget_time: Nanos::from_millis(2),
            weight: 64,
        }
    }

    /// How long bytes with these headers, in so many frames, keep the line busy.
    pub fn line_time(&self, bytes: u64, frames: u32, headers: u64) -> Nanos {
        let on_wire = bytes.saturating_add(headers.saturating_mul(u64::from(frames)));
        let bits = on_wire.max(LEAST.saturating_mul(u64::from(frames))).saturating_mul(8);
        Nanos((bits.saturating_mul(1000) / u64::from(self.line_mbit.max(1))).max(1))
    }
}

/// The shortest frame on the wire, preamble and gap included (IEEE 802.3: 64 + 8 + 12).
const LEAST: u64 = 84;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_takes_its_time_and_no_frame_less_than_the_shortest() {
        let nic = NicConfig::typical(16);
        assert_eq!(nic.queues.len(), 8);
        // 1538 bytes at 10 Gbit/s.
        assert_eq!(nic.line_time(1448, 1, 90), Nanos(1230));
        assert_eq!(nic.line_time(1, 1, 66), Nanos(67));
        assert_eq!(nic.line_time(u64::MAX, 1, 90), Nanos(u64::MAX / 10_000));
    }
}
