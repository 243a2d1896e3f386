//! What makes work go faster or slower: clocks, shared cores, caches.

use super::part::Part;
use crate::scenario::ScenarioError;
use sim_core::machine::MachineConfig;

impl Part<'_> {
    /// What makes work go faster or slower.
    pub(super) fn set_pace(&self, config: &mut MachineConfig) -> Result<(), ScenarioError> {
        let machine = self.machine;
        if let Some(frequency) = &machine.frequency {
            let refused = |(key, message)| self.error(&["machine", "frequency", key], message);
            config.frequency = frequency.config().map_err(refused)?;
            if machine.idle.is_some() && frequency.deep_after.is_some() {
                let message = "[machine.idle] says which idle states are deep and when a core is in one";
                return Err(refused(("deep_after", message.to_owned())));
            }
        }
        if let Some(cache) = &machine.cache {
            config.cache =
                cache.config().map_err(|(key, message)| self.error(&["machine", "cache", key], message))?;
        }
        config.smt = machine.smt.as_ref().map(|smt| smt.config()).unwrap_or_default();
        config.ipc = machine.ipc.as_ref().map(|ipc| ipc.config()).unwrap_or_default();
        Ok(())
    }
}
