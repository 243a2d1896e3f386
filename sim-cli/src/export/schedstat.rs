//! The text of `/proc/schedstat`, version 15, as existing tools read it.

use sim_core::machine::topology::Topology;
use sim_core::observe::{BalanceCounters, DomainCounters, IdleType, Schedstat};
use sim_core::{CpuId, CpuMask, Instant};
use std::fmt::Write;

/// The counters at `now`; jiffies last `tick_ns`. Counters of paths the model has not (`lb_hot_gained`, the exec and fork
/// balances, which kernels since 2.6.29 never count, and `ttwu_move_balance`) are zero.
pub(crate) fn text(stat: &Schedstat, topology: &Topology, now: Instant, tick_ns: u64) -> String {
    let mut out = format!("version 15\ntimestamp {}\n", now.0 / tick_ns);
    for cpu in topology.online().iter() {
        let c = stat.cpu(cpu);
        let _ = writeln!(
            out,
            "cpu{} {} 0 {} {} {} {} {} {} {}",
            cpu.0,
            c.yields,
            c.schedules,
            c.to_idle,
            c.wakeups,
            c.local_wakeups,
            c.cpu_time.0,
            c.run_delay.0,
            c.turns
        );
        domains(&mut out, stat, cpu, topology.nr_cpu_ids());
    }
    out
}

fn domains(out: &mut String, stat: &Schedstat, cpu: CpuId, nr_cpu_ids: usize) {
    let counters = stat.domain_counters(cpu);
    for (i, ((_, sd), d)) in stat.domains().chain(cpu).zip(counters).enumerate() {
        let _ = write!(out, "domain{i} {}", mask(&sd.span, nr_cpu_ids));
        for kind in [IdleType::Idle, IdleType::NotIdle, IdleType::NewlyIdle] {
            balance(out, &d.balance[kind as usize]);
        }
        rest(out, d);
    }
}

fn balance(out: &mut String, b: &BalanceCounters) {
    let _ = write!(
        out,
        " {} {} {} {} {} 0 {} {}",
        b.attempts, b.balanced, b.failed, b.imbalance, b.gained, b.no_busiest_queue, b.no_busiest_group
    );
}

fn rest(out: &mut String, d: &DomainCounters) {
    let _ = writeln!(
        out,
        " {} {} {} 0 0 0 0 0 0 {} {} 0",
        d.active, d.active_failed, d.active_pushed, d.remote_wakeups, d.affine_moves
    );
}

/// A CPU mask as the kernel prints it: hexadecimal, in groups of 32 bits.
fn mask(cpus: &CpuMask, nr_cpu_ids: usize) -> String {
    let groups = nr_cpu_ids.div_ceil(32).max(1);
    let mut words = vec![0u32; groups];
    for cpu in cpus.iter() {
        words[cpu.index() / 32] |= 1 << (cpu.index() % 32);
    }
    let digits = (nr_cpu_ids - 32 * (groups - 1)).div_ceil(4);
    let mut out = format!("{:0digits$x}", words[groups - 1]);
    for word in words[..groups - 1].iter().rev() {
        let _ = write!(out, ",{word:08x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_printed_as_the_kernel_does() {
        let cpus = |list: &str| list.parse::<CpuMask>().unwrap();
        assert_eq!(mask(&cpus("0-1"), 8), "03");
        assert_eq!(mask(&cpus("0-3"), 12), "00f");
        assert_eq!(mask(&cpus("0,39"), 40), "80,00000001");
        assert_eq!(mask(&cpus("63"), 64), "80000000,00000000");
    }
}
