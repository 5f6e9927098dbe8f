//! What training reads: the run's dataset and its shards.

use super::{
	dataset::Dataset,
	tasks::{Moment, Tasks},
	WorkerError,
};
use neuroshard_types::{dataset::Manifest, DatasetId};
use std::{collections::BTreeSet, time::Instant};

/// The dataset that was used last.
pub(super) type Cached = Option<(DatasetId, Dataset)>;

impl Tasks {
	/// Hands the operator's dataset out before anybody trains: others may have none.
	pub(super) async fn offer_dataset(&self, moment: &Moment) -> Result<(), WorkerError> {
		let mut cached = self.dataset.lock().await;
		match self.dataset_at_hand(moment, &mut cached).await {
			// A retired dataset goes with the last run that used it. Nobody asks for its shards then, and a checkpoint needs none.
			Err(WorkerError::UnknownDataset(_)) => Ok(()),
			other => other.map(drop),
		}
	}

	/// The run's dataset: from the operator's folder, or with the list of shards that peers give.
	pub(super) async fn dataset(&self, moment: &Moment) -> Result<Dataset, WorkerError> {
		let mut cached = self.dataset.lock().await;
		if let Some(dataset) = self.dataset_at_hand(moment, &mut cached).await? {
			return Ok(dataset);
		}
		let (id, manifest) = manifest(moment).await?;
		let dataset = self.content.remote_dataset(id, &manifest, &moment.book.all()).await?;
		*cached = Some((id, dataset.clone()));
		Ok(dataset)
	}

	/// The run's dataset, if it was used before or is in the operator's folder.
	async fn dataset_at_hand(&self, moment: &Moment, cached: &mut Cached) -> Result<Option<Dataset>, WorkerError> {
		let id = moment.run()?.view.config.dataset;
		let at_hand = cached.as_ref().filter(|(known, _)| *known == id).map(|(_, dataset)| dataset.clone());
		let look = self.content.local.of(id, Instant::now()).is_some() && at_hand.as_ref().is_none_or(|dataset| !dataset.foreign);
		if !look {
			return Ok(at_hand);
		}
		let (id, manifest) = manifest(moment).await?;
		// The operator's folder may have become readable since peers' shards were used first.
		let Some(dataset) = self.content.local_dataset(id, &manifest).await? else { return Ok(at_hand) };
		*cached = Some((id, dataset.clone()));
		Ok(Some(dataset))
	}

	/// Sees to it that what the validation reads is here.
	pub(super) async fn validation_shards(&self, moment: &Moment, dataset: &Dataset) -> Result<(), WorkerError> {
		let train = &moment.run()?.view.config.train;
		let windows = dataset.loader.validation_windows(train.validation_sequences, train.seq_len)?;
		let shards: BTreeSet<u32> = windows.iter().map(|window| window.shard).collect();
		self.content.shards(dataset, &shards.into_iter().collect::<Vec<_>>(), &moment.book.all()).await
	}
}

/// The run's dataset as the chain states it.
async fn manifest(moment: &Moment) -> Result<(DatasetId, Manifest), WorkerError> {
	let id = moment.run()?.view.config.dataset;
	let view = moment.seen.at.dataset(id).await?.ok_or(WorkerError::UnknownDataset(id))?;
	Ok((id, view.manifest))
}
