//! `cfsim kernel`: the kernels that can be imitated, and how they differ.

use crate::failure::Failure;
use crate::header::Tool;
use crate::output::{self, Format, Report};
use crate::text;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Map, Value};
use sim_core::cpumask::MAX_CPUS;
use sim_core::kernel::changes::Change;
use sim_core::kernel::rules::{Rules, TunablesIn};
use sim_core::kernel::switches::switches;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{PROFILES, Profile};
use sim_workloads::resolve::has_tunable;
use std::fmt::Write;

/// List the kernels that can be imitated, show one, or say what changed between two
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim kernel list
  cfsim kernel show 6.1 --cpus 8
  cfsim kernel diff 5.12 5.13")]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    verb: KernelVerb,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum KernelVerb {
    /// All profiles
    List,
    /// Tunables, features and behaviours of one profile
    Show {
        /// The profile
        #[arg(value_parser = profile)]
        profile: &'static Profile,
        /// CPUs of the machine: defaults grow with their number
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CPUS)))]
        cpus: u32,
    },
    /// What changed between two profiles, with commits
    Diff {
        /// The one to start from
        #[arg(value_parser = profile)]
        from: &'static Profile,
        /// The one to get to
        #[arg(value_parser = profile)]
        to: &'static Profile,
    },
}

fn profile(name: &str) -> Result<&'static Profile, String> {
    Profile::by_name(name).map_err(|e| e.to_string())
}

pub(crate) fn main(args: &KernelArgs) -> Result<(), Failure> {
    match args.verb {
        KernelVerb::List => output::print(&list(), args.format),
        KernelVerb::Show { profile, cpus } => output::print(&show(profile, cpus), args.format),
        KernelVerb::Diff { from, to } => output::print(&diff(from, to), args.format),
    }
}

#[derive(Debug, Serialize)]
struct ListReport {
    #[serde(flatten)]
    tool: Tool,
    profiles: Vec<ProfileReport>,
}

#[derive(Debug, Serialize)]
struct ProfileReport {
    name: &'static str,
    release: String,
    about: &'static str,
    /// In which release its rules for several CPUs were read.
    several_cpus: &'static str,
}

impl From<&Profile> for ProfileReport {
    fn from(p: &Profile) -> ProfileReport {
        ProfileReport {
            name: p.name,
            release: p.release.to_string(),
            about: p.about,
            several_cpus: p.several_cpus,
        }
    }
}

fn list() -> ListReport {
    ListReport {
        tool: Tool::new("kernel list"),
        profiles: PROFILES.iter().map(ProfileReport::from).collect(),
    }
}

impl Report for ListReport {
    fn text(&self) -> String {
        let row = |name: &str, about: &str| format!("{name:<12} {about}\n");
        let rows = self.profiles.iter().map(|p| row(p.name, p.about));
        std::iter::once(row("profile", "kernel")).chain(rows).collect()
    }
}

#[derive(Debug, Serialize)]
struct ShowReport {
    #[serde(flatten)]
    tool: Tool,
    profile: ProfileReport,
    cpus: u32,
    tunables: Vec<TunableReport>,
    /// Internal: above this many tasks the period stretches.
    sched_nr_latency: u64,
    features: String,
    behaviours: Map<String, Value>,
    /// Changes after 4.19, oldest first.
    changes: Vec<ChangeReport>,
    /// Rules no profile has, for `kernel.rules`.
    switches: Vec<SwitchReport>,
}

#[derive(Debug, Serialize)]
struct SwitchReport {
    id: &'static str,
    what: &'static str,
}

#[derive(Debug, Serialize)]
struct TunableReport {
    name: &'static str,
    value: u64,
    /// `ns`, or none for plain numbers.
    unit: Option<&'static str>,
    file: String,
}

#[derive(Debug, Serialize)]
struct ChangeReport {
    id: &'static str,
    since: String,
    stable: Vec<String>,
    commit: Option<&'static str>,
    what: &'static str,
}

impl From<&Change> for ChangeReport {
    fn from(c: &Change) -> ChangeReport {
        ChangeReport {
            id: c.id,
            since: c.since.to_string(),
            stable: c.stable.iter().map(ToString::to_string).collect(),
            commit: c.commit,
            what: c.what,
        }
    }
}

/// The file of a tunable (core.md §2.2). `sched_child_runs_first` is a sysctl in all versions.
fn file(rules: &Rules, tunable: Tunable) -> String {
    let name = tunable.name();
    if rules.tunables_in == TunablesIn::ProcSys || tunable == Tunable::ChildRunsFirst {
        return format!("/proc/sys/kernel/{name}");
    }
    format!("/sys/kernel/debug/sched/{}", name.strip_prefix("sched_").unwrap_or(name))
}

/// Behaviours by name, without the features, which are shown apart.
fn behaviours(rules: &Rules) -> Map<String, Value> {
    let Ok(Value::Object(mut all)) = serde_json::to_value(rules) else { return Map::new() };
    all.remove("features");
    all
}

