//! The manifest file of a dataset, and its form on the chain.

use super::DataError;
use neuroshard_graph::corpus::{Corpus, TokenWidth};
use neuroshard_support::json_file;
use neuroshard_types::{
	dataset::{DatasetShape, Manifest, TextTokens, Tokenizer, MAX_SHARDS, MAX_TOKENS_PER_SHARD, MAX_VOCAB},
	H256,
};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// File name of the manifest in a dataset folder.
pub const MANIFEST_FILE: &str = "manifest.json";

/// Content of `manifest.json`. Everything but the last two fields goes on chain; those can be recomputed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetManifest {
	/// Name, at most 64 bytes.
	pub name: String,
	/// SPDX licence expression, at most 64 bytes.
	pub licence: String,
	/// Origin of the text, at most 256 bytes.
	pub source: String,
	/// The file `tokenizer.json`.
	#[serde(alias = "tokenizer_hash", with = "tokenizer_text")]
	pub tokenizer: Tokenizer,
	/// Tokens are below this.
	pub vocab: u32,
	/// Whether tokens say which of them are targets of the loss.
	#[serde(default, skip_serializing_if = "is_not")]
	pub masked: bool,
	/// Tokens of every shard, number of shards, number of held-out ones.
	pub shape: DatasetShape,
	/// Merkle root over the shard roots.
	#[serde(with = "hash_text")]
	pub root: H256,
	/// Bytes of source text.
	pub bytes: u64,
	/// Entropy of the held-out shards' token frequencies, nats per token: what a model without context could reach.
	pub unigram_entropy: f64,
	/// Root of every shard, in order.
	#[serde(with = "hash_texts")]
	pub shard_roots: Vec<H256>,
}

/// What a manifest does not say.
fn is_not(masked: &bool) -> bool {
	!*masked
}

impl DatasetManifest {
	/// Returns the width of tokens in shards.
	pub fn width(&self) -> TokenWidth {
		TokenWidth::of(self.vocab, self.masked)
	}

	/// Returns the commitment to its shards.
	pub fn corpus(&self) -> Corpus {
		self.shape.corpus(self.root, self.width())
	}

	/// Reads a manifest and checks its bounds and that its shard roots give its root.
	///
	/// # Errors
	/// [`DataError::Io`], [`DataError::NotAManifest`], [`DataError::Invalid`] or [`DataError::DatasetRoot`].
	pub fn read(folder: &Path) -> Result<Self, DataError> {
		let path = folder.join(MANIFEST_FILE);
		let bytes = std::fs::read(&path).map_err(|error| DataError::io(&path, error))?;
		let manifest: Self = json_file::parse(&bytes).map_err(|reason| DataError::NotAManifest { path, reason })?;
		manifest.check()?;
		Ok(manifest)
	}

	/// Checks bounds and that the shard roots give the root.
	///
	/// # Errors
	/// [`DataError::Invalid`] or [`DataError::DatasetRoot`].
	pub fn check(&self) -> Result<(), DataError> {
		check_shape(&self.shape)?;
		self.on_chain()?;
		let (vocab, tokens) = (self.vocab, self.tokenizer.tokens);
		if vocab > MAX_VOCAB || !vocab.is_multiple_of(32) || !tokens.are_within(vocab) {
			return Err(DataError::Invalid(format!(
				"the vocabulary in the manifest, {vocab}, is no multiple of 32 up to {MAX_VOCAB}, or does not have the tokens of its tokenizer"
			)));
		}
		if self.shard_roots.len() as u64 != u64::from(self.shape.shard_count) {
			return Err(DataError::Invalid(format!(
				"the manifest lists {} shard roots for {} shards",
				self.shard_roots.len(),
				self.shape.shard_count
			)));
		}
		let found = super::dataset::dataset_root(&self.shard_roots);
		match found == self.root {
			true => Ok(()),
			false => Err(DataError::DatasetRoot { found, expected: self.root }),
		}
	}

	/// Compares this manifest with the one that `other` (in words, such as "dataset 3 on the chain") has: what fixes the
	/// windows first, since it is what a wrong root or entropy follows from.
	///
	/// # Errors
	/// [`DataError::Differs`] names the first field that differs; [`DataError::Invalid`] as [`Self::on_chain`].
	pub fn compare(&self, expected: &Manifest, other: &str) -> Result<(), DataError> {
		let own = self.on_chain()?;
		let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
		let fields = [
			("shape.tokens_per_shard", own.shape.tokens_per_shard.to_string(), expected.shape.tokens_per_shard.to_string()),
			("shape.shard_count", own.shape.shard_count.to_string(), expected.shape.shard_count.to_string()),
			("shape.held_out", own.shape.held_out.to_string(), expected.shape.held_out.to_string()),
			("vocab", own.vocab.to_string(), expected.vocab.to_string()),
			("masked", own.masked.to_string(), expected.masked.to_string()),
			("tokenizer", format!("{:?}", own.tokenizer), format!("{:?}", expected.tokenizer)),
			("root", format!("{:?}", own.root), format!("{:?}", expected.root)),
			("bytes", own.bytes.to_string(), expected.bytes.to_string()),
			("name", text(&own.name), text(&expected.name)),
			("licence", text(&own.licence), text(&expected.licence)),
			("source", text(&own.source), text(&expected.source)),
		];
		match fields.into_iter().find(|(_, found, expected)| found != expected) {
			None => Ok(()),
			Some((field, found, expected)) => Err(DataError::Differs { field, found, other: other.into(), expected }),
		}
	}

