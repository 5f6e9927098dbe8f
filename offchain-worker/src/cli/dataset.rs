//! `dataset build|verify`, and the way to the commands that need a chain.

use super::{dataset_chain, parse, CliError, Common};
use clap::{Args, Subcommand};
use neuroshard_chain_client::ChainClient;
use neuroshard_data::{
	corpus::{self, Corpus, CorpusLimits, DEFAULT_CORPUS_BYTES, DEFAULT_DOCUMENT_BYTES, LEAST_DOCUMENT_BYTES},
	dataset::{self, BuildOptions},
	manifest::{DatasetManifest, MANIFEST_FILE},
	tokenizer::Tokenizer,
	DataError,
};
use neuroshard_support::printable::printable_line;
use neuroshard_types::{dataset::DatasetShape, DatasetId, H256};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum DatasetCommand {
	/// Tokenize text into shards with a manifest.
	Build(Build),
	/// Check every file of a dataset against its manifest, and the manifest against a root or the chain.
	Verify(Verify),
	/// Propose a dataset on chain and activate it.
	Register(dataset_chain::Register),
	/// Make a dataset usable that was only proposed.
	Activate {
		/// The dataset.
		dataset: DatasetId,
	},
	/// Take a dataset back: no new run may use it.
	Retire {
		/// The dataset.
		dataset: DatasetId,
	},
	/// Remove a dataset that was taken back, a while after the last run that used it; its deposit returns to its proposer.
	Remove {
		/// The dataset.
		dataset: DatasetId,
	},
	/// Show all datasets of the chain.
	List,
}

impl DatasetCommand {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		match self {
			Self::Build(command) => command.run(),
			Self::Verify(command) => command.run(common).await,
			Self::Register(command) => command.run(common).await,
			Self::Activate { dataset } => dataset_chain::activate(common, dataset).await,
			Self::Retire { dataset } => dataset_chain::retire(common, dataset).await,
			Self::Remove { dataset } => dataset_chain::remove(common, dataset).await,
			Self::List => dataset_chain::list(common).await,
		}
	}
}

#[derive(Debug, Args)]
pub(super) struct Build {
	/// Where the dataset goes: a new or empty folder.
	#[arg(long, value_name = "DIR")]
	out: PathBuf,
	/// Replace the dataset that is there, once the new one is complete.
	#[arg(long)]
	force: bool,
	/// Text file, or folder of text; without it, the sources and READMEs of the crates in the cargo registry.
	#[arg(long, value_name = "PATH")]
	corpus: Option<PathBuf>,
	/// Most bytes of text; without it, all of --corpus, or 8 MiB of the cargo registry.
	#[arg(long, value_name = "BYTES")]
	max_bytes: Option<u64>,
	/// Most bytes of a document: a longer file becomes several, split at ends of lines. Of the cargo registry, only the first one of each
	/// file is taken.
	#[arg(long, value_name = "BYTES", default_value_t = DEFAULT_DOCUMENT_BYTES, value_parser = clap::value_parser!(u64).range(LEAST_DOCUMENT_BYTES..))]
	document_bytes: u64,
	/// Name.
	#[arg(long, default_value = "local text")]
	name: String,
	/// SPDX licence expression, such as Apache-2.0, or MIT OR Apache-2.0.
	#[arg(long, default_value = "LicenseRef-mixed", value_parser = parse::licence)]
	licence: String,
	/// Tokens of every shard.
	#[arg(long, default_value_t = BuildOptions::default().tokens_per_shard)]
	tokens_per_shard: u32,
	/// Shards held out for validation.
	#[arg(long, default_value_t = BuildOptions::default().held_out)]
	held_out: u32,
	/// A Hugging Face `tokenizer.json`; without it, each byte is a token. `tokenizer train` makes one.
	#[arg(long, value_name = "FILE")]
	tokenizer: Option<PathBuf>,
	/// Token that ends each document; without it, the one that the files beside the tokenizer name, or the usual one.
	#[arg(long, value_name = "TOKEN", requires = "tokenizer")]
	end_token: Option<String>,
	/// Take special tokens that the text names as such; without it, they are text like any other.
	#[arg(long, requires = "tokenizer")]
	special_tokens: bool,
	/// Rows of the embedding of models that are trained on it, a multiple of 32, where that is more than the tokenizer needs: that of a model that is
	/// trained further.
	#[arg(long, value_name = "ROWS", default_value_t = 0, hide_default_value = true)]
	vocab: u32,
}

