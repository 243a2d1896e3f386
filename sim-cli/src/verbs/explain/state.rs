//! How everything stands at a point in time.

use super::watch::{Standing, Watch};
use super::words::{against, exact};
use serde::Serialize;
use sim_core::kernel::Kernel;
use sim_core::{CfsRqId, CpuId, Instant, TaskId};

/// Most tasks shown that neither run nor wait.
const MAX_OFF: usize = 40;

/// The state of the machine.
#[derive(Debug, Serialize)]
pub(super) struct State {
    pub(super) at_ns: u64,
    cpus: Vec<CpuState>,
    /// Tasks on no CPU's queue.
    off: Vec<TaskState>,
}

/// A CPU and what competes on it, the running task first, then in the order of vruntime.
#[derive(Debug, Serialize)]
struct CpuState {
    cpu: u32,
    need_resched: bool,
    queue: Vec<TaskState>,
}

/// A task.
#[derive(Debug, Serialize)]
struct TaskState {
    task: String,
    standing: &'static str,
    since_ns: u64,
    /// Place among those that wait on its queue, from 1.
    position: Option<usize>,
    /// vruntime less its queue's min_vruntime, ns.
    vruntime_from_min_ns: i64,
    /// Number of the last decision about it.
    last_decision: Option<u64>,
    last_decision_text: Option<String>,
    #[serde(skip)]
    line: String,
}

/// The state of `kernel` at `at`. `told` puts the last decision about a task into words.
pub(super) fn state<H>(
    kernel: &Kernel<H>,
    watch: &Watch,
    at: Instant,
    told: impl Fn(TaskId) -> Option<(u64, String)>,
) -> State
where
    H: sim_core::kernel::hooks::Hooks,
{
    let task_state = |task: TaskId, position: Option<usize>| {
        let stand = watch.standing[task.index()];
        let entity = kernel.task_entity(task);
        let min = kernel.cfs_rq(entity.cfs_rq).min_vruntime;
        let standing = match stand.standing {
            Standing::NotStarted => "has not started",
            Standing::Asleep => "sleeps",
            Standing::Waiting => "waits",
            Standing::Running => "runs",
            Standing::Ended => "has ended",
        };
        let (number, text) = told(task).unzip();
        let place = match position {
            Some(n) => format!(", number {n} in the queue"),
            None => String::new(),
        };
        let since = exact((at - stand.since).0);
        let line = match stand.standing {
            Standing::NotStarted => format!("{} {standing}", watch.book.task(task)),
            Standing::Ended => format!("{} {standing}, at {}", watch.book.task(task), stand.since),
            _ => format!(
                "{} {standing} since {}, for {since}{place}; vruntime {}",
                watch.book.task(task),
                stand.since,
                against(entity.vruntime, min, "min_vruntime")
            ),
        };
        TaskState {
            task: watch.book.task(task),
            standing,
            since_ns: stand.since.0,
            position,
            vruntime_from_min_ns: entity.vruntime.wrapping_sub(min) as i64,
            last_decision: number,
            last_decision_text: text,
            line,
        }
    };
    let cpus = (0..kernel.config.cpus).map(|i| {
        let rq = kernel.rq(CpuId(i));
        let mut queue: Vec<TaskState> = rq.curr.into_iter().map(|t| task_state(t, None)).collect();
        let waiting = waiting(kernel, rq.cfs);
        queue.extend(waiting.into_iter().map(|(task, position)| task_state(task, Some(position))));
        CpuState { cpu: i, need_resched: rq.need_resched, queue }
    });
    let off =
        |t: &TaskId| !matches!(watch.standing[t.index()].standing, Standing::Waiting | Standing::Running);
    State {
        at_ns: at.0,
        cpus: cpus.collect(),
        off: (0..watch.standing.len()).map(TaskId::new).filter(off).map(|t| task_state(t, None)).collect(),
    }
}

/// Tasks that wait on a queue and those below it, with their place in their own queue.
fn waiting<H: sim_core::kernel::hooks::Hooks>(kernel: &Kernel<H>, q: CfsRqId) -> Vec<(TaskId, usize)> {
    let queue = kernel.cfs_rq(q);
    let mut found = Vec::new();
    let running_group = queue.curr.and_then(|c| kernel.entity(c).my_q);
    found.extend(running_group.into_iter().flat_map(|inner| waiting(kernel, inner)));
    for (i, se) in queue.tree.iter().enumerate() {
        let entity = kernel.entity(se);
        found.extend(entity.task.map(|t| (t, i + 1)));
        found.extend(entity.my_q.into_iter().flat_map(|inner| waiting(kernel, inner)));
    }
    found
}

impl State {
    pub(super) fn text(&self) -> String {
        let mut out = format!("At {}:\n", Instant(self.at_ns));
        let last = |t: &TaskState| match (t.last_decision, &t.last_decision_text) {
            (Some(number), Some(text)) => format!("    last decision, #{number}: {text}\n"),
            _ => String::new(),
        };
        for cpu in &self.cpus {
            let resched = if cpu.need_resched { " (need_resched is set)" } else { "" };
            let idle = if cpu.queue.is_empty() { " idle" } else { "" };
            out += &format!("CPU {}:{idle}{resched}\n", cpu.cpu);
            for task in &cpu.queue {
                out += &format!("  {}\n{}", task.line, last(task));
            }
        }
        if !self.off.is_empty() {
            out += "On no queue:\n";
        }
        for task in self.off.iter().take(MAX_OFF) {
            out += &format!("  {}\n{}", task.line, last(task));
        }
        match self.off.len().saturating_sub(MAX_OFF) {
            0 => out,
            more => out + &format!("  and {more} more\n"),
        }
    }
}
