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

	/// Has the run's tokenizer lie beside its checkpoint, for who makes text with it. Training needs none, so that a worker goes on without it.
	pub(super) async fn keep_tokenizer(&self, moment: &Moment) -> Result<(), WorkerError> {
		let run = moment.run()?;
		let config = &run.view.config;
		let peers = moment.book.all();
		if let Err(error) = self.content.keep_tokenizer(run.id, config.dataset, config.tokenizer, &peers).await {
			tracing::warn!("the tokenizer of run {} is not here, so that its model writes no text on this machine yet: {error}", run.id);
		}
		Ok(())
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
