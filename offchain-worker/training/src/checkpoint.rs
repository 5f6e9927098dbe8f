//! Checkpoints: parameters and outer momentum, their roots, and their files.
//!
//! A checkpoint travels as two blobs, tile-encoded parameters and tile-encoded momentum, whose content identifiers are
//! the two roots in its [`Header`]; a header is right if it hashes to the checkpoint root on chain. On disk both blobs
//! lie in one file, parameters first, beside a small JSON file that is written last.

use crate::engine::Engine;
use codec::{Decode, Encode};
use neuroshard_atomic_write::{write_atomically, write_atomically_with};
use neuroshard_compute::exec::CodeError;
use neuroshard_graph::{
	commit::{checkpoint_root, tensors_root},
	init::theta_0,
	merkle::merkle_root,
	tiles::{self, leaf_hashes, DecodeError},
	ModelConfig, ParamLayout, ParamTensor, TrainConfig,
};
use neuroshard_types::{
	run::{zeros_root, RunConfig, RunStart},
	RoundIndex, RunId, H256,
};
use serde::{Deserialize, Serialize};
use std::{
	fs,
	io::{self, Write},
	path::{Path, PathBuf},
};

/// File name of the header in a checkpoint folder.
pub const HEADER_FILE: &str = "checkpoint.json";

/// Why a checkpoint cannot be read, written or made.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
	/// The disk is full; the checkpoint that was there before is unharmed.
	#[error("the disk is full while writing {path}: free some space and start again; the previous checkpoint is unharmed", path = .0.display())]
	DiskFull(PathBuf),
	/// A file could not be read or written.
	#[error("{path}: {source}", path = path.display())]
	Io {
		/// The file.
		path: PathBuf,
		/// Error of the operating system.
		source: io::Error,
	},
	/// The header is not one.
	#[error("{path}: not a checkpoint header: {reason}", path = path.display())]
	Header {
		/// Path of the file.
		path: PathBuf,
		/// Parser's error, with its place.
		reason: String,
	},
	/// A blob is not the encoding of such a vector.
	#[error("{part}: {source}")]
	Encoding {
		/// Parameters, momentum or delta.
		part: &'static str,
		/// Error of decoding.
		source: DecodeError,
	},
	/// A code of a delta stands for no numbers that can be used.
	#[error("delta: {0}")]
	Code(#[from] CodeError),
	/// A blob or a whole checkpoint has another root than it should.
	#[error("{part} has root {found:?} instead of {expected:?}")]
	Root {
		/// Parameters, momentum, delta or checkpoint.
		part: &'static str,
		/// Recomputed.
		found: H256,
		/// Wanted.
		expected: H256,
	},
	/// The configuration is refused.
	#[error("the run's model or training configuration is refused: {0:?}")]
	Config(neuroshard_graph::ConfigError),
	/// The counter of adopted steps would overflow.
	#[error("round {0} is beyond what a run can count")]
	TooManyRounds(RoundIndex),
}

/// Identity of a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, Serialize, Deserialize)]
pub struct Header {
	/// Run. Not part of the root: the same training may happen in two runs.
	pub run: RunId,
	/// Round that starts from this checkpoint.
	pub round: RoundIndex,
	/// Inner steps adopted so far: `round * inner_steps`.
	pub adopted_steps: u64,
	/// Merkle root over the tiles of the parameters, which is the content identifier of their encoding.
	pub params: H256,
	/// Merkle root over the tiles of the outer momentum, which is the content identifier of its encoding.
	pub momentum: H256,
}

impl Header {
	/// The header of the checkpoint that `run` starts from, if that is given; `None` if it is derived from the run's seed.
	pub fn given(run: RunId, config: &RunConfig) -> Option<Self> {
		match config.start {
			RunStart::Seed => None,
			RunStart::Given { params, momentum, .. } => Some(Self { run, ..Self::first(params, momentum) }),
		}
	}

	/// The header of a checkpoint that a run starts from, of these roots.
	pub fn first(params: H256, momentum: H256) -> Self {
		Self { run: 0, round: 0, adopted_steps: 0, params, momentum }
	}

	/// The checkpoint root, as on chain.
	pub fn root(&self) -> H256 {
		H256(checkpoint_root(&self.params.0, &self.momentum.0, self.round, self.adopted_steps))
	}

