//! `export`.

use super::{
	local::{self, Trained},
	run_start::no_start,
	CliError, Common,
};
use clap::{Args, ValueEnum};
use neuroshard_atomic_write::write_atomically;
use neuroshard_compute::exec::Exec;
use neuroshard_data::tokenizer::Tokenizer;
use neuroshard_graph::ParamLayout;
use neuroshard_inference::folder::speaker;
use neuroshard_support::{counted::counted, hardware};
use neuroshard_training::{
	adapter::merge,
	checkpoint::Checkpoint,
	engine::EngineError,
	export::{
		card::{self, Exported},
		export, gguf, peft,
	},
};
use neuroshard_types::{Adapter, ModelConfig, RunId, H256};
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
	/// With --merged: folder that `model import` filled with the model that the adapter is beside, if the worker's store does not have it any more.
	#[arg(long, value_name = "DIR", requires = "merged")]
	base: Option<PathBuf>,
	/// Jinja file of the template that chats were made texts with, to go with the model: such as `chat_template.jinja` of the model that the run started from.
	#[arg(long, value_name = "FILE")]
	chat_template: Option<PathBuf>,
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
		let (run, adapter) = local::adapter(&base, self.run)?;
		self.refuse_other(run, adapter.is_some())?;
		let threads = hardware::threads(None);
		let trained = || local::trained(&base, Some(run), threads);
		let header = match adapter.filter(|_| !self.merged) {
			Some(adapter) => {
				let tokenizer = local::tokenizer(&base, run)?;
				let Trained { model, checkpoint, .. } = trained()?;
				peft::export(&self.out, &model, &adapter, &checkpoint.params)?;
				card::write(&self.out, Exported::Adapter(&adapter), &model, &tokenizer, &checkpoint.header)?;
				checkpoint.header
			}
			None => {
				let tokenizer = local::tokenizer(&base, run)?;
				let template = self.template(&tokenizer)?;
				let Trained { model, checkpoint: Checkpoint { header, mut params, .. }, .. } = trained()?;
				if let Some(adapter) = &adapter {
					let trained = core::mem::replace(&mut params, self.beside(&base, run, &model, adapter, threads)?);
					let exec = Exec::new(threads).map_err(EngineError::from)?;
					merge(&exec, &model, adapter, &trained, &mut params)?;
				}
				match self.format {
					Format::HuggingFace => {
						export(&self.out, &model, &tokenizer, &params)?;
						if let Some(template) = &template {
							let path = self.out.join("chat_template.jinja");
							write_atomically(&path, template.as_bytes()).map_err(CliError::file(&path))?;
						}
						let exported = adapter.as_ref().map_or(Exported::Model, Exported::Merged);
						card::write(&self.out, exported, &model, &tokenizer, &header)?;
					}
					Format::Gguf => {
						let words = (&tokenizer, template.as_deref());
						gguf::export(&self.out, &format!("run-{run}"), &model, words, &params, self.precision.into())?;
					}
				}
				header
			}
		};
		println!(
			"checkpoint {:?} of run {} after {}, in {}",
			header.root(),
			header.run,
			counted(header.round, "round"),
			self.out.display()
		);
		Ok(0)
	}

	/// The chat template that is to go with the model.
	fn template(&self, tokenizer: &Tokenizer) -> Result<Option<String>, CliError> {
		let Some(path) = &self.chat_template else { return Ok(None) };
		speaker(tokenizer.json(), None, Some(path)).map_err(|error| CliError::Invalid(error.to_string()))?;
		fs::read_to_string(path).map(Some).map_err(CliError::file(path))
	}

	/// Refuses what cannot be written of a run that trains an adapter, or does not.
	fn refuse_other(&self, run: RunId, is_adapter: bool) -> Result<(), CliError> {
		let words = match (is_adapter, self.merged, self.format) {
			(false, true, _) => format!("run {run} trains a model and no adapter: leave --merged out"),
			(true, false, _) if self.chat_template.is_some() => {
				"an adapter is written without a chat template, which is its model's".into()
			}
			(true, false, Format::Gguf) => "an adapter is written for PEFT: --merged writes the model with it as GGUF".into(),
			_ => return Ok(()),
		};
		Err(CliError::Invalid(words))
	}

	/// Parameters of the model that the adapter is beside: of the folder that is named, or out of the worker's store.
	fn beside(&self, base: &Path, run: RunId, model: &ModelConfig, adapter: &Adapter, threads: usize) -> Result<Vec<f32>, CliError> {
		let Some(folder) = &self.base else { return local::beside(base, run, model, adapter) };
		let layout = ParamLayout::new(model).map_err(|error| CliError::Invalid(format!("the model of run {run} is refused: {error}")))?;
		let checkpoint = Checkpoint::load(folder, &layout, threads)?.ok_or_else(|| no_start(folder))?;
		if checkpoint.header.params.0 != adapter.base {
			let (found, base) = (checkpoint.header.params, H256(adapter.base));
			let words = format!("{} has model {found:?}, and the adapter of run {run} is beside {base:?}: name that one", folder.display());
			return Err(CliError::Invalid(words));
		}
		Ok(checkpoint.params)
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

	fn command(rest: &[&str]) -> Export {
		use super::super::{Cli, Command};
		use clap::Parser;
		let Command::Export(export) = Cli::parse_from([&["neuroshard-worker", "export", "--out", "out"], rest].concat()).command else {
			panic!("another command")
		};
		export
	}

	#[test]
	fn an_adapter_is_no_gguf_by_itself_and_a_model_is_merged_with_nothing() {
		let refused = |rest: &[&str], is_adapter| command(rest).refuse_other(3, is_adapter).map_err(|error| error.to_string());
		assert!(refused(&["--format", "gguf"], true).unwrap_err().contains("--merged"));
		assert!(refused(&["--merged"], false).unwrap_err().contains("leave --merged out"));
		for (rest, is_adapter) in [(&["--merged", "--format", "gguf"][..], true), (&[], true), (&[], false), (&["--format", "gguf"], false)]
		{
			refused(rest, is_adapter).unwrap();
		}
	}

	#[test]
	fn a_model_that_the_store_has_no_more_is_read_from_its_folder_if_it_is_that_one() {
		let folder = tempfile::tempdir().unwrap();
		let (model, train) = neuroshard_training::presets::tiny();
		let checkpoint = Checkpoint::genesis(0, &model, &train, 1).unwrap();
		checkpoint.save(folder.path(), &ParamLayout::new(&model).unwrap()).unwrap();
		let right = Adapter {
			base: checkpoint.header.params.0,
			rank: 4,
			alpha: neuroshard_types::F32::new(8.0),
			projections: neuroshard_types::Projections::ALL,
		};
		let export = command(&["--merged", "--base", folder.path().to_str().unwrap()]);
		let beside =
			|export: &Export, adapter: &Adapter| export.beside(folder.path(), 3, &model, adapter, 1).map_err(|error| error.to_string());
		assert_eq!(beside(&export, &right).unwrap(), checkpoint.params);
		let words = beside(&export, &Adapter { base: [7; 32], ..right }).unwrap_err();
		assert!(words.contains("0x0707") && words.contains("name that one"), "{words}");
		let words = beside(&command(&["--merged"]), &right).unwrap_err();
		assert!(words.contains("--base FOLDER"), "{words}");
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
