//! What of a machine can be switched off by name, to see what it contributes.

use super::{CacheConfig, Costs, FrequencyConfig, MachineConfig, SmtConfig, SourceKind};
use crate::time::Nanos;
use thiserror::Error;

/// A part of the machine that can be switched off.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// What goes with it.
    pub about: &'static str,
    /// The mechanism that this one is a part of: without that it is not there either.
    pub part_of: Option<&'static str>,
    /// Costs by their names in [`Costs::TABLE`].
    costs: &'static [&'static str],
    part: fn(&mut MachineConfig),
}

const fn costs(name: &'static str, about: &'static str, costs: &'static [&'static str]) -> Mechanism {
    Mechanism { name, about, part_of: None, costs, part: |_| () }
}

const fn part(name: &'static str, about: &'static str, part: fn(&mut MachineConfig)) -> Mechanism {
    Mechanism { name, about, part_of: None, costs: &[], part }
}

/// All mechanisms. Every cost belongs to exactly one.
pub const MECHANISMS: &[Mechanism] = &[
    costs("switch", "context switches", &["context_switch", "thread_switch"]),
    costs("wakeup", "wake-ups and interrupts between CPUs", &["wakeup", "ipi", "irq_exit", "scan_cpu"]),
    Mechanism {
        name: "idle-exit",
        about: "leaving idle states",
        part_of: None,
        costs: &["idle_exit"],
        part: |machine| machine.idle.leave_at_once(),
    },
    part("idle-flush", "caches emptied by deep idle states", |machine| {
        machine.cache.kept_in_idle = !machine.cache.is_off();
    })
    .of("cache"),
    Mechanism {
        name: "tick",
        about: "timer interrupts",
        part_of: None,
        costs: &["timer_irq", "tick", "tick_to_switch"],
        part: |machine| machine.idle.tick_restart = Nanos::ZERO,
    },
    costs("balance", "balancing passes and stopper threads", &["balance", "balance_cpu", "stopper"]),
    costs(
        "syscall",
        "system calls",
        &["syscall_entry", "syscall_exit", "sleep", "pipe", "pipe_kib", "futex", "sched_setattr"],
    ),
    costs(
        "socket",
        "sends and receives on sockets, and the network's work for them",
        &[
            "tcp_send",
            "tcp_buffer",
            "tcp_segment",
            "tcp_ack",
            "tcp_free",
            "tcp_receive",
            "tcp_consume",
            "udp_send",
            "udp_receive",
            "unix_send",
            "unix_receive",
            "net_irq",
            "net_poll",
            "tcp_input",
            "udp_input",
            "net_send",
            "inet_wait",
            "unix_wait",
        ],
    ),
    costs("process", "fork, exec and exit", &["fork", "fork_child", "exec", "exit"]),
    costs("timer-slack", "late ends of sleeps", &["timer_slack"]),
    part("smt", "threads that share a core", |machine| machine.smt = SmtConfig::default()),
    part("cache", "working sets that must be loaded anew", |machine| machine.cache = CacheConfig::default()),
    part("turbo", "clocks that depend on how many cores are active", |machine| {
        machine.frequency.turbo_khz.truncate(1);
    })
    .of("frequency"),
    part("frequency", "clocks altogether", |machine| machine.frequency = FrequencyConfig::default()),
    part("interference", "interrupts, softirqs and kernel threads from outside", |machine| {
        machine.interference.retain(|source| source.kind == SourceKind::Steal);
    }),
    part("steal", "time the hypervisor takes, and other guests of the host", |machine| {
        machine.interference.retain(|source| source.kind != SourceKind::Steal);
        machine.host.iter_mut().for_each(|host| host.guests.clear());
    }),
    part("host", "the host: virtual CPUs become CPUs of metal", |machine| machine.host = None),
    part("speed-changes", "planned changes of speed", |machine| machine.speed_changes.clear()),
];

impl Mechanism {
    const fn of(self, whole: &'static str) -> Mechanism {
        Mechanism { part_of: Some(whole), ..self }
    }