	/// Returns whether `round` starts from it: a checkpoint that was falsely attested may say of itself what it likes, and work that starts from it is judged by
	/// the round that the chain says.
	pub fn is_of(&self, round: RoundIndex, train: &TrainConfig) -> bool {
		(self.round, self.adopted_steps) == (round, u64::from(round).saturating_mul(train.inner_steps.into()))
	}
}

/// Parameters and outer momentum, in the layout of their model.
#[derive(Clone, PartialEq, Debug)]
pub struct Checkpoint {
	/// Header with the roots that it hashes to.
	pub header: Header,
	/// theta_r.
	pub params: Vec<f32>,
	/// Momentum of the outer optimizer.
	pub momentum: Vec<f32>,
}

impl Checkpoint {
	/// The checkpoint that round 0 starts from: theta_0 of the run's seed and zero momentum.
	///
	/// # Errors
	/// [`CheckpointError::Config`].
	pub fn genesis(run: RunId, model: &ModelConfig, train: &TrainConfig, threads: usize) -> Result<Self, CheckpointError> {
		train.validate(model).map_err(CheckpointError::Config)?;
		let layout = ParamLayout::trained(model, train).map_err(CheckpointError::Config)?;
		let params = theta_0(model, &layout, &train.seed);
		let momentum = vec![0.0; layout.len()];
		Ok(Self::new(run, 0, 0, &layout, params, momentum, threads))
	}

	/// Hashes parameters and momentum, which have the layout's length.
	pub(super) fn new(
		run: RunId,
		round: RoundIndex,
		adopted_steps: u64,
		layout: &ParamLayout,
		params: Vec<f32>,
		momentum: Vec<f32>,
		threads: usize,
	) -> Self {
		let root = |values: &[f32]| H256(tensors_root(layout, values, threads));
		let header = Header { run, round, adopted_steps, params: root(&params), momentum: root(&momentum) };
		Self { header, params, momentum }
	}

	/// The two blobs that peers exchange: encoded parameters and encoded momentum.
	pub fn to_blobs(&self, layout: &ParamLayout) -> [Vec<u8>; 2] {
		[tiles::encode(layout, &self.params), tiles::encode(layout, &self.momentum)]
	}

	/// The checkpoint that `header` describes, from its two blobs.
	///
	/// # Errors
	/// [`CheckpointError::Encoding`] or [`CheckpointError::Root`] if a blob is not the one that the header names.
	pub fn from_blobs(
		header: Header,
		layout: &ParamLayout,
		params: &[u8],
		momentum: &[u8],
		threads: usize,
	) -> Result<Self, CheckpointError> {
		Ok(Self {
			header,
			params: decode("parameters", layout, params, header.params, threads)?,
			momentum: decode("outer momentum", layout, momentum, header.momentum, threads)?,
		})
	}

	/// Writes the checkpoint into `folder`, replacing the one that was there once the new one is safely on disk.
	///
	/// # Errors
	/// [`CheckpointError::DiskFull`] or [`CheckpointError::Io`]; the previous checkpoint is then still there.
	pub fn save(&self, folder: &Path, layout: &ParamLayout) -> Result<(), CheckpointError> {
		self.save_through(folder, layout, |writer, bytes| writer.write_all(bytes))
	}

	/// [`Self::save`] with the write call as an argument, so that tests can fill the disk.
	fn save_through(
		&self,
		folder: &Path,
		layout: &ParamLayout,
		write: impl Fn(&mut dyn Write, &[u8]) -> io::Result<()>,
	) -> Result<(), CheckpointError> {
		fs::create_dir_all(folder).map_err(|error| io_error(folder, error))?;
		let data = data_path(folder, &self.header);
		write_atomically_with(&data, |writer| self.to_blobs(layout).iter().try_for_each(|blob| write(writer, blob)))
			.map_err(|error| io_error(&data, error))?;
		name(folder, &self.header)
	}

