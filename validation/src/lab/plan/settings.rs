//! The scenario's kernel settings as writes in the guest.

use super::Refusal;
use sim_workloads::scenario::Scenario;

/// Writes to tunables and features, in the order in which a scenario makes them.
pub(super) fn settings(scenario: &Scenario) -> Result<Vec<String>, Refusal> {
    let kernel = &scenario.kernel;
    let no = |key: &str, what: &str| Err(Refusal::new(&["kernel", key], what));
    if kernel.autogroup == Some(true) {
        return no("sched_autogroup_enabled", "guests boot with noautogroup, as those of all captures did");
    }
    if kernel.tunable_scaling.is_some() {
        return no("sched_tunable_scaling", "scaling other than a kernel's own cannot be had from boot");
    }
    if kernel.skew_tick == Some(true) {
        return no("skew_tick", "guests boot without skew_tick");
    }
    if kernel.irq_time_accounting.is_some() {
        return no("irq_time_accounting", "the kernel's build decides that");
    }
    if kernel.steal_time_accounting.is_some() {
        return no("steal_time_accounting", "the kernel's build decides that");
    }
    let mut set: Vec<String> = Vec::new();
    for (tunable, value) in &kernel.tunables {
        let name = tunable.name();
        set.push(format!("{}={value}", name.strip_prefix("sched_").unwrap_or(name)));
    }
    if kernel.rewrite_tunable_scaling {
        // The value all kernels boot with.
        set.push("tunable_scaling=1".to_owned());
    }
    set.extend(kernel.features.iter().map(|word| format!("features={word}")));
    Ok(set)
}
