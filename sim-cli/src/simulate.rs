//! From a loaded scenario to a simulation with any observer and hooks.

use crate::load::Loaded;
use sim_core::kernel::hooks::Hooks;
use sim_core::observe::Observer;
use sim_core::{Nanos, Simulation};

/// A simulation ready to run under `seed`, cut off at `until` if that comes first.
pub(crate) fn prepare<O: Observer, H: Hooks>(
    loaded: &Loaded,
    seed: u64,
    until: Option<Nanos>,
    observer: O,
    hooks: H,
) -> Simulation<O, H> {
    let builder = loaded.document.scenario.build(seed);
    let mut config = loaded.resolved.config.clone();
    config.duration = config.duration.into_iter().chain(until).min();
    builder.simulation(config, observer, hooks)
}
