//! `/proc/cpuinfo`, beside a copy of sysfs: what it says of cores where the copy lacks their files.

use super::cpus::{CpuRecord, Draft, reclaim_distance};
use sim_core::CpuId;

/// Takes from the text what sysfs did not say.
pub(super) fn complete(text: &str, draft: &mut Draft) {
    draft.reclaim_distance = reclaim_of(text);
    let told = |r: &CpuRecord| r.core.is_some() || r.package.is_some();
    if draft.cpus.values().any(told) {
        // Its numbers and those of sysfs cannot be compared.
        return;
    }
    let mut used = false;
    for (cpu, package, core) in blocks(text) {
        if let Some(record) = draft.cpus.get_mut(&CpuId(cpu)) {
            (record.package, record.core, used) = (Some((0, package)), Some((package, core)), true);
        }
    }
    if used {
        draft
            .notes
            .push("cores and packages are taken from /proc/cpuinfo: sysfs does not say them".to_owned());
    }
}

/// Each CPU with its `physical id` and `core id`, which x86 has.
fn blocks(text: &str) -> Vec<(u32, u32, u32)> {
    let (mut found, mut cpu, mut package) = (Vec::new(), None, None);
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let number = value.trim().parse::<u32>().ok();
        match key.trim() {
            "processor" => (cpu, package) = (number, None),
            "physical id" => package = number,
            "core id" => found.extend(cpu.zip(package).zip(number).map(|((cpu, p), core)| (cpu, p, core))),
            _ => {}
        }
    }
    found
}

fn reclaim_of(text: &str) -> u8 {
    let field = |name: &str| {
        let line = text.lines().take(200).find(|l| l.split(':').next().is_some_and(|k| k.trim() == name));
        line.and_then(|l| l.split_once(':')).map(|(_, v)| v.trim())
    };
    reclaim_distance(field("vendor_id").unwrap_or_default(), field("cpu family").and_then(|f| f.parse().ok()))
}
