//! Checkpoints that are not what the included deltas give.

use neuroshard_graph::{TrainConfig, F32};
use neuroshard_training::checkpoint::Checkpoint;
use neuroshard_types::run::Attestation;

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

	/// What is attested of such a checkpoint. Nothing is validated: only what comes before two thirds agree on something else counts, so that who
	/// lies wants to be first.
	pub fn attest(self, checkpoint: &Checkpoint) -> Attestation {
		Attestation { checkpoint: checkpoint.header.root(), validation_loss: F32::new(0.0) }
	}
}
