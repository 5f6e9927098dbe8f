//! `dataset verify`, and the way to the other commands about datasets.

use super::{
	dataset_build::{self, Watch},
	dataset_chain, parse, CliError, Common,
};
use clap::{Args, Subcommand};
use neuroshard_chain_client::ChainClient;
use neuroshard_data::{
	build::{BuildOptions, DEFAULT_MEMORY_BYTES},
	dataset,
	manifest::{DatasetManifest, MANIFEST_FILE},
	sources,
};
use neuroshard_support::printable::printable_line;
use neuroshard_types::{DatasetId, H256};
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum DatasetCommand {
	/// Tokenize text into shards with a manifest.
	Build(Box<dataset_build::Build>),
	/// Check every file of a dataset against its manifest, and the manifest against a root, the chain, or the files that the dataset was made of.
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
			Self::Build(command) => command.run().await,
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
	/// Folder with the files that it was made of, by the names in `sources.json`: makes the dataset of them again and compares.
	#[arg(long, value_name = "DIR")]
	sources: Option<PathBuf>,
	/// Memory in which documents are sorted, about, where the dataset is made again.
	#[arg(long, value_name = "BYTES", default_value_t = DEFAULT_MEMORY_BYTES, value_parser = clap::value_parser!(u64).range(1 << 20..), requires = "sources")]
	memory: u64,
	/// Threads that make tokens, where the dataset is made again; without it, one for each core.
	#[arg(long, value_parser = parse::threads, requires = "sources")]
	threads: Option<usize>,
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
		if let Some(folder) = self.sources {
			let defaults = BuildOptions::default();
			let options = BuildOptions { memory_bytes: self.memory, threads: self.threads.unwrap_or(defaults.threads), ..defaults };
			let watch = Watch::start(&options.meter);
			let made = sources::verify(&self.dir, &folder, &options);
			drop(watch);
			made?;
			println!("its sources give it");
		}
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
	if manifest.masked {
		println!("masked    tokens say which of them are targets of the loss");
	}
	println!("text      {} bytes, unigram entropy {:.4} nats per token", manifest.bytes, manifest.unigram_entropy);
	println!("root      {:?}", manifest.root);
}

fn parse_hash(text: &str) -> Result<H256, CliError> {
	let mut hash = H256::zero();
	hex::decode_to_slice(text.trim_start_matches("0x"), hash.as_bytes_mut())
		.map_err(|_| CliError::Invalid(format!("{text:?} is not a hash: expected 64 hexadecimal digits")))?;
	Ok(hash)
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
