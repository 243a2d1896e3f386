//! Typed indices into the flat tables of the simulation.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);
        impl $name {
            /// The id as an index into its table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
            /// The id of table row `i`.
            pub const fn new(i: usize) -> Self {
                $name(i as u32)
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", stringify!($name).trim_end_matches("Id"), self.0)
            }
        }
    };
}

pub(crate) use id;

id!(/// A logical CPU, numbered as the kernel numbers it.
    CpuId);
id!(/// A task, numbered in order of creation; never reused within a run.
    TaskId);
id!(/// A scheduling entity: a task, or a task group's presence on one CPU.
    EntityId);
id!(/// A fair run queue: a CPU's root queue, or a task group's queue on one CPU.
    CfsRqId);
id!(/// A task group (cgroup with the cpu controller). Group 0 is the root.
    GroupId);
id!(/// A pipe.
    PipeId);
id!(/// A counting semaphore (futex based).
    SemId);
id!(/// A mutex (futex based, not handed off).
    MutexId);
id!(/// A barrier (futex based).
    BarrierId);

id!(/// An epoll instance.
    EpollId);
id!(/// A condition variable (futex based).
    ConditionId);
id!(/// One end of a connection.
    SocketId);
id!(/// A periodic timer that tasks share.
    TimerId);

impl GroupId {
    /// The root task group.
    pub const ROOT: GroupId = GroupId(0);
}
