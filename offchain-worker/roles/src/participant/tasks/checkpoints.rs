//! Getting the checkpoint to train from: made from the run's seed, from disk, from peers, or out of the own outer steps.

use super::{leaves, Effect, Moment, Tasks};
use crate::{
	content::{rounds::bridge_label, save, Content},
	participant::decide::view::Sibling,
	peers::addresses,
	WorkerError,
};
use neuroshard_training::checkpoint::{Checkpoint, CheckpointError};
use neuroshard_types::{
	run::{RunConfig, RunStart},
	RoundIndex, RunId, H256,
};

impl Tasks {
	pub(super) async fn build_genesis(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		self.offer_dataset(moment).await?;
		self.keep_tokenizer(moment).await?;
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let (store, folder) = (self.content.store.clone(), self.content.checkpoint_folder(run));
		let root = config.genesis_root;
		self.content.base((run, &config), &moment.book.all()).await?;
		let job = self.compute.run(move |state| {
			let threads = state.threads();
			let mut prepared = state.prepare(run, &config)?;
			prepared.load_base(&config, &store)?;
			let checkpoint = Checkpoint::genesis(run, &config.model, &config.train, threads)?;
			let found = checkpoint.header.root();
			if found != root {
				return Err(WorkerError::Genesis { run, expected: root, found });
			}
			Content::publish(&store, &checkpoint, prepared.engine.layout())?;
			save(&folder, &checkpoint, prepared.engine)?;
			*prepared.current = Some(checkpoint);
			Ok(root)
		});
		job.await.map(Effect::Loaded)
	}

	pub(super) async fn fetch_checkpoint(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		self.offer_dataset(moment).await?;
		self.keep_tokenizer(moment).await?;
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let folder = self.content.checkpoint_folder(run);
		self.content.base((run, &config), &moment.book.all()).await?;
		// The newest one before a restart may still be the newest one.
		let (known, at, store) = (config.clone(), folder.clone(), self.content.store.clone());
		let loaded = self.compute.run(move |state| {
			let threads = state.threads();
			let mut prepared = state.prepare(run, &known)?;
			prepared.load_base(&known, &store)?;
			match Checkpoint::load(&at, prepared.engine.layout(), threads) {
				Ok(Some(checkpoint)) if checkpoint.header.root() == root => {
					// Others ask the store for it, and that may have lost it.
					Content::publish(&store, &checkpoint, prepared.engine.layout())?;
					*prepared.current = Some(checkpoint);
					Ok(true)
				}
				Ok(_) => Ok(false),
				Err(error) => {
					tracing::warn!("{error}; asking peers instead");
					Ok(false)
				}
			}
		});
		if loaded.await? {
			return Ok(Effect::Loaded(root));
		}
		let leaves = leaves(&config)?.vector;
		self.content.checkpoint_of((run, &config), root, leaves, &moment.book.all()).await?;
		let store = self.content.store.clone();
		let job = self.compute.run(move |state| {
			let threads = state.threads();
			let prepared = state.prepare(run, &config)?;
			let read = Content::read_checkpoint(&store, run, root, prepared.engine.layout(), threads);
			let checkpoint = read.map_err(|error| no_start(run, &config, root, error))?;
			save(&folder, &checkpoint, prepared.engine)?;
			*prepared.current = Some(checkpoint);
			Ok(root)
		});
		job.await.map(Effect::Loaded)
	}

	pub(super) async fn adopt(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		self.keep_tokenizer(moment).await?;
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let folder = self.content.checkpoint_folder(run);
		let job = self.compute.run(move |state| {
			let prepared = state.prepare(run, &config)?;
			let next = prepared.next.as_ref().filter(|next| next.header.root() == root).ok_or(WorkerError::NotLoaded { root })?;
			save(&folder, next, prepared.engine)?;
			let before = std::mem::replace(prepared.current, prepared.next.take()).filter(|_| config.overlaps);
			let stored = before.as_ref().map(|before| before.header.root());
			*prepared.before = before;
			Ok(Effect::Adopted { root, before: stored })
		});
		job.await
	}

	/// Gets an earlier checkpoint into the store, beside the one that is loaded. That of round 0 is made from the run's seed, unless it is given: everybody
	/// can, and nobody may have it any more.
	pub(super) async fn fetch_start(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		if root != config.genesis_root || config.start != RunStart::Seed {
			let leaves = leaves(&config)?.vector;
			self.content.checkpoint_of((run, &config), root, leaves, &moment.book.all()).await?;
			return Ok(Effect::StoredStart(root));
		}
		let store = self.content.store.clone();
		let job = self.compute.run(move |state| {
			let threads = state.threads();
			let layout = state.prepare(run, &config)?.engine.layout();
			Content::publish(&store, &Checkpoint::genesis(run, &config.model, &config.train, threads)?, layout)
		});
		job.await.map(|()| Effect::StoredStart(root))
	}

	/// Gets the newest checkpoint of another cohort, from which its round `number` starts, into the store, and keeps it as long as the round at hand: work that starts
	/// from it is judged by it.
	pub(super) async fn fetch_sibling(
		&self,
		moment: &Moment,
		(other, number): (RunId, RoundIndex),
		root: H256,
	) -> Result<Effect, WorkerError> {
		let (run, round) = moment.round()?;
		let (id, leaves) = (run.id, leaves(&run.view.config)?);
		// Deltas of the round come first.
		let more = leaves.vector.saturating_mul(2).div_ceil(leaves.delta.max(1));
		let deltas = round.participants.len().saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
		if let Err(error) = Content::check_room(&self.content.store, leaves, deltas) {
			tracing::warn!("there is no room for the checkpoint of another cohort, this round starts from the own: {error}");
			return Ok(Effect::Sibling(Sibling::Unfit(root)));
		}
		let members = moment.seen.at.members(other).await?.into_iter().collect();
		let theirs = addresses(&moment.seen.at, members, &moment.seen.chain.me).await?.into_values();
		let peers: Vec<_> = theirs.chain(moment.book.all()).collect();
		let header = self.content.checkpoint_for(id, root, leaves.vector, &peers, |_| bridge_label(id, round.round)).await?;
		match header.is_of(number, &run.view.config.train) {
			true => Ok(Effect::Sibling(Sibling::Here(root))),
			false => {
				tracing::warn!("checkpoint {root:?} of run {other} says that it is of another round: this round starts from the own");
				Ok(Effect::Sibling(Sibling::Unfit(root)))
			}
		}
	}
}

/// Returns the error, which is the run's fault if what it says to start from is no checkpoint of its model.
fn no_start(run: RunId, config: &RunConfig, root: H256, error: WorkerError) -> WorkerError {
	match error {
		WorkerError::Checkpoint(source @ CheckpointError::Encoding { .. }) if root == config.genesis_root => {
			WorkerError::FalseStart { run, root, source }
		}
		other => other,
	}
}
