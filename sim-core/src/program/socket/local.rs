//! Unix stream sockets: what is written is in the reader's queue at once and counts as the writer's until it is read.

use std::collections::VecDeque;

/// What a message takes beside its bytes. Measured under Linux 6.1 by how many fit into 212992 bytes: 278 of 1 or of 100
/// bytes, 167 of 256, 93 of 1024, 44 of 4096.
const DESCRIPTOR: u64 = 256;
const SHARED: u64 = 320;
/// Of a message, what lies in the first block; the rest is in pages.
const LINEAR: u64 = 192;
/// From here on a message uses pages.
const LARGE: u64 = 3776;

/// One direction of a unix stream socket.
#[derive(Debug, Clone)]
pub struct UnixFlow {
    sndbuf: u64,
    wmem: u64,
    messages: VecDeque<(u64, u64)>,
    /// The bytes in it.
    pub readable: u64,
}

fn size_of(bytes: u64) -> u64 {
    if bytes > LARGE {
        return DESCRIPTOR + (LINEAR + SHARED).next_power_of_two() + bytes.next_multiple_of(4096);
    }
    DESCRIPTOR + (bytes + SHARED).next_power_of_two()
}

impl UnixFlow {
    /// An empty direction.
    pub fn new(sndbuf: u64) -> UnixFlow {
        UnixFlow { sndbuf, wmem: 0, messages: VecDeque::new(), readable: 0 }
    }

    /// Whether a message may be written.
    pub fn writable(&self) -> bool {
        self.wmem < self.sndbuf
    }

    /// Takes a message in.
    pub fn write(&mut self, bytes: u64) {
        let size = size_of(bytes);
        self.messages.push_back((bytes, size));
        self.wmem += size;
        self.readable += bytes;
    }

    /// Reads up to `max` bytes: how many, and whether writers that sleep are woken. That happens with each message that is
    /// read to its end while no more than a quarter of the send buffer is in use (unix(7) says nothing of it; measured
    /// with hackbench).
    pub fn read(&mut self, max: u64) -> (u64, bool) {
        let (mut left, mut wakes) = (max, false);
        while let Some((bytes, size)) = self.messages.front_mut().filter(|_| left > 0) {
            let part = left.min(*bytes);
            *bytes -= part;
            left -= part;
            if *bytes == 0 {
                self.wmem -= *size;
                self.messages.pop_front();
                wakes |= self.wmem * 4 <= self.sndbuf;
            }
        }
        self.readable -= max - left;
        (max - left, wakes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_fit_as_on_a_real_kernel() {
        for (bytes, fit) in [(1, 278), (100, 278), (1024, 93), (4096, 44)] {
            let mut flow = UnixFlow::new(212_992);
            let mut n = 0;
            while flow.writable() {
                flow.write(bytes);
                n += 1;
            }
            assert_eq!(n, fit, "{bytes}");
        }
    }

    #[test]
    fn reads_cross_messages_and_writers_wait_for_three_quarters() {
        let mut flow = UnixFlow::new(212_992);
        (0..278).for_each(|_| flow.write(100));
        assert_eq!(flow.read(150), (150, false));
        let mut reads = 0;
        while !flow.read(100).1 {
            reads += 1;
        }
        // 69 messages are a quarter.
        assert_eq!(reads, 278 - 1 - 69 - 1);
        assert_eq!(flow.readable, 278 * 100 - 150 - 100 * (reads + 1));
    }
}
