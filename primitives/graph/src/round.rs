//! A participant's round: H inner steps from theta_r, with the state committed on the way, and the delta at the end.
//!
//! Training and replay run this same function: what it returns depends on its arguments only.

use crate::{
	commit::{state_root, tensors_root},
	exec::{StepError, StepOutcome, Trainer},
	merkle::Hash,
};
use alloc::{vec, vec::Vec};
use core::ops::ControlFlow;

/// What a round produced.
#[derive(Clone, PartialEq, Debug)]
pub struct RoundOutcome {
	/// `theta_r - theta_H`, in parameter layout.
	pub delta: Vec<f32>,
	/// Merkle root over its tiles.
	pub delta_root: Hash,
	/// State root after every `commit_interval` steps and after the last one.
	pub state_roots: Vec<Hash>,
	/// Loss of each step.
	pub losses: Vec<f32>,
}

/// A step that has just ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
	/// Inner steps done, from 1.
	pub step: u32,
	/// What the step measured.
	pub outcome: StepOutcome,
	/// State root, if the state was committed after this step.
	pub state_root: Option<Hash>,
}

/// Why a round has no outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoundError<E> {
	/// The tokens of a sequence could not be had.
	#[error("no tokens for step {step}: {source}")]
	Source {
		/// Inner step, from 0.
		step: u32,
		/// Why.
		source: E,
	},
	/// A step failed; [`StepError::Diverged`] is an outcome to report, not a fault.
	#[error("inner step {step}: {source}")]
	Step {
		/// Inner step, from 0.
		step: u32,
		/// Why.
		source: StepError,
	},
	/// The progress callback asked to stop.
	#[error("stopped before the round was complete")]
	Stopped,
	/// The delta is not finite.
	#[error("diverged: the parameters left the finite numbers")]
	Diverged,
	/// Parameters or arena have a wrong length.
	#[error("{found} elements where {expected} are needed")]
	Length {
		/// Elements needed.
		expected: usize,
		/// Elements given.
		found: usize,
	},
}

/// A state that was committed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Committed<'a> {
	/// Inner steps done.
	pub step: u32,
	/// Its root.
	pub root: Hash,
	/// Parameters, first and second moments, in parameter layout.
	pub vectors: [&'a [f32]; 3],
}

/// Runs a round from `theta` (theta_r) after `adopted_rounds` adopted rounds.
///
/// `tokens(step, sequence, buffer)` fills in the `seq_len + 1` tokens of a sequence of an inner step, both from 0.
/// `progress` hears of every step and may stop the round, `committed` of every state that is committed. Moments start at zero, t at 1; the schedule index of a step is
/// `adopted_rounds * inner_steps + step`. Afterwards the arena holds the last inner state.
///
/// # Errors
/// [`RoundError`].
pub fn run_round<E>(
	trainer: &mut Trainer,
	arena: &mut [f32],
	theta: &[f32],
	adopted_rounds: u32,
	mut tokens: impl FnMut(u32, u32, &mut [u16]) -> Result<(), E>,
	mut progress: impl FnMut(Progress) -> ControlFlow<()>,
	mut committed: impl FnMut(Committed<'_>),
) -> Result<RoundOutcome, RoundError<E>> {
	let expect = |expected: usize, found: usize, good: bool| if good { Ok(()) } else { Err(RoundError::Length { expected, found }) };
	expect(trainer.layout().len(), theta.len(), theta.len() == trainer.layout().len())?;
	expect(trainer.arena_len(), arena.len(), arena.len() >= trainer.arena_len())?;
	let config = trainer.config().clone();
	let threads = trainer.exec().threads();
	trainer.theta_mut(arena).copy_from_slice(theta);
	trainer.reset_moments(arena);

	let first_index = u64::from(adopted_rounds) * u64::from(config.inner_steps);
	let mut batch = vec![0; trainer.batch_tokens()];
	let per_sequence = batch.len() / config.batch as usize;
	let mut state_roots = Vec::new();
	let mut losses = Vec::new();
	for step in 0..config.inner_steps {
		for (sequence, buffer) in (0..).zip(batch.chunks_exact_mut(per_sequence)) {
			tokens(step, sequence, buffer).map_err(|source| RoundError::Source { step, source })?;
		}
		let (done, t) = (step + 1, u64::from(step) + 1);
		let outcome =
			trainer.train_step(arena, &batch, first_index + u64::from(step), t).map_err(|source| RoundError::Step { step, source })?;
		losses.push(outcome.loss);
		let state_root = config.commits_after(done).then(|| {
			let root = |values| tensors_root(trainer.layout(), values, threads);
			let cursor = u64::from(done) * u64::from(config.batch);
			let vectors = [trainer.theta(arena), trainer.first_moment(arena), trainer.second_moment(arena)];
			let [params, first, second] = vectors.map(root);
			let root = state_root(&params, &first, &second, done, cursor);
			committed(Committed { step: done, root, vectors });
			root
		});
		state_roots.extend(state_root);
		if progress(Progress { step: done, outcome, state_root }).is_break() {
			return Err(RoundError::Stopped);
		}
	}
	let mut delta = vec![0.0; theta.len()];
	trainer.exec().sub(theta, trainer.theta(arena), &mut delta);
	if delta.iter().any(|value| !value.is_finite()) {
		return Err(RoundError::Diverged);
	}
	let delta_root = tensors_root(trainer.layout(), &delta, threads);
	Ok(RoundOutcome { delta, delta_root, state_roots, losses })
}
