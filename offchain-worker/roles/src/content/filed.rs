//! Vectors that stay in the files of the store: for models that are larger than memory, or that several workers hold together. All of this blocks.

use super::{rounds::round_label, Content};
use crate::WorkerError;
use codec::Encode;
use neuroshard_disputes::cases::case::CaseError;
use neuroshard_graph::ParamLayout;
use neuroshard_store::{blob_path, Store, StoreError};
use neuroshard_training::{
	checkpoint::Header,
	files::{FiledCheckpoint, TileFile},
};
use neuroshard_types::{run::RunConfig, RunId, H256};

impl Content {
	/// The vector with this root, which is in the store. Its file is read once, and stays readable when the store evicts it.
	///
	/// # Errors
	/// [`WorkerError::Files`].
	pub fn filed(&self, root: H256, layout: &ParamLayout, threads: usize) -> Result<TileFile, WorkerError> {
		Ok(TileFile::open(&blob_path(&self.base.join("store"), root), 0, layout, root, threads)?)
	}

	/// Checkpoint `root` of `run`, which [`Self::checkpoint`] or [`publish_filed`] left in the store.
	///
	/// # Errors
	/// [`WorkerError::Store`] without it, [`WorkerError::Files`].
	pub fn filed_checkpoint(&self, run: RunId, root: H256, layout: &ParamLayout, threads: usize) -> Result<FiledCheckpoint, WorkerError> {
		let header = Self::stored_header(&self.store, run, root)?.ok_or(StoreError::Unknown { root })?;
		let vector = |root| self.filed(root, layout, threads);
		Ok(FiledCheckpoint { header, params: vector(header.params)?, momentum: vector(header.momentum)? })
	}

	/// The model that the run's adapter is beside, which [`Self::base`] left in the store; `None` for a run without an adapter.
	///
	/// # Errors
	/// [`WorkerError::Files`].
	pub fn filed_base(&self, config: &RunConfig, threads: usize) -> Result<Option<TileFile>, WorkerError> {
		let Some(adapter) = config.train.adapter else { return Ok(None) };
		let layout = ParamLayout::new(&config.model).map_err(CaseError::from)?;
		self.filed(H256(adapter.base), &layout, threads).map(Some)
	}
}

/// Layout of what a run trains.
///
/// # Errors
/// A configuration that the chain would refuse.
pub fn layout(config: &RunConfig) -> Result<ParamLayout, WorkerError> {
	Ok(ParamLayout::trained(&config.model, &config.train).map_err(CaseError::from)?)
}

/// Puts a vector into the store, and keeps it for the sake of `label`.
///
/// # Errors
/// [`WorkerError::Files`], [`WorkerError::Store`].
pub fn put_filed(store: &Store, vector: &TileFile, label: &str) -> Result<(), WorkerError> {
	// Pinned first: it must not be evicted before it is.
	store.pin(vector.root(), label)?;
	if !store.contains(vector.root()) {
		store.put_reader(vector.reader()?, vector.encoded_len())?;
	}
	Ok(())
}

/// Makes a checkpoint available to peers, and to [`Content::filed_checkpoint`].
///
/// # Errors
/// As [`put_filed`].
pub fn publish_filed(store: &Store, checkpoint: &FiledCheckpoint) -> Result<(), WorkerError> {
	let header: Header = checkpoint.header;
	let label = round_label(header.run, header.round);
	[&checkpoint.params, &checkpoint.momentum].into_iter().try_for_each(|vector| put_filed(store, vector, &label))?;
	// The note comes last: whoever gets it finds the blobs.
	Ok(store.set_note(header.root(), &header.encode())?)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{content::tests::alone, participant::decide::plan::tests::training};
	use neuroshard_training::checkpoint::Checkpoint;
	use neuroshard_types::{ModelConfig, TrainConfig};

	#[tokio::test]
	async fn a_checkpoint_in_files_is_handed_out_like_one_in_memory() {
		let dir = tempfile::tempdir().unwrap();
		let (content, _stop) = alone(dir.path()).await;
		let config = RunConfig { model: ModelConfig::tiny(), train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config };
		let (layout, folder) = (layout(&config).unwrap(), dir.path().join("made"));
		let filed = FiledCheckpoint::genesis(&folder, 7, &config.model, &config.train, 1).unwrap();
		publish_filed(&content.store, &filed).unwrap();
		std::fs::remove_dir_all(&folder).unwrap();
		let root = filed.header.root();
		let expected = Checkpoint::genesis(7, &config.model, &config.train, 1).unwrap();
		assert_eq!(Content::read_checkpoint(&content.store, 7, root, &layout, 1).unwrap(), expected);
		let again = content.filed_checkpoint(7, root, &layout, 1).unwrap();
		assert_eq!((again.header, again.momentum.root()), (expected.header, expected.header.momentum));
		assert_eq!(content.store.pinned(&round_label(7, 0)).len(), 2);
		assert!(content.filed_checkpoint(7, H256::zero(), &layout, 1).is_err());
		assert!(content.filed_base(&config, 1).unwrap().is_none());
	}
}
