//! The calls netperf makes, and what it says of a run.

use crate::scenario::Scenario;

fn scenario(table: &str) -> Scenario {
    let text = format!("costs.preset = \"zero\"\n[workload.netperf]\n{table}");
    Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

#[test]
fn dbg() {
    let s = scenario("test = \"TCP_STREAM\"\ncount = 10\n");
    println!("{s:?}");
}
