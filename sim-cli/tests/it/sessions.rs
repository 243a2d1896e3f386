//! Whole sessions, word for word: few and small, so that a change in them is read and not just blessed.

#[test]
fn sessions_print_what_they_printed() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
