use crate::failure::Failure;
#[derive(Debug, clap::Args)]
pub(crate) struct KernelArgs {}
pub(crate) fn main(_: &KernelArgs) -> Result<(), Failure> {
    Ok(())
}
