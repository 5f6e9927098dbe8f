//! Checkpoints that are not what the included deltas give.

use crate::{
	engine::Engine,
	train::{
		checkpoint::{Checkpoint, CheckpointError, Header},
		outer::OuterError,
	},
};
use neuroshard_graph::{commit::tensors_root, exec::take_outer_step, TrainConfig, F32};
use neuroshard_types::H256;

/// What is wrong with a checkpoint. A story that is told with [`Self::deltas`] and [`Self::train`] ends with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckpointLie {
	/// The second delta takes the place of the first; a lone one counts twice.
	Aggregate,
	/// The outer step's learning rate is doubled.
	OuterStep,
}

impl CheckpointLie {
	/// The deltas that are aggregated in place of those of a step. As many: their number shows in every game.
	pub fn deltas(self, mut deltas: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
		if self == Self::Aggregate {
			match deltas.as_mut_slice() {
				[first, second, ..] => first.clone_from(second),
				[lone] => lone.iter_mut().for_each(|value| *value *= 2.0),
				[] => {}
			}
		}
		deltas
	}

	/// The configuration that outer steps are taken with in place of the run's.
	pub fn train(self, train: &TrainConfig) -> TrainConfig {
		let outer_lr = match self {
			Self::Aggregate => train.outer_lr,
			Self::OuterStep => F32::new(2.0 * train.outer_lr.get()),
		};
		TrainConfig { outer_lr, ..train.clone() }
	}

	/// What `train::outer::apply_outer` does, and lies.
	///
	/// # Errors
	/// [`OuterError`] as there.
	pub fn apply_outer(self, engine: &Engine, previous: &Checkpoint, deltas: Vec<Vec<f32>>) -> Result<Checkpoint, OuterError> {
		let (train, deltas) = (self.train(engine.train_config()), self.deltas(deltas));
		let (mut params, mut momentum) = (previous.params.clone(), previous.momentum.clone());
		take_outer_step(engine.exec(), &train, &mut params, &mut momentum, &deltas)?;
		let Header { run, round, adopted_steps, .. } = previous.header;
		let too_many = || CheckpointError::TooManyRounds(round);
		let root = |values: &[f32]| H256(tensors_root(engine.layout(), values, engine.exec().threads()));
		let header = Header {
			run,
			round: round.checked_add(1).ok_or_else(too_many)?,
			adopted_steps: adopted_steps.checked_add(u64::from(train.inner_steps)).ok_or_else(too_many)?,
			params: root(&params),
			momentum: root(&momentum),
		};
		Ok(Checkpoint { header, params, momentum })
	}

	/// What `train::outer::apply_outer_steps` does, and lies in every step.
	///
	/// # Errors
	/// As there.
	pub fn apply_outer_steps<E: From<OuterError>>(
		self,
		engine: &Engine,
		start: &Checkpoint,
		steps: impl IntoIterator<Item = Result<Vec<Vec<f32>>, E>>,
	) -> Result<Checkpoint, E> {
		let mut last = None;
		for deltas in steps {
			last = Some(self.apply_outer(engine, last.as_ref().unwrap_or(start), deltas?)?);
		}
		Ok(last.unwrap_or_else(|| start.clone()))
	}
}
