//! Named costs: one table with the meaning, the source, the presets and the ranges of each. A range comes from the source
//! where that gives one; an assumption may be off by a factor of two either way.

mod preset;
mod uncertain;

pub use preset::Preset;

use crate::time::Nanos;
use serde::Serialize;

macro_rules! cost_table {
    ($($(#[doc = $doc:literal])+ $field:ident [$source:literal]
        $bare:literal in $bare_low:literal..$bare_high:literal, $guest:literal in $guest_low:literal..$guest_high:literal)*) => {
        /// What kernel and hardware paths cost: CPU time or delay, each explicit. All zero is the textbook scheduler.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub struct Costs {
            $($(#[doc = $doc])+
            #[doc = ""]
            #[doc = concat!("Source: ", $source, ".")]
            pub $field: Nanos,)*
        }

        /// One row of the table of costs.
        #[derive(Clone, Copy, Debug)]
        pub struct Cost {
            /// Name in scenarios.
            pub name: &'static str,
            /// What it is.
            pub about: &'static str,
            /// Where the default comes from.
            pub source: &'static str,
            /// Default on bare metal.
            pub bare_metal: Estimated,
            /// Default in a guest.
            pub guest: Estimated,
        }

        impl Costs {
            /// All costs with their sources.
            pub const TABLE: &'static [Cost] = &[$(Cost {
                name: stringify!($field),
                about: concat!($($doc),+),
                source: $source,
                bare_metal: Estimated { value: Nanos($bare), low: Nanos($bare_low), high: Nanos($bare_high) },
                guest: Estimated { value: Nanos($guest), low: Nanos($guest_low), high: Nanos($guest_high) },
            }),*];

            /// A preset.
            pub const fn preset(preset: Preset) -> Costs {
                match preset {
                    Preset::Zero => Costs { $($field: Nanos::ZERO),* },
                    Preset::BareMetal => Costs { $($field: Nanos($bare)),* },
                    Preset::Guest => Costs { $($field: Nanos($guest)),* },
                }
            }

            /// Sets one cost by name.
            ///
            /// # Errors
            /// When there is no such cost.
            pub fn set(&mut self, name: &str, value: Nanos) -> Result<(), UnknownCost> {
                match name {
                    $(stringify!($field) => self.$field = value,)*
                    _ => return Err(UnknownCost { found: name.to_owned() }),
                }
                Ok(())
            }

            /// The same where every path takes `times` as long. How fast interrupts come, and idle CPUs with them, and
            /// timers' slack stay.
            #[must_use]
            pub fn slowed(&self, times: u32) -> Costs {
                let slow = |ns: Nanos| Nanos(ns.0.saturating_mul(u64::from(times)));
                Costs {
                    timer_irq: self.timer_irq,
                    ipi: self.ipi,
                    idle_exit: self.idle_exit,
                    timer_slack: self.timer_slack,
                    ..Costs { $($field: slow(self.$field)),* }
                }
            }

            /// All costs by name.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, Nanos)> {
                [$((stringify!($field), self.$field)),*].into_iter()
            }
        }
    };
}

