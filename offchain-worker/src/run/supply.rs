//! What training and checking read: the run's dataset and its shards.

use super::{
	content::Content,
	dataset::Dataset,
	tasks::{Moment, Tasks},
	WorkerError,
};
use crate::{chain::ChainAt, net::PeerAddress};
use neuroshard_types::{dataset::Manifest, DatasetId};
use std::{collections::BTreeSet, time::Instant};
use tokio::sync::Mutex;

/// The dataset that was used last.
pub(super) type Cached = Option<(DatasetId, Dataset)>;

impl Tasks {
	/// Hands the operator's dataset out before anybody trains: others may have none.
	pub(super) async fn offer_dataset(&self, moment: &Moment) -> Result<(), WorkerError> {
		let mut cached = self.dataset.lock().await;
		match self.content.dataset_at_hand(&moment.seen.at, moment.run()?.view.config.dataset, &mut cached).await {
			// A retired dataset goes with the last run that used it. Nobody asks for its shards then, and a checkpoint needs none.
			Err(WorkerError::UnknownDataset(_)) => Ok(()),
			other => other.map(drop),
		}
	}

	/// The run's dataset: from the operator's folder, or with the list of shards that peers give.
	pub(super) async fn dataset(&self, moment: &Moment) -> Result<Dataset, WorkerError> {
		self.content.dataset(&moment.seen.at, moment.run()?.view.config.dataset, &self.dataset, &moment.book.all()).await
	}

	/// Sees to it that what the validation reads is here.
	pub(super) async fn validation_shards(&self, moment: &Moment, dataset: &Dataset) -> Result<(), WorkerError> {
		let train = &moment.run()?.view.config.train;
		let windows = dataset.loader.validation_windows(train.validation_sequences, train.seq_len)?;
		let shards: BTreeSet<u32> = windows.iter().map(|window| window.shard).collect();
		self.content.shards(dataset, &shards.into_iter().collect::<Vec<_>>(), &moment.book.all()).await
	}
}

impl Content {
	/// Dataset `id`: the one that was used last, or from the operator's folder, or with the list of shards that peers give.
	pub(super) async fn dataset(
		&self,
		at: &ChainAt,
		id: DatasetId,
		last: &Mutex<Cached>,
		peers: &[PeerAddress],
	) -> Result<Dataset, WorkerError> {
		let mut cached = last.lock().await;
		if let Some(dataset) = self.dataset_at_hand(at, id, &mut cached).await? {
			return Ok(dataset);
		}
		let dataset = self.remote_dataset(id, &manifest(at, id).await?, peers).await?;
		*cached = Some((id, dataset.clone()));
		Ok(dataset)
	}

	/// Dataset `id`, if it was used before or is in the operator's folder.
	async fn dataset_at_hand(&self, at: &ChainAt, id: DatasetId, cached: &mut Cached) -> Result<Option<Dataset>, WorkerError> {
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
