//! `export`.

use super::{local, CliError, Common};
use crate::{counted::counted, export::export, hardware};
use clap::Args;
use neuroshard_types::RunId;
use std::{
	fs, io,
	path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(super) struct Export {
	/// Where the model goes: a new or empty folder.
	#[arg(long, value_name = "DIR")]
	out: PathBuf,
	/// Write into a folder that is not empty, over the model that is there. Files of other names stay.
	#[arg(long)]
	force: bool,
	/// Run whose newest checkpoint to use; the newest run if not given.
	#[arg(long)]
	run: Option<RunId>,
}

impl Export {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		if !self.force {
			refuse_occupied(&self.out)?;
		}
		let (model, checkpoint) = local::load(&common.base()?, self.run, hardware::threads(None))?;
		export(&self.out, &model, &checkpoint.params)?;
		let header = checkpoint.header;
		println!(
			"checkpoint {:?} of run {} after {}, in {}",
			header.root(),
			header.run,
			counted(header.round, "round"),
			self.out.display()
		);
		Ok(0)
	}
}

/// Refuses a folder with anything in it.
fn refuse_occupied(out: &Path) -> Result<(), CliError> {
	match fs::read_dir(out).and_then(|mut entries| entries.next().transpose()) {
		Ok(None) => Ok(()),
		Ok(Some(_)) => {
			Err(CliError::Invalid(format!("{} is not empty: name another folder with --out, or write over it with --force", out.display())))
		}
		Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
		Err(error) => Err(CliError::file(out)(error)),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_model_goes_into_a_new_or_empty_folder_unless_forced() {
		let base = tempfile::tempdir().unwrap();
		refuse_occupied(base.path()).unwrap();
		refuse_occupied(&base.path().join("new")).unwrap();
		let file = base.path().join("notes.txt");
		fs::write(&file, "mine").unwrap();
		let words = refuse_occupied(base.path()).unwrap_err().to_string();
		assert!(words.contains("is not empty") && words.contains("--force"), "{words}");
		assert!(matches!(refuse_occupied(&file), Err(CliError::File { .. })));
	}
}
