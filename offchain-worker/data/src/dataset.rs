//! A dataset on disk, and checking one against its manifest.

use super::{manifest::DatasetManifest, tokenizer::Tokenizer, DataError};
use neuroshard_graph::{
	corpus::{Corpus as Commitment, MASK},
	merkle::{merkle_root, Hash},
	tiles::{content_id, leaf_hashes},
};
use neuroshard_types::{
	dataset::{Manifest, CHUNK_BYTES},
	H256,
};
use std::{
	fs,
	path::{Path, PathBuf},
};

/// File name of the chunk hashes in a dataset folder.
pub const LEAVES_FILE: &str = "leaves.bin";
/// File name of the tokenizer in a dataset folder.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// Name of the folder of shard files in a dataset folder.
pub const SHARDS_FOLDER: &str = "shards";

/// A dataset on disk that was built or verified in this process.
#[derive(Clone, Debug)]
pub struct Dataset {
	/// Its folder.
	pub folder: PathBuf,
	/// Its manifest.
	pub manifest: DatasetManifest,
}

/// Path of a shard file below a dataset folder.
pub fn shard_path(folder: &Path, shard: u32) -> PathBuf {
	folder.join(SHARDS_FOLDER).join(format!("{shard:05}.bin"))
}

/// Bytes of every shard file: its tokens, padded to whole chunks.
pub fn shard_bytes(corpus: &Commitment) -> u64 {
	u64::from(corpus.chunks()).saturating_mul(u64::from(CHUNK_BYTES))
}

/// Merkle root over the shard roots, in order.
pub fn dataset_root(shard_roots: &[H256]) -> H256 {
	let roots: Vec<Hash> = shard_roots.iter().map(|root| root.0).collect();
	H256(merkle_root(&roots))
}

/// Recomputes every hash of the dataset in `folder` and compares it with the folder's manifest and, if given, with the
/// root that is asked for.
///
/// # Errors
/// The first difference: [`DataError::Differs`] for another root, [`DataError::Chunk`] with shard and chunk; see
/// [`DataError`] for the others.
pub fn verify(folder: &Path, expected_root: Option<H256>) -> Result<Dataset, DataError> {
	let manifest = DatasetManifest::read(folder)?;
	if let Some(expected) = expected_root.filter(|expected| *expected != manifest.root) {
		let (found, expected) = (format!("{:?}", manifest.root), format!("{expected:?}"));
		return Err(DataError::Differs { field: "root", found, other: "what was asked for".into(), expected });
	}
	verify_files(folder, manifest)
}

/// As [`verify`], against everything that the manifest `expected` says. `other` is whose manifest that is, in words.
///
/// # Errors
/// [`DataError::Differs`] names the first field that differs; otherwise as [`verify`].
pub fn verify_against(folder: &Path, expected: &Manifest, other: &str) -> Result<Dataset, DataError> {
	let manifest = DatasetManifest::read(folder)?;
	manifest.compare(expected, other)?;
	verify_files(folder, manifest)
}

fn verify_files(folder: &Path, manifest: DatasetManifest) -> Result<Dataset, DataError> {
	read_tokenizer(folder, &manifest)?;
	let leaves = fs::read(folder.join(LEAVES_FILE)).unwrap_or_default();
	let mut counts = vec![0u64; manifest.vocab as usize];
	let (width, mut ends_in_zeros) = (manifest.width(), true);
	for (shard, expected) in (0..manifest.shape.shard_count).zip(&manifest.shard_roots) {
		let bytes = verify_shard(folder, &manifest, shard, *expected, &leaves)?;
		let held_out = shard >= manifest.shape.shard_count - manifest.shape.held_out;
		let length = width.bytes() as usize * manifest.shape.tokens_per_shard as usize;
		let (text, padding) = bytes.split_at_checked(length).unwrap_or((&bytes, &[]));
		if padding.iter().any(|byte| *byte != 0) {
			return Err(DataError::Invalid(format!(
				"shard {shard} goes on after {} tokens: shape.tokens_per_shard in manifest.json is smaller than what it was built with",
				manifest.shape.tokens_per_shard
			)));
		}
		ends_in_zeros &= text.ends_with(&[0; 4][..width.bytes() as usize]);
		for (position, token) in (0u64..).zip(width.read(text)) {
			// What counts of it is no part of what it is.
			let token = if manifest.masked { token & !MASK } else { token };
			match counts.get_mut(token as usize) {
				Some(count) => *count += u64::from(held_out),
				None => return Err(DataError::Token { shard, position, token, vocab: manifest.vocab }),
			}
		}
	}
	let found = entropy(&counts);
	if (found - manifest.unigram_entropy).abs() > 1e-9 {
		return Err(DataError::Invalid(match ends_in_zeros {
			true => format!(
				"every shard ends in padding: shape.tokens_per_shard in manifest.json, {}, is larger than what it was built with",
				manifest.shape.tokens_per_shard
			),
			false => format!(
				"shape.held_out or unigram_entropy in manifest.json was changed: the last {} shards have a unigram entropy of {found}, not {}",
				manifest.shape.held_out, manifest.unigram_entropy
			),
		}));
	}
	Ok(Dataset { folder: folder.to_path_buf(), manifest })
}

