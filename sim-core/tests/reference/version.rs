//! What each kernel does: the rows of core.md §2.3, §2.6 and §14 that matter on one CPU, by profile name.

/// One column of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    /// nrlat follows writes; tunables are sysctls with ranges.
    pub(crate) sysctls: bool,
    /// ALT_PERIOD and BASE_SLICE exist, and are on.
    pub(crate) alt_period_and_base_slice: bool,
    /// Idle entities have their own slice floor and sleeper threshold (5.16).
    pub(crate) idle_granularity: bool,
    /// The tick's slice is at most the latency (6.3).
    pub(crate) capped: bool,
    /// 104 days of sleep are forgotten.
    pub(crate) long_sleeper: bool,
    /// Buddies are cleared when an entity is set as current, not at each pick (5.14).
    pub(crate) clear_at_set_next: bool,
    /// cpu.idle groups exist; idleness is tested at every level (5.15).
    pub(crate) idle_groups: bool,
    /// Non-zero weights scale down to at least 2.
    pub(crate) weight_floor: bool,
    /// Exiting tasks are dequeued and enqueued once more.
    pub(crate) exit_requeues: bool,
}

/// The column of a profile.
pub(crate) fn version(profile: &str) -> Version {
    // Order of ages; Debian's kernels stand with their mainline series and differ in the rows of §14.2.
    const AGES: [&str; 11] =
        ["4.19", "5.4", "5.5", "5.6", "5.7", "5.10", "5.12", "5.13", "5.15", "6.1", "6.5"];
    let (series, debian) = profile.strip_suffix("-debian").map_or((profile, false), |series| (series, true));
    let age = |of: &str| AGES.iter().position(|a| *a == of).expect("a column of the table");
    let since = |first: &str| age(series) >= age(first);
    Version {
        sysctls: !since("5.13"),
        alt_period_and_base_slice: since("5.13") || (debian && series == "5.10"),
        idle_granularity: since("6.1"),
        capped: since("6.5"),
        long_sleeper: since("6.5") || debian,
        clear_at_set_next: since("5.15"),
        idle_groups: since("5.15"),
        weight_floor: since("5.4"),
        exit_requeues: !since("6.5"),
    }
}
