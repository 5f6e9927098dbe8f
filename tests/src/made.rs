//! Datasets that the worker's commands make of files, as sponsors make them.

use crate::{Binaries, Ended, Error, Preset};
use std::{
	path::{Path, PathBuf},
	process::Command,
};

/// Trains a tokenizer of `vocab` tokens on the texts in a file of records, and makes a dataset for the preset with it, both in `folder`: of the texts, or, by a
/// chat template, of the conversations in the same records.
///
/// # Errors
/// [`Error::Command`] with what a command said, [`Error::File`] if the template cannot be written.
pub async fn made_dataset(records: &Path, vocab: u32, template: Option<&str>, preset: Preset, folder: &Path) -> Result<PathBuf, Error> {
	let worker = Binaries::find()?.worker;
	let [tokenizer, file, out] = ["tokenizer.json", "template.jinja", "dataset"].map(|name| folder.join(name));
	let command = |words: [&str; 2]| {
		let mut command = Command::new(&worker);
		command.args(words).arg("--corpus").arg(records);
		command
	};
	let mut train = command(["tokenizer", "train"]);
	train.arg("--out").arg(&tokenizer).args(["--vocab", &vocab.to_string()]);
	Ended::output_of(train).await?;
	let mut build = command(["dataset", "build"]);
	build.arg("--out").arg(&out).arg("--tokenizer").arg(&tokenizer);
	build.args(["--tokens-per-shard", &preset.shards().tokens_per_shard.to_string()]);
	if let Some(template) = template {
		std::fs::write(&file, template).map_err(Error::file(&file))?;
		build.arg("--chats").arg("--chat-template").arg(&file);
	}
	Ended::output_of(build).await?;
	Ok(out)
}
