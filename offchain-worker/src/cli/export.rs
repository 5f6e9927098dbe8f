//! `export`.

use super::{local, CliError, Common};
use clap::Args;
use neuroshard_support::{counted::counted, hardware};
use neuroshard_training::export::export;
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
		refuse_occupied(&self.out, self.force)?;
		let base = common.base()?;
		let (run, model, checkpoint) = local::find(&base, self.run, hardware::threads(None))?;
		export(&self.out, &model, &local::tokenizer(&base, run)?, &checkpoint.params)?;
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

/// Refuses what can be no folder, and, unless `forced`, a folder with anything in it.
pub(super) fn refuse_occupied(out: &Path, forced: bool) -> Result<(), CliError> {
	match fs::read_dir(out).and_then(|mut entries| entries.next().transpose()) {
		Ok(None) => Ok(()),
		Ok(Some(_)) if forced => Ok(()),
		Ok(Some(_)) => {
			Err(CliError::Invalid(format!("{} is not empty: name another folder with --out, or write over it with --force", out.display())))
		}
		Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
		Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(CliError::Invalid(format!(
			"{} cannot be a folder, since it is a file, or in one: name a new or an empty folder with --out",
			out.display()
		))),
		Err(error) => Err(CliError::file(out)(error)),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_model_goes_into_a_new_or_empty_folder_unless_forced() {
		let base = tempfile::tempdir().unwrap();
		refuse_occupied(base.path(), false).unwrap();
		refuse_occupied(&base.path().join("new"), false).unwrap();
		let file = base.path().join("notes.txt");
		fs::write(&file, "mine").unwrap();
		let words = refuse_occupied(base.path(), false).unwrap_err().to_string();
		assert!(words.contains("is not empty") && words.contains("--force"), "{words}");
		refuse_occupied(base.path(), true).unwrap();
		for (out, forced) in [(&file, false), (&file, true), (&file.join("new"), true)] {
			let words = refuse_occupied(out, forced).unwrap_err().to_string();
			assert!(words.contains("notes.txt") && words.contains("--out") && words.contains("new or an empty folder"), "{words}");
		}
	}
}