	/// Writes a checkpoint of round 0 with zero momentum into `folder`, in place of what was there, and returns its header. `values` gives the parameters of one
	/// tensor after the other, finite ones, so that no more than one is in memory.
	///
	/// # Errors
	/// Those of `values`; [`CheckpointError::DiskFull`] or [`CheckpointError::Io`]. The checkpoint that was there before is then unharmed.
	pub fn write_first<E: From<CheckpointError>>(
		folder: &Path,
		layout: &ParamLayout,
		threads: usize,
		mut values: impl FnMut(usize, &ParamTensor) -> Result<Vec<f32>, E>,
	) -> Result<Header, E> {
		fs::create_dir_all(folder).map_err(|error| io_error(folder, error))?;
		// The name tells the root, which is known at the end.
		let unnamed = folder.join("checkpoint-unnamed.tiles");
		let (mut hashes, mut failed) = (Vec::with_capacity(layout.tile_count()), None);
		let written = write_atomically_with(&unnamed, |writer| {
			for (index, tensor) in layout.tensors().iter().enumerate() {
				let values = values(index, tensor).map_err(|error| {
					failed = Some(error);
					io::Error::other("there are no parameters to write")
				})?;
				let tiles = tiles::encode_tensor(tensor, &values);
				hashes.extend(leaf_hashes(&tiles, threads));
				writer.write_all(&tiles)?;
			}
			(0..hashes.len()).try_for_each(|_| writer.write_all(&[0; tiles::LEAF_BYTES]))
		});
		written.map_err(|error| failed.unwrap_or_else(|| io_error(&unnamed, error).into()))?;
		let momentum = zeros_root(u32::try_from(hashes.len()).unwrap_or(u32::MAX));
		let header = Header::first(H256(merkle_root(&hashes)), momentum);
		let data = data_path(folder, &header);
		fs::rename(&unnamed, &data).map_err(|error| io_error(&data, error))?;
		name(folder, &header)?;
		Ok(header)
	}

	/// The header of the checkpoint in `folder`; `None` if there is none.
	///
	/// # Errors
	/// [`CheckpointError::Io`] and [`CheckpointError::Header`].
	pub fn header(folder: &Path) -> Result<Option<Header>, CheckpointError> {
		let path = folder.join(HEADER_FILE);
		let text = match fs::read_to_string(&path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
			other => other.map_err(|error| io_error(&path, error))?,
		};
		serde_json::from_str(&text).map(Some).map_err(|error| CheckpointError::Header { path, reason: error.to_string() })
	}

	/// Reads the checkpoint in `folder`; `None` if there is none. Every root is recomputed from the bytes.
	///
	/// # Errors
	/// [`CheckpointError`] if the files are damaged or belong to another model.
	pub fn load(folder: &Path, layout: &ParamLayout, threads: usize) -> Result<Option<Self>, CheckpointError> {
		let Some(header) = Self::header(folder)? else { return Ok(None) };
		let data = data_path(folder, &header);
		let bytes = fs::read(&data).map_err(|error| io_error(&data, error))?;
		let (params, momentum) = bytes.split_at(bytes.len().min(layout.encoded_len()));
		Self::from_blobs(header, layout, params, momentum, threads).map(Some)
	}
}

/// Decodes a delta that a participant revealed under `root`.
///
/// # Errors
/// [`CheckpointError::Root`] if the bytes are others, [`CheckpointError::Encoding`] or [`CheckpointError::Code`] if they are no delta of this model.
pub fn decode_delta(engine: &Engine, bytes: &[u8], root: H256) -> Result<Vec<f32>, CheckpointError> {
	let sent = decode_sent(engine.delta_layout(), bytes, root, engine.exec().threads())?;
	Ok(engine.decode_delta(sent)?)
}

/// Decodes a delta that a participant revealed under `root` to the numbers that it sent: those of the delta, or of its code. `layout` is that of deltas.
///
/// # Errors
/// [`CheckpointError::Root`] if the bytes are others, [`CheckpointError::Encoding`] if they are none of this model.
pub fn decode_sent(layout: &ParamLayout, bytes: &[u8], root: H256, threads: usize) -> Result<Vec<f32>, CheckpointError> {
	decode("delta", layout, bytes, root, threads)
}

/// Hashes and decodes a blob.
fn decode(part: &'static str, layout: &ParamLayout, bytes: &[u8], expected: H256, threads: usize) -> Result<Vec<f32>, CheckpointError> {
	let found = H256(merkle_root(&leaf_hashes(bytes, threads)));
	if found != expected {
		return Err(CheckpointError::Root { part, found, expected });
	}
	tiles::decode(layout, bytes).map_err(|source| CheckpointError::Encoding { part, source })
}