    fn switch_off(&self, machine: &mut MachineConfig) {
        self.costs.iter().for_each(|name| machine.costs.clear(name));
        (self.part)(machine);
    }

    /// Whether this machine has it: without it the machine would be another.
    pub fn is_in(&self, machine: &MachineConfig) -> bool {
        let mut without = machine.clone();
        self.switch_off(&mut without);
        without != *machine
    }
}

impl Costs {
    fn clear(&mut self, name: &str) {
        // Names come from tables that a test compares.
        let _ = self.set(name, Nanos::ZERO);
    }
}

impl MachineConfig {
    /// Switches off a mechanism, or a single cost, by name; words may be joined by `-` or `_`.
    ///
    /// # Errors
    /// When there is no such mechanism and no such cost.
    pub fn switch_off(&mut self, name: &str) -> Result<(), UnknownMechanism> {
        if let Some(mechanism) = MECHANISMS.iter().find(|m| m.name == name) {
            mechanism.switch_off(self);
            return Ok(());
        }
        let cost = name.replace('-', "_");
        self.costs.set(&cost, Nanos::ZERO).map_err(|_| UnknownMechanism { found: name.to_owned() })
    }
}

/// A name that is neither a mechanism nor a cost.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{found}' cannot be switched off: allowed are {}, and single costs: {}",
    MECHANISMS.iter().map(|m| m.name).collect::<Vec<_>>().join(", "),
    Costs::TABLE.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownMechanism {
    /// The name.
    pub found: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::CpuId;
    use crate::machine::frequency::Governor;
    use crate::machine::idle::{IdleConfig, StateTable};
    use crate::machine::{Preset, SpeedChange};
    use crate::time::Instant;

    #[test]
    fn every_cost_belongs_to_one_mechanism() {
        for row in Costs::TABLE {
            let has = |m: &&Mechanism| m.costs.contains(&row.name);
            assert_eq!(MECHANISMS.iter().filter(has).count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn without_all_of_them_a_machine_costs_nothing() {
        let skl = StateTable::by_name("skl").unwrap();
        let mut machine = MachineConfig {
            idle: IdleConfig::of(skl),
            smt: SmtConfig::TYPICAL,
            cache: CacheConfig::I7_8700,
            frequency: FrequencyConfig {
                governor: Some(Governor::Performance),
                turbo_khz: FrequencyConfig::I7_8700_TURBO_KHZ.to_vec(),
                ..FrequencyConfig::default()
            },
            speed_changes: vec![SpeedChange { at: Instant(1), cpu: CpuId(0), speed: 1 }],
            ..MachineConfig::new(Costs::preset(Preset::Guest))
        };
        for mechanism in MECHANISMS {
            let outside = matches!(mechanism.name, "interference" | "steal" | "host");
            assert_eq!(mechanism.is_in(&machine), !outside, "{}", mechanism.name);
            machine.switch_off(mechanism.name).unwrap();
            assert!(!mechanism.is_in(&machine), "{}", mechanism.name);
        }
        let nothing = MachineConfig::new(Costs::preset(Preset::Zero));
        assert_eq!(MachineConfig { idle: IdleConfig::default(), ..machine.clone() }, nothing);
        // Which state is chosen stays, and costs nothing.
        assert_eq!(machine.idle.states.len(), IdleConfig::of(skl).states.len());
    }

    #[test]
    fn single_costs_go_by_either_spelling_and_others_are_refused() {
        let mut machine = MachineConfig::new(Costs::preset(Preset::Guest));
        machine.switch_off("idle_exit").unwrap();
        machine.switch_off("pipe-kib").unwrap();
        assert_eq!((machine.costs.idle_exit, machine.costs.pipe_kib), (Nanos::ZERO, Nanos::ZERO));
        assert_ne!(machine.costs.pipe, Nanos::ZERO);
        let refused = machine.switch_off("coffee").unwrap_err().to_string();
        assert!(refused.contains("'coffee'") && refused.contains("timer-slack, smt, cache"), "{refused}");
    }
}
