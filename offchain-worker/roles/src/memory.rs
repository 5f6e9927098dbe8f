//! Memory that a run takes, known from its configuration before anything of it is allocated: what does not fit would end the whole process.

use super::WorkerError;
use neuroshard_compute::{
	exec::{largest_quantized, StepMemory},
	trace,
};
use neuroshard_graph::{plan::Plan, ConfigError, ModelConfig, ParamLayout, TrainConfig};
use neuroshard_support::memory::available_memory;
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

/// Bytes for each number of the largest operand that is quantized: at most three gradients that are kept for two products each, and another operand, with what
/// goes with a block, rounded up.
const QUANTIZED_BYTES: u64 = 9;

/// Bytes that are free for what is checked and audited, if the system says so: of a worker that leads a quorum half of them, as its rounds begin meanwhile.
pub fn free_beside_rounds(leads: bool) -> Option<u64> {
	available_memory().map(|free| if leads { free / 2 } else { free })
}

/// Memory that a run takes of whoever has to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needs {
	model: ModelConfig,
	train: TrainConfig,
	/// Arena of training steps with a whole batch and all of its activations at once.
	steps: u64,
	/// Arena of validation.
	validation: u64,
	/// Beside the arena, to train and to apply as many deltas as a round of the run has at least.
	beside: u64,
	/// To recompute one claim, as in a dispute: more of a step is at hand there than in the arena that trains.
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
	pub fn of(config: &RunConfig) -> Result<Self, ConfigError> {
		let (model, train) = (&config.model, &config.train);
		let layout = ParamLayout::trained(model, train)?;
		// The model that an adapter is beside: in the arena, and once more for disputes, and its blob while it comes.
		let base = train.adapter.map_or(Ok(0), |_| ParamLayout::new(model).map(|layout| layout.encoded_len()))?;
		let size = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
		let (vector, blob) = (size(layout.len()).saturating_mul(F32_BYTES), size(layout.encoded_len()));
		let bytes = |plan: Plan| plan.arena_len().saturating_mul(F32_BYTES);
		let (steps, validation) = (bytes(Plan::training(model, train)?), bytes(Plan::validation(model, train)?));
		let vectors = |count: u64| vector.saturating_mul(count);
		let deltas = u64::from(config.min_participants);
		let residuals = if train.leaves_residual() { RESIDUAL_VECTORS } else { 0 };
		let overlap = if config.overlaps { OVERLAP_VECTORS } else { 0 };
		let bridge = if config.takes_bridges() { BRIDGE_VECTORS } else { 0 };
		let quantized = largest_quantized(model, train).saturating_mul(QUANTIZED_BYTES);
		let beside = [deltas, residuals, overlap, bridge].into_iter().fold(TRAINING_VECTORS, u64::saturating_add);
		Ok(Self {
			model: model.clone(),
			train: train.clone(),
			steps,
			validation,
			beside: vectors(beside).saturating_add(blob.saturating_mul(2)).saturating_add(size(base)).saturating_add(quantized),
			case: trace::step_len(model, train)?
				.saturating_mul(F32_BYTES)
				.saturating_add(vectors(CASE_VECTORS.saturating_add(residuals)))
				.saturating_add(size(base))
				.saturating_add(quantized),
			vector,
			blob,
		})
	}

	/// The fastest way to spend memory on training steps with which a participant fits into `available` bytes, if these are known: it trains, and
	/// defends a claim beside that.
	///
	/// # Errors
	/// [`WorkerError::TooLittleMemory`].
	pub fn participant(&self, available: Option<u64>) -> Result<StepMemory, WorkerError> {
		let needed = |steps: u64| self.with_steps(steps);
		let mut least = check(needed(self.steps), available);
		// The rest of what a run takes may be too much by itself; to know this takes no plan.
		if least.is_err() && check(needed(0), available).is_ok() {
			for way in StepMemory::ways(&self.train).skip(1) {
				let Ok(elements) = way.arena_len(&self.model, &self.train) else { continue };
				least = check(needed(elements.saturating_mul(F32_BYTES)), available);
				if least.is_ok() {
					return Ok(way);
				}
			}
		}
		least.map(|()| StepMemory::default())
	}

	/// What a participant takes of this machine's memory whose steps are taken in a device's.
	///
	/// # Errors
	/// [`WorkerError::TooLittleMemory`].
	pub fn beside_device(&self, available: Option<u64>) -> Result<(), WorkerError> {
		check(self.beside.saturating_add(self.case), available)
	}

	/// Bytes that a participant takes as it is fastest, and in the way that takes least.
	pub fn bounds(&self) -> [u64; 2] {
		let ways = StepMemory::ways(&self.train).filter_map(|way| way.arena_len(&self.model, &self.train).ok());
		let least = ways.map(|elements| elements.saturating_mul(F32_BYTES)).min();
		[self.steps, least.unwrap_or(self.steps)].map(|steps| self.with_steps(steps))
	}

	/// Bytes that a participant takes whose training steps have an arena of so many.
	fn with_steps(&self, steps: u64) -> u64 {
		steps.max(self.validation).saturating_add(self.beside).saturating_add(self.case)
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
	use neuroshard_types::{Adapter, ModelConfig, Products, Projections, TrainConfig, F32};

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
	fn beside_a_device_all_but_its_arena_must_fit() {
		let config = RunConfig { model: ModelConfig::tiny(), train: TrainConfig::tiny(), ..training().0.run.unwrap().view.config };
		let needs = Needs::of(&config).unwrap();
		let least = needs.beside + needs.case;
		needs.beside_device(Some(least)).unwrap();
		assert!(matches!(needs.beside_device(Some(least - 1)), Err(WorkerError::TooLittleMemory { .. })));
		assert!(needs.participant(Some(least)).is_err());
		needs.beside_device(None).unwrap();
	}

	#[test]
	fn products_of_8_bits_take_their_operands_beside_all_else() {
		let config = config();
		let in_class =
			|products| Needs::of(&RunConfig { train: TrainConfig { products, ..config.train.clone() }, ..config.clone() }).unwrap();
		let [exact, int8] = [Products::F32, Products::Int8].map(in_class);
		// 64 tokens of the widest activations, nine bytes for each of their numbers.
		let operands = 9 * u64::from(config.model.ffn) * u64::from(config.train.batch * config.train.seq_len);
		assert_eq!((int8.beside - exact.beside, int8.case - exact.case), (operands, operands));
	}

	#[test]
	fn a_run_takes_its_engines_arena_and_the_vectors_beside_it() {
		let config = config();
		let needs = Needs::of(&config).unwrap();
		let engine = Engine::new(&config.model, &config.train, 1).unwrap();
		let (arena, vector) = (engine.arena_bytes() as u64, 4 * engine.layout().len() as u64);
		// Two participants at least, and a bridge.
		let training = arena + 12 * vector + 2 * engine.layout().encoded_len() as u64;
		assert_eq!(needs.steps.max(needs.validation) + needs.beside, training);
		assert!(needs.case > arena + 5 * vector);
		let whole = training + needs.case;
		for enough in [Some(whole), None] {
			assert_eq!(needs.participant(enough).unwrap(), StepMemory::default());
		}
	}

	#[test]
	fn a_case_has_a_trace_five_vectors_and_of_an_adapter_its_base_beside_them() {
		let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
		let config = config();
		let beside = RunConfig { train: TrainConfig { adapter: Some(adapter), ..config.train.clone() }, ..config.clone() };
		for (config, base) in [(&config, 0), (&beside, ParamLayout::new(&config.model).unwrap().encoded_len())] {
			let trace = 4 * trace::step_len(&config.model, &config.train).unwrap();
			let vector = 4 * ParamLayout::trained(&config.model, &config.train).unwrap().len();
			assert_eq!(Needs::of(config).unwrap().case, trace + (5 * vector + base) as u64);
		}
	}

	#[test]
	fn steps_take_less_memory_where_a_machine_has_less_down_to_the_least_there_is() {
		let mut config = config();
		(config.train.batch, config.model.layers) = (64, 4);
		let needs = Needs::of(&config).unwrap();
		let engine =
			|memory| Engine::with_memory(&config.model, &config.train, 1, memory).unwrap().arena_bytes() as u64 + needs.beside + needs.case;
		let half = StepMemory { micro_batch: Some(32), recompute: false };
		let least = StepMemory { micro_batch: Some(1), recompute: true };
		assert!(engine(least) < engine(half) && engine(half) < engine(StepMemory::default()));
		for (memory, fits) in [(StepMemory::default(), true), (half, true), (half, false), (least, true)] {
			let chosen = needs.participant(Some(engine(memory) - u64::from(!fits))).unwrap();
			assert_eq!(chosen == memory, fits, "{chosen:?}");
		}
		assert_eq!(needs.bounds(), [engine(StepMemory::default()), engine(least)]);
		let refused = needs.participant(Some(engine(least) - 1));
		assert!(matches!(refused, Err(WorkerError::TooLittleMemory { needed, .. }) if needed == engine(least)), "{refused:?}");
	}

	#[test]
	fn a_giant_model_is_measured_without_being_made() {
		let config = giant();
		config.train.validate(&config.model).unwrap();
		let parameters = config.model.parameters();
		assert!((1 << 30..=1 << 31).contains(&parameters), "{parameters}");
		let needs = Needs::of(&config).unwrap();
		// Eight vectors and two deltas, the parameters, both moments and the gradients in the arena, and two blobs.
		assert!(needs.steps + needs.beside >= 16 * 4 * parameters, "{needs:?}");
		assert!(needs.participant(Some(64 << 30)).is_err() && needs.check_case(Some(16 << 30)).is_err());
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
