//! A participant's own part in a round: inner steps, commitment and reveal.

use super::{Effect, Moment, Tasks};
use crate::{
	content::{
		dataset::Dataset,
		read,
		rounds::{residual_label, round_label},
	},
	journal::Pending,
	pace::tells_speed,
	participant::decide::{task::Drawn, view::Sibling},
	WorkerError,
};
use neuroshard_chain_client::{training, work_hash};
use neuroshard_compute::round::{InnerState, Progress, Reached};
use neuroshard_data::loader::Assignment;
use neuroshard_graph::{tiles, ParamLayout};
use neuroshard_store::{Store, StoreError};
use neuroshard_support::hardware::processor_time;
use neuroshard_training::{
	ending::{Ending, Now},
	hot,
	kept::OwnRound,
	reach::can_be_siblings,
	round::{TrainError, Trained, Training},
};
use neuroshard_types::{
	assignment::Draw,
	proof::{Proof, ProofKey, ProofKind},
	run::RunConfig,
	RoundIndex, RunId, H256,
};
use std::{
	sync::atomic::{AtomicBool, Ordering},
	time::{Duration, Instant},
};

/// A round whose inner steps can be taken: all that they need is here.
#[derive(Clone)]
pub(in crate::participant) struct Ready {
	/// The round.
	pub(in crate::participant) drawn: Drawn,
	/// Moment at which it was planned.
	pub(in crate::participant) moment: Moment,
	pub(super) run: RunId,
	pub(super) config: RunConfig,
	pub(super) dataset: Dataset,
	/// What its windows are drawn by.
	pub(super) draw: Draw,
	/// Root of what the last delta has left unsaid.
	pub(super) left: Option<H256>,
}

impl std::fmt::Debug for Ready {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		formatter.debug_struct("Ready").field("drawn", &self.drawn).finish_non_exhaustive()
	}
}

/// Result of inner steps on the compute thread.
enum Stepped {
	/// All are done.
	Done(Box<Pending>),
	/// Another job goes first: they go on from here.
	Reached(Box<Reached>),
	/// The checkpoint of another cohort cannot be started from.
	Unfit,
}

impl Tasks {
	/// Takes the inner steps of `drawn`, or gets what they need, if they are taken beside all else because rounds overlap.
	pub(super) async fn train(&self, moment: &Moment, drawn: Drawn) -> Result<Effect, WorkerError> {
		if let Some(effect) = self.departure(moment, drawn).await? {
			return Ok(effect);
		}
		let Drawn { round: index, seed, position, .. } = drawn;
		let state = moment.run()?;
		let (run, config) = (state.id, state.view.config.clone());
		let at_hand = state.round.as_ref().filter(|round| round.seed == seed);
		// The next one comes on top of the one at hand.
		let ahead = if at_hand.is_some() { 0 } else { state.members.len() };
		let deltas = match config.train.weighs_steps() {
			// Others may come late.
			true => usize::try_from(config.max_participants).unwrap_or(usize::MAX),
			false => state.round.as_ref().map_or(0, |round| round.participants.len()),
		};
		self.make_room(moment, deltas.saturating_add(ahead)).await?;
		let dataset = self.dataset(moment).await?;
		let draw = Draw::new(&config, (run, index), seed, &dataset.loader.shape());
		let assignment = Assignment::new(&config.train, position, draw);
		let shards = dataset.loader.round_shards(&assignment)?;
		self.content.shards(&dataset, &shards, &moment.book.all()).await?;

		let left = self.left_unsaid(moment, run, &config).await?;
		let overlaps = config.overlaps;
		let ready = Box::new(Ready { drawn, moment: moment.clone(), run, config, dataset, draw, left });
		if let Some(leading) = &self.quorum {
			return self.lead(leading, *ready).await;
		}
		if overlaps {
			Ok(Effect::Ready(ready))
		} else {
			self.take_steps(*ready).await
		}
	}

