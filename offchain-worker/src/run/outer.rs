//! Deltas and outer steps: those of the round at hand, and after a fraud those of earlier rounds once more.

use super::{
	content::{read, round_label, within, Content},
	patience::until_patience_ends,
	plan::{Delta, NextCheckpoint},
	tasks::{Effect, Moment, Tasks},
	WorkerError,
};
use crate::{
	store::ContentDescriptor,
	train::{
		checkpoint::{decode_delta, Checkpoint},
		outer::{apply_outer_steps, attest},
		reach::within_reach,
	},
};
use neuroshard_types::{
	dispute::OuterJob,
	run::{RoundView, RunConfig},
	AccountId, RoundIndex, RunId, H256, MAX_PARTICIPANTS,
};
use std::{
	collections::{BTreeMap, BTreeSet},
	time::Duration,
};

/// A delta that does not come within a block of the first one is asked for again, by itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longest attempt to fetch the held-out shards; what has come by then is kept.
const SHARDS_TIMEOUT: Duration = Duration::from_secs(60);

/// Deltas that are fetched in one task: as many as a round can have.
const AT_A_TIME: usize = MAX_PARTICIPANTS as usize;

impl Tasks {
	/// Gets the oldest of the `wanted` deltas, given as rounds and roots, into the store, and checks them.
	pub(super) async fn fetch_deltas(&self, moment: &Moment, mut wanted: Vec<(RoundIndex, H256)>) -> Result<Effect, WorkerError> {
		let (state, round) = moment.round()?;
		let (run, config) = (state.id, state.view.config.clone());
		wanted.truncate(AT_A_TIME);
		let leaves = self.leaves(run, &config).await?;
		let owners = owners(moment, run, round, &wanted).await?;
		let peers = moment.book.all();
		let fetches = wanted.into_iter().map(|(index, root)| {
			let content = ContentDescriptor { root, leaves };
			let owner = owners.get(&(index, root)).and_then(|owner| moment.book.peer_of(owner));
			let fetched = self.content.delta(round_label(run, index), content, owner, &peers);
			let config = config.clone();
			// What is redone was voted on when it was new.
			let voted_on = (index == round.round).then_some(round.checkpoint);
			async move { (root, async { self.check_delta((run, config), voted_on, root, fetched.await?).await }.await) }
		});
		let mut missing = false;
		for (root, result) in until_patience_ends(fetches, PATIENCE).await {
			match result {
				Ok(()) => {}
				Err(WorkerError::Stopped) => return Err(WorkerError::Stopped),
				Err(error) => {
					tracing::warn!("delta {root}: {error}");
					missing = true;
				}
			}
		}
		Ok(if missing { Effect::Incomplete } else { Effect::Fetched })
	}

	/// Checks that a delta is one of this model; and if it is to be voted on, that inner steps from the checkpoint that it started from can
	/// have made it. A vote says both.
	async fn check_delta(
		&self,
		(run, config): (RunId, RunConfig),
		start: Option<H256>,
		root: H256,
		bytes: Vec<u8>,
	) -> Result<(), WorkerError> {
		let checked = self.checked.clone();
		let job = self.compute.run(move |bench| {
			let threads = bench.threads();
			let mut prepared = bench.prepare(run, &config)?;
			let decoded = decode_delta(prepared.engine.layout(), &bytes, root, threads);
			let known = match (&decoded, start) {
				(Err(_), _) => Delta::Unsound,
				(Ok(delta), Some(start)) if !within_reach(&config.train, &prepared.at(start)?.1.params, delta) => Delta::Excessive,
				(Ok(_), _) => Delta::Held,
			};
			checked.note(root, known);
			if known == Delta::Excessive {
				tracing::warn!("delta {root} is larger than the round's steps can have made it: it is voted against");
			}
			decoded?;
			Ok(())
		});
		job.await
	}