fn show(profile: &'static Profile, cpus: u32) -> ShowReport {
    let rules = profile.rules();
    let boot = Tunables::boot(cpus);
    let tunables = Tunable::ALL.iter().filter(|t| has_tunable(&rules, **t)).map(|t| TunableReport {
        name: t.name(),
        value: boot.get(*t),
        file: file(&rules, *t),
        unit: t.is_duration().then_some("ns"),
    });
    ShowReport {
        tool: Tool::new("kernel show"),
        profile: ProfileReport::from(profile),
        cpus,
        tunables: tunables.collect(),
        sched_nr_latency: boot.nr_latency,
        features: rules.features.to_line(),
        behaviours: behaviours(&rules),
        changes: profile.changes().map(ChangeReport::from).collect(),
        switches: switches().map(|s| SwitchReport { id: s.id, what: s.what }).collect(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

impl Report for ShowReport {
    fn text(&self) -> String {
        let p = &self.profile;
        let mut out = format!("{}: {}\nrules for several CPUs: {}\n\n", p.name, p.about, p.several_cpus);
        let rows = self.tunables.iter().map(|t| {
            let value = if t.unit.is_some() { text::duration(t.value as f64) } else { t.value.to_string() };
            vec![t.file.clone(), value]
        });
        out += &text::table(&["tunable", &format!("on {}", text::plural(u64::from(self.cpus), "CPU"))], rows);
        out += &format!("\nsched_nr_latency (internal): {}\n", self.sched_nr_latency);
        out += &format!("\nfeatures: {}\n\n", self.features);
        out += &text::table(
            &["behaviour", "here"],
            self.behaviours.iter().map(|(name, value)| vec![name.clone(), plain(value)]),
        );
        out += "\nchanges after 4.19:\n";
        out += &self.changes.iter().map(ChangeReport::text).collect::<String>();
        out +=
            "\nrules older than 4.19, for kernel.rules (which also takes any change of another version):\n";
        out += &self.switches.iter().map(|s| format!("  {}: {}\n", s.id, s.what)).collect::<String>();
        out
    }
}

impl ChangeReport {
    fn text(&self) -> String {
        let mut line = format!("  {}, {}", self.id, self.since);
        if !self.stable.is_empty() {
            let _ = write!(line, " and {}", self.stable.join(", "));
        }
        if let Some(commit) = self.commit {
            let _ = write!(line, ", commit {commit}");
        }
        format!("{line}\n      {}\n", self.what)
    }
}

#[derive(Debug, Serialize)]
struct DiffReport {
    #[serde(flatten)]
    tool: Tool,
    from: &'static str,
    to: &'static str,
    /// Changes `to` has and `from` has not, oldest first.
    gained: Vec<ChangeReport>,
    /// The other way round.
    lost: Vec<ChangeReport>,
    behaviours: Vec<Difference>,
    features: Vec<Difference>,
    tunable_files: Vec<Difference>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Difference {
    name: String,
    from: Option<String>,
    to: Option<String>,
}

fn diff(from: &'static Profile, to: &'static Profile) -> DiffReport {
    let missing_in = |has: &Profile, lacks: &Profile| {
        has.changes().filter(|c| !lacks.release.has(c)).map(ChangeReport::from).collect()
    };
    let (a, b) = (from.rules(), to.rules());
    let behaviour_names = behaviours(&a).into_iter().map(|(name, _)| name);
    let behaviour = |rules: &Rules, name: &str| behaviours(rules).get(name).map(plain);
    let feature = |rules: &Rules, name: &str| {
        let found = rules.features.iter().find(|(f, _)| f.name() == name);
        found.map(|(_, on)| if on { "on".to_owned() } else { "off".to_owned() })
    };
    let features = a.features.iter().chain(b.features.iter()).map(|(f, _)| f.name().to_owned());
    let tunable = |rules: &Rules, name: &str| {
        let found = Tunable::ALL.iter().find(|t| t.name() == name && has_tunable(rules, **t));
        found.map(|t| file(rules, *t))
    };
    DiffReport {
        tool: Tool::new("kernel diff"),
        from: from.name,
        to: to.name,
        gained: missing_in(to, from),
        lost: missing_in(from, to),
        behaviours: differences(behaviour_names, |name| (behaviour(&a, name), behaviour(&b, name))),
        features: differences(features, |name| (feature(&a, name), feature(&b, name))),
        tunable_files: differences(Tunable::ALL.iter().map(|t| t.name().to_owned()), |name| {
            (tunable(&a, name), tunable(&b, name))
        }),
    }
}

/// The names whose values differ, each once.
fn differences(
    names: impl Iterator<Item = String>,
    values: impl Fn(&str) -> (Option<String>, Option<String>),
) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for name in names {
        let (from, to) = values(&name);
        let difference = Difference { name, from, to };
        if difference.from != difference.to && !found.contains(&difference) {
            found.push(difference);
        }
    }
    found
}

impl Report for DiffReport {
    fn text(&self) -> String {
        let mut out = format!("from {} to {}\n", self.from, self.to);
        for (title, changes) in [("changes", &self.gained), ("changes taken back", &self.lost)] {
            if !changes.is_empty() {
                out += &format!("\n{title}:\n");
                out += &changes.iter().map(ChangeReport::text).collect::<String>();
            }
        }
        for (title, list) in
            [("behaviour", &self.behaviours), ("feature", &self.features), ("tunable", &self.tunable_files)]
        {
            if !list.is_empty() {
                let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "-".to_owned());
                let rows = list.iter().map(|d| vec![d.name.clone(), value(&d.from), value(&d.to)]);
                out += &format!("\n{}", text::table(&[title, self.from, self.to], rows));
            }
        }
        if self.gained.is_empty() && self.lost.is_empty() {
            out += "no change of behaviour that is modelled\n";
        }
        out
    }
}
