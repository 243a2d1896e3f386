//! A database with a thread pool and locks, and clients beside it that wait for each answer, as sysbench's threads do.
//!
//! A client thinks, puts its transaction in the queue, and waits. A thread of the pool takes the oldest, works, takes the
//! lock its row is under, each as likely, works while it holds it, writes its log, and answers.

use super::{MAX_TASKS, ToDo, add, end_of, one_process, program, shared};
use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Duration, Whole, model_name, whole};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::program::{Action, ProgramContext, Work};
use sim_core::rng::Stream;
use sim_core::{Instant, MutexId, Nanos, SemId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The table `[workload.thread_pool]`. Tasks: `database`, the process's first thread, which only waits; `database/thread#0` and
/// so on; `clients/client#0` and so on, threads of another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThreadPool {
    /// First part of the paths of the database's tasks; that of the clients is `NAME-clients`.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// Client threads (sysbench's `--threads`), 1 to [`MAX_TASKS`]. Default 16.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub clients: u32,
    /// Threads of the pool (the servers' variable of that name), 1 to [`MAX_TASKS`]. Default 8.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub thread_pool_size: u32,
    /// How long a client waits between transactions. Default 0: not at all.
    pub think: Dist,
    /// Work of a transaction without its lock. Default 500 us.
    pub work: Dist,
    /// Locks, 1 to [`MAX_TASKS`]. Default 16.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub locks: u32,
    /// Work while it holds its lock. Default 20 us.
    pub lock_hold: Dist,
    /// How long writing its log takes, asleep and without the lock. Default 0: it does not wait for that.
    pub log_flush: Dist,
    /// How long clients go on (sysbench's `--time`). Default 10 s; 0 is for ever.
    #[serde(rename(serialize = "time_ns"))]
    pub time: Duration,
}

impl Default for ThreadPool {
    fn default() -> ThreadPool {
        let constant = |us| Dist::constant(Nanos::from_micros(us));
        ThreadPool {
            name: "database".to_owned(),
            clients: 16,
            thread_pool_size: 8,
            think: constant(0),
            work: constant(500),
            locks: 16,
            lock_hold: constant(20),
            log_flush: constant(0),
            time: Duration(Nanos::from_secs(10)),
        }
    }
}

const fn latency(name: &'static str, title: &'static str, short: &'static str) -> Headline {
    Headline { name, title, short, unit: "ms", better: Better::Lower }
}

/// What sysbench prints.
pub(crate) const HEADLINES: [Headline; 4] = [
    Headline {
        name: "thread_pool_tps",
        title: "database, transactions per second",
        short: "tps",
        unit: "1/s",
        better: Better::Higher,
    },
    latency("thread_pool_latency_avg_ms", "database, latency, avg", "lat. avg"),
    latency("thread_pool_latency_p95_ms", "database, latency, 95th percentile", "lat. p95"),
    latency("thread_pool_latency_max_ms", "database, latency, max", "lat. max"),
];

struct Database {
    spec: ThreadPool,
    end: Instant,
    queued: SemId,
    locks: Vec<MutexId>,
    /// By client.
    answered: Vec<SemId>,
    state: Mutex<State>,
}

struct State {
    /// Clients whose transactions wait.
    queue: VecDeque<usize>,
    /// Clients that go on.
    clients: u32,
}

/// A thread of the pool.
fn thread(db: Arc<Database>, mut stream: Stream) -> impl FnMut(&ProgramContext, &mut ToDo) + Send {
    let mut woken = false;
    move |_, to_do| {
        if !std::mem::replace(&mut woken, true) {
            return to_do.push_back(Action::SemWait(db.queued));
        }
        woken = false;
        // Woken for nothing: the last client has gone.
        let Some(client) = shared(&db.state).queue.pop_front() else { return };
        let work = db.spec.work.sample(&mut stream);
        let mutex = db.locks[stream.random_range(0..db.locks.len())];
        let hold = db.spec.lock_hold.sample(&mut stream);
        let run = |work| Action::Run(Work::Capacity(work));
        to_do.extend([run(work), Action::Lock(mutex), run(hold), Action::Unlock(mutex)]);
        let flush = db.spec.log_flush.sample(&mut stream);
        to_do.extend((!flush.is_zero()).then_some(Action::Io(flush)));
        to_do.extend([Action::Count(1), Action::SemPost { sem: db.answered[client], n: 1 }]);
    }
}

/// What a client does next.
enum Next {
    Think,
    Send,
    Receive(Instant),
    Leave,
}

fn client(
    db: Arc<Database>,
    number: usize,
    mut stream: Stream,
) -> impl FnMut(&ProgramContext, &mut ToDo) + Send {
    let mut next = Next::Think;
    move |cx, to_do| {
        if let Next::Receive(sent) = next {
            to_do.push_back(Action::Record { series: 0, time: cx.now.saturating_since(sent) });
            next = Next::Think;
        }
        if matches!(next, Next::Think) {
            next = Next::Send;
            let think = db.spec.think.sample(&mut stream);
            if !think.is_zero() {
                return to_do.push_back(Action::Sleep(think));
            }
        }
        if matches!(next, Next::Leave) {
            return;
        }
        let mut state = shared(&db.state);
        if cx.now < db.end {
            state.queue.push_back(number);
            let (queued, answered) = (db.queued, db.answered[number]);
            to_do.extend([Action::SemPost { sem: queued, n: 1 }, Action::SemWait(answered)]);
            next = Next::Receive(cx.now);
        } else {
            // The last to leave lets the pool go.
            state.clients -= 1;
            let pool = (state.clients == 0).then_some(db.spec.thread_pool_size);
            to_do.extend(pool.map(|n| Action::SemPost { sem: db.queued, n }));
            next = Next::Leave;
        }
    }
}

impl Model for ThreadPool {
    fn build(&self, builder: &mut Builder) {
        let clients = format!("{}-clients", self.name);
        let objects = &mut builder.objects;
        let queued = objects.add_semaphore(&format!("{}/queue", self.name), 0);
        let locks = (0..self.locks).map(|i| objects.add_mutex(&format!("{}/lock#{i}", self.name)));
        let locks = locks.collect();
        let answered = (0..self.clients).map(|i| objects.add_semaphore(&format!("{clients}/client#{i}"), 0));
        let answered = answered.collect();
        let state = Mutex::new(State { queue: VecDeque::new(), clients: self.clients });
        let end = end_of(self.time.0);
        let db = Arc::new(Database { spec: self.clone(), end, queued, locks, answered, state });
        let mut threads = vec![super::main_thread(builder, self.name.clone(), self.time.0)];
        for i in 0..self.thread_pool_size {
            let path = format!("{}/thread#{i}", self.name);
            let body = thread(Arc::clone(&db), builder.stream(&path, "transactions"));
            threads.push(add(builder, path, program(body)));
        }
        one_process(builder, threads);
        let clients = (0..self.clients).map(|i| {
            let path = format!("{clients}/client#{i}");
            let body = client(Arc::clone(&db), i as usize, builder.stream(&path, "think"));
            add(builder, path, program(body))
        });
        let clients: Vec<_> = clients.collect();
        one_process(builder, clients);
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let latency = run.recorded(&format!("{}-clients", self.name), 0);
        let Some((latency, tps)) = latency.zip(run.work_per_second(&self.name)) else { return Vec::new() };
        let ms = |time: Nanos| time.0 as f64 / 1e6;
        HEADLINES
            .iter()
            .zip([tps, ms(latency.mean()), ms(latency.quantile(0.95)), ms(latency.max())])
            .collect()
    }
}
