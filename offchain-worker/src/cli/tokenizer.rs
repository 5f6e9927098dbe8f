//! `tokenizer train`.

use super::CliError;
use clap::{Args, Subcommand};
use neuroshard_atomic_write::write_atomically;
use neuroshard_data::{
	corpus::{path_corpus, CorpusLimits, DEFAULT_DOCUMENT_BYTES, LEAST_DOCUMENT_BYTES},
	tokenizer::{train, Tokenizer},
	DataError,
};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum TokenizerCommand {
	/// Make a tokenizer (byte-level BPE) of text, for `dataset build --tokenizer`. The same text gives the same file.
	Train(Train),
}

impl TokenizerCommand {
	pub(super) fn run(self) -> Result<u8, CliError> {
		match self {
			Self::Train(command) => command.run(),
		}
	}
}

#[derive(Debug, Args)]
pub(super) struct Train {
	/// Text file, or folder of text.
	#[arg(long, value_name = "PATH")]
	corpus: PathBuf,
	/// Most bytes of text that is read; without it, all of it.
	#[arg(long, value_name = "BYTES")]
	max_bytes: Option<u64>,
	/// Most bytes of a document: a longer file becomes several, split at ends of lines.
	#[arg(long, value_name = "BYTES", default_value_t = DEFAULT_DOCUMENT_BYTES, value_parser = clap::value_parser!(u64).range(LEAST_DOCUMENT_BYTES..))]
	document_bytes: u64,
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
	fn run(self) -> Result<u8, CliError> {
		let Self { corpus, max_bytes, document_bytes, vocab, out, force } = self;
		if !force && out.symlink_metadata().is_ok() {
			return Err(CliError::Invalid(format!(
				"{} is there already: name another file with --out, or replace it with --force",
				out.display()
			)));
		}
		let corpus = path_corpus(&corpus, CorpusLimits { total_bytes: max_bytes.unwrap_or(u64::MAX), document_bytes })?;
		// They are UTF-8.
		let documents = corpus.documents.iter().filter_map(|document| std::str::from_utf8(document).ok());
		let failed = |source| DataError::Tokenizer { path: out.clone(), source };
		let file = train::train(documents, vocab).map_err(failed)?;
		write_atomically(&out, &file).map_err(CliError::file(&out))?;
		let tokenizer = Tokenizer::open(&out, None, false).map_err(failed)?;
		println!("{} tokens of {} bytes of text, in {}", tokenizer.tokens().usable, corpus.bytes(), out.display());
		Ok(0)
	}
}
