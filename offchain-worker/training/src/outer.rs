//! The end of a round: aggregation of the included deltas, the outer step, and the held-out loss of what comes out.

use super::{
	checkpoint::{Checkpoint, CheckpointError},
	round::{validation_loss, TrainError},
};
use crate::engine::Engine;
use neuroshard_data::loader::Loader;
use neuroshard_graph::{outer::AggregateError, TrainConfig};
use neuroshard_types::{run::Attestation, F32};

/// Why there is no next checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum OuterError {
	/// Deltas of another model.
	#[error(transparent)]
	Aggregate(#[from] AggregateError),
	/// The checkpoint counter.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// The validation.
	#[error(transparent)]
	Train(#[from] TrainError),
}

/// The deltas of an outer step, by account bytes ascending.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Included {
	/// Decoded.
	pub deltas: Vec<Vec<f32>>,
	/// Inner steps behind each, in a run whose deltas weigh by them; else empty.
	pub inner_steps: Vec<u32>,
}

impl From<Vec<Vec<f32>>> for Included {
	/// Of a run whose deltas do not weigh by inner steps.
	fn from(deltas: Vec<Vec<f32>>) -> Self {
		Self { deltas, inner_steps: Vec::new() }
	}
}

/// The checkpoint that follows `previous` when these deltas are included, in this order, which is that of the chain (by account bytes
/// ascending): aggregate, then the Nesterov outer step. Exact, so that honest attestations agree.
///
/// Without deltas, which happens if all of a round were proven false since, parameters and momentum stay as they are; the round and its
/// inner steps are counted like those of any other.
///
/// # Errors
/// [`OuterError`] for vectors of other lengths than the model's.
pub fn apply_outer(engine: &Engine, previous: &Checkpoint, included: &Included) -> Result<Checkpoint, OuterError> {
	apply_outer_as(engine, engine.train_config(), previous, included)
}

/// [`apply_outer`] under the configuration `train`.
///
/// # Errors
/// As there.
pub fn apply_outer_as(engine: &Engine, train: &TrainConfig, previous: &Checkpoint, included: &Included) -> Result<Checkpoint, OuterError> {
	let (mut params, mut momentum) = (previous.params.clone(), previous.momentum.clone());
	engine.take_outer_step(train, [&mut params, &mut momentum], &included.deltas, &included.inner_steps)?;
	let header = previous.header;
	let too_many = || CheckpointError::TooManyRounds(header.round);
	let round = header.round.checked_add(1).ok_or_else(too_many)?;
	let steps = header.adopted_steps.checked_add(u64::from(train.inner_steps)).ok_or_else(too_many)?;
	Ok(Checkpoint::new(header.run, round, steps, engine.layout(), params, momentum, engine.exec().threads()))
}

/// The checkpoint after the outer steps with these lists of deltas, one after the other, from `start` on. The list of a step is asked
/// for when its turn comes, so that only one is in memory.
///
/// # Errors
/// The first error of a list; [`OuterError`] as [`apply_outer`].
pub fn apply_outer_steps<E: From<OuterError>>(
	engine: &Engine,
	start: &Checkpoint,
	steps: impl IntoIterator<Item = Result<Included, E>>,
) -> Result<Checkpoint, E> {
	apply_outer_steps_as(engine, engine.train_config(), start, steps)
}

/// [`apply_outer_steps`] under the configuration `train`.
///
/// # Errors
/// As there.
pub fn apply_outer_steps_as<E: From<OuterError>>(
	engine: &Engine,
	train: &TrainConfig,
	start: &Checkpoint,
	steps: impl IntoIterator<Item = Result<Included, E>>,
) -> Result<Checkpoint, E> {
	let mut last = None;
	for included in steps {
		last = Some(apply_outer_as(engine, train, last.as_ref().unwrap_or(start), &included?)?);
	}
	Ok(last.unwrap_or_else(|| start.clone()))
}

/// Computes a participant's attestation of a checkpoint: its root and its validation loss. A loss that is not finite is attested as infinite: the
/// checkpoint is what the deltas give all the same, and only claims of adopted rounds can be disputed.
///
/// # Errors
/// [`TrainError`] of the validation.
pub fn attest(engine: &mut Engine, checkpoint: &Checkpoint, loader: &Loader) -> Result<Attestation, TrainError> {
	let validation_loss = match validation_loss(engine, &checkpoint.params, loader) {
		Err(TrainError::Diverged(_)) => F32::new(f32::INFINITY),
		loss => loss?,
	};
	Ok(Attestation { checkpoint: checkpoint.header.root(), validation_loss })
}
