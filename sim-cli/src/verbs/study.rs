use crate::failure::Failure;
#[derive(Debug, clap::Args)]
pub(crate) struct StudyArgs {}
pub(crate) fn main(_: &StudyArgs, _: crate::output::Talk) -> Result<(), Failure> {
    Ok(())
}
