//! `tokenizer train`.

use super::{
	reading::{notices, Reading},
	CliError,
};
use clap::{Args, Subcommand};
use neuroshard_atomic_write::write_atomically;
use neuroshard_data::{
	tokenizer::{train, Tokenizer},
	DataError,
};
use neuroshard_support::printable::printable_line;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum TokenizerCommand {
	/// Make a tokenizer (byte-level BPE) of text, for `dataset build --tokenizer`. The same text gives the same file.
	Train(Train),
}

impl TokenizerCommand {
	pub(super) async fn run(self) -> Result<u8, CliError> {
		match self {
			Self::Train(command) => command.run().await,
		}
	}
}

#[derive(Debug, Args)]
pub(super) struct Train {
	#[command(flatten)]
	reading: Reading,
	/// Tokens. A model has a row for each, so that a small model with a large vocabulary is mostly that.
	#[arg(long, value_name = "TOKENS", default_value_t = 8_192)]
	vocab: u32,
	/// The file: a `tokenizer.json`.
	#[arg(long, value_name = "FILE", default_value = "tokenizer.json")]
	out: PathBuf,
	/// Replace the file if it is there.
	#[arg(long)]
	force: bool,
}

impl Train {
	async fn run(self) -> Result<u8, CliError> {
		let Self { reading, vocab, out, force } = self;
		if !force && out.symlink_metadata().is_ok() {
			return Err(CliError::Invalid(format!(
				"{} is there already: name another file with --out, or replace it with --force",
				out.display()
			)));
		}
		let (documents, found) = reading.corpus(&[], None).await?.texts()?;
		let failed = |source| DataError::Tokenizer { path: out.clone(), source };
		let file = train::train(documents.iter().map(String::as_str), vocab).map_err(failed)?;
		write_atomically(&out, &file).map_err(CliError::file(&out))?;
		let tokenizer = Tokenizer::open(&out, None, false).map_err(failed)?;
		println!("{} tokens of {} bytes of text, in {}", tokenizer.tokens().usable, found.bytes(), out.display());
		for line in notices(&found) {
			println!("{}", printable_line(&line));
		}
		Ok(0)
	}
}
