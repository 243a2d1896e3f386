//! UDP: a receive buffer that overflows.

use std::collections::VecDeque;

/// What a datagram takes beside its bytes: a descriptor, headers and shared state. Measured under Linux 6.1 by how many fit:
/// 768 bytes for 1 byte, 1280 for 256, 2304 for 1024, 8448 for 4096.
const DESCRIPTOR: u64 = 256;
const HEADERS: u64 = 64 + 320;

/// Datagrams on their way to one socket. A sender never waits: what does not fit is lost.
#[derive(Debug, Clone)]
pub struct UdpFlow {
    rcvbuf: u64,
    rmem: u64,
    /// Taken by the reader and not given back yet.
    taken: u64,
    /// Not yet looked at by the reader.
    arrived: VecDeque<Datagram>,
    /// The reader's own queue: it takes all that has arrived when this is empty.
    reading: VecDeque<Datagram>,
    /// Datagrams lost.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy)]
struct Datagram {
    bytes: u64,
    size: u64,
}

/// Memory a datagram takes: its data lies in a block of a power of two.
fn size_of(bytes: u64) -> u64 {
    DESCRIPTOR + (bytes + HEADERS).next_power_of_two()
}

/// Memory that a frame of a network card takes, whatever it holds: its buffer is made for the largest frame before it is
/// known what comes. Deviates: D-273.
pub fn frame_memory() -> u64 {
    size_of(1500)
}

impl UdpFlow {
    /// An empty socket whose receive buffer is this large as the kernel accounts it.
    pub fn new(rcvbuf: u64) -> UdpFlow {
        let (arrived, reading) = (VecDeque::new(), VecDeque::new());
        UdpFlow { rcvbuf, rmem: 0, taken: 0, arrived, reading, dropped: 0 }
    }

    /// A datagram comes over loopback; false when it is lost because the buffer is over its limit.
    pub fn arrive(&mut self, bytes: u64) -> bool {
        self.arrive_in(bytes, size_of(bytes))
    }

    /// A datagram comes in memory of this size; false when it is lost because the buffer is over its limit.
    pub fn arrive_in(&mut self, bytes: u64, size: u64) -> bool {
        if self.rmem > self.rcvbuf {
            self.dropped += 1;
            return false;
        }
        self.rmem += size;
        self.arrived.push_back(Datagram { bytes, size });
        true
    }

    /// Whether there is a datagram.
    pub fn is_readable(&self) -> bool {
        !self.arrived.is_empty() || !self.reading.is_empty()
    }

    /// Reads a datagram: its bytes. Its memory is given back when a quarter of the buffer has been read, or all.
    pub fn read(&mut self) -> Option<u64> {
        if self.reading.is_empty() {
            std::mem::swap(&mut self.reading, &mut self.arrived);
        }
        let Datagram { bytes, size } = self.reading.pop_front()?;
        self.taken += size;
        if self.taken >= self.rcvbuf / 4 || self.reading.is_empty() {
            self.rmem -= std::mem::take(&mut self.taken);
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted under Linux 6.1 with a receive buffer of 425984 bytes.
    #[test]
    fn as_many_fit_as_on_a_real_kernel() {
        for (bytes, fit) in [(1, 555), (256, 333), (1024, 185), (4096, 51)] {
            let mut flow = UdpFlow::new(425_984);
            assert_eq!((0..2000).filter(|_| flow.arrive(bytes)).count(), fit, "{bytes}");
            assert_eq!(flow.dropped, 2000 - fit as u64);
        }
    }

    #[test]
    fn memory_comes_back_in_quarters_or_with_the_last() {
        let mut flow = UdpFlow::new(425_984);
        (0..333).for_each(|_| assert!(flow.arrive(256)));
        assert!(!flow.arrive(256));
        for _ in 0..83 {
            flow.read();
            assert!(!flow.arrive(256), "less than a quarter was read");
        }
        flow.read();
        assert!(flow.arrive(256));
        let mut few = UdpFlow::new(425_984);
        (0..3).for_each(|_| assert!(few.arrive(256)));
        (0..3).for_each(|_| assert_eq!(few.read(), Some(256)));
        assert_eq!((few.rmem, few.read()), (0, None));
    }
}
