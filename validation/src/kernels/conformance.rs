//! How often the model, driven by a capture of one CPU, decided as the real kernel did.

use crate::capture::Capture;
use crate::conformance::{Report, follow_capture};
use crate::simulate::Inexpressible;
use serde::Serialize;

/// All decisions that the trace shows, those without a choice included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// Wake-ups onto a busy CPU.
    pub wakeups: u64,
    /// Those with the right verdict on need_resched.
    pub wakeups_right: u64,
    /// Switches whose next task was compared.
    pub picks: u64,
    /// Those where the model would have picked the same.
    pub picks_right: u64,
    /// Ticks of a busy CPU with someone waiting.
    pub ticks: u64,
    /// Those with the right verdict.
    pub ticks_right: u64,
    /// Events that did not fit the model's state.
    pub misfits: u64,
}

impl Conformance {
    /// Adds another capture's counts.
    pub fn add(&mut self, o: &Conformance) {
        self.wakeups += o.wakeups;
        self.wakeups_right += o.wakeups_right;
        self.picks += o.picks;
        self.picks_right += o.picks_right;
        self.ticks += o.ticks;
        self.ticks_right += o.ticks_right;
        self.misfits += o.misfits;
    }
}

impl From<&Report> for Conformance {
    fn from(r: &Report) -> Conformance {
        Conformance {
            wakeups: r.preemption.asked,
            wakeups_right: r.preemption.asked_right,
            picks: r.next_task.asked,
            picks_right: r.next_task.asked_right,
            ticks: r.tick.asked,
            ticks_right: r.tick.asked_right,
            misfits: r.misfits,
        }
    }
}

/// Replays a capture through the kernel model.
///
/// # Errors
/// [`Inexpressible`] when the capture's experiment cannot be set up.
pub fn conformance(capture: &Capture) -> Result<Conformance, Inexpressible> {
    Ok(Conformance::from(&follow_capture(capture)?))
}
