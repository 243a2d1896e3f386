//! Who gets the CPU.

use super::or;
use crate::verbs::explain::limits;
use crate::verbs::explain::words::{Words, exact};
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::observe::{Buddy, Pick, PickRule};

/// An entity that could go before the fairest choice, and how far it lies behind it.
type Candidate = (String, i64);

impl Words<'_> {
    pub(super) fn pick(&self, d: &Pick) -> (String, Option<String>) {
        let (chosen, left) = (self.entity(d.chosen), self.entity(d.left));
        let beside = match d.second {
            Some(s) => format!("{} before {}", exact(d.second_behind.unsigned_abs()), self.entity(s)),
            None => "nothing else is runnable here".to_owned(),
        };
        let granularity = limits::wakeup_granularity(
            &self.kernel.tunables,
            &self.kernel.rules,
            self.load_of(d.left, d.left_weight),
        );
        let preferred = |role: &str, b: Option<Buddy>| {
            format!(
                "{chosen} is picked as {role} buddy: {left} has a vruntime {} smaller, not more than the granularity of {}",
                exact(b.map_or(0, |b| b.behind.unsigned_abs())),
                exact(granularity)
            )
        };
        let mut why = match d.rule {
            PickRule::Leftmost => format!("{chosen} is picked: smallest vruntime, {beside}"),
            PickRule::Current => format!("{chosen} stays: still the smallest vruntime, {beside}"),
            PickRule::Skip => format!(
                "{chosen} is picked: {left} has a vruntime {} smaller, but yielded",
                exact(d.second_behind.unsigned_abs())
            ),
            PickRule::NextBuddy | PickRule::LastBuddy if d.chosen == d.left => {
                format!("{chosen} is picked: a buddy, and the smallest vruntime, {beside}")
            }
            PickRule::NextBuddy => preferred("next", d.next),
            PickRule::LastBuddy => preferred("last", d.last),
        };
        let far = self.too_far(d);
        for (who, behind) in &far {
            why += &format!(
                "; {who} is {} further on, more than the granularity of {}",
                exact(behind.unsigned_abs()),
                exact(granularity)
            );
        }
        (why, self.pick_otherwise(d, &left, &far))
    }

    /// Those that would have gone first if they were nearer to the fairest choice.
    fn too_far(&self, d: &Pick) -> Vec<Candidate> {
        if d.chosen != d.left {
            return Vec::new();
        }
        let buddy = |role: &str, b: Option<Buddy>| {
            b.filter(|b| !b.is_near())
                .map(|b| (format!("the {role} buddy {}", self.entity(b.entity)), b.behind))
        };
        let fairest = matches!(d.rule, PickRule::Leftmost | PickRule::Current);
        let second = d.second.filter(|_| d.left_yielded && fairest);
        let yielded_to = second.map(|s| (format!("it yielded, but {}", self.entity(s)), d.second_behind));
        [buddy("next", d.next), buddy("last", d.last), yielded_to].into_iter().flatten().collect()
    }

    fn pick_otherwise(&self, d: &Pick, left: &str, far: &[Candidate]) -> Option<String> {
        let load = self.load_of(d.left, d.left_weight);
        // At which granularity one so far behind the fairest choice changes sides.
        let reach = |behind: i64| {
            let near = |t: &Tunables| {
                behind <= 0
                    || behind.unsigned_abs() <= limits::wakeup_granularity(t, &self.kernel.rules, load)
            };
            self.reaches(&[Tunable::WakeupGranularity], 0, near)
        };
        let behind = |b: Option<Buddy>| b.map_or(0, |b| b.behind);
        let (mut other, feature) = match d.rule {
            _ if d.chosen == d.left => {
                let (_, nearest) = far.iter().min_by_key(|(_, behind)| *behind)?;
                return or(&reach(*nearest)).map(|r| format!("{left} would have to wait with {r}"));
            }
            PickRule::NextBuddy => (reach(behind(d.next)), None),
            PickRule::LastBuddy => (reach(behind(d.last)), Some("NO_LAST_BUDDY")),
            _ => (reach(d.second_behind), None),
        };
        other.extend(feature.map(str::to_owned));
        or(&other).map(|other| format!("{left} would be picked with {other}"))
    }
}
