//! Shard files, written one after another as tokens come.

use super::{
	dataset::{entropy, shard_path, LEAVES_FILE, SHARDS_FOLDER},
	DataError,
};
use neuroshard_graph::{
	corpus::{TokenWidth, MASK},
	merkle::merkle_root,
	tiles::{leaf_hashes, LEAF_BYTES},
};
use neuroshard_types::{dataset::MAX_SHARDS, H256};
use std::{
	fs::{self, File},
	io::{BufWriter, Write},
	path::{Path, PathBuf},
};

/// The shards of a dataset that is built.
pub(super) struct Shards {
	folder: PathBuf,
	/// Bytes of the tokens of a shard.
	bytes: usize,
	width: TokenWidth,
	/// The shard that is not full yet.
	open: Vec<u8>,
	roots: Vec<H256>,
	leaves: BufWriter<File>,
}

impl Shards {
	/// Shards of so many tokens of this width, in the dataset folder `folder`.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn new(folder: &Path, tokens_per_shard: u32, width: TokenWidth) -> Result<Self, DataError> {
		let (shards, leaves) = (folder.join(SHARDS_FOLDER), folder.join(LEAVES_FILE));
		fs::create_dir_all(&shards).map_err(|error| DataError::io(&shards, error))?;
		let leaves = BufWriter::new(File::create(&leaves).map_err(|error| DataError::io(&leaves, error))?);
		let bytes = size(tokens_per_shard).saturating_mul(size(width.bytes()));
		Ok(Self { folder: folder.to_path_buf(), bytes, width, open: Vec::new(), roots: Vec::new(), leaves })
	}

	/// Appends tokens.
	///
	/// # Errors
	/// [`DataError::Io`], or [`DataError::Invalid`] for more shards than a dataset may have.
	pub(super) fn push(&mut self, tokens: &[u32]) -> Result<(), DataError> {
		for token in tokens {
			self.open.extend_from_slice(self.width.write(*token).get(..size(self.width.bytes())).unwrap_or_default());
			if self.open.len() == self.bytes {
				self.close()?;
			}
		}
		Ok(())
	}

	fn close(&mut self) -> Result<(), DataError> {
		let number = u32::try_from(self.roots.len()).ok().filter(|number| *number < MAX_SHARDS);
		let number = number.ok_or_else(|| DataError::Invalid(format!("there are more than {MAX_SHARDS} shards: use larger ones")))?;
		let mut bytes = std::mem::take(&mut self.open);
		bytes.resize(bytes.len().next_multiple_of(LEAF_BYTES), 0);
		let hashes = leaf_hashes(&bytes, 1);
		self.roots.push(H256(merkle_root(&hashes)));
		self.leaves.write_all(hashes.as_flattened()).map_err(|error| DataError::io(&self.folder.join(LEAVES_FILE), error))?;
		let path = shard_path(&self.folder, number);
		fs::write(&path, &bytes).map_err(|error| DataError::io(&path, error))?;
		bytes.clear();
		self.open = bytes;
		Ok(())
	}

	/// Leaves out what does not fill a shard, and gives the roots of all shards and the number of tokens that were left out.
	///
	/// # Errors
	/// [`DataError::Io`].
	pub(super) fn finish(self) -> Result<(Vec<H256>, u64), DataError> {
		let written = self.leaves.into_inner().map_err(|error| error.into_error());
		written.map_err(|error| DataError::io(&self.folder.join(LEAVES_FILE), error))?;
		let left = self.open.len().checked_div(size(self.width.bytes())).unwrap_or_default();
		Ok((self.roots, u64::try_from(left).unwrap_or(u64::MAX)))
	}
}

/// Entropy of the tokens of the last `held_out` of `shards` shards, without their masks if they are `masked`, as [`entropy`] has it.
///
/// # Errors
/// [`DataError::Io`].
pub(super) fn held_out_entropy(
	folder: &Path,
	[shards, held_out, tokens_per_shard, vocab]: [u32; 4],
	masked: bool,
) -> Result<f64, DataError> {
	let mut counts = vec![0u64; size(vocab)];
	let (width, mask) = (TokenWidth::of(vocab, masked), if masked { MASK } else { 0 });
	for shard in shards.saturating_sub(held_out)..shards {
		let path = shard_path(folder, shard);
		let bytes = fs::read(&path).map_err(|error| DataError::io(&path, error))?;
		for token in width.read(&bytes).take(size(tokens_per_shard)) {
			if let Some(count) = counts.get_mut(size(token & !mask)) {
				*count = count.saturating_add(1);
			}
		}
	}
	Ok(entropy(&counts))
}

fn size(number: u32) -> usize {
	usize::try_from(number).unwrap_or(usize::MAX)
}