impl Build {
	fn run(self) -> Result<u8, CliError> {
		let most = if self.corpus.is_some() { u64::MAX } else { DEFAULT_CORPUS_BYTES };
		let limits = CorpusLimits { total_bytes: self.max_bytes.unwrap_or(most), document_bytes: self.document_bytes };
		let corpus = match &self.corpus {
			Some(path) => corpus::corpus_beside(path, limits, Some(&self.out)).map_err(|error| match error {
				DataError::Io { path: failed, source } if failed == *path => {
					CliError::Invalid(format!("--corpus {}: {source}", path.display()))
				}
				error => error.into(),
			})?,
			None => corpus::registry_corpus(&cargo_home()?, limits)?,
		};
		let tokenizer = match &self.tokenizer {
			None => Tokenizer::bytes(),
			Some(path) => Tokenizer::open(path, self.end_token.as_deref(), self.special_tokens)
				.map_err(|source| DataError::Tokenizer { path: path.clone(), source })?,
		};
		let options = BuildOptions {
			name: self.name,
			licence: self.licence,
			tokens_per_shard: self.tokens_per_shard,
			held_out: self.held_out,
			vocab: self.vocab,
		};
		let built = match self.force {
			true => dataset::rebuild(&corpus, &tokenizer, &options, &self.out)?,
			false => dataset::build(&corpus, &tokenizer, &options, &self.out)?,
		};
		describe(&built.manifest);
		for line in notices(&corpus, &built.manifest.shape) {
			println!("{}", printable_line(&line));
		}
		Ok(0)
	}
}

/// What of the text that was found is not in a dataset of this shape, and what is in it that is hardly text, a line for each reason.
fn notices(corpus: &Corpus, shape: &DatasetShape) -> Vec<String> {
	// Every document has a token more than bytes, its end.
	let tokens = corpus.bytes().saturating_add(corpus.documents.len() as u64);
	let unused = tokens.saturating_sub(u64::from(shape.tokens_per_shard).saturating_mul(shape.shard_count.into()));
	let unused = match unused {
		0 => None,
		1 => Some("1 token that does not fill another shard".to_owned()),
		_ => Some(format!("{unused} tokens that do not fill another shard")),
	};
	let left_out = corpus.left_out.lines().into_iter().chain(unused).map(|line| format!("left out  {line}"));
	let raw = (corpus.raw.amount.count > 0).then(|| {
		format!("as it is  {} bytes of JSON, tables or markup {}: all of their marks are text", corpus.raw.amount.bytes, corpus.raw.named())
	});
	left_out.chain(raw).collect()
}

#[derive(Debug, Args)]
pub(super) struct Verify {
	/// Folder of the dataset.
	#[arg(long, value_name = "DIR")]
	dir: PathBuf,
	/// Root that it must have.
	#[arg(long, value_name = "HASH", conflicts_with = "id")]
	root: Option<String>,
	/// Dataset on chain whose root it must have.
	#[arg(long, value_name = "ID")]
	id: Option<DatasetId>,
}

impl Verify {
	async fn run(self, common: &Common) -> Result<u8, CliError> {
		refuse_no_dataset(&self.dir)?;
		let verified = match (self.root, self.id) {
			(Some(text), _) => dataset::verify(&self.dir, Some(parse_hash(&text)?))?,
			(None, Some(id)) => {
				let view = dataset_chain::known(&ChainClient::connect_all(&common.node).await?, id).await?;
				dataset::verify_against(&self.dir, &view.manifest, &format!("dataset {id} on the chain"))?
			}
			(None, None) => dataset::verify(&self.dir, None)?,
		};
		describe(&verified.manifest);
		println!("every chunk agrees");
		Ok(0)
	}
}

