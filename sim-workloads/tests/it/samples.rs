//! The scenarios that come with the project are valid.

use super::parse;

#[test]
fn parse_and_build() {
    let samples = [
        (include_str!("../../../scenarios/hog-and-sleeper.toml"), 2, 0),
        (include_str!("../../../scenarios/two-hogs.toml"), 2, 0),
        (include_str!("../../../scenarios/pipe-ping-pong.toml"), 3, 2),
    ];
    for (text, tasks, pipes) in samples {
        let scenario = parse(text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let built = scenario.build(scenario.seed);
        assert_eq!((built.tasks.len(), built.objects.pipes.len()), (tasks, pipes), "{}", scenario.name);
    }
}

#[test]
fn the_example_of_the_reference_is_valid() {
    let text = include_str!("../../../scenarios/README.md");
    let example =
        text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let scenario = parse(example).unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert_eq!(scenario.build(1).tasks.len(), 5);
}
