//! The captured machine: its delays, calibrated on two named captures per kernel and then fixed.

use crate::capture::{Capture, find_captures};
use crate::delays::{Delay, Path as DelayPath, delays};
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::machine::{Costs, Preset};
use std::path::Path;
use thiserror::Error;

/// The captures each kernel's machine is calibrated on: a pipe pair alone, a sleeper beside a hog, a forking make,
/// and two recorded for this purpose: pipe pairs with the kernel's own charges, and with messages of 4 KiB.
const CALIBRATED_ON: [&str; 5] = [
    "iii-pingpong/KERNEL/pp1_hog0",
    "ii-sleeper/KERNEL/s1_wg01_mg3",
    "iv-make/KERNEL/make_j2",
    "viii-vruntime/KERNEL/pp2_hog0_wg0.5",
    "iii-pingpong/KERNEL/pp2_hog0_4096",
];

/// Kernels with captures, as their folders are called.
const KERNELS: [&str; 2] = ["5.10", "6.1"];

/// The captures of several CPUs, of every kernel, from which [`SMALL_KERNEL`] was read.
const SMALL_KERNEL_FROM: [&str; 2] = ["smp4/per3_hog", "smp4/pp_half_hogs"];

/// Whether a capture, by kind, kernel and name, is one of those calibrated on: it cannot judge the simulator.
pub fn is_calibrated_on(id: &str) -> bool {
    KERNELS.iter().any(|k| CALIBRATED_ON.iter().any(|n| n.replace("KERNEL", k) == id))
        || SMALL_KERNEL_FROM.iter().any(|job| id.ends_with(job))
}

/// KiB read and written in one turn of the last of them.
const LARGE_PIPE_TURN_KIB: i64 = 8;

/// Kernels whose paths were not calibrated, and the one whose paths stand in for theirs. On several CPUs paths cost what
/// the emulator makes of them, and are not compared.
const NEAREST: [(&str, &str); 4] =
    [("5.4", "5.10-debian"), ("5.5", "5.10-debian"), ("5.6", "5.10-debian"), ("5.7", "5.10-debian")];

/// Of the calibrated kernels, the one whose paths stand in for those of a kernel that never was captured. Deviates: D-252.
fn nearest(profile: &str) -> &'static str {
    let mut numbers = profile.split(['.', '-']).map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    // Half way between the two calibrated ones.
    if version < (5, 16) { "5.10-debian" } else { "6.1-debian" }
}

/// Context switch, wake-up, sleep call and pipe of the lab's own, small kernels, ns, per busy CPU: from the turns of `p7` in
/// `smp4/per3_hog` (1 ms and 2.5 to 4.9 µs per busy CPU) and of `ping0` in `smp4/pp_half_hogs` (1 ms and 5 to 11 µs).
const SMALL_KERNEL: [u64; 4] = [2_000, 1_500, 1_000, 1_000];

/// From a wake-up on another, idle CPU to the switch there, ns: the middle of what captures of 4 and 8 CPUs show, whose
/// medians lie between [`REMOTE_WAKES`].
const fn remote_wake() -> u64 {
    7_000
}
const REMOTE_WAKES: [u64; 2] = [4_000, 13_000];

/// The table of machines, as the calibration wrote it.
const MACHINES: &str = include_str!("../../capture-machines.json");

/// Delays of one captured kernel, ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureMachine {
    /// The kernel's profile.
    pub profile: String,
    /// The captures it was calibrated on.
    pub calibrated_on: Vec<String>,
    /// See [`Costs::timer_irq`].
    pub timer_irq_ns: u64,
    /// See [`Costs::tick`].
    pub tick_ns: u64,
    /// See [`Costs::tick_to_switch`].
    pub tick_to_switch_ns: u64,
    /// See [`Costs::irq_exit`].
    pub irq_exit_ns: u64,
    /// See [`Costs::wakeup`].
    pub wakeup_ns: u64,
    /// How much later than its stamp a preempting wake-up samples the clock, against a switch's stamp.
    pub wake_clock_lag_ns: u64,
    /// See [`Costs::context_switch`].
    pub context_switch_ns: u64,
    /// See [`Costs::idle_exit`].
    pub idle_exit_ns: u64,
    /// See [`Costs::syscall_exit`].
    pub syscall_exit_ns: u64,
    /// See [`Costs::sleep`].
    pub sleep_ns: u64,
    /// See [`Costs::pipe`].
    pub pipe_ns: u64,
    /// See [`Costs::pipe_kib`].
    pub pipe_kib_ns: u64,
    /// How far a `run` of the driver overshoots.
    pub run_overshoot_ns: u64,
    /// See [`Costs::fork`].
    pub fork_ns: u64,
    /// See [`Costs::fork_child`]: the driver's set-up of a child included.
    pub fork_child_ns: u64,
    /// See [`Costs::exit`]: from the driver's last look at the clock.
    pub exit_ns: u64,
    /// See [`Costs::ipi`]: on several CPUs only.
    #[serde(default = "remote_wake")]
    pub remote_wake_ns: u64,
}

