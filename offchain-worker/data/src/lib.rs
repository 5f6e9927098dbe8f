//! Data: tokenizer, corpora, building, verifying and reading datasets.
//!
//! Nothing here knows the chain or the network. A dataset is a folder:
//!
//! ```text
//! manifest.json      what it is: shape, roots, licence, source (read by people, too)
//! tokenizer.json     the tokenizer as Hugging Face has it; its root is in the manifest
//! sources.json       the files that it was made of, and how; not where they cannot be named, as for standard input
//! leaves.bin         hash of every 4 KiB chunk, shard after shard: names the chunk that differs
//! shards/00000.bin   tokens_per_shard tokens, little-endian, padded with zeros to whole 4 KiB chunks; two bytes each where the vocabulary
//!                    has up to 65,536 of them and the dataset is not masked, else four
//! ```

pub mod build;
pub mod chats;
pub mod corpus;
pub mod dataset;
pub mod filter;
mod judge;
pub mod loader;
pub mod manifest;
pub mod meter;
mod minhash;
pub mod mixture;
mod parallel;
mod place;
mod shards;
mod sorter;
pub mod sources;
pub mod tokenizer;

use neuroshard_types::H256;
use std::path::{Path, PathBuf};

/// Why text or a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
	/// A file or folder could not be read or written.
	#[error("{path}: {source}", path = path.display())]
	Io {
		/// The file or folder.
		path: PathBuf,
		/// Error of the operating system.
		source: std::io::Error,
	},
	/// Nothing to train on.
	#[error("no text was found in {path} ({left_out}): give a file or folder with text", path = path.display())]
	NoText {
		/// Path where it was looked for.
		path: PathBuf,
		/// Files that were there instead.
		left_out: corpus::LeftOut,
	},
	/// A file of the corpus is not what it seems to be.
	#[error("{place}: {reason}. Fetch or write it again, or move it out of the corpus")]
	Broken {
		/// The file.
		place: String,
		/// What is wrong with it.
		reason: String,
	},
	/// Text that is not UTF-8, where that is refused.
	#[error("{place}: {part} is no UTF-8: convert the file, as with `iconv -f LATIN1 -t UTF-8`, or leave such text out with --invalid-utf8 skip")]
	NotUtf8 {
		/// The file.
		place: String,
		/// Which byte of what the file holds when it is unpacked, or which line or row.
		part: String,
	},
	/// Records without the column that has the text.
	#[error("{place} has no column {column:?}: name the one that has the text with --column, which may be {}, or move the file out of the corpus{}", named(columns), chats(columns))]
	NoColumn {
		/// The file.
		place: String,
		/// Name that was looked for.
		column: String,
		/// Names that are there.
		columns: Vec<String>,
	},
	/// Building would mix a dataset with other files.
	#[error("{path} holds {found}, which is no part of a dataset: name a new or an empty folder", path = path.display())]
	Occupied {
		/// The folder.
		path: PathBuf,
		/// Name of an entry.
		found: String,
	},
	/// A file is where a folder should go.
	#[error("{path} cannot be a folder, since it is a file, or in one: name a new or an empty folder with --out", path = path.display())]
	NoFolder {
		/// Path of the folder.
		path: PathBuf,
	},
	/// Building would replace a dataset.
	#[error("{path} holds a dataset already: name another folder, or replace it with --force", path = path.display())]
	Exists {
		/// The folder.
		path: PathBuf,
	},
	/// The corpus does not fill the shards asked for.
	#[error("the corpus has {tokens} tokens, but {needed} are needed for one training shard beside the held-out ones: add text or use smaller shards")]
	CorpusTooSmall {
		/// Tokens, separators included.
		tokens: u64,
		/// Tokens of the smallest dataset of this shape.
		needed: u64,
	},
	/// A number or text in the options or manifest is outside its bounds.
	#[error("{0}")]
	Invalid(String),
	/// A manifest file that is not one.
	#[error("{path}: not a dataset manifest: {reason}", path = path.display())]
	NotAManifest {
		/// Path of the file.
		path: PathBuf,
		/// Parser's error, with its place.
		reason: String,
	},
	/// The tokenizer cannot be used, or not for this text.
	#[error("{path}: {source}", path = path.display())]
	Tokenizer {
		/// Its file.
		path: PathBuf,
		/// Why.
		source: tokenizer::TokenizerError,
	},
	/// The tokenizer file is not the one the manifest names.
	#[error("tokenizer.json has root {found:?}, the manifest says {expected:?}")]
	OtherTokenizer {
		/// Of the file.
		found: H256,
		/// In the manifest.
		expected: H256,
	},
	/// A shard file of the wrong size.
	#[error("shard {shard} has {found} bytes, the manifest's shape.tokens_per_shard makes it {expected}: fetch it again, or the manifest if every shard differs")]
	ShardSize {
		/// Shard, counted from 0.
		shard: u32,
		/// Of the file.
		found: u64,
		/// By the shape.
		expected: u64,
	},
	/// A shard whose bytes are not those of the manifest.
	#[error("shard {shard} differs from the manifest in chunk {chunk} (bytes {first}..{end} of its file): fetch it again", first = u64::from(*chunk) * 4096, end = (u64::from(*chunk) + 1) * 4096)]
	Chunk {
		/// Shard, counted from 0.
		shard: u32,
		/// First 4 KiB chunk that differs, counted from 0.
		chunk: u32,
	},
	/// A shard whose root differs although no trustworthy list of chunk hashes says where.
	#[error("shard {shard} has root {found:?}, the manifest says {expected:?}: fetch it again")]
	ShardRoot {
		/// Shard, counted from 0.
		shard: u32,
		/// Recomputed from the file.
		found: H256,
		/// In the manifest.
		expected: H256,
	},
	/// The shard roots of a manifest do not hash to its dataset root.
	#[error("manifest.json contradicts itself: its shard_roots give dataset root {found:?}, its root says {expected:?}")]
	DatasetRoot {
		/// Recomputed.
		found: H256,
		/// In the manifest.
		expected: H256,
	},
	/// The dataset in the folder is not the one that was asked for.
	#[error("{field} differs: the folder's manifest.json says {found}, {other} says {expected}. The folder holds another dataset, or its manifest was edited")]
	Differs {
		/// Field of the manifest.
		field: &'static str,
		/// Value in the folder.
		found: String,
		/// Source of the other value.
		other: String,
		/// Value of that source.
		expected: String,
	},
	/// A list of sources that cannot be used.
	#[error("{path}: {reason}", path = path.display())]
	NoSources {
		/// The list.
		path: PathBuf,
		/// Why.
		reason: String,
	},
	/// Sources that are not those of the list.
	#[error("the files in {folder} are not the sources of the dataset: {differences}", folder = folder.display())]
	OtherSources {
		/// Where the files are.
		folder: PathBuf,
		/// Which ones differ, and how.
		differences: String,
	},
	/// A source that changed while a dataset was made of it.
	#[error("{path} was changed while it was read: build the dataset again", path = path.display())]
	Changed {
		/// The file.
		path: PathBuf,
	},
	/// A window that does not exist in the dataset.
	#[error("no such window: shard {shard}, tokens {start}..{end}; shards have {tokens_per_shard} tokens and there are {shard_count}")]
	Window {
		/// Shard asked for.
		shard: u32,
		/// First token asked for.
		start: u64,
		/// One past the last token asked for.
		end: u64,
		/// Tokens of a shard.
		tokens_per_shard: u32,
		/// Shards.
		shard_count: u32,
	},
	/// A token at or above the vocabulary.
	#[error("shard {shard} has token {token} at position {position}, beyond the vocabulary of {vocab}")]
	Token {
		/// Shard.
		shard: u32,
		/// Position within the shard.
		position: u64,
		/// The token.
		token: u32,
		/// Tokens must be below this.
		vocab: u32,
	},
}

impl DataError {
	/// The answer of the file system about `path`.
	pub fn io(path: &Path, source: std::io::Error) -> Self {
		Self::Io { path: path.to_path_buf(), source }
	}
}

/// What to do where the columns look like conversations.
fn chats(columns: &[String]) -> &'static str {
	match columns.iter().any(|column| column.split('.').next() == Some("messages")) {
		true => ". Conversations in the column messages are read with --chats",
		false => "",
	}
}

/// Names of columns, or that there is none.
fn named(columns: &[String]) -> String {
	match columns.is_empty() {
		true => "none, since there are no names".into(),
		false => columns.join(", "),
	}
}

/// Blake2-256 of `bytes`.
pub fn blake2_256(bytes: &[u8]) -> H256 {
	let digest = blake2b_simd::Params::new().hash_length(32).hash(bytes);
	let mut hash = [0u8; 32];
	hash.copy_from_slice(digest.as_bytes());
	H256(hash)
}