/// Refuses a folder without a manifest, which is what makes it a dataset.
pub(super) fn refuse_no_dataset(dir: &Path) -> Result<(), CliError> {
	if dir.join(MANIFEST_FILE).exists() {
		return Ok(());
	}
	let dir = dir.display();
	Err(CliError::Invalid(format!(
		"{dir} is no dataset folder, there is no {MANIFEST_FILE} in it: `neuroshard-worker dataset build --corpus TEXT --out DIR` makes one"
	)))
}

pub(super) fn describe(manifest: &DatasetManifest) {
	let shape = manifest.shape;
	println!("name      {} ({})", printable_line(&manifest.name), printable_line(&manifest.licence));
	println!("shards    {} of {} tokens, {} held out", shape.shard_count, shape.tokens_per_shard, shape.held_out);
	println!("tokens    below {} of a vocabulary of {}", manifest.tokenizer.tokens.usable, manifest.vocab);
	println!("text      {} bytes, unigram entropy {:.4} nats per token", manifest.bytes, manifest.unigram_entropy);
	println!("root      {:?}", manifest.root);
}

fn parse_hash(text: &str) -> Result<H256, CliError> {
	let mut hash = H256::zero();
	hex::decode_to_slice(text.trim_start_matches("0x"), hash.as_bytes_mut())
		.map_err(|_| CliError::Invalid(format!("{text:?} is not a hash: expected 64 hexadecimal digits")))?;
	Ok(hash)
}

fn cargo_home() -> Result<PathBuf, CliError> {
	let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
	named("CARGO_HOME")
		.or_else(|| named("HOME").map(|home| home.join(".cargo")))
		.ok_or_else(|| CliError::Invalid("there is no cargo registry on this machine: name text with --corpus PATH".into()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn hashes_are_read_with_and_without_prefix() {
		let digits = "01".repeat(32);
		assert_eq!(parse_hash(&digits).unwrap(), H256::repeat_byte(1));
		assert_eq!(parse_hash(&format!("0x{digits}")).unwrap(), H256::repeat_byte(1));
		for wrong in ["", "0x12", "zz"] {
			assert!(parse_hash(wrong).is_err());
		}
	}

	#[test]
	fn all_that_a_dataset_leaves_out_is_said_with_its_reason_and_paths() {
		let folder = tempfile::tempdir().unwrap();
		let files: [(&str, &[u8]); 6] = [
			("a.txt", b"0123456789"),
			("b.txt", b"0123456789"),
			("c.jsonl", b"{}\n"),
			("d.csv", b"1,2\n"),
			(".env", b"x"),
			("e.bin", b"\xff"),
		];
		for (name, text) in files {
			std::fs::write(folder.path().join(name), text).unwrap();
		}
		let corpus = corpus::path_corpus(folder.path(), CorpusLimits::default()).unwrap();
		// 16 tokens: 10 and 4 bytes, and two ends.
		let shape = DatasetShape { tokens_per_shard: 7, shard_count: 2, held_out: 1 };
		let lines = notices(&corpus, &shape);
		let expected = [
			"left out  1 byte of 1 file that is not UTF-8 text (e.bin)",
			"left out  3 bytes of 1 file of records (c.jsonl): write the texts in them to files of text, as with `jq -r .text FILE > TEXT` for JSON lines",
			"left out  10 bytes of 1 document that is blank, or equal to another one (b.txt)",
			"left out  1 byte of 1 hidden file or folder (.env)",
			"left out  2 tokens that do not fill another shard",
			"as it is  4 bytes of JSON, tables or markup (d.csv): all of their marks are text",
		];
		assert_eq!(lines, expected);
		let whole = Corpus { left_out: Default::default(), raw: Default::default(), documents: vec![vec![b'a'; 13]], ..corpus };
		assert!(notices(&whole, &shape).is_empty());
	}

	#[test]
	fn a_folder_without_a_manifest_is_no_dataset_and_what_makes_one_is_said() {
		let folder = tempfile::tempdir().unwrap();
		for dir in [folder.path().to_path_buf(), folder.path().join("nothere")] {
			let words = refuse_no_dataset(&dir).unwrap_err().to_string();
			assert!(words.contains("is no dataset folder") && words.contains("dataset build --corpus TEXT"), "{words}");
		}
		std::fs::write(folder.path().join(MANIFEST_FILE), "{}").unwrap();
		refuse_no_dataset(folder.path()).unwrap();
	}
}
