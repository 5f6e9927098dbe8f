//! Where a worker with a [`Fault`] departs from what every worker does.

use super::{
	round::{hand_out, residual},
	Effect, Moment, Tasks,
};
use crate::{
	data::loader::Assignment,
	faults::{false_work, CheckpointLie, Deed, Fault, Position},
	run::{
		actor::blocking::blocking,
		content::rounds::round_label,
		journal::{pending_in, Pending},
		participant::decide::task::Drawn,
		WorkerError,
	},
	train::round::Trained,
};
use neuroshard_store::{read_blob, StoreError};
use neuroshard_types::{run::Work, RunId, H256};
use std::{path::Path, time::Duration};

/// Pause between two looks into an accomplice's folder.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

impl Tasks {
	/// What is committed to in place of work, if this is a round to cheat in like that.
	pub(super) async fn false_work(&self, moment: &Moment, drawn: Drawn) -> Result<Option<Effect>, WorkerError> {
		let state = moment.run()?;
		let Drawn { round: index, attempt, seed, position, .. } = drawn;
		let Some(fault) = self.fault.clone().filter(|fault| fault.happens_in(index)) else { return Ok(None) };
		let (run, config) = (state.id, state.view.config.clone());
		tracing::warn!("cheating in round {index}: {:?}", fault.deed);
		let (store, label) = (self.content.store.clone(), round_label(run, index));
		if let Deed::Copy(from) = &fault.deed {
			let (work, delta) = taken_over(from, run, seed).await?;
			blocking(move || Ok(store.put_pinned(&delta, &label)?)).await?;
			return Ok(Some(Effect::Trained(Pending::new(run, (index, attempt), seed, work))));
		}
		let dataset = self.dataset(moment).await?;
		let (train, told) = (&config.train, fault.window_seed(run, index, seed));
		let assignment = Assignment { position, seed: told, inner_steps: train.inner_steps, batch: train.batch, seq_len: train.seq_len };
		let shards = dataset.loader.round_shards(&assignment)?;
		self.content.shards(&dataset, &shards, &moment.book.all()).await?;
		let left = self.left_unsaid(moment, run, &config).await?;
		let job = self.compute.run(move |bench| {
			let mut prepared = bench.prepare(run, &config)?;
			let (engine, checkpoint, base) = prepared.starting_at((run, &config), &drawn, &store)?;
			let residual = left.and_then(|root| residual(&store, engine.layout(), root));
			let due = Position { run, round: index, windows: (seed, position), residual };
			let Some(trained) = false_work(&fault, due, engine, (checkpoint, base), &dataset.loader)? else { return Ok(None) };
			hand_out(&store, (run, index), left, &trained)?;
			let Trained { work, .. } = trained;
			Ok(Some(Pending::new(run, (index, attempt), seed, work).bridged(drawn.bridged())))
		});
		Ok(job.await?.map(Effect::Trained))
	}

	/// What is to be wrong with the checkpoint that ends the round at hand.
	pub(super) fn lie(&self, moment: &Moment) -> Result<Option<CheckpointLie>, WorkerError> {
		let (_, round) = moment.round()?;
		let lie = self.fault.as_ref().and_then(|fault| fault.lie(round.round));
		if lie.is_some() {
			tracing::warn!("cheating in round {}: {lie:?}", round.round);
		}
		Ok(lie)
	}

	/// Whether the worker is an accomplice, who leaves the revealing of this work to another one.
	pub(super) fn keeps_back(&self, pending: &Pending) -> bool {
		self.fault.as_ref().is_some_and(|fault: &Fault| fault.keeps_work_back(pending.round))
	}
}

/// What an accomplice has done in the round with this seed, once it has.
async fn taken_over(from: &Path, run: RunId, seed: H256) -> Result<(Work, Vec<u8>), WorkerError> {
	loop {
		let base = from.to_path_buf();
		if let Some(work) = blocking(move || Ok(handed_over(&base, run, seed)?)).await? {
			return Ok(work);
		}
		tokio::time::sleep(LOOK_INTERVAL).await;
	}
}

/// What the accomplice with base folder `from` has ready for the round with this seed: its work, and its delta. `None` until it has.
fn handed_over(from: &Path, run: RunId, seed: H256) -> Result<Option<(Work, Vec<u8>)>, StoreError> {
	match pending_in(from).into_iter().find(|pending| pending.run == run && pending.seed == seed) {
		Some(pending) => Ok(Some((pending.work.clone(), read_blob(&from.join("store"), pending.work.delta_root)?))),
		None => Ok(None),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::run::journal::Journal;
	use neuroshard_store::Store;
	use neuroshard_types::AccountId;

	#[test]
	fn a_copy_is_what_the_accomplice_has_ready_for_this_round() {
		const RUN: RunId = 3;
		const SEED: H256 = H256::repeat_byte(9);
		let base = tempfile::tempdir().unwrap();
		assert_eq!(handed_over(base.path(), RUN, SEED).unwrap(), None);
		let mut journal = Journal::open(base.path(), H256::zero(), AccountId::new([1; 32])).unwrap();
		let store = Store::open(&base.path().join("store"), 1 << 30).unwrap();
		let delta = vec![7; 4096];
		let delta_root = store.put_pinned(&delta, "run-3-round-0").unwrap().root;
		let work = Work { state_roots: vec![H256::zero()].try_into().unwrap(), delta_root, delta_bytes: 4096, tokens: 64 };
		journal.set_pending(Pending::new(RUN, (0, 0), SEED, work.clone())).unwrap();
		assert_eq!(handed_over(base.path(), RUN, SEED).unwrap(), Some((work, delta)));
		assert_eq!(handed_over(base.path(), RUN, H256::zero()).unwrap(), None);
		assert_eq!(handed_over(base.path(), RUN + 1, SEED).unwrap(), None);
	}
}
