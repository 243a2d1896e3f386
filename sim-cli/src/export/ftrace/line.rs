//! The shape of header and lines.

use super::flags::Flags;
use sim_core::kernel::version::Release;
use sim_core::kernel::{KernelConfig, PreemptModel, Profile};
use sim_core::{CpuId, Instant};
use std::fmt::{Arguments, Write};

/// Longest name of a task (`TASK_COMM_LEN` less its end), bytes.
const COMM_BYTES: usize = 15;
/// The first kernel that prints the depth of disabled migration. Source: a 6.1 trace has it and a 5.10 one has not; the
/// kernel's history names 5.15.
const MIGRATE_DISABLE_SINCE: Release = Release::new(5, 15, 0);

/// What differs between kernels and by wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Five letters of flags instead of four.
    pub(crate) migrate_disable: bool,
    /// The kernel counts how deeply preemption is disabled.
    pub(crate) preempt_count: bool,
    /// Nine digits of fraction, as `trace-cmd report -t` shows them, instead of the kernel's six.
    pub(crate) nanoseconds: bool,
}

impl Style {
    /// The style of a kernel. Distributions build kernels from 5.15 on so that the preemption model can be chosen at boot
    /// (`PREEMPT_DYNAMIC`), and then preemption is counted; older ones count it only with `PREEMPT`.
    pub(crate) fn of(kernel: &KernelConfig, nanoseconds: bool) -> Style {
        let recent = Profile::by_name(kernel.profile).is_ok_and(|p| p.release >= MIGRATE_DISABLE_SINCE);
        let preempt_count = recent || kernel.preempt == PreemptModel::Full;
        Style { migrate_disable: recent, preempt_count, nanoseconds }
    }

    /// The comment the kernel writes first. A trace that is streamed cannot know its number of entries: they read 0.
    pub(super) fn header(&self, cpus: u32) -> String {
        let columns = if self.migrate_disable { HEADER_5 } else { HEADER_4 };
        format!("# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:{cpus}\n#\n{columns}")
    }
}

const HEADER_5: &str = "\
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
";

const HEADER_4: &str = "\
#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| /     delay
#           TASK-PID     CPU#  ||||   TIMESTAMP  FUNCTION
#              | |         |   ||||      |         |
";

/// A line under construction; its memory is used again.
#[derive(Debug, Default)]
pub(super) struct Line(String);

impl Line {
    /// A whole line.
    #[expect(clippy::too_many_arguments, reason = "the columns of a line, one by one")]
    pub(super) fn format(
        &mut self,
        style: &Style,
        (comm, pid): (&str, u64),
        cpu: CpuId,
        flags: Flags,
        at: Instant,
        event: &str,
        fields: Arguments<'_>,
    ) -> &str {
        self.0.clear();
        let line = &mut self.0;
        // Writing to a String cannot fail.
        let _ = write!(line, "{comm:>16}-{pid:<7} [{:03}] ", cpu.0);
        line.push(if flags.irqs_off { 'd' } else { '.' });
        line.push(if flags.need_resched { 'N' } else { '.' });
        line.push(flags.context);
        let depth = if style.preempt_count { flags.preempt_depth.min(15) } else { 0 };
        line.push(char::from_digit(depth, 16).filter(|d| *d != '0').unwrap_or('.'));
        if style.migrate_disable {
            line.push('.');
        }
        let _ = if style.nanoseconds {
            write!(line, " {:>5}.{:09}: ", at.0 / 1_000_000_000, at.0 % 1_000_000_000)
        } else {
            // The kernel rounds to the nearest microsecond.
            let us = at.0 / 1000 + u64::from(at.0 % 1000 >= 500);
            write!(line, " {:>5}.{:06}: ", us / 1_000_000, us % 1_000_000)
        };
        let _ = writeln!(line, "{event}: {fields}");
        line
    }
}

/// A name as the kernel keeps it: 15 bytes, and nothing that would break a line.
pub(super) fn comm(name: &str) -> String {
    let mut comm = String::new();
    for c in name.chars().map(|c| if c.is_control() { '?' } else { c }) {
        if comm.len() + c.len_utf8() > COMM_BYTES {
            break;
        }
        comm.push(c);
    }
    if comm.is_empty() { "?".to_owned() } else { comm }
}
