use crate::failure::Failure;
#[derive(Debug, clap::Args)]
pub(crate) struct SweepArgs {}
pub(crate) fn main(_: &SweepArgs, _: crate::output::Talk) -> Result<(), Failure> {
    Ok(())
}
