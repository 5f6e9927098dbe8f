//! The end of a round: aggregation of the included deltas, the outer step, and the held-out loss of what comes out.

use super::{
	checkpoint::{Checkpoint, CheckpointError},
	round::{validation_loss, TrainError},
};
use crate::{data::loader::Loader, engine::Engine};
use neuroshard_graph::{
	exec::{aggregate, outer_step},
	outer::AggregateError,
};
use neuroshard_types::{run::Attestation, AccountId};

/// Why there is no next checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum OuterError {
	/// Deltas must come with their accounts' bytes strictly ascending, as the specification aggregates them.
	#[error("the delta of {0} is out of order: sort deltas by account bytes, one each")]
	Order(AccountId),
	/// No delta, or deltas of another model.
	#[error(transparent)]
	Aggregate(#[from] AggregateError),
	/// The checkpoint counter.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// The validation.
	#[error(transparent)]
	Train(#[from] TrainError),
}

/// The checkpoint that follows `previous` when `deltas` are included: aggregate, then the Nesterov outer step. Exact, so
/// that honest attestations agree.
///
/// # Errors
/// [`OuterError`] for no delta, deltas out of order, or vectors of other lengths than the model's.
pub fn apply_outer(engine: &Engine, previous: &Checkpoint, deltas: &[(AccountId, Vec<f32>)]) -> Result<Checkpoint, OuterError> {
	for pair in deltas.windows(2) {
		if let [(first, _), (second, _)] = pair {
			if first >= second {
				return Err(OuterError::Order(second.clone()));
			}
		}
	}
	let train = engine.train_config();
	let (mut params, mut momentum) = (previous.params.clone(), previous.momentum.clone());
	let mut gradient = vec![0.0; params.len()];
	let inputs: Vec<&[f32]> = deltas.iter().map(|(_, delta)| delta.as_slice()).collect();
	aggregate(engine.exec(), &inputs, train.aggregator, &mut gradient)?;
	outer_step(engine.exec(), &mut params, &mut momentum, &gradient, train.outer_lr.get(), train.outer_beta.get())?;
	let header = previous.header;
	let too_many = || CheckpointError::TooManyRounds(header.round);
	let round = header.round.checked_add(1).ok_or_else(too_many)?;
	let steps = header.adopted_steps.checked_add(u64::from(train.inner_steps)).ok_or_else(too_many)?;
	Ok(Checkpoint::new(header.run, round, steps, engine.layout(), params, momentum, engine.exec().threads()))
}

/// What a participant attests of a checkpoint: its root and its validation loss.
///
/// # Errors
/// [`TrainError`] of the validation.
pub fn attest(engine: &mut Engine, checkpoint: &Checkpoint, loader: &Loader) -> Result<Attestation, TrainError> {
	let validation_loss = validation_loss(engine, &checkpoint.params, loader)?;
	Ok(Attestation { checkpoint: checkpoint.header.root(), validation_loss })
}
