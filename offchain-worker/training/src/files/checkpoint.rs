//! Checkpoints whose vectors stay in their file.

use super::{shelf::check_room, FilesError, FilesNeed, TileFile};
use crate::checkpoint::{data_path, Checkpoint, CheckpointError, Header};
use neuroshard_graph::{init::fill_first, ModelConfig, ParamLayout, ParamTensor, TrainConfig};
use neuroshard_types::RunId;
use std::{fs, path::Path};

/// A checkpoint in a folder, as [`Checkpoint`] saves it.
#[derive(Clone, Debug)]
pub struct FiledCheckpoint {
	/// Header with the roots that it hashes to.
	pub header: Header,
	/// theta_r.
	pub params: TileFile,
	/// Momentum of the outer optimizer.
	pub momentum: TileFile,
}

impl FiledCheckpoint {
	/// The checkpoint in `folder`; `None` if there is none. Every root is recomputed from the bytes.
	///
	/// # Errors
	/// [`FilesError`] if the files are damaged or belong to another model.
	pub fn open(folder: &Path, layout: &ParamLayout, threads: usize) -> Result<Option<Self>, FilesError> {
		let Some(header) = Checkpoint::header(folder)? else { return Ok(None) };
		Self::of(folder, header, layout, threads).map(Some)
	}

	fn of(folder: &Path, header: Header, layout: &ParamLayout, threads: usize) -> Result<Self, FilesError> {
		let path = data_path(folder, &header);
		let vector = |first, root| TileFile::open(&path, first, layout, root, threads);
		Ok(Self { header, params: vector(0, header.params)?, momentum: vector(layout.encoded_len() as u64, header.momentum)? })
	}

	/// Writes the checkpoint that round 0 of `run` starts from into `folder`, as [`Checkpoint::genesis`]: no more than a tensor is in memory.
	///
	/// # Errors
	/// [`FilesError::Config`], [`FilesError::NoRoom`], and those of writing.
	pub fn genesis(folder: &Path, run: RunId, model: &ModelConfig, train: &TrainConfig, threads: usize) -> Result<Self, FilesError> {
		train.validate(model)?;
		let layout = ParamLayout::trained(model, train)?;
		fs::create_dir_all(folder).map_err(|source| FilesError::io(folder, source))?;
		check_room(folder, FilesNeed::new(model, train)?.checkpoint)?;
		let values = |index: usize, tensor: &ParamTensor| {
			let mut values = vec![0.0; tensor.len()];
			fill_first(model, (u32::try_from(index).unwrap_or(u32::MAX), tensor), &train.seed, &mut values);
			Ok::<_, CheckpointError>(values)
		};
		let header = Checkpoint::write_first(folder, &layout, threads, values)?;
		Self::of(folder, Header { run, ..header }, &layout, threads)
	}
}
