//! State tables of known CPUs: the figures kernels carry for them, with their sources.

use super::governor::GovernorKind;
use super::state_table::{Row, StateTable};

const fn row(name: &'static str, latency_us: u32, residency_us: u32) -> Row {
    Row { name, latency_us, residency_us, entry_us: None, shared: false }
}

const fn entering(entry_us: u32, row: Row) -> Row {
    Row { entry_us: Some(entry_us), ..row }
}

const fn shared(row: Row) -> Row {
    Row { shared: true, ..row }
}

const INTEL_IDLE: &str = "intel_idle's table, the same in 5.4 and 6.6: worst cases";
const DEVICE_TREE: &str = "its device tree; exit latency with entering";

const fn intel(name: &'static str, about: &'static str, keeps: usize, rows: &'static [Row]) -> StateTable {
    StateTable {
        name,
        about,
        source: INTEL_IDLE,
        governor: GovernorKind::Menu,
        poll: true,
        rows,
        monitors: rows.len(),
        keeps_caches: keeps,
        off: &[],
        exit_by_cost: false,
    }
}

const fn amd(name: &'static str, about: &'static str, rows: &'static [Row]) -> StateTable {
    StateTable { source: AMD, monitors: 1, ..intel(name, about, 1, rows) }
}

const AMD: &str =
    "firmware's _CST by acpi_idle, residency twice the latency; differs by firmware, not certain";

const fn arm(name: &'static str, about: &'static str, rows: &'static [Row]) -> StateTable {
    StateTable { source: DEVICE_TREE, monitors: 0, poll: false, ..intel(name, about, 1, rows) }
}

const fn halting(
    name: &'static str,
    about: &'static str,
    governor: GovernorKind,
    rows: &'static [Row],
) -> StateTable {
    StateTable {
        source: "no table: the cost idle_exit says what waking takes",
        governor,
        monitors: 0,
        poll: false,
        exit_by_cost: true,
        ..intel(name, about, 1, rows)
    }
}