/// Returns the path of the tiles of a checkpoint in `folder`. The name carries the root, so that a new checkpoint never overwrites the file that the header on
/// disk names.
pub fn data_path(folder: &Path, header: &Header) -> PathBuf {
	folder.join(format!("checkpoint-{}.tiles", hex::encode(header.root())))
}

/// Writes the header of the checkpoint whose tiles are in `folder`, and removes what was there of another one.
pub(crate) fn name(folder: &Path, header: &Header) -> Result<(), CheckpointError> {
	let path = folder.join(HEADER_FILE);
	let text = serde_json::to_string_pretty(header).unwrap_or_default();
	write_atomically(&path, text.as_bytes()).map_err(|error| io_error(&path, error))?;
	remove_others(folder, &data_path(folder, header));
	Ok(())
}

/// Removes data files that no header names any more. A file that stays only costs space, so errors are left alone.
fn remove_others(folder: &Path, keep: &Path) {
	for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
		let (name, path) = (entry.file_name(), entry.path());
		let name = name.to_string_lossy();
		if name.starts_with("checkpoint-") && name.ends_with(".tiles") && path != keep {
			let _ = fs::remove_file(path);
		}
	}
}

fn io_error(path: &Path, source: io::Error) -> CheckpointError {
	match source.kind() {
		io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => CheckpointError::DiskFull(path.to_path_buf()),
		_ => CheckpointError::Io { path: path.to_path_buf(), source },
	}
}

