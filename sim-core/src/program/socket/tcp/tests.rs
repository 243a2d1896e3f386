//! Held against the system calls of one task on both ends, as they were counted under Linux 6.1
//! (`validation/programs/calls-6.1.txt`): which sends transmit, which reads acknowledge, how much fits.

use super::TcpFlow;

/// Sends messages until the buffer is full: how many, and how many of them transmitted at once.
fn fill(flow: &mut TcpFlow, bytes: u64, most: u32) -> (u32, u32) {
    let (mut n, mut transmitted) = (0, 0);
    while n < most && flow.sender.admit(bytes).0 == bytes {
        let pushed = flow.push();
        n += 1;
        transmitted += u32::from(pushed.segments > 0);
    }
    (n, transmitted)
}

/// Reads message by message to the end: which reads acknowledged, counted from 1.
fn drain(flow: &mut TcpFlow, bytes: u64) -> Vec<u32> {
    let mut acks = Vec::new();
    for n in 1.. {
        if flow.receiver.read(bytes).0 == 0 {
            return acks;
        }
        if flow.wants_ack() {
            acks.push(n);
            flow.acknowledge();
            flow.push();
        }
    }
    acks
}

fn small_buffers() -> TcpFlow {
    TcpFlow::new(16_384, 16_384, true)
}

#[test]
fn a_first_burst_is_bounded_by_the_congestion_window_and_then_merges() {
    let mut flow = small_buffers();
    assert_eq!(fill(&mut flow, 256, 1000), (33, 17));
    assert_eq!(drain(&mut flow, 256), [1, 17]);
}

#[test]
fn later_bursts_are_bounded_by_the_memory_of_small_buffers() {
    let mut flow = small_buffers();
    fill(&mut flow, 256, 1000);
    drain(&mut flow, 256);
    for _ in 0..4 {
        assert_eq!(fill(&mut flow, 256, 1000), (11, 11));
        assert_eq!(drain(&mut flow, 256), [8]);
    }
}

#[test]
fn large_messages_fill_segments_of_half_the_window() {
    let mut flow = small_buffers();
    for _ in 0..5 {
        fill(&mut flow, 4096, 1000);
        drain(&mut flow, 4096);
    }
    assert_eq!(fill(&mut flow, 4096, 1000), (4, 2));
    assert_eq!(drain(&mut flow, 4096), [1, 3, 4]);
}

#[test]
fn single_messages_are_acknowledged_when_read() {
    let mut flow = small_buffers();
    for _ in 0..20 {
        assert_eq!(fill(&mut flow, 256, 1), (1, 1));
        drain(&mut flow, 256);
    }
    assert_eq!(fill(&mut flow, 256, 1), (1, 1));
    assert_eq!(drain(&mut flow, 256), [1]);
}

#[test]
fn answers_carry_acknowledgements() {
    let mut flow = small_buffers();
    for _ in 0..20 {
        fill(&mut flow, 1, 1);
        flow.receiver.read(1);
        flow.answer();
    }
    fill(&mut flow, 1, 1);
    flow.receiver.read(1);
    assert!(!flow.wants_ack());
    assert_eq!(flow.answer(), 1);
}

/// What is sent is read once, whatever the sizes; nothing waits for ever.
#[test]
fn no_sizes_stop_a_stream() {
    for sndbuf in [4608, 16_384, 131_072] {
        for rcvbuf in [2304, 16_384, 131_072, 425_984] {
            for (message, read) in [(1, 1), (256, 256), (1000, 4096), (16_384, 100), (100_000, 65_536)] {
                for nodelay in [false, true] {
                    stream(TcpFlow::new(sndbuf, rcvbuf, nodelay), message, read);
                }
            }
        }
    }
}

fn stream(mut flow: TcpFlow, message: u64, read: u64) {
    let total = (message * 400).min(2_000_000).next_multiple_of(message);
    let (mut written, mut got) = (0, 0);
    while got < total {
        let before = (written, got);
        while written < total && flow.sender.writable() {
            let part = message - written % message;
            written += flow.sender.admit(part).0;
            flow.push();
        }
        while flow.receiver.readable() > 0 {
            got += flow.receiver.read(read).0;
            if flow.wants_ack() {
                flow.acknowledge();
                flow.push();
            }
        }
        assert_ne!((written, got), before, "stuck: {flow:?}");
    }
    assert_eq!((got, flow.receiver.readable()), (total, 0));
}