impl CaptureMachine {
    /// The machine of a profile.
    ///
    /// # Errors
    /// When no capture of such a kernel was calibrated.
    pub fn of(profile: &str) -> Result<CaptureMachine, UnknownMachine> {
        let all: Vec<CaptureMachine> = serde_json::from_str(MACHINES).unwrap_or_default();
        let given = NEAREST.iter().find(|(name, _)| *name == profile).map_or(profile, |(_, nearest)| nearest);
        all.iter()
            .find(|m| m.profile == given)
            .or_else(|| all.iter().find(|m| m.profile == nearest(profile)))
            .cloned()
            .ok_or_else(|| UnknownMachine { profile: profile.to_owned() })
    }

    /// The engine's costs on this machine, with the tasks' timer slack.
    pub fn costs(&self, slack_ns: u64) -> Costs {
        let usual = Costs::preset(Preset::BareMetal);
        Costs {
            // What searches and balancing take was not measured.
            scan_cpu: usual.scan_cpu,
            balance: usual.balance,
            balance_cpu: usual.balance_cpu,
            timer_irq: Nanos(self.timer_irq_ns),
            tick: Nanos(self.tick_ns),
            tick_to_switch: Nanos(self.tick_to_switch_ns),
            irq_exit: Nanos(self.irq_exit_ns),
            wakeup: Nanos(self.wakeup_ns),
            context_switch: Nanos(self.context_switch_ns),
            idle_exit: Nanos(self.idle_exit_ns),
            syscall_exit: Nanos(self.syscall_exit_ns),
            sleep: Nanos(self.sleep_ns),
            pipe: Nanos(self.pipe_ns),
            pipe_kib: Nanos(self.pipe_kib_ns),
            futex: Nanos(self.pipe_ns),
            fork: Nanos(self.fork_ns),
            fork_child: Nanos(self.fork_child_ns),
            exit: Nanos(self.exit_ns),
            ipi: Nanos(self.remote_wake_ns),
            timer_slack: Nanos(slack_ns),
            ..Costs::preset(Preset::Zero)
        }
    }

    /// The machine with several CPUs. Where what forking takes is known task by task, it costs nothing beside that.
    pub(super) fn with_several_cpus(&self, profile: &str, forking_known: bool) -> CaptureMachine {
        let mut m = self.clone();
        if NEAREST.iter().any(|(name, _)| *name == profile) {
            [m.context_switch_ns, m.wakeup_ns, m.sleep_ns, m.pipe_ns] = SMALL_KERNEL;
        }
        if forking_known {
            [m.fork_ns, m.fork_child_ns, m.exit_ns] = [0; 3];
        }
        m
    }

    /// Machines with several CPUs that the captures would allow as well: all delays up to `ns` shorter or longer, and
    /// wake-ups of other CPUs as quick or slow as in some captures.
    pub fn equally_likely(&self, ns: i64) -> Vec<CaptureMachine> {
        let [quick, slow] = REMOTE_WAKES;
        let mut machines = Vec::new();
        for shift in [0, -ns, ns] {
            for remote_wake_ns in [self.remote_wake_ns, quick, slow] {
                machines.push(CaptureMachine { remote_wake_ns, ..self.shifted(shift) });
            }
        }
        machines.split_off(1)
    }

    /// Every delay moved by `ns`, none below zero: the band of what delays known to ±1 µs allow.
    #[must_use]
    pub fn shifted(&self, ns: i64) -> CaptureMachine {
        let mut machine = self.clone();
        machine.delays().into_iter().for_each(|d| *d = d.saturating_add_signed(ns));
        machine
    }

    /// The same, one machine for each delay moved by itself.
    pub fn each_shifted(&self, ns: i64) -> impl Iterator<Item = CaptureMachine> {
        let count = self.clone().delays().len();
        (0..count).map(move |i| {
            let mut machine = self.clone();
            let delays = machine.delays();
            let d = delays.into_iter().nth(i);
            d.into_iter().for_each(|d| *d = d.saturating_add_signed(ns));
            machine
        })
    }

    /// The delays a trace shows only to a microsecond.
    fn delays(&mut self) -> [&mut u64; 8] {
        [
            &mut self.timer_irq_ns,
            &mut self.tick_to_switch_ns,
            &mut self.irq_exit_ns,
            &mut self.wakeup_ns,
            &mut self.context_switch_ns,
            &mut self.idle_exit_ns,
            &mut self.sleep_ns,
            &mut self.pipe_ns,
        ]
    }
}

/// A profile without a calibrated machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "no capture machine is calibrated for kernel '{profile}': calibrate one with `cfsim validate calibrate`"
)]
pub struct UnknownMachine {
    /// The profile.
    pub profile: String,
}

