//! Why there is no result of a model in files.

use crate::checkpoint::CheckpointError;
use neuroshard_compute::{
	exec::{CodeError, ExecError, OutOfCoreError, StepError, ValidationError},
	round::RoundError,
};
use neuroshard_graph::{outer::AggregateError, tiles::DecodeError, ConfigError};
use neuroshard_types::{RoundIndex, H256};
use std::{
	io,
	path::{Path, PathBuf},
};

/// Why a model whose vectors lie in files gives no result.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
	/// The disk lacks the room.
	#[error(
		"the vectors of this model take {needed} bytes in {folder}, and {free} are free: free some space, or name a folder on a larger disk",
		folder = folder.display()
	)]
	NoRoom {
		/// Where they would be.
		folder: PathBuf,
		/// Bytes that they take.
		needed: u64,
		/// Bytes that are free.
		free: u64,
	},
	/// The disk is full after all.
	#[error("the disk is full while writing {path}: free some space and start again", path = .0.display())]
	DiskFull(PathBuf),
	/// A file could not be read or written.
	#[error("{path}: {source}", path = path.display())]
	Io {
		/// The file.
		path: PathBuf,
		/// Error of the operating system.
		source: io::Error,
	},
	/// A file is not the encoding of such a vector.
	#[error("{path}: {source}: fetch or make it again", path = path.display())]
	Encoding {
		/// The file.
		path: PathBuf,
		/// The first tile that is wrong, counted from the vector's first.
		source: DecodeError,
	},
	/// A file holds another vector.
	#[error("{path} has root {found:?} instead of {expected:?}: fetch or make it again", path = path.display())]
	Root {
		/// The file.
		path: PathBuf,
		/// Recomputed.
		found: H256,
		/// Wanted.
		expected: H256,
	},
	/// A part of a vector is not the one that a span holds.
	#[error("{path}: the tiles of this span are not its part of the vector: fetch or make the file again", path = .0.display())]
	Part(PathBuf),
	/// A vector was not written to its end.
	#[error("{path}: {found} tiles were written where the vector has {expected}", path = path.display())]
	Unfinished {
		/// The file.
		path: PathBuf,
		/// Tiles of the vector.
		expected: usize,
		/// Tiles that were written.
		found: usize,
	},
	/// A checkpoint's header, or its name.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// A residual where the run's deltas leave none.
	#[error("there is a residual, and the deltas of this run leave none")]
	Residual,
	/// An adapter without the model that it is beside.
	#[error("the model that the adapter is beside has not been loaded")]
	NoModel,
	/// The counter of adopted steps would overflow.
	#[error("round {0} is beyond what a run can count")]
	TooManyRounds(RoundIndex),
	/// More roots than a reveal carries; a validated configuration has none.
	#[error("the round gave {0} state roots, more than a reveal may carry")]
	StateRoots(usize),
	/// The configuration is refused.
	#[error("the model or training configuration is refused: {0}")]
	Config(#[from] ConfigError),
	/// No threads to compute with.
	#[error(transparent)]
	Exec(#[from] ExecError),
	/// A step, or what it leaves on the shelf.
	#[error(transparent)]
	OutOfCore(#[from] OutOfCoreError),
	/// A delta stands for no numbers that can be used.
	#[error("delta: {0}")]
	Code(#[from] CodeError),
	/// Deltas that cannot be put together.
	#[error(transparent)]
	Aggregate(#[from] AggregateError),
}

impl FilesError {
	/// That of an operation on the file at `path`.
	pub(super) fn io(path: &Path, source: io::Error) -> Self {
		match source.kind() {
			io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(path.to_path_buf()),
			_ => Self::Io { path: path.to_path_buf(), source },
		}
	}
}

/// Why a round or a validation in files gives no result.
#[derive(Debug, thiserror::Error)]
pub enum FileJobError<E> {
	/// The files, or the engine.
	#[error(transparent)]
	Files(#[from] FilesError),
	/// The round.
	#[error(transparent)]
	Round(RoundError<E>),
	/// The validation.
	#[error(transparent)]
	Validation(ValidationError<E>),
}

impl<E> FileJobError<E> {
	/// Of inner step `step`, from 0.
	pub(super) fn of_step(step: u32, error: OutOfCoreError) -> Self {
		match error {
			OutOfCoreError::Step(source) => Self::Round(RoundError::Step { step, source }),
			error => Self::Files(error.into()),
		}
	}

	/// Whether the job has no result because it diverged: an outcome, not a fault.
	pub fn is_divergence(&self) -> bool {
		matches!(
			self,
			Self::Round(RoundError::Diverged | RoundError::Step { source: StepError::Diverged, .. })
				| Self::Validation(ValidationError::Step(StepError::Diverged))
		)
	}
}
