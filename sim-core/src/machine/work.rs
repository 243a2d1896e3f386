//! What kind of work a task does, as far as hardware cares.

use serde::{Deserialize, Serialize};

/// What limits a task's speed on an undisturbed core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkClass {
    /// Execution units: a sibling thread takes away what it uses.
    #[default]
    Compute,
    /// Waiting for memory: a sibling thread runs while it waits.
    Memory,
}

/// The kind of work of a task; children have their parent's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkKind {
    /// What limits it.
    pub class: WorkClass,
    /// Bytes it uses again and again; 0 for a task that does not mind caches.
    pub working_set: u64,
}

/// Instructions per cycle of each class on an undisturbed core with warm caches, in thousandths. Deviates: D-185.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IpcConfig {
    /// [`WorkClass::Compute`].
    pub compute: u32,
    /// [`WorkClass::Memory`].
    pub memory: u32,
}

impl Default for IpcConfig {
    /// Assumptions: integer code that hits its caches retires about 2 instructions a cycle on a core that can retire 4, code
    /// that waits for memory well below 1. They only scale the figure: no time depends on them.
    fn default() -> IpcConfig {
        IpcConfig { compute: 2000, memory: 700 }
    }
}

impl IpcConfig {
    /// Instructions per cycle of a class, in thousandths.
    pub const fn of(&self, class: WorkClass) -> u32 {
        match class {
            WorkClass::Compute => self.compute,
            WorkClass::Memory => self.memory,
        }
    }
}