/// Why a machine cannot be calibrated.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] crate::capture::CaptureError),
    /// A capture calibrated on is missing.
    #[error("capture {0} is needed and not there")]
    Missing(String),
    /// A path does not occur in the captures calibrated on.
    #[error("the captures {captures} do not show the delay {path}")]
    Path {
        /// The captures.
        captures: String,
        /// The path.
        path: String,
    },
    /// The kernel is not one of ours.
    #[error(transparent)]
    Kernel(#[from] crate::capture::meta::UnknownKernel),
}

/// The calibrated machines of all kernels found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Calibration(pub Vec<CaptureMachine>);

/// Calibrates every kernel that has the named captures below `root`.
///
/// # Errors
/// [`CalibrationError`].
pub fn calibrate(root: &Path) -> Result<Calibration, CalibrationError> {
    let paths = find_captures(root)?;
    let captures = paths.iter().map(|p| Capture::load(p)).collect::<Result<Vec<_>, _>>()?;
    let mut machines = Vec::new();
    for kernel in KERNELS {
        let names = CALIBRATED_ON.map(|n| n.replace("KERNEL", kernel));
        let mut seen = Vec::new();
        let mut profile = "";
        for name in &names {
            let capture = captures.iter().find(|c| c.id.to_string() == *name);
            let capture = capture.ok_or_else(|| CalibrationError::Missing(name.clone()))?;
            profile = capture.meta.profile()?;
            seen.push(delays(capture));
        }
        machines.push(from_delays(profile, &names, &seen)?);
    }
    Ok(Calibration(machines))
}

/// The timer path `w` cannot be told from a trace; 1 µs, the least the captures allow.
const TIMER_IRQ_NS: i64 = 1_000;

/// The mean of a path's middle nine tenths in one capture, ns: first turns are cold.
fn middle_mean(capture: &[Delay], path: DelayPath) -> Option<i64> {
    let mut ns: Vec<i64> = capture.iter().filter(|d| d.path == path).map(|d| d.ns).collect();
    ns.sort_unstable();
    let cut = ns.len() / 20;
    let kept = &ns[cut..ns.len() - cut];
    (!kept.is_empty()).then(|| kept.iter().sum::<i64>() / kept.len() as i64)
}

fn from_delays(
    profile: &str,
    names: &[String],
    seen: &[Vec<Delay>],
) -> Result<CaptureMachine, CalibrationError> {
    let missing =
        |path: DelayPath| CalibrationError::Path { captures: names.join(", "), path: format!("{path:?}") };
    // Of the first capture that shows it: later ones trace or do more, which lengthens paths.
    let mean = |path| seen.iter().find_map(|c| middle_mean(c, path)).ok_or_else(|| missing(path));
    let large_turn = seen.last().and_then(|c| middle_mean(c, DelayPath::PipeTurn));
    let large_turn = large_turn.ok_or_else(|| missing(DelayPath::PipeTurn))?;
    let wakeup = mean(DelayPath::NextWakeInIrq)?;
    // From getting the CPU to the first look at the clock: switch and return path.
    let back = mean(DelayPath::Start)? - TIMER_IRQ_NS;
    let sleep = TIMER_IRQ_NS - mean(DelayPath::SleepWake)?;
    let overshoot = mean(DelayPath::RunAndSleep)? - back - sleep;
    let pipe = mean(DelayPath::PipeTurn)? - back - overshoot;
    let exit = mean(DelayPath::WakeToBlock)? - wakeup - pipe;
    let ns = |x: i64| x.max(0) as u64;
    let tick_to_switch = mean(DelayPath::TickToSwitch)?;
    Ok(CaptureMachine {
        profile: profile.to_owned(),
        calibrated_on: names.to_vec(),
        timer_irq_ns: ns(TIMER_IRQ_NS),
        tick_ns: ns(tick_to_switch / 2),
        tick_to_switch_ns: ns(tick_to_switch),
        irq_exit_ns: ns(mean(DelayPath::HardIrqWakeToSwitch)? - wakeup),
        wakeup_ns: ns(wakeup),
        wake_clock_lag_ns: ns(mean(DelayPath::WakeClockLag)?),
        context_switch_ns: ns(back - exit.max(0)),
        idle_exit_ns: ns(mean(DelayPath::IdleWakeToSwitch)?),
        syscall_exit_ns: ns(exit),
        sleep_ns: ns(sleep),
        pipe_ns: ns(pipe),
        pipe_kib_ns: ns((large_turn - mean(DelayPath::PipeTurn)?) / LARGE_PIPE_TURN_KIB),
        run_overshoot_ns: ns(overshoot),
        fork_ns: ns(mean(DelayPath::ForkCycle)? - wakeup - exit.max(0)),
        fork_child_ns: ns(mean(DelayPath::ForkChild)? - TIMER_IRQ_NS - back),
        exit_ns: ns(mean(DelayPath::Finish)? + TIMER_IRQ_NS),
        remote_wake_ns: remote_wake(),
    })
}