	/// Takes the inner steps of a round. Where rounds overlap, jobs that come meanwhile go first, between two steps.
	pub(in crate::participant) async fn take_steps(&self, ready: Ready) -> Result<Effect, WorkerError> {
		let Ready { drawn, moment, run, config, dataset, draw, left } = ready;
		let Drawn { round: index, attempt, seed, position, .. } = drawn;
		let at_hand = moment.run()?.round.as_ref().filter(|round| round.seed == seed);
		let deadline = at_hand.and_then(|round| round.deadline);
		let late = at_hand.filter(|round| round.late.contains(&moment.seen.chain.me));
		let late = late.map(|round| Duration::from_millis(moment.seen.time.saturating_sub(round.started_at.1)));
		let own = OwnRound::new(run, index, seed, drawn.bridged());
		let mut reached: Option<Box<Reached>> = None;
		loop {
			let (store, reporter, keeper) = (self.content.store.clone(), self.reporter.clone(), self.keeper.clone());
			let (cancel, stopping, best) = (moment.cancel.clone(), moment.stopping.clone(), moment.best.clone());
			let (config, dataset, is_wanted, before) = (config.clone(), dataset.clone(), self.compute.is_wanted(), reached.take());
			let job = self.compute.run(move |state| {
				let steps = config.train.inner_steps;
				let threads = state.threads();
				let mut prepared = state.prepare(run, &config)?;
				let (engine, checkpoint, base) = match prepared.starting_at((run, &config), &drawn, &store) {
					// It has the root that others attested, and is nothing that can be read.
					Err(WorkerError::NotLoaded { root }) if drawn.bridged() == Some(root) => return Ok(Stepped::Unfit),
					found => found?,
				};
				if base.is_some_and(|base| !can_be_siblings(&config.train, &engine.layout().tiling(), [base, checkpoint])) {
					return Ok(Stepped::Unfit);
				}
				let (started, used, is_on_cpu) = (Instant::now(), processor_time(), engine.is_on_cpu());
				let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get()).min(threads);
				let goes_on = before.is_some();
				let reached = before.map(|reached| *reached).or_else(|| hot::read(&store, own, engine.layout(), &config.train));
				let begun_at = reached.as_ref().map_or(0, |reached: &Reached| reached.step);
				if begun_at > 0 && !goes_on {
					tracing::info!("goes on with round {index} after inner step {begun_at} of {steps}, from the hot checkpoint");
				}
				let (halt, mut left_at) = (AtomicBool::new(false), None);
				let mut keep = keeper.of(own, &config.train, engine.layout().len(), &stopping);
				let keep = |state: InnerState<'_>| {
					keep(state);
					if cancel.load(Ordering::Relaxed) {
						halt.store(true, Ordering::Relaxed);
					} else if config.overlaps && is_wanted() && state.step < steps {
						left_at = state.to_owned().map(Box::new);
						halt.store(true, Ordering::Relaxed);
					}
				};
				let progress = |progress: &Progress| {
					reporter.update(|status| {
						status.step = Some((progress.step, steps));
						status.training_loss = Some(progress.outcome.loss);
					});
				};
				let residual = left.and_then(|root| residual(&store, engine.layout(), root));
				let now = || Now { clock: Instant::now(), best: best.load(Ordering::Relaxed) };
				let ending = deadline.map(|deadline| Ending::new(&config.train, &config.durations, (late, deadline), now(), begun_at));
				let training = Training::start(engine, checkpoint, &dataset.loader, position, draw)?
					.with_base(base.map(|base| base.params.as_slice()))
					.with_residual(residual)
					.ending(|done| ending.as_ref().is_some_and(|ending| ending.ends_after(done, now())));
				let trained = training.run_keeping(reached, &halt, progress, keep);
				let seconds = started.elapsed().as_secs_f64();
				let used = used.and_then(|before| Some(processor_time()?.saturating_sub(before).as_secs_f64()));
				// As if all of the time were that of its threads: what else the process does makes it seem slower, and never faster.
				// Audits are computed on the CPU: of that, another device's speed says nothing.
				let alone = used.filter(|_| is_on_cpu).map(|used| used / cores as f64).filter(|seconds| *seconds > 0.0);
				let note = |tokens: u64| {
					reporter.update(|status| {
						status.tokens = status.tokens.saturating_add(tokens);
						status.tokens_per_second = (seconds > 0.0).then(|| tokens as f64 / seconds);
						if tells_speed(&config.train, tokens) {
							status.tokens_per_second_alone = alone.map(|seconds| tokens as f64 / seconds);
						}
					});
				};
				let since = |tokens: u64| tokens.saturating_sub(config.train.tokens_after(begun_at));
				if let Some(reached) = left_at {
					note(since(config.train.tokens_after(reached.step)));
					return Ok(Stepped::Reached(reached));
				}
				let trained = trained?;
				if let Some(taken) = trained.work.steps(&config.train).filter(|taken| *taken < steps) {
					tracing::info!("{taken} inner steps of round {index} were done in time, of {steps} at most");
				}
				reporter.update(|status| status.step = None);
				note(since(trained.work.tokens));
				hand_out(&store, (run, index), left, &trained)?;
				Ok(Stepped::Done(Box::new(Pending::new(run, (index, attempt), seed, trained.work).bridged(drawn.bridged()))))
			});
			match job.await {
				Ok(Stepped::Done(pending)) => return Ok(Effect::Trained(*pending)),
				Ok(Stepped::Reached(state)) => reached = Some(state),
				Ok(Stepped::Unfit) => {
					tracing::warn!(
						"checkpoint {:?} of another cohort is none that can have been trained: this round starts from the own",
						drawn.start
					);
					return Ok(Effect::Sibling(Sibling::Unfit(drawn.start)));
				}
				Err(WorkerError::Train(TrainError::Diverged(step))) if drawn.base.is_some() => {
					tracing::warn!(
						"training from another cohort's checkpoint diverged in step {step:?}: this round starts anew from the own"
					);
					return Ok(Effect::Sibling(Sibling::Unfit(drawn.start)));
				}
				Err(WorkerError::Train(TrainError::Diverged(step))) => {
					tracing::warn!("training diverged in step {step:?} of round {index}: it is sat out");
					return Ok(Effect::Diverged(seed));
				}
				Err(error) => return Err(error),
			}
		}
	}

	/// Root of what this account's last delta in a run has left unsaid.
	pub(super) async fn left_unsaid(&self, moment: &Moment, run: RunId, config: &RunConfig) -> Result<Option<H256>, WorkerError> {
		match config.train.leaves_residual() {
			true => Ok(moment.seen.at.residual(run, &moment.seen.chain.me).await?),
			false => Ok(None),
		}
	}

	pub(super) async fn commit(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		let pending = moment.pending.as_ref().ok_or(WorkerError::Stopped)?;
		let seal = pending.seal(self.genesis, &moment.seen.chain.me);
		self.act(moment, training::commit(pending.run, pending.round, pending.attempt, seal)).await
	}

	pub(super) async fn reveal(&self, moment: &Moment) -> Result<Effect, WorkerError> {
		if moment.pending.as_ref().is_some_and(|pending| self.conduct.keeps_work_back(pending.round)) {
			return Ok(Effect::Incomplete);
		}
		let Pending { run, round, attempt, salt, work, .. } = moment.pending.clone().ok_or(WorkerError::Stopped)?;
		let key = ProofKey { run, round, kind: ProofKind::Training };
		let proof = Proof { key, timestamp: moment.seen.time, work_hash: work_hash(&work) };
		let signature = self.keys.ponw.sign(&proof, self.genesis, &moment.seen.chain.me);
		self.act(moment, training::reveal(run, round, attempt, salt, work, proof, signature)).await
	}
}

/// Keeps what others are handed of a round: its delta, and for those who audit it the residual that it began with, whose root is `left`, and the one
/// that it leaves. Blocks.
pub(super) fn hand_out(store: &Store, (run, round): (RunId, RoundIndex), left: Option<H256>, trained: &Trained) -> Result<(), StoreError> {
	store.put_pinned(&trained.delta, &round_label(run, round))?;
	let Some(residual) = &trained.residual else { return Ok(()) };
	let label = residual_label(run, round);
	if let Some(left) = left.filter(|left| store.contains(*left)) {
		store.pin(left, &label)?;
	}
	store.put_pinned(residual, &label)?;
	Ok(())
}

/// The residual with this root that an earlier round has left; `None`, which is one of zeros, if it is not here any more. Blocks.
pub(super) fn residual(store: &Store, layout: &ParamLayout, root: H256) -> Option<Vec<f32>> {
	let bytes = match read(store, root) {
		Ok(bytes) => bytes,
		Err(error) => {
			tracing::warn!("what the last delta has left unsaid is not here any more, the next one begins without it: {error}");
			return None;
		}
	};
	// Blobs are checked when they come: it is the one with this root.
	tiles::decode(layout, &bytes).ok()
}