	/// The form that `dataset.propose` takes.
	///
	/// # Errors
	/// [`DataError::Invalid`] if a text is too long for the chain.
	pub fn on_chain(&self) -> Result<Manifest, DataError> {
		let too_long =
			|field: &str, most: u32| DataError::Invalid(format!("the dataset's {field} is longer than {most} bytes: shorten it"));
		Ok(Manifest {
			name: self.name.clone().into_bytes().try_into().map_err(|_| too_long("name", 64))?,
			licence: self.licence.clone().into_bytes().try_into().map_err(|_| too_long("licence", 64))?,
			source: self.source.clone().into_bytes().try_into().map_err(|_| too_long("source", 256))?,
			tokenizer: self.tokenizer,
			vocab: self.vocab,
			masked: self.masked,
			shape: self.shape,
			root: self.root,
			bytes: self.bytes,
		})
	}
}

/// Checks that a shape has training and held-out shards and keeps the chain's bounds.
pub(super) fn check_shape(shape: &DatasetShape) -> Result<(), DataError> {
	let DatasetShape { tokens_per_shard, shard_count, held_out } = *shape;
	if !(2..=MAX_TOKENS_PER_SHARD).contains(&tokens_per_shard) {
		return Err(DataError::Invalid(format!("tokens per shard must be 2 to {MAX_TOKENS_PER_SHARD}, not {tokens_per_shard}")));
	}
	if shard_count > MAX_SHARDS {
		return Err(DataError::Invalid(format!("{shard_count} shards are more than {MAX_SHARDS}: use larger shards")));
	}
	if held_out == 0 || held_out >= shard_count {
		return Err(DataError::Invalid(format!("of {shard_count} shards, 1 to all but one must be held out, not {held_out}")));
	}
	Ok(())
}

mod tokenizer_text {
	use super::{hash_text, TextTokens, Tokenizer, H256};
	use serde::{de::Error, Deserialize, Deserializer, Serialize, Serializer};

	/// Blake2-256 of the byte-level tokenizer's file, which is all that manifests of earlier versions say.
	const BYTES_HASH: &str = "0x07730e709ec9de71193ef905c389ddf1600b466513ee4af73e5753c3e834d6dc";

	#[derive(Serialize, Deserialize)]
	#[serde(deny_unknown_fields)]
	struct File {
		#[serde(with = "hash_text")]
		root: H256,
		bytes: u32,
		usable: u32,
		end: u32,
	}

	#[derive(Deserialize)]
	#[serde(untagged)]
	enum Told {
		Hash(String),
		File(File),
	}

	pub fn serialize<S: Serializer>(tokenizer: &Tokenizer, serializer: S) -> Result<S::Ok, S::Error> {
		let Tokenizer { root, bytes, tokens: TextTokens { usable, end } } = *tokenizer;
		File { root, bytes, usable, end }.serialize(serializer)
	}

	pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tokenizer, D::Error> {
		match Told::deserialize(deserializer)? {
			Told::File(File { root, bytes, usable, end }) => Ok(Tokenizer { root, bytes, tokens: TextTokens { usable, end } }),
			Told::Hash(hash) if hash == BYTES_HASH => Ok(Tokenizer::BYTES),
			Told::Hash(hash) => Err(D::Error::custom(format!("the tokenizer with hash {hash} is not known: build the dataset anew"))),
		}
	}
}

pub(crate) mod hash_text {
	use super::H256;
	use serde::{de::Error, Deserialize, Deserializer, Serializer};

	pub fn serialize<S: Serializer>(hash: &H256, serializer: S) -> Result<S::Ok, S::Error> {
		serializer.serialize_str(&format!("0x{}", hex::encode(hash)))
	}

	pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<H256, D::Error> {
		parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
	}

	pub fn parse(text: &str) -> Result<H256, String> {
		let mut hash = [0u8; 32];
		let digits = text.strip_prefix("0x").ok_or_else(|| format!("hash {text:?} does not begin with 0x"))?;
		hex::decode_to_slice(digits, &mut hash).map_err(|error| format!("hash {text:?}: {error}"))?;
		Ok(H256(hash))
	}
}

mod hash_texts {
	use super::{hash_text, H256};
	use serde::{de::Error, Deserialize, Deserializer, Serialize, Serializer};

	pub fn serialize<S: Serializer>(hashes: &[H256], serializer: S) -> Result<S::Ok, S::Error> {
		let texts: Vec<String> = hashes.iter().map(|hash| format!("0x{}", hex::encode(hash))).collect();
		texts.serialize(serializer)
	}

	pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<H256>, D::Error> {
		let texts = Vec::<String>::deserialize(deserializer)?;
		texts.iter().map(|text| hash_text::parse(text).map_err(D::Error::custom)).collect()
	}
}
