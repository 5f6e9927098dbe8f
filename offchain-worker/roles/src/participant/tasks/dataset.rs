//! Data that training and validation read: the run's dataset and its shards.

use super::{Moment, Tasks};
use crate::{content::dataset::Dataset, WorkerError};
use std::collections::BTreeSet;

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
