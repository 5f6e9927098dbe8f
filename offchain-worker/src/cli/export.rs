//! `export`.

use super::{
	local::{self, Trained},
	CliError, Common,
};
use clap::{Args, ValueEnum};
use neuroshard_compute::exec::Exec;
use neuroshard_support::{counted::counted, hardware};
use neuroshard_training::{
	adapter::merge,
	engine::EngineError,
	export::{card, export, gguf, peft},
};
use neuroshard_types::RunId;
use std::{
	fs, io,
	path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(super) struct Export {
	/// Where the model goes: a new or empty folder, or a new file for GGUF.
	#[arg(long, value_name = "PATH")]
	out: PathBuf,
	/// A folder in Hugging Face layout, or one file for llama.cpp and the programs that are built on it.
	#[arg(long, value_enum, default_value_t = Format::HuggingFace)]
	format: Format,
	/// How matrices are written in GGUF; vectors are f32.
	#[arg(long, value_enum, default_value_t = Precision::F32)]
	precision: Precision,
	/// Write into a folder that is not empty, or over a file that is there. In a folder, files of other names stay.
	#[arg(long)]
	force: bool,
	/// Of a run that trains an adapter: write the model with the adapter merged into it, and not the adapter for PEFT.
	#[arg(long)]
	merged: bool,
	/// Run whose newest checkpoint to use; the newest run if not given.
	#[arg(long)]
	run: Option<RunId>,
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
	#[value(name = "hf")]
	HuggingFace,
	Gguf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Precision {
	F32,
	F16,
	Bf16,
}

impl From<Precision> for gguf::Precision {
	fn from(precision: Precision) -> Self {
		match precision {
			Precision::F32 => Self::F32,
			Precision::F16 => Self::F16,
			Precision::Bf16 => Self::Bf16,
		}
	}
}

impl Export {
	pub(super) fn run(self, common: &Common) -> Result<u8, CliError> {
		match self.format {
			Format::HuggingFace if self.precision != Precision::F32 => {
				return Err(CliError::Invalid("Hugging Face folders are written in f32: --precision is for --format gguf".into()));
			}
			Format::HuggingFace => refuse_occupied(&self.out, self.force)?,
			Format::Gguf => refuse_taken(&self.out, self.force)?,
		}
		let base = common.base()?;
		let threads = hardware::threads(None);
		let Trained { run, model, adapter, checkpoint } = local::trained(&base, self.run, threads)?;
		let (tokenizer, header) = (local::tokenizer(&base, run)?, checkpoint.header);
		let params = match (adapter, self.merged) {
			(None, true) => return Err(CliError::Invalid(format!("run {run} trains a model and no adapter: leave --merged out"))),
			(Some(adapter), true) => {
				let mut params = local::beside(&base, run, &model, &adapter)?;
				let exec = Exec::new(threads).map_err(EngineError::from)?;
				merge(&exec, &model, &adapter, &checkpoint.params, &mut params)?;
				params
			}
			(_, false) => checkpoint.params,
		};
		match (self.format, adapter.filter(|_| !self.merged)) {
			(Format::HuggingFace, Some(adapter)) => peft::export(&self.out, &model, &adapter, &params)?,
			(Format::Gguf, Some(_)) => {
				return Err(CliError::Invalid("an adapter is written for PEFT: --merged writes the model with it as GGUF".into()));
			}
			(Format::HuggingFace, None) => {
				export(&self.out, &model, &tokenizer, &params)?;
				card::write(&self.out, &model, &tokenizer, &header)?;
			}
			(Format::Gguf, None) => gguf::export(&self.out, &format!("run-{run}"), &model, &tokenizer, &params, self.precision.into())?,
		}
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

/// Refuses a folder, and, unless `forced`, a file that is there.
fn refuse_taken(out: &Path, forced: bool) -> Result<(), CliError> {
	let words = match fs::metadata(out) {
		Ok(found) if found.is_dir() => "is a folder: name a file with --out, such as model.gguf",
		Ok(_) if !forced => "is there already: name another file with --out, or write over it with --force",
		Ok(_) | Err(_) => return Ok(()),
	};
	Err(CliError::Invalid(format!("{} {words}", out.display())))
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

	#[test]
	fn a_file_is_written_over_only_if_forced() {
		let base = tempfile::tempdir().unwrap();
		let file = base.path().join("model.gguf");
		refuse_taken(&file, false).unwrap();
		fs::write(&file, "mine").unwrap();
		assert!(refuse_taken(&file, false).unwrap_err().to_string().contains("--force"));
		refuse_taken(&file, true).unwrap();
		assert!(refuse_taken(base.path(), true).unwrap_err().to_string().contains("is a folder"));
	}
}