cost_table! {
    /// From a timer's expiry to the handler's clock sample.
    timer_irq ["interrupt delivery; in a guest the timer interrupt is injected by a VM exit; assumption of 0.5 and 2 us"]
        500 in 250..1000, 2000 in 1000..4000
    /// Time a tick's handler takes from the running task.
    tick ["assumption: 1 us bare metal, 3 us in a guest"]
        1000 in 500..2000, 3000 in 1500..6000
    /// From a tick's clock sample to that of the `__schedule` it causes: at 6 ns it already costs a whole tick (see README).
    tick_to_switch ["1 to 10 us by the model of Linux kernel preemption; about 3 us seen on real 5.10 and 6.1 kernels at one instruction per ns"]
        2000 in 1000..10000, 4000 in 1000..10000
    /// From the end of an interrupt handler to the `__schedule` it causes.
    irq_exit ["rest of the interrupt return path; assumption"]
        300 in 150..600, 300 in 150..600
    /// Wake-up path: choosing a CPU, enqueueing, checking preemption.
    wakeup ["assumption of 0.7 us; select, enqueue and preemption check are of the order of a switch's scheduler part, 0.3 to 0.6 us"]
        700 in 300..1400, 700 in 300..1400
    /// A context switch, charged to the incoming task.
    context_switch ["direct cost 1.1 to 1.5 us between threads on a current x86 (pipe ping-pong), 1.5 to 2.5 us between processes"]
        1500 in 1100..2500, 1500 in 1100..2500
    /// The same between threads of one process, which share their page tables.
    thread_switch ["direct cost 1.1 to 1.5 us between threads on a current x86 (pipe ping-pong)"]
        1300 in 1100..1500, 1300 in 1100..1500
    /// From the wake-up on an idle CPU to its `__schedule`.
    idle_exit ["shallow idle state (C1) about 2 us; a halted virtual CPU is woken through the hypervisor, 10 to 50 us"]
        2000 in 1000..4000, 20000 in 10000..50000
    /// From sending an interrupt to another CPU until its handler runs.
    ipi ["0.5 to 1.5 us bare metal, 2 to 10 us in a guest"]
        1000 in 500..1500, 5000 in 2000..10000
    /// Entering the kernel by a system call.
    syscall_entry ["a system call with side-channel mitigations takes about 0.2 to 0.4 us in all; assumption: half each way"]
        150 in 100..200, 150 in 100..200
    /// Returning from a system call.
    syscall_exit ["see syscall_entry"]
        150 in 100..200, 150 in 100..200
    /// Work of a sleep call before it blocks.
    sleep ["assumption"]
        500 in 250..1000, 500 in 250..1000
    /// Work of a pipe read or write beside the wake-up.
    pipe ["assumption: pipe ping-pong takes 1.1 us a turn and thread, the switch included"]
        400 in 200..800, 400 in 200..800
    /// Copying one KiB into or out of a pipe.
    pipe_kib ["assumption: 10 GB/s, a warm copy on a current core"]
        100 in 50..200, 100 in 50..200
    /// Work of a TCP send call that adds to a buffer, beside copying.
    tcp_send ["1528 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        510 in 255..1020, 510 in 255..1020
    /// A new buffer for a TCP segment.
    tcp_buffer ["2303 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        770 in 385..1540, 770 in 385..1540
    /// A TCP segment on its way through loopback into the receive queue, the receiving softirq included.
    tcp_segment ["6450 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        2150 in 1075..4300, 2150 in 1075..4300
    /// An acknowledgement of its own, the softirq that takes it in included.
    tcp_ack ["7500 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        2500 in 1250..5000, 2500 in 1250..5000
    /// A buffer of the sender is let go of when it is acknowledged.
    tcp_free ["640 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        210 in 105..420, 210 in 105..420
    /// Work of a TCP receive call, beside copying.
    tcp_receive ["1075 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        360 in 180..720, 360 in 180..720
    /// A received buffer is let go of when it is read.
    tcp_consume ["230 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        80 in 40..160, 80 in 40..160
    /// Work of a UDP send call into the receive queue, the softirq included, beside copying.
    udp_send ["7357 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        2450 in 1225..4900, 2450 in 1225..4900
    /// Work of a UDP receive call, beside copying.
    udp_receive ["1266 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        420 in 210..840, 420 in 210..840
    /// A frame from another machine on its way through the driver's poll.
    net_poll ["driver and buffer for one frame; assumption of 0.3 us: a core forwards 1 to 3 million frames a second"]
        300 in 150..600, 400 in 200..800
    /// The interrupt handler of a network card, which starts the softirq.
    net_irq ["assumption: as a tick's handler; in a guest the interrupt is injected by a VM exit"]
        1000 in 500..2000, 3000 in 1500..6000
    /// What the protocols do for a segment from another machine, up to the receive queue.
    tcp_input ["half of tcp_segment, which is both ways; assumption"]
        1075 in 540..2150, 1075 in 540..2150
    /// The same for a datagram.
    udp_input ["half of udp_send, which is both ways; assumption"]
        1225 in 610..2450, 1225 in 610..2450
    /// A frame sent to another machine: a segment, a datagram, an acknowledgement.
    net_send ["half of tcp_ack, which is both ways; assumption, with the card's doorbell and the freeing of what was sent"]
        1250 in 625..2500, 1250 in 625..2500
    /// Work of a send call on a unix stream, beside copying.
    unix_send ["2464 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        820 in 410..1640, 820 in 410..1640
    /// Work of a receive call on a unix stream, beside copying.
    unix_receive ["1547 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        520 in 260..1040, 520 in 260..1040
    /// Work of a TCP or UDP call that has to sleep, beside the switch and the wake-up.
    inet_wait ["150 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        50 in 25..100, 50 in 25..100
    /// The same on a unix stream.
    unix_wait ["895 instructions counted in Linux 6.1 (validation/programs); 3 instructions per ns are assumed"]
        300 in 150..600, 300 in 150..600
    /// Work of a futex call beside the wake-up.
    futex ["assumption"]
        300 in 150..600, 300 in 150..600
    /// Creating a process.
    fork ["assumption: fork of a small process, 60 us"]
        60000 in 30000..120000, 80000 in 40000..160000
    /// First steps of a new process before its program goes on.
    fork_child ["assumption: page faults after fork, 20 us"]
        20000 in 10000..40000, 25000 in 12500..50000
    /// Replacing the program image.
    exec ["assumption: exec of a dynamically linked program up to main, 300 us"]
        300000 in 150000..600000, 350000 in 175000..700000
    /// Tearing a process down.
    exit ["assumption: exit of a small process, 60 us"]
        60000 in 30000..120000, 80000 in 40000..160000
    /// Looking at one CPU in a search for an idle one.
    scan_cpu ["one remote cache line of a run queue, 30 to 60 ns, not certain"]
        50 in 30..60, 50 in 30..60
    /// An attempt to balance one scheduling domain, beside what its CPUs cost.
    balance ["0.5 to 1 us for a core's two threads, 2 to 4 us for 12 CPUs, not certain; assumption"]
        700 in 500..1000, 700 in 500..1000
    /// The part of each CPU of the domain in it.
    balance_cpu ["about 0.1 us a CPU, not certain"]
        100 in 50..200, 100 in 50..200
    /// Work of a stopper thread that moves a task, beside its own two switches.
    stopper ["5 to 10 us in all with the switches and the wake-up, not certain; assumption: 3 us of it"]
        3000 in 1500..6000, 4000 in 2000..8000
    /// Changing nice, policy or affinity.
    sched_setattr ["assumption"]
        1000 in 500..2000, 1000 in 500..2000
    /// How late a sleep may end (`timer_slack_ns`): it takes all of it unless another timer interrupt comes within.
    timer_slack ["prctl(2): 50 us for normal tasks"]
        50000 in 50000..50000, 50000 in 50000..50000
}

impl Costs {
    /// No single cost may be larger: a path of kernel or hardware that takes a second is a slip of the pen.
    pub const MAX: Nanos = Nanos::from_secs(1);

    /// Work of a pipe read or write of so many bytes, beside the wake-up.
    pub fn pipe_transfer(&self, bytes: u64) -> Nanos {
        let copy = u128::from(bytes) * u128::from(self.pipe_kib.0) / 1024;
        Nanos(self.pipe.0.saturating_add(u64::try_from(copy).unwrap_or(u64::MAX)))
    }
}

/// A figure and the range it lies in as far as is known; a range of no width is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Estimated {
    /// The figure to start with.
    pub value: Nanos,
    /// Lower end.
    pub low: Nanos,
    /// Upper end.
    pub high: Nanos,
}

impl Cost {
    /// The figure of a preset and its range.
    pub const fn of(&self, preset: Preset) -> Estimated {
        match preset {
            Preset::Zero => Estimated { value: Nanos::ZERO, low: Nanos::ZERO, high: Nanos::ZERO },
            Preset::BareMetal => self.bare_metal,
            Preset::Guest => self.guest,
        }
    }
}

/// A name that is no cost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' is not a cost: allowed are {}", Costs::TABLE.iter().map(|c| c.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownCost {
    /// The name.
    pub found: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_can_be_set_by_its_name() {
        let mut costs = Costs::preset(Preset::Zero);
        for row in Costs::TABLE {
            costs.set(row.name, Nanos(7)).unwrap();
            assert!(!row.source.is_empty() && !row.about.is_empty());
            for preset in Preset::ALL {
                let Estimated { value, low, high } = row.of(preset);
                assert!(low <= value && value <= high, "{}", row.name);
            }
        }
        assert!(costs.iter().all(|(_, v)| v == Nanos(7)));
        assert!(costs.set("coffee", Nanos(1)).unwrap_err().to_string().contains("tick_to_switch"));
    }
}
