//! `export`.

use super::{local, CliError, Common};
use crate::{export::export, hardware};
use clap::Args;
use neuroshard_types::RunId;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct Export {
	/// Where the model goes.
	#[arg(long, value_name = "DIR")]
	out: PathBuf,
	/// Run whose newest checkpoint to use; the newest run if not given.
	#[arg(long)]
	run: Option<RunId>,
}

impl Export {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		let (model, checkpoint) = local::load(&common.base()?, self.run, hardware::threads(None))?;
		export(&self.out, &model, &checkpoint.params)?;
		let header = checkpoint.header;
		println!("checkpoint {:?} of run {} after {} rounds, in {}", header.root(), header.run, header.round, self.out.display());
		Ok(0)
	}
}
