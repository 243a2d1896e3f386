//! Arguments of every guest, and one run of one.

use crate::failure::Failure;
use crate::load::{Loaded, ScenarioText, Setting, parse_setting};
use crate::output::Talk;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;
use validation::capture::{Capture, TICK_NS};
use validation::lab::figures::{Side, measured, predicted};
use validation::lab::run::{Place, preempt_name};
use validation::lab::{Lab, Plan, Ran};

/// What is run, and with which tools.
#[derive(Debug, Args)]
pub(super) struct GuestArgs {
    /// The scenario file; - is standard input
    scenario: PathBuf,
    /// Replace a value of the scenario, like kernel.sched_latency_ns=24ms
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting)]
    set: Vec<Setting>,
    /// How long the tasks run, like 1s: short for --set run.duration=TIME
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// CPUs of the guest; without it as many as the scenario's machine has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    smp: Option<u32>,
    /// Folder in which the captures are kept; without it they are not
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// QEMU's program; without it CFSIM_QEMU or qemu-system-x86_64
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<String>,
    /// The C compiler; without it CC or cc
    #[arg(long, value_name = "PROGRAM")]
    cc: Option<String>,
    /// Seconds of the host after which a guest is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Seed of QEMU: on several CPUs, another seed is another interleaving
    #[arg(long, value_name = "N", default_value_t = 1)]
    guest_seed: u32,
}

/// One kernel's run beside its prediction.
pub(super) struct Outcome {
    pub(super) ran: Ran,
    pub(super) capture: Capture,
    pub(super) measured: Side,
    /// The prediction, or why there is none.
    pub(super) predicted: Result<Side, String>,
    pub(super) notes: Vec<String>,
    pub(super) name: String,
    pub(super) cpus: u32,
}

impl GuestArgs {
    /// The file, to be used with several settings.
    pub(super) fn text(&self) -> Result<ScenarioText, Failure> {
        ScenarioText::read(&self.scenario)
    }

    /// The scenario with its settings and then `more`, compiled.
    pub(super) fn plan(&self, text: &ScenarioText, more: &[Setting]) -> Result<(Loaded, Plan), Failure> {
        // Both sides are measured from the start; a warm-up longer than a short --duration is no mistake here.
        let warmup = [("run.warmup".to_owned(), "0s".to_owned())];
        let duration = self.duration.iter().map(|d| ("run.duration".to_owned(), d.clone()));
        let given = self.set.iter().cloned().chain(duration).chain(more.iter().cloned());
        let settings: Vec<Setting> = warmup.into_iter().chain(given).collect();
        let loaded = text.with(&settings)?;
        let plan = Plan::compile(&loaded.document.scenario, self.smp).map_err(|refusal| {
            let at: Vec<&str> = refusal.at.iter().map(String::as_str).collect();
            loaded.document.error_at(&at, refusal.to_string())
        })?;
        Ok((loaded, plan))
    }

    /// Whether captures are kept.
    pub(super) fn keeps(&self) -> bool {
        self.output.is_some()
    }

    /// Runs a plan on a kernel. `prefix` tells apart kernels of one release.
    pub(super) fn run(
        &self,
        loaded: &Loaded,
        plan: &Plan,
        kernel: &Path,
        prefix: &str,
        talk: Talk,
    ) -> Result<Outcome, Failure> {
        let env = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let usual = Lab::default();
        let lab = Lab {
            qemu: self.qemu.clone().or_else(|| env("CFSIM_QEMU")).unwrap_or(usual.qemu),
            compiler: self.cc.clone().or_else(|| env("CC")).unwrap_or(usual.compiler),
            timeout: Duration::from_secs(self.timeout),
            seed: self.guest_seed,
        };
        let name = match loaded.document.scenario.name.as_str() {
            "" => self.scenario.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned()),
            name => name.to_owned(),
        };
        let kept = match &self.output {
            Some(_) => None,
            None => Some(
                tempfile::tempdir()
                    .map_err(|source| Failure::Create { file: std::env::temp_dir(), source })?,
            ),
        };
        let folder =
            self.output.as_deref().or(kept.as_ref().map(tempfile::TempDir::path)).unwrap_or(Path::new("."));
        let ran =
            lab.run(plan, kernel, &Place { folder, prefix, name: &name }, &|doing| talk.progress(doing))?;
        let capture = Capture::load(&ran.capture)
            .map_err(|e| Failure::Environment(format!("the capture cannot be read: {e}")))?;
        let measured = measured(&capture).map_err(|e| Failure::Capture(e.to_string()))?;
        let predicted = if ran.tick_ns == TICK_NS {
            talk.progress("simulating the same workload");
            predicted(&capture).map_err(|e| e.to_string())
        } else {
            // Deviates: D-253.
            Err(format!(
                "a tick of this kernel takes {} us, and captures are read at {} (CONFIG_HZ=250)",
                ran.tick_ns / 1000,
                TICK_NS / 1000
            ))
        };
        let notes = [plan.notes.clone(), doubts(plan, &capture, &ran)].concat();
        Ok(Outcome { ran, capture, measured, predicted, notes, name, cpus: plan.cpus })
    }
}

/// What the kernel is otherwise than the scenario says, and what the guest warned of.
fn doubts(plan: &Plan, capture: &Capture, ran: &Ran) -> Vec<String> {
    let mut doubts = ran.warnings.clone();
    if let Some(wanted) = plan.preempt.map(preempt_name) {
        match capture.tunables.preempt.as_deref() {
            Some(found) if found == wanted => {}
            Some(found) => doubts.push(format!("kernel.preempt = {wanted}, but this kernel runs with {found}")),
            None => doubts.push(format!("kernel.preempt = {wanted}: this kernel does not say which it has; the prediction takes voluntary")),
        }
    }
    let hz = 1_000_000_000_u64.checked_div(ran.tick_ns).unwrap_or(0);
    if let Some(wanted) = plan.hz.filter(|wanted| u64::from(*wanted) != hz) {
        doubts.push(format!("kernel.hz = {wanted}, but this kernel has {hz}"));
    }
    doubts
}