	/// Gets an earlier checkpoint into the store, beside the one that is loaded. That of round 0 is made from the run's seed: everybody
	/// can, and nobody may have it any more.
	pub(super) async fn fetch_start(&self, moment: &Moment, root: H256) -> Result<Effect, WorkerError> {
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		if root != config.genesis_root {
			let leaves = self.leaves(run, &config).await?;
			self.content.checkpoint(run, root, leaves, &moment.book.all()).await?;
			return Ok(Effect::StoredStart(root));
		}
		let store = self.content.store.clone();
		let job = self.compute.run(move |bench| {
			let threads = bench.threads();
			let layout = bench.prepare(run, &config)?.engine.layout();
			Content::publish(&store, &Checkpoint::genesis(run, &config.model, &config.train, threads)?, layout)
		});
		job.await.map(|()| Effect::StoredStart(root))
	}

	/// Takes the outer steps of `job`, whose deltas and start are here, and validates what comes out.
	pub(super) async fn outer_steps(&self, moment: &Moment, job: OuterJob) -> Result<Effect, WorkerError> {
		let (run, config) = (moment.run()?.id, moment.run()?.view.config.clone());
		let fetched = async {
			let dataset = self.dataset(moment).await?;
			self.validation_shards(moment, &dataset).await.map(|()| dataset)
		};
		// Nobody gives this task up while it computes, so that what it waits for must not take for ever.
		let dataset = within(SHARDS_TIMEOUT, "the held-out shards", fetched).await??;

		#[cfg(any(feature = "faults", test))]
		let lie = self.lie(moment)?;
		let (store, reporter, todo) = (self.content.store.clone(), self.reporter.clone(), job.clone());
		let computed = self.compute.run(move |bench| {
			let threads = bench.threads();
			let prepared = bench.prepare(run, &config)?;
			let (engine, current) = (prepared.engine, prepared.current.as_ref());
			let loaded = current.filter(|current| current.header.root() == todo.start);
			let stored = match loaded {
				Some(_) => None,
				None => Some(Content::read_checkpoint(&store, run, todo.start, engine.layout(), threads)?),
			};
			let start = loaded.or(stored.as_ref()).ok_or(WorkerError::NotLoaded { root: todo.start })?;
			let steps = todo.steps.iter().map(|step| {
				let deltas = step.iter().map(|root| Ok(decode_delta(engine.layout(), &read(&store, *root)?, *root, threads)?));
				deltas.collect::<Result<Vec<_>, WorkerError>>()
			});
			#[cfg(not(any(feature = "faults", test)))]
			let next = apply_outer_steps(engine, start, steps)?;
			#[cfg(any(feature = "faults", test))]
			let next = match lie {
				Some(lie) => lie.apply_outer_steps(engine, start, steps)?,
				None => apply_outer_steps(engine, start, steps)?,
			};
			drop(stored);
			let attestation = attest(engine, &next, &dataset.loader)?;
			// What was computed before and not adopted is nothing that anybody needs to find. Its blobs go with those of its round.
			let before = prepared.next.take().map(|before| before.header.root());
			let kept = [Some(next.header.root()), current.map(|current| current.header.root())];
			if let Some(before) = before.filter(|before| !kept.contains(&Some(*before))) {
				store.remove_note(before)?;
			}
			// Whoever attests a checkpoint can hand it out.
			Content::publish(&store, &next, engine.layout())?;
			reporter.update(|status| status.validation_loss = Some(attestation.validation_loss.get()));
			*prepared.next = Some(next);
			Ok(attestation)
		});
		let attestation = computed.await?;
		Ok(Effect::Stepped(NextCheckpoint { run, job, attestation }))
	}
}

/// Who revealed these deltas: according to the round at hand, or to the records of those before it.
async fn owners(
	moment: &Moment,
	run: RunId,
	round: &RoundView,
	wanted: &[(RoundIndex, H256)],
) -> Result<BTreeMap<(RoundIndex, H256), AccountId>, WorkerError> {
	let mut owners = BTreeMap::new();
	for index in wanted.iter().map(|(index, _)| *index).collect::<BTreeSet<_>>() {
		let revealed: Vec<_> = if index == round.round {
			let roots = round.participants.iter().filter_map(|one| Some((one.account.clone(), one.work.as_ref()?.delta_root)));
			roots.collect()
		} else {
			moment.seen.at.record(run, index).await?.map(|record| record.included).unwrap_or_default()
		};
		owners.extend(revealed.into_iter().map(|(account, root)| ((index, root), account)));
	}
	Ok(owners)
}
