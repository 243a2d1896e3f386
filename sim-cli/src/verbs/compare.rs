use crate::failure::Failure;
#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {}
pub(crate) fn main(_: &CompareArgs, _: crate::output::Talk) -> Result<(), Failure> {
    Ok(())
}