/// Reads the tokenizer file in `folder`, which must be the one that `manifest` names.
///
/// # Errors
/// [`DataError::Io`], [`DataError::OtherTokenizer`].
fn read_tokenizer(folder: &Path, manifest: &DatasetManifest) -> Result<Vec<u8>, DataError> {
	let (path, expected) = (folder.join(TOKENIZER_FILE), manifest.tokenizer);
	let file = fs::read(&path).map_err(|error| DataError::io(&path, error))?;
	let found = H256(content_id(&file, 1));
	match found == expected.root && u32::try_from(file.len()) == Ok(expected.bytes) {
		true => Ok(file),
		false => Err(DataError::OtherTokenizer { found, expected: expected.root }),
	}
}

/// The tokenizer of the dataset in `folder`.
///
/// # Errors
/// [`DataError::Io`], [`DataError::OtherTokenizer`], [`DataError::Tokenizer`]; those of [`DatasetManifest::read`].
pub fn tokenizer(folder: &Path) -> Result<Tokenizer, DataError> {
	tokenizer_of(folder, &DatasetManifest::read(folder)?, false)
}

/// The tokenizer of the dataset in `folder`, which `manifest` is of. With `special`, special tokens that a text names are meant.
///
/// # Errors
/// [`DataError::Io`], [`DataError::OtherTokenizer`], [`DataError::Tokenizer`].
pub(crate) fn tokenizer_of(folder: &Path, manifest: &DatasetManifest, special: bool) -> Result<Tokenizer, DataError> {
	let failed = |source| DataError::Tokenizer { path: folder.join(TOKENIZER_FILE), source };
	Tokenizer::stated_with(read_tokenizer(folder, manifest)?, manifest.tokenizer.tokens, special).map_err(failed)
}

/// Reads one shard and checks it.
fn verify_shard(folder: &Path, manifest: &DatasetManifest, shard: u32, expected: H256, leaves: &[u8]) -> Result<Vec<u8>, DataError> {
	let path = shard_path(folder, shard);
	let bytes = fs::read(&path).map_err(|error| DataError::io(&path, error))?;
	let size = shard_bytes(&manifest.corpus());
	if bytes.len() as u64 != size {
		return Err(DataError::ShardSize { shard, found: bytes.len() as u64, expected: size });
	}
	let hashes = leaf_hashes(&bytes, 1);
	let found = H256(merkle_root(&hashes));
	if found == expected {
		return Ok(bytes);
	}
	// The list of chunk hashes is only a hint: it counts if it gives the expected root itself.
	let first = shard as usize * hashes.len();
	let listed: Vec<Hash> = leaves.as_chunks().0.iter().skip(first).take(hashes.len()).copied().collect();
	if merkle_root(&listed) == expected.0 {
		if let Some(chunk) = (0u32..).zip(hashes.iter().zip(&listed)).find(|(_, (found, listed))| found != listed) {
			return Err(DataError::Chunk { shard, chunk: chunk.0 });
		}
	}
	Err(DataError::ShardRoot { shard, found, expected })
}

/// Entropy in nats of the distribution that `counts` are drawn from; 0 for no counts.
pub fn entropy(counts: &[u64]) -> f64 {
	let total = counts.iter().sum::<u64>() as f64;
	let probabilities = counts.iter().filter(|count| **count > 0).map(|count| *count as f64 / total);
	probabilities.map(|probability| -probability * probability.ln()).sum()
}
