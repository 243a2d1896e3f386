//! Every oddity of real traces, on fixtures of our own.

mod following;
mod forms;
mod lines;

use super::*;
use crate::scenario::Document;

fn limits() -> Limits {
    Limits::default()
}

fn summary(text: &str) -> Summary {
    summarize(text.as_bytes(), &limits(), Part::default()).unwrap()
}

fn refused(bytes: &[u8]) -> String {
    summarize(bytes, &limits(), Part::default()).unwrap_err().to_string()
}

fn imported(text: &str, options: &Options) -> Imported {
    let imported = import(text.as_bytes(), &limits(), options).unwrap();
    let document = Document::parse(&imported.scenario, "imported", &[]);
    document.unwrap_or_else(|e| panic!("{e}\n{}", imported.scenario)).resolve().unwrap();
    imported
}

/// A hog and a sleeper on one CPU, with what wraps and follows lines.
const HOG: &str = "\
# tracer: nop
# entries-in-buffer/entries-written: 5/9   #P:1
          <idle>-0  [000] dNh4. 1.000010: sched_wakeup: comm=hog pid=10 prio=120 target_cpu=000
          <idle>-0  [000] d..2. 1.000014: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=10 next_prio=120
             hog-10 [000] dNh4. 1.002000: sched_wakeup: comm=sleeper pid=11 prio=110 target_cpu=000
             hog-10 [000] d..2. 1.002003: sched_switch: prev_comm=hog prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=sleeper next_pid=11 next_prio=110
         sleeper-11 [000] d..2. 1.002503: sched_switch: prev_comm=sleeper prev_pid=11 prev_prio=110 prev_state=S ==> next_comm=hog next_pid=10 next_prio=120";