/// Folder of the newest checkpoint of `run` below a base folder.
pub fn checkpoint_folder(base: &Path, run: RunId) -> PathBuf {
	base.join("runs").join(run.to_string())
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::presets;
	use std::cell::Cell;

	fn genesis() -> (ParamLayout, Checkpoint) {
		let (model, train) = presets::tiny();
		(ParamLayout::new(&model).unwrap(), Checkpoint::genesis(7, &model, &train, 1).unwrap())
	}

	fn next(layout: &ParamLayout, checkpoint: &Checkpoint) -> Checkpoint {
		let params = checkpoint.params.iter().map(|value| value + 0.5).collect();
		Checkpoint::new(7, 1, 12, layout, params, checkpoint.momentum.clone(), 1)
	}

	#[test]
	fn genesis_has_the_root_that_the_chain_computes() {
		let (model, train) = presets::tiny();
		let expected = neuroshard_graph::commit::genesis_root(&model, &train, 2).unwrap();
		assert_eq!(genesis().1.header.root(), H256(expected));
	}

	#[test]
	fn a_checkpoint_that_says_it_is_of_another_round_is_not_of_the_one_that_the_chain_says() {
		let (_, train) = presets::tiny();
		let steps = u64::from(train.inner_steps);
		let header = |round, adopted_steps| Header { round, adopted_steps, ..genesis().1.header };
		assert!(header(3, 3 * steps).is_of(3, &train) && header(0, 0).is_of(0, &train));
		assert!(
			!header(3, 3 * steps).is_of(2, &train) && !header(3, 3 * steps + 1).is_of(3, &train) && !header(2, 3 * steps).is_of(3, &train)
		);
	}

	#[test]
	fn a_saved_checkpoint_loads_and_replaces_the_one_before() {
		let folder = tempfile::tempdir().unwrap();
		let (layout, first) = genesis();
		assert_eq!(Checkpoint::load(folder.path(), &layout, 1).unwrap(), None);
		first.save(folder.path(), &layout).unwrap();
		let second = next(&layout, &first);
		second.save(folder.path(), &layout).unwrap();
		assert_eq!(Checkpoint::load(folder.path(), &layout, 2).unwrap(), Some(second));
		assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
	}

	#[test]
	fn a_first_checkpoint_that_is_written_tensor_by_tensor_is_the_same_as_one_that_is_saved() {
		let folder = tempfile::tempdir().unwrap();
		let (layout, first) = genesis();
		next(&layout, &first).save(folder.path(), &layout).unwrap();
		let values = |_: usize, tensor: &ParamTensor| Ok::<_, CheckpointError>(first.params[tensor.range()].to_vec());
		let header = Checkpoint::write_first(folder.path(), &layout, 2, values).unwrap();
		assert_eq!(header, Header { run: 0, ..first.header });
		assert_eq!(Checkpoint::load(folder.path(), &layout, 1).unwrap(), Some(Checkpoint { header, ..first.clone() }));
		assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
		// One that cannot be had to its end leaves the one before.
		let ends = |index: usize, tensor: &ParamTensor| match index {
			0 => Ok(vec![1.0; tensor.len()]),
			_ => Err(CheckpointError::TooManyRounds(9)),
		};
		let error = Checkpoint::write_first(folder.path(), &layout, 1, ends).unwrap_err();
		assert!(matches!(error, CheckpointError::TooManyRounds(9)), "{error}");
		assert_eq!(Checkpoint::header(folder.path()).unwrap(), Some(header));
		assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
	}

	#[test]
	fn a_full_disk_is_named_and_leaves_the_previous_checkpoint() {
		let folder = tempfile::tempdir().unwrap();
		let (layout, first) = genesis();
		first.save(folder.path(), &layout).unwrap();
		// The first blob fits, the second does not.
		let room = Cell::new(layout.encoded_len());
		let limited = |writer: &mut dyn Write, bytes: &[u8]| match room.get().checked_sub(bytes.len()) {
			Some(left) => {
				room.set(left);
				writer.write_all(bytes)
			}
			None => Err(io::ErrorKind::StorageFull.into()),
		};
		let error = next(&layout, &first).save_through(folder.path(), &layout, limited).unwrap_err();
		assert!(error.to_string().starts_with("the disk is full while writing "), "{error}");
		assert_eq!(Checkpoint::load(folder.path(), &layout, 1).unwrap(), Some(first));
		assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
	}

	#[test]
	fn one_flipped_bit_on_disk_is_found() {
		let folder = tempfile::tempdir().unwrap();
		let (layout, checkpoint) = genesis();
		checkpoint.save(folder.path(), &layout).unwrap();
		let path = data_path(folder.path(), &checkpoint.header);
		let mut bytes = fs::read(&path).unwrap();
		bytes[layout.encoded_len() - 1] ^= 1;
		fs::write(&path, &bytes).unwrap();
		assert!(matches!(Checkpoint::load(folder.path(), &layout, 1), Err(CheckpointError::Root { part: "parameters", .. })));
		bytes.truncate(100);
		fs::write(&path, &bytes).unwrap();
		assert!(Checkpoint::load(folder.path(), &layout, 1).is_err());
		fs::write(folder.path().join(HEADER_FILE), "{}").unwrap();
		assert!(matches!(Checkpoint::load(folder.path(), &layout, 1), Err(CheckpointError::Header { .. })));
	}

	#[test]
	fn blobs_are_accepted_under_their_own_roots_only() {
		let (layout, checkpoint) = genesis();
		let [params, momentum] = checkpoint.to_blobs(&layout);
		let read = |a: &[u8], b: &[u8]| Checkpoint::from_blobs(checkpoint.header, &layout, a, b, 1);
		assert_eq!(read(&params, &momentum).unwrap(), checkpoint);
		assert!(matches!(read(&momentum, &params), Err(CheckpointError::Root { part: "parameters", .. })));
		assert!(matches!(read(&params, &params), Err(CheckpointError::Root { part: "outer momentum", .. })));
	}

	#[test]
	fn a_delta_of_another_size_or_with_an_infinity_is_refused() {
		let (layout, checkpoint) = genesis();
		let good = tiles::encode(&layout, &checkpoint.params);
		let root = |bytes: &[u8]| H256(tiles::content_id(bytes, 1));
		assert_eq!(decode_sent(&layout, &good, root(&good), 1).unwrap(), checkpoint.params);
		let short = &good[..good.len() - 4096];
		assert!(matches!(decode_sent(&layout, short, root(short), 1), Err(CheckpointError::Encoding { part: "delta", .. })));
		let mut infinite = good.clone();
		infinite[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
		assert!(matches!(decode_sent(&layout, &infinite, root(&infinite), 1), Err(CheckpointError::Encoding { .. })));
	}
}
