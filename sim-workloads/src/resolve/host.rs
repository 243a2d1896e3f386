//! The host of a virtual machine.

use super::part::{Part, draw};
use crate::scenario::{GuestSpec, HostSpec, ScenarioError};
use crate::units::Duration;
use sim_core::cpumask::MAX_CPUS;
use sim_core::machine::topology::Topology;
use sim_core::machine::{Costs, Demand, ExitCosts, HaltPoll, HostConfig, OtherGuest};
use sim_core::{CpuMask, Nanos};

/// The most virtual CPUs of other guests.
const MAX_OTHER_VCPUS: u64 = 10_000;
/// The shortest mean turn of another guest's virtual CPU.
const MIN_TURN: Nanos = Nanos::from_micros(1);
/// Leaving the idle state of a host whose CPUs idle for short times, C1E: smp.md §5.7. An assumption: its sleepers are
/// woken from it within the 10 to 50 us that smp.md §8 gives for the whole way.
const HOST_IDLE_EXIT: Nanos = Nanos::from_micros(10);

impl Part<'_> {
    /// The host of this machine.
    pub(super) fn host(&self, spec: &HostSpec) -> Result<HostConfig, ScenarioError> {
        let at = ["machine", "host"];
        let Some(topology) = self.document.scenario.host_topology.as_ref().filter(|_| self.at.is_empty())
        else {
            return Err(self.error(&at, "a host has no host itself"));
        };
        for (key, given) in
            [("preset", spec.machine.preset.is_some()), ("without", !spec.machine.without.is_empty())]
        {
            if given {
                let message = format!("'{key}' is for the whole scenario: a host's machine is written out");
                return Err(self.error(&["machine", "host", "machine", key], message));
            }
        }
        let document = self.document;
        let host = Part {
            document,
            at: &at,
            kernel: &spec.kernel,
            machine: &spec.machine,
            costs: &spec.costs,
            topology,
        };
        let kernel = host.kernel()?;
        let mut machine = host.machine(&kernel.rules)?;
        if spec.costs.preset.is_none() && !spec.costs.costs.contains_key("idle_exit") {
            machine.costs.idle_exit = HOST_IDLE_EXIT;
        }
        let exits = if spec.costs.preset.is_some_and(|p| Costs::preset(p).idle_exit.is_zero()) {
            ExitCosts::ZERO
        } else {
            ExitCosts::X86
        };
        Ok(HostConfig {
            kernel,
            machine: Box::new(machine),
            vcpus: self.pins(spec, topology)?,
            halt_poll: self.halt_poll(spec)?,
            exits: ExitCosts {
                exit: self.at_most(spec.exit, "exit")?.unwrap_or(exits.exit),
                wake: self.at_most(spec.wake, "wake")?.unwrap_or(exits.wake),
                kick: self.at_most(spec.kick, "kick")?.unwrap_or(exits.kick),
            },
            guests: self.guests(spec, topology)?,
        })
    }

    fn at_most(&self, value: Option<Duration>, key: &str) -> Result<Option<Nanos>, ScenarioError> {
        if let Some(Duration(long)) = value.filter(|d| d.0 > Costs::MAX) {
            let message = format!("{long}: at most {} is allowed", Costs::MAX);
            return Err(self.error(&["machine", "host", key], message));
        }
        Ok(value.map(|d| d.0))
    }

    fn halt_poll(&self, spec: &HostSpec) -> Result<HaltPoll, ScenarioError> {
        let x86 = HaltPoll::X86;
        Ok(HaltPoll {
            max: self.at_most(spec.halt_poll, "halt_poll")?.unwrap_or(x86.max),
            grow: spec.halt_poll_grow.map_or(x86.grow, |n| n.0),
            grow_start: self
                .at_most(spec.halt_poll_grow_start, "halt_poll_grow_start")?
                .unwrap_or(x86.grow_start),
            shrink: spec.halt_poll_shrink.map_or(x86.shrink, |n| n.0),
        })
    }

    /// Host CPUs by virtual CPU.
    fn pins(&self, spec: &HostSpec, host: &Topology) -> Result<Vec<CpuMask>, ScenarioError> {
        let vcpus = self.topology.nr_cpu_ids();
        let masks = spec.pin.iter().enumerate().map(|(i, pin)| {
            let usable = self.usable(host, &pin.0);
            usable.map_err(|m| self.error(&["machine", "host", "pin", &i.to_string()], m))
        });
        let masks: Vec<CpuMask> = masks.collect::<Result<_, _>>()?;
        match masks.len() {
            0 => Ok(vec![host.online().clone(); vcpus]),
            1 => Ok(vec![masks[0].clone(); vcpus]),
            n if n == vcpus => Ok(masks),
            n => {
                let message = format!("{n} sets of CPUs for {vcpus} virtual CPUs: give one for each, or one");
                Err(self.error(&["machine", "host", "pin"], message))
            }
        }
    }

    fn usable(&self, host: &Topology, mask: &CpuMask) -> Result<CpuMask, String> {
        if !mask.is_subset(host.present()) {
            return Err(format!("CPUs {mask} go beyond the host, which has CPUs {}", host.present()));
        }
        if mask.intersects(host.online()) {
            return Ok(mask.clone());
        }
        Err(format!("CPUs {mask} are all offline: online are {}", host.online()))
    }

    fn guests(&self, spec: &HostSpec, host: &Topology) -> Result<Vec<OtherGuest>, ScenarioError> {
        let vcpus = |g: &GuestSpec| u64::from(g.count.0) * u64::from(g.vcpus.0);
        let all: u64 = spec.guest.iter().map(vcpus).sum();
        if all > MAX_OTHER_VCPUS {
            let message =
                format!("{all} virtual CPUs of other guests: at most {MAX_OTHER_VCPUS} are allowed");
            return Err(self.error(&["machine", "host", "guest"], message));
        }
        let mut guests = Vec::new();
        for (i, guest) in spec.guest.iter().enumerate() {
            let at = |key, message| self.error(&["machine", "host", "guest", &i.to_string(), key], message);
            let cpus = match &guest.cpus {
                Some(cpus) => self.usable(host, &cpus.0).map_err(|m| at("cpus", m))?,
                None => host.online().clone(),
            };
            let demand = demand(guest).map_err(|(key, message)| at(key, message))?;
            for n in 0..guest.count.0 {
                let name =
                    if guest.count.0 == 1 { guest.name.0.clone() } else { format!("{}{n}", guest.name.0) };
                guests.push(OtherGuest { name, vcpus: guest.vcpus.0, cpus: cpus.clone(), demand });
            }
        }
        Ok(guests)
    }
}

fn demand(guest: &GuestSpec) -> Result<Demand, (&'static str, String)> {
    let (run, sleep) = match (&guest.run, &guest.sleep) {
        (None, None) => return Ok(Demand::Constant),
        (Some(run), Some(sleep)) => (run, sleep),
        (Some(_), None) => {
            return Err(("sleep", "a guest that runs in turns sleeps between them: give 'sleep'".to_owned()));
        }
        (None, Some(_)) => return Err(("run", "a guest that sleeps runs in turns: give 'run'".to_owned())),
    };
    let run = draw(run).map_err(|m| ("run", m))?;
    let sleep = draw(sleep).map_err(|m| ("sleep", m))?;
    if run.mean() < MIN_TURN {
        return Err(("run", format!("{} on average: at least {MIN_TURN}", run.mean())));
    }
    Ok(Demand::OnOff { run, sleep })
}
const _: () = assert!(MAX_CPUS as u64 <= MAX_OTHER_VCPUS);
