//! What a governor is asked and told, and which one it is.

use super::haltpoll::Haltpoll;
use super::ladder::Ladder;
use super::menu::Menu;
use super::rules::TeoForm;
use super::state::Table;
use super::teo::Teo;
use super::teo_bins::TeoBins;
use crate::time::Nanos;
use serde::{Deserialize, Serialize};

/// Which governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GovernorKind {
    /// The default of kernels that stop the tick.
    Menu,
    /// Timer events oriented.
    Teo,
    /// Step by step; the default of kernels that do not stop the tick.
    Ladder,
    /// Guests that poll before they halt.
    Haltpoll,
    /// None: the CPU halts in its only state.
    None,
}

impl GovernorKind {
    /// Name, as in `current_governor`.
    pub const fn name(self) -> &'static str {
        match self {
            GovernorKind::Menu => "menu",
            GovernorKind::Teo => "teo",
            GovernorKind::Ladder => "ladder",
            GovernorKind::Haltpoll => "haltpoll",
            GovernorKind::None => "none",
        }
    }
}

/// The situation of a CPU about to idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Time to the next timer event if the tick were stopped.
    pub sleep_length: Nanos,
    /// Time to the next timer event, the tick included unless it is stopped.
    pub delta_tick: Nanos,
    /// The tick is stopped already.
    pub tick_stopped: bool,
    /// The longest exit latency allowed.
    pub latency_limit: Nanos,
    /// Tasks of this CPU that wait for input or output.
    pub iowaiters: u64,
    /// Utilisation of the CPU.
    pub utilisation: u64,
    /// Its capacity.
    pub capacity: u64,
}

/// A governor's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The state.
    pub state: usize,
    /// Stop the tick, if it still runs.
    pub stop_tick: bool,
}

/// How a stay in a state went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slept {
    /// The state.
    pub state: usize,
    /// From entering to having left.
    pub residency: Nanos,
    /// The tick ended it.
    pub by_tick: bool,
    /// The polling state ran into its time limit.
    pub poll_limit: bool,
}

/// A CPU's governor with what it remembers.
#[derive(Clone, Debug)]
pub enum Governor {
    /// menu.
    Menu(Menu),
    /// teo, 5.1 to 5.13.
    Teo(Box<Teo>),
    /// teo, from 5.14 on.
    TeoBins(Box<TeoBins>),
    /// ladder.
    Ladder(Ladder),
    /// haltpoll.
    Haltpoll(Haltpoll),
    /// No governor.
    None,
}

impl Governor {
    /// A governor of this kind that remembers nothing. Where the kernel has no timer events oriented one, it is menu.
    pub fn new(kind: GovernorKind, table: &Table) -> Governor {
        match (kind, table.rules.teo) {
            (GovernorKind::Teo, TeoForm::HitsAndMisses) => Governor::Teo(Box::new(Teo::new(table))),
            (GovernorKind::Teo, TeoForm::Bins) => Governor::TeoBins(Box::new(TeoBins::new(table))),
            (GovernorKind::Menu | GovernorKind::Teo, _) => Governor::Menu(Menu::default()),
            (GovernorKind::Ladder, _) => Governor::Ladder(Ladder::new(table)),
            (GovernorKind::Haltpoll, _) => Governor::Haltpoll(Haltpoll::default()),
            (GovernorKind::None, _) => Governor::None,
        }
    }

    /// Chooses the state to enter.
    pub fn select(&mut self, table: &Table, ask: &Ask) -> Pick {
        match self {
            Governor::Menu(g) => g.select(table, ask),
            Governor::Teo(g) => g.select(table, ask),
            Governor::TeoBins(g) => g.select(table, ask),
            Governor::Ladder(g) => g.select(table, ask),
            Governor::Haltpoll(g) => g.select(table, ask),
            Governor::None => {
                let state = table.usable_states().next().map_or(0, |(i, _)| i);
                Pick { state, stop_tick: !table.polls(state) }
            }
        }
    }

    /// Hears how the stay in the state went. The kernel's menu and teo learn it when they are asked next.
    pub fn reflect(&mut self, table: &Table, slept: &Slept) {
        match self {
            Governor::Menu(g) => g.reflect(table, slept),
            Governor::Teo(g) => g.reflect(table, slept),
            Governor::TeoBins(g) => g.reflect(table, slept),
            Governor::Ladder(g) => g.reflect(table, slept),
            Governor::Haltpoll(g) => g.reflect(table, slept),
            Governor::None => {}
        }
    }

    /// How long the polling state polls before the governor is asked again; none for ever.
    pub fn poll_limit(&self, table: &Table) -> Option<Nanos> {
        match self {
            Governor::Haltpoll(g) if !g.limit().is_zero() => Some(g.limit()),
            Governor::None => None,
            _ => Some(table.poll_limit()),
        }
    }
}

/// The tick goes on for a state that polls or a sleep foreseen to be shorter than a tick; then a state that pays only beyond
/// the next tick gives way to a shallower one.
///
/// Mirrors: the end of `menu_select()` and `teo_select()`, v4.19–v6.5; smp.md §5.3 step 6.
pub(super) fn keep_tick(table: &Table, ask: &Ask, mut state: usize, foreseen: Nanos) -> Pick {
    let keep = !ask.tick_stopped && (table.polls(state) || foreseen < table.tick);
    if keep {
        while let Some(shallower) =
            table.shallower(state).filter(|_| table.states[state].residency > ask.delta_tick)
        {
            state = shallower;
        }
    }
    Pick { state, stop_tick: !keep }
}
