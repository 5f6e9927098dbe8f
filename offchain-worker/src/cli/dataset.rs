//! `dataset build|verify|register`.

use super::{open::open, CliError, Common};
use crate::{
	chain::{self, Neuro},
	data::{
		corpus::{self, CorpusLimits},
		dataset::{self, BuildOptions},
		manifest::DatasetManifest,
	},
};
use clap::{Args, Subcommand};
use neuroshard_types::{DatasetId, H256};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum DatasetCommand {
	/// Tokenize text into shards with a manifest.
	Build(Build),
	/// Check every file of a dataset against its manifest, and the manifest against a root or the chain.
	Verify(Verify),
	/// Propose a dataset on chain and activate it.
	Register(Register),
}

impl DatasetCommand {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		match self {
			Self::Build(command) => command.run(),
			Self::Verify(command) => command.run(common).await,
			Self::Register(command) => command.run(common).await,
		}
	}
}

#[derive(Debug, Args)]
pub(super) struct Build {
	/// Where the dataset goes.
	#[arg(long, value_name = "DIR")]
	out: PathBuf,
	/// Text file, or folder of text; without it, the sources and READMEs of the crates in the cargo registry.
	#[arg(long, value_name = "PATH")]
	corpus: Option<PathBuf>,
	/// Most bytes of text.
	#[arg(long, value_name = "BYTES")]
	max_bytes: Option<u64>,
	/// Name.
	#[arg(long, default_value = "local text")]
	name: String,
	/// SPDX licence expression.
	#[arg(long, default_value = "LicenseRef-mixed")]
	licence: String,
	/// Tokens of every shard.
	#[arg(long, default_value_t = BuildOptions::default().tokens_per_shard)]
	tokens_per_shard: u32,
	/// Shards held out for validation.
	#[arg(long, default_value_t = BuildOptions::default().held_out)]
	held_out: u32,
}

impl Build {
	fn run(self) -> Result<u8, CliError> {
		let mut limits = CorpusLimits::default();
		if let Some(bytes) = self.max_bytes {
			limits.total_bytes = bytes;
		}
		let corpus = match &self.corpus {
			Some(path) => corpus::path_corpus(path, limits)?,
			None => corpus::registry_corpus(&cargo_home()?, limits)?,
		};
		let options =
			BuildOptions { name: self.name, licence: self.licence, tokens_per_shard: self.tokens_per_shard, held_out: self.held_out };
		let built = dataset::build(&corpus, &options, &self.out)?;
		describe(&built.manifest);
		Ok(0)
	}
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
		let root = match (self.root, self.id) {
			(Some(text), _) => Some(parse_hash(&text)?),
			(None, Some(id)) => {
				let client = chain::ChainClient::connect(&common.node).await?;
				let view = client.now().await?.dataset(id).await?;
				Some(view.ok_or_else(|| CliError::Unknown(format!("dataset {id} on this chain")))?.manifest.root)
			}
			(None, None) => None,
		};
		let verified = dataset::verify(&self.dir, root)?;
		describe(&verified.manifest);
		println!("every chunk agrees");
		Ok(0)
	}
}

#[derive(Debug, Args)]
pub(super) struct Register {
	/// Folder of the dataset.
	#[arg(long, value_name = "DIR")]
	dir: PathBuf,
	/// Only propose it.
	#[arg(long)]
	propose_only: bool,
	/// Print the identifier alone.
	#[arg(long)]
	quiet: bool,
}

impl Register {
	async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		// A deposit for files that differ from their manifest would be a deposit for nothing.
		let dataset = dataset::verify(&self.dir, None)?;
		let included = opened.submitter.submit(chain::dataset::propose(dataset.manifest.on_chain()?)).await?;
		let id: DatasetId = included
			.first_field("Dataset", "Proposed")
			.ok_or_else(|| CliError::Unknown("event that tells the new dataset's identifier".into()))?;
		if !self.propose_only {
			opened.submitter.submit(chain::dataset::activate(id)).await?;
		}
		if self.quiet {
			println!("{id}");
			return Ok(0);
		}
		let view = opened.client.now().await?.dataset(id).await?;
		describe(&dataset.manifest);
		println!("dataset {id}, deposit {}", Neuro(view.map_or(0, |view| view.deposit)));
		Ok(0)
	}
}

fn describe(manifest: &DatasetManifest) {
	let shape = manifest.shape;
	println!("name      {} ({})", manifest.name, manifest.licence);
	println!("shards    {} of {} tokens, {} held out", shape.shard_count, shape.tokens_per_shard, shape.held_out);
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
}
