//! The dataset that a run takes, as the chain states it: the one that was used last, or from the operator's folder, or with shards from peers.

use super::{dataset::Dataset, name_tokenizer, read_tokenizer, Content};
use crate::{actor::blocking::blocking, WorkerError};
use neuroshard_atomic_write::write_atomically;
use neuroshard_chain_client::ChainAt;
use neuroshard_data::dataset::TOKENIZER_FILE;
use neuroshard_network::PeerAddress;
use neuroshard_types::{
	dataset::{Manifest, Tokenizer},
	DatasetId, RunId,
};
use std::time::Instant;
use tokio::sync::Mutex;

/// The dataset that was used last.
pub type Cached = Option<(DatasetId, Dataset)>;

impl Content {
	/// Dataset `id`: the one that was used last, or from the operator's folder, or with the list of shards that peers give.
	pub async fn dataset(&self, at: &ChainAt, id: DatasetId, last: &Mutex<Cached>, peers: &[PeerAddress]) -> Result<Dataset, WorkerError> {
		let mut cached = last.lock().await;
		if let Some(dataset) = self.dataset_at_hand(at, id, &mut cached).await? {
			return Ok(dataset);
		}
		let dataset = self.remote_dataset(id, &manifest(at, id).await?, peers).await?;
		*cached = Some((id, dataset.clone()));
		Ok(dataset)
	}

	/// Sees to it that the tokenizer of a run on dataset `id` lies beside the checkpoints of `run`.
	pub async fn keep_tokenizer(&self, run: RunId, id: DatasetId, tokenizer: Tokenizer, peers: &[PeerAddress]) -> Result<(), WorkerError> {
		if tokenizer == Tokenizer::BYTES {
			return Ok(());
		}
		let folder = self.checkpoint_folder(run);
		let here = folder.clone();
		if blocking(move || name_tokenizer(&here, &tokenizer).and_then(|()| read_tokenizer(&here))).await?.is_some() {
			return Ok(());
		}
		let file = self.tokenizer(id, tokenizer, peers).await?;
		let path = folder.join(TOKENIZER_FILE);
		blocking(move || write_atomically(&path, &file).map_err(|source| WorkerError::File { path, source })).await
	}

	/// Dataset `id`, if it was used before or is in the operator's folder.
	pub async fn dataset_at_hand(&self, at: &ChainAt, id: DatasetId, cached: &mut Cached) -> Result<Option<Dataset>, WorkerError> {
		let at_hand = cached.as_ref().filter(|(known, _)| *known == id).map(|(_, dataset)| dataset.clone());
		let look = self.local.of(id, Instant::now()).is_some() && at_hand.as_ref().is_none_or(|dataset| !dataset.foreign);
		if !look {
			return Ok(at_hand);
		}
		// The operator's folder may have become readable since peers' shards were used first.
		let Some(dataset) = self.local_dataset(id, &manifest(at, id).await?).await? else { return Ok(at_hand) };
		*cached = Some((id, dataset.clone()));
		Ok(Some(dataset))
	}
}

/// A dataset as the chain states it.
async fn manifest(at: &ChainAt, id: DatasetId) -> Result<Manifest, WorkerError> {
	Ok(at.dataset(id).await?.ok_or(WorkerError::UnknownDataset(id))?.manifest)
}
