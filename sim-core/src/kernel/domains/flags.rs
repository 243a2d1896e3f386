//! What a scheduling domain does, as flags.

use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of a domain's flags (`SD_*`, smp.md §1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct DomainFlags(u16);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl DomainFlags {
            $($(#[$doc])* pub const $name: DomainFlags = DomainFlags(1 << $bit);)*
            /// All flags by name.
            pub const ALL: &'static [(&'static str, DomainFlags)] =
                &[$((stringify!($name), DomainFlags::$name)),*];
        }
    };
}

flags! {
    /// Is balanced at all (≤ 5.7; later every domain is).
    LOAD_BALANCE = 0;
    /// Is balanced when a CPU is about to idle.
    BALANCE_NEWIDLE = 1;
    /// Is balanced on exec.
    BALANCE_EXEC = 2;
    /// Is balanced on fork.
    BALANCE_FORK = 3;
    /// Is balanced on wake-up (≤ 5.6, asymmetric capacities only).
    BALANCE_WAKE = 4;
    /// A wakee may be pulled to its waker's CPU.
    WAKE_AFFINE = 5;
    /// Members differ in capacity.
    ASYM_CPUCAPACITY = 6;
    /// Members are threads of one core.
    SHARE_CPUCAPACITY = 7;
    /// Members share a cache.
    SHARE_PKG_RESOURCES = 8;
    /// Only one CPU at a time may balance a domain of this level.
    SERIALIZE = 9;
    /// Tasks should rather go to a sibling domain.
    PREFER_SIBLING = 10;
    /// Groups may overlap.
    OVERLAP = 11;
    /// Spans memory nodes.
    NUMA = 12;
}

impl DomainFlags {
    /// No flag.
    pub const NONE: DomainFlags = DomainFlags(0);

    /// Whether all of `flags` are set.
    pub const fn has(self, flags: DomainFlags) -> bool {
        self.0 & flags.0 == flags.0
    }
    /// These flags without `flags`.
    #[must_use]
    pub const fn without(self, flags: DomainFlags) -> DomainFlags {
        DomainFlags(self.0 & !flags.0)
    }
    /// Names of the flags set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().filter(move |(_, flag)| self.has(*flag)).map(|(name, _)| *name)
    }
}

impl BitOr for DomainFlags {
    type Output = DomainFlags;
    fn bitor(self, other: DomainFlags) -> DomainFlags {
        DomainFlags(self.0 | other.0)
    }
}
impl BitOrAssign for DomainFlags {
    fn bitor_assign(&mut self, other: DomainFlags) {
        self.0 |= other.0;
    }
}
impl fmt::Display for DomainFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(" "))
    }
}
impl Serialize for DomainFlags {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.names())
    }
}
