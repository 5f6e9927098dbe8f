//! Memory that a run takes, known from its configuration before anything of it is allocated: what does not fit would end the whole process.

use super::WorkerError;
use neuroshard_graph::{plan::Plan, ConfigError, ParamLayout};
use neuroshard_types::run::RunConfig;

/// Bytes of a number.
const F32_BYTES: u64 = 4;
/// Vectors of the model's size beside the arena of somebody who trains: two of the loaded checkpoint and two of the next one, three of the state
/// that is being kept, and the delta.
const TRAINING_VECTORS: u64 = 8;
/// More of them where deltas are sent as a code that leaves a residual: that before the round, and the one after it.
const RESIDUAL_VECTORS: u64 = 2;
/// More of them where rounds overlap: two of an earlier checkpoint, and three of the state that inner steps go on from.
const OVERLAP_VECTORS: u64 = 5;
/// More of them where another cohort's checkpoint may be started from: two.
const BRIDGE_VECTORS: u64 = 2;
/// The same of somebody who recomputes a claim: the parameters that it started from, those that the delta is the difference from, and a state to go back to.
const CASE_VECTORS: u64 = 5;
/// The same while outer steps are taken, besides the deltas: the loaded checkpoint, the last one that was computed, and the one that comes out.
const OUTER_VECTORS: u64 = 6;

/// Least memory that a run takes, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Needs {
	/// To train, and to apply as many deltas as a round of the run has at least.
	training: u64,
	/// To recompute one claim, as in a dispute.
	case: u64,
	/// A vector of the model's size.
	vector: u64,
	/// Such a vector as peers exchange it.
	blob: u64,
}

impl Needs {
	/// Those of a run with this configuration. Nothing of the model's size is allocated.
	///
	/// # Errors
	/// [`ConfigError`] for a configuration that no engine takes.
	pub(super) fn of(config: &RunConfig) -> Result<Self, ConfigError> {
		let (model, train) = (&config.model, &config.train);
		let layout = ParamLayout::new(model)?;
		let size = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
		let (vector, blob) = (size(layout.len()).saturating_mul(F32_BYTES), size(layout.encoded_len()));
		let bytes = |plan: Plan| plan.arena_len().saturating_mul(F32_BYTES);
		let (steps, validation) = (bytes(Plan::training(model, train)?), bytes(Plan::validation(model, train)?));
		let vectors = |count: u64| vector.saturating_mul(count);
		let deltas = u64::from(config.min_participants);
		let residuals = if train.leaves_residual() { RESIDUAL_VECTORS } else { 0 };
		let overlap = if config.overlaps { OVERLAP_VECTORS } else { 0 };
		let bridge = if config.takes_bridges() { BRIDGE_VECTORS } else { 0 };
		let beside = [deltas, residuals, overlap, bridge].into_iter().fold(TRAINING_VECTORS, u64::saturating_add);
		let training = steps.max(validation).saturating_add(vectors(beside));
		Ok(Self {
			training: training.saturating_add(blob.saturating_mul(2)),
			case: steps.saturating_add(vectors(CASE_VECTORS.saturating_add(residuals))),
			vector,
			blob,
		})
	}

	/// Checks that a participant fits into `available` bytes, if these are known: it trains, and defends a claim beside that.
	///
	/// # Errors
	/// [`WorkerError::TooLittleMemory`].
	pub(super) fn check_participant(&self, available: Option<u64>) -> Result<(), WorkerError> {
		check(self.training.saturating_add(self.case), available)
	}

	/// The same for a claim that is recomputed.
	///
	/// # Errors
	/// [`WorkerError::TooLittleMemory`].
	pub(super) fn check_case(&self, available: Option<u64>) -> Result<(), WorkerError> {
		check(self.case, available)
	}

	/// The same for an outer step with so many deltas, beside the engine, which is there.
	///
	/// # Errors
	/// [`WorkerError::TooLittleMemory`].
	pub(super) fn check_outer_step(&self, deltas: usize, available: Option<u64>) -> Result<(), WorkerError> {
		let vectors = u64::try_from(deltas).unwrap_or(u64::MAX).saturating_add(OUTER_VECTORS);
		check(self.vector.saturating_mul(vectors).saturating_add(self.blob.saturating_mul(2)), available)
	}
}

fn check(needed: u64, available: Option<u64>) -> Result<(), WorkerError> {
	match available {
		Some(available) if available < needed => Err(WorkerError::TooLittleMemory { needed, available }),
		_ => Ok(()),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;
	use neuroshard_training::engine::Engine;
	use neuroshard_types::{ModelConfig, TrainConfig};

	fn config() -> RunConfig {
		RunConfig { model: ModelConfig::tiny(), train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config }
	}

	/// A run of about 2^31 parameters, as anybody may create one.
	fn giant() -> RunConfig {
		let mut config = config();
		let model = &mut config.model;
		(model.dim, model.ffn, model.layers, model.heads, model.kv_heads) = (4_096, 10_240, 11, 32, 32);
		config
	}

	#[test]
	fn a_run_takes_its_engines_arena_and_the_vectors_beside_it() {
		let config = config();
		let needs = Needs::of(&config).unwrap();
		let engine = Engine::new(&config.model, &config.train, 1).unwrap();
		let (arena, vector) = (engine.arena_bytes() as u64, 4 * engine.layout().len() as u64);
		// Two participants at least, and a bridge.
		let training = arena + 12 * vector + 2 * engine.layout().encoded_len() as u64;
		assert_eq!(needs.training, training);
		assert!(needs.case <= arena + 5 * vector && needs.case > 5 * vector);
		let whole = needs.training + needs.case;
		needs.check_participant(Some(whole)).unwrap();
		let refused = needs.check_participant(Some(whole - 1));
		assert!(matches!(refused, Err(WorkerError::TooLittleMemory { needed, available }) if (needed, available) == (whole, whole - 1)));
		needs.check_participant(None).unwrap();
	}

	#[test]
	fn a_giant_model_is_measured_without_being_made() {
		let config = giant();
		config.train.validate(&config.model).unwrap();
		let parameters = config.model.parameters();
		assert!((1 << 30..=1 << 31).contains(&parameters), "{parameters}");
		let needs = Needs::of(&config).unwrap();
		// Eight vectors and two deltas, the parameters, both moments and the gradients in the arena, and two blobs.
		assert!(needs.training >= 16 * 4 * parameters, "{needs:?}");
		assert!(needs.check_participant(Some(64 << 30)).is_err() && needs.check_case(Some(16 << 30)).is_err());
	}

	#[test]
	fn more_deltas_take_more_memory() {
		let needs = Needs::of(&config()).unwrap();
		let (three, vector) = (needs.vector * 9 + needs.blob * 2, needs.vector);
		needs.check_outer_step(3, Some(three)).unwrap();
		assert!(needs.check_outer_step(4, Some(three + vector - 1)).is_err());
		assert!(needs.check_outer_step(usize::MAX, Some(u64::MAX - 1)).is_err());
	}

	#[test]
	fn what_no_engine_takes_is_no_question_of_memory() {
		let mut config = config();
		config.model.heads = 3;
		assert_eq!(Needs::of(&config), Err(ConfigError::Heads));
	}
}