/// All tables.
pub const TABLES: &[StateTable] = &[
    intel(
        "nehalem",
        "Nehalem",
        2,
        &[row("C1", 3, 6), row("C1E", 10, 20), row("C3", 20, 80), row("C6", 200, 800)],
    ),
    intel(
        "snb",
        "Sandy Bridge",
        2,
        &[row("C1", 2, 2), row("C1E", 10, 20), row("C3", 80, 211), row("C6", 104, 345), row("C7", 109, 345)],
    ),
    intel(
        "ivb",
        "Ivy Bridge",
        2,
        &[row("C1", 1, 1), row("C1E", 10, 20), row("C3", 59, 156), row("C6", 80, 300), row("C7", 87, 300)],
    ),
    intel(
        "ivt",
        "Ivy Bridge EP, 1 or 2 sockets",
        2,
        &[row("C1", 1, 1), row("C1E", 10, 80), row("C3", 59, 156), row("C6", 82, 300)],
    ),
    intel(
        "ivt-4s",
        "Ivy Bridge EX, 4 sockets",
        2,
        &[row("C1", 1, 1), row("C1E", 10, 250), row("C3", 59, 300), row("C6", 84, 400)],
    ),
    intel(
        "ivt-8s",
        "Ivy Bridge EX, 8 sockets",
        2,
        &[row("C1", 1, 1), row("C1E", 10, 500), row("C3", 59, 600), row("C6", 88, 700)],
    ),
    intel(
        "hsw",
        "Haswell",
        2,
        &[
            row("C1", 2, 2),
            row("C1E", 10, 20),
            row("C3", 33, 100),
            row("C6", 133, 400),
            row("C7s", 166, 500),
            row("C8", 300, 900),
            row("C9", 600, 1800),
            row("C10", 2600, 7700),
        ],
    ),
    intel(
        "bdw",
        "Broadwell",
        2,
        &[
            row("C1", 2, 2),
            row("C1E", 10, 20),
            row("C3", 40, 100),
            row("C6", 133, 400),
            row("C7s", 166, 500),
            row("C8", 300, 900),
            row("C9", 600, 1800),
            row("C10", 2600, 7700),
        ],
    ),
    intel(
        "skl",
        "Skylake, Kaby Lake and Coffee Lake clients, so the i7-8700",
        2,
        &[
            row("C1", 2, 2),
            row("C1E", 10, 20),
            row("C3", 70, 100),
            row("C6", 85, 200),
            row("C7s", 124, 800),
            row("C8", 200, 800),
            row("C9", 480, 5000),
            row("C10", 890, 5000),
        ],
    ),
    intel(
        "skx",
        "Skylake and Cascade Lake servers",
        2,
        &[row("C1", 2, 2), row("C1E", 10, 20), row("C6", 133, 600)],
    ),
    intel(
        "skx-no-package-c6",
        "the same with package C6 disabled",
        2,
        &[row("C1", 2, 2), row("C1E", 10, 20), row("C6", 92, 276)],
    ),
    intel("icx", "Ice Lake servers", 2, &[row("C1", 1, 1), row("C1E", 4, 4), row("C6", 170, 600)]),
    intel("spr", "Sapphire and Emerald Rapids", 2, &[row("C1", 1, 1), row("C1E", 2, 4), row("C6", 290, 800)]),
    intel(
        "spr-no-package-c6",
        "the same with package C6 disabled",
        2,
        &[row("C1", 1, 1), row("C1E", 2, 4), row("C6", 190, 600)],
    ),
    StateTable {
        off: &["C1"],
        ..intel(
            "adl",
            "Alder Lake desktops",
            2,
            &[
                row("C1", 1, 1),
                row("C1E", 2, 4),
                row("C6", 220, 600),
                row("C8", 280, 800),
                row("C10", 680, 2000),
            ],
        )
    },
    intel(
        "adl_l",
        "Alder Lake mobiles",
        1,
        &[row("C1E", 2, 4), row("C6", 170, 500), row("C8", 200, 600), row("C10", 230, 700)],
    ),
    intel(
        "gmt",
        "Gracemont",
        1,
        &[row("C1E", 2, 4), row("C6", 195, 585), row("C8", 260, 1040), row("C10", 660, 1980)],
    ),
    intel(
        "bxt",
        "Goldmont",
        2,
        &[
            row("C1", 2, 2),
            row("C1E", 10, 20),
            row("C6", 133, 133),
            row("C7s", 155, 155),
            row("C8", 1000, 1000),
            row("C9", 2000, 2000),
            row("C10", 10000, 10000),
        ],
    ),
    intel("dnv", "Denverton", 2, &[row("C1", 2, 2), row("C1E", 10, 20), row("C6", 50, 500)]),
    amd("zen", "AMD Zen desktops and EPYC 7002", &[row("C1", 1, 2), row("C2", 400, 800)]),
    amd("zen-18", "AMD Zen with later firmware", &[row("C1", 1, 2), row("C2", 18, 36)]),
    arm(
        "juno",
        "ARM Juno",
        &[
            row("WFI", 1, 1),
            entering(300, row("cpu-sleep", 1500, 2000)),
            shared(entering(400, row("cluster-sleep", 1600, 2500))),
        ],
    ),
    arm(
        "hikey",
        "HiKey (hi6220)",
        &[
            row("WFI", 1, 1),
            entering(700, row("cpu-sleep", 950, 1000)),
            shared(row("cluster-sleep", 1500, 2700)),
        ],
    ),
    arm(
        "hikey960",
        "HiKey960 (hi3660), small cores",
        &[row("WFI", 1, 1), entering(400, row("cpu-sleep", 1050, 1500))],
    ),
    halting(
        "halt",
        "no cpuidle driver (idle=halt, or a guest's default)",
        GovernorKind::None,
        &[row("HLT", 0, 0)],
    ),
    StateTable {
        poll: true,
        source: "cpuidle-haltpoll; the cost idle_exit says what waking a halted virtual CPU takes",
        ..halting(
            "haltpoll",
            "a guest with cpuidle-haltpoll",
            GovernorKind::Haltpoll,
            &[row("haltpoll", 1, 1)],
        )
    },
    StateTable {
        poll: true,
        source: "idle=poll",
        ..halting("poll", "CPUs that never halt (idle=poll)", GovernorKind::None, &[])
    },
];
