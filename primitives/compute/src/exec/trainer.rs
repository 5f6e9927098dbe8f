//! The inner loop's unit: one step of AdamW or Muon on one batch.

use super::{memory::Accumulated, runner::Runner, At, Backend, CodeError, Exec, Profile, SetupError, StepError, StepMemory};
use crate::round::Sent;
use neuroshard_graph::{
	config::{ConfigError, ModelConfig, TrainConfig},
	layout::ParamLayout,
	merkle::Hash,
	plan::{Plan, Update},
	resume::adamw,
};
use neuroshard_kernels::{num::sqrt, shape::AdamW};
use std::{
	borrow::Cow,
	sync::{Arc, Mutex, PoisonError},
};

/// What a step measured before it changed the parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepOutcome {
	/// Mean cross-entropy of the batch, nats per token.
	pub loss: f32,
	/// Norm of the gradient before clipping.
	pub grad_norm: f32,
}

/// Runs training steps of one configuration on an arena of [`Trainer::arena_len`] elements.
pub struct Trainer<B: Backend = Exec> {
	runner: Runner<B>,
	update: Update,
	train: TrainConfig,
}

impl<B: Backend> Trainer<B> {
	/// A trainer that computes with `exec`.
	///
	/// # Errors
	/// [`SetupError`] if the configuration is refused or does not fit this machine.
	pub fn new(exec: Arc<B>, model: &ModelConfig, train: &TrainConfig) -> Result<Self, SetupError> {
		Self::with_memory(exec, model, train, StepMemory::default())
	}

	/// The same, with memory spent as `memory` says.
	///
	/// # Errors
	/// As [`Trainer::new`]; [`SetupError::MicroBatch`].
	pub fn with_memory(exec: Arc<B>, model: &ModelConfig, train: &TrainConfig, memory: StepMemory) -> Result<Self, SetupError> {
		// A micro-batch may be accepted where the batch is too large.
		train.validate(model)?;
		let plan = memory.plan(model, train)?;
		let accumulated = memory.micro_batch.map(|_| Accumulated::new(&plan, model, train)).transpose()?;
		let runner = Runner::new(exec, model, train, plan, (accumulated, memory.recompute))?;
		let update = runner.job.update.ok_or(ConfigError::Dimension)?;
		Ok(Self { runner, update, train: train.clone() })
	}

	/// Elements of the arena.
	pub fn arena_len(&self) -> usize {
		self.runner.arena_len
	}

	/// Tokens of a batch: `batch * (seq_len + 1)`, each sequence with the token that follows it.
	pub fn batch_tokens(&self) -> usize {
		self.runner.batch_tokens()
	}

	/// Layout of parameters, moments and gradients.
	pub fn layout(&self) -> &ParamLayout {
		&self.runner.layout
	}

	/// The configuration.
	pub fn config(&self) -> &TrainConfig {
		&self.train
	}

	/// The plan that steps execute; of a micro-batch, if they are taken in such.
	pub fn plan(&self) -> &Plan {
		&self.runner.plan
	}

	/// What it computes with.
	pub fn exec(&self) -> &Arc<B> {
		&self.runner.exec
	}

	/// Where parameters, first and second moments lie.
	fn state_at(&self) -> [At; 3] {
		[0, self.update.first_moment, self.update.second_moment].map(|offset| self.runner.region(offset))
	}

	/// Parameters, first and second moments; copies, where the arena is a device's.
	pub fn state<'a>(&self, arena: &'a B::Arena) -> [Cow<'a, [f32]>; 3] {
		self.state_at().map(|at| self.runner.exec.view(arena, at))
	}

	/// Parameters, first or second moments, by their place; a copy, where the arena is a device's.
	pub fn vector<'a>(&self, arena: &'a B::Arena, place: usize) -> Option<Cow<'a, [f32]>> {
		self.state_at().into_iter().nth(place).map(|at| self.runner.exec.view(arena, at))
	}

	/// Merkle roots over the tiles of parameters, first and second moments.
	pub fn state_roots(&self, arena: &B::Arena) -> [Hash; 3] {
		self.runner.exec.tensors_roots(arena, self.layout(), self.state_at())
	}

	/// Parameters; a copy, where the arena is a device's.
	pub fn theta_of<'a>(&self, arena: &'a B::Arena) -> Cow<'a, [f32]> {
		self.runner.exec.view(arena, self.runner.region(0))
	}

	/// Parameters of the model that an adapter is beside; `None` without an adapter. A copy, where the arena is a device's.
	pub fn model_of<'a>(&self, arena: &'a B::Arena) -> Option<Cow<'a, [f32]>> {
		Some(self.runner.exec.view(arena, self.runner.base_range()?))
	}

	/// Gradients of the last step, before clipping; a copy, where the arena is a device's.
	pub fn gradient_of<'a>(&self, arena: &'a B::Arena) -> Cow<'a, [f32]> {
		self.runner.exec.view(arena, self.runner.region(self.update.gradient))
	}

	/// What is sent of the difference between `base` and the parameters, as [`Sent::of`]. Overwrites the gradients.
	///
	/// # Errors
	/// As [`Sent::of`].
	pub fn sent(&self, arena: &mut B::Arena, base: &[f32], residual: Option<&[f32]>) -> Result<Sent, CodeError> {
		let [end, x] = [0, self.update.gradient].map(|offset| self.runner.region(offset));
		Sent::of(&*self.runner.exec, arena, self.layout(), &self.train, (base, end), x, residual)
	}

	/// Sets parameters, first and second moments.
	///
	/// # Panics
	/// If one of them has another length than the layout.
	pub fn set_state(&self, arena: &mut B::Arena, state: [&[f32]; 3]) {
		for (at, values) in self.state_at().into_iter().zip(state) {
			assert_eq!(at.len(), values.len(), "state");
			self.runner.exec.write(arena, at.start, values);
		}
	}

	/// Sets the parameters, and both moments to zero, as at the beginning of a round.
	///
	/// # Panics
	/// If there are other numbers of them than the layout has.
	pub fn begin(&self, arena: &mut B::Arena, theta: &[f32]) {
		assert_eq!(theta.len(), self.layout().len(), "parameters");
		self.runner.exec.write(arena, 0, theta);
		self.reset_moments(arena);
	}

	/// Sets both moments to zero.
	pub fn reset_moments(&self, arena: &mut B::Arena) {
		let [_, first, second] = self.state_at();
		[first, second].into_iter().for_each(|at| self.runner.exec.fill(arena, at, 0.0));
	}

	/// Sets the parameters of the model that an adapter is beside. Steps leave them as they are.
	///
	/// # Panics
	/// If there is no adapter, or the model has another number of them.
	pub fn set_model(&self, arena: &mut B::Arena, params: &[f32]) {
		assert_eq!(self.runner.base_range().map(|at| at.len()), Some(params.len()), "model");
		self.runner.base_range().into_iter().for_each(|at| self.runner.exec.write(arena, at.start, params));
	}

	/// Forward and backward pass, without an update.
	///
	/// # Errors
	/// [`StepError`]; only [`StepError::Diverged`] is an outcome of the job itself.
	pub fn gradients(&mut self, arena: &mut B::Arena, tokens: &[u32]) -> Result<StepOutcome, StepError> {
		Ok(self.measure(arena, tokens)?.0)
	}

	/// As [`Trainer::gradients`], with the factor that clips them.
	fn measure(&mut self, arena: &mut B::Arena, tokens: &[u32]) -> Result<(StepOutcome, f32), StepError> {
		self.runner.load(arena, tokens)?;
		self.runner.gradients(arena);
		let loss = self.runner.job.loss.map_or(f32::NAN, |loss| self.runner.scalar(arena, loss));
		let square_norm = self.runner.scalar(arena, self.update.square_norm);
		self.runner.exec.settled()?;
		if !loss.is_finite() || !square_norm.is_finite() {
			return Err(StepError::Diverged);
		}
		Ok((StepOutcome { loss, grad_norm: sqrt(square_norm) }, self.runner.clip(square_norm)))
	}

	/// One step: gradients, clipping, AdamW or Muon. `schedule_index` counts the steps of the whole run from 0, `t` those since
	/// the moments were reset, from 1. Weight decay applies to every tensor.
	///
	/// # Errors
	/// [`StepError`]; parameters and moments are then unchanged, unless a device failed.
	pub fn train_step(&mut self, arena: &mut B::Arena, tokens: &[u32], schedule_index: u64, t: u64) -> Result<StepOutcome, StepError> {
		let (outcome, clip) = self.measure(arena, tokens)?;
		let step = AdamW { clip, ..adamw(&self.train, schedule_index, t) };
		self.runner.run(arena, self.update.first_direction..self.runner.plan.stages().len(), Some(&step));
		self.runner.exec.settled()?;
		Ok(outcome)
	}
}

impl<B: Backend> Trainer<B> {
	/// As [`Trainer::train_step`], with the time that each operator takes. On a device each is waited for.
	///
	/// # Errors
	/// As [`Trainer::train_step`].
	pub fn profiled_step(&mut self, arena: &mut B::Arena, tokens: &[u32], schedule_index: u64, t: u64) -> Result<Profile, StepError> {
		self.runner.profile = Some(Mutex::default());
		let outcome = self.train_step(arena, tokens, schedule_index, t);
		let profile = self.runner.profile.take();
		outcome?;
		Ok(profile.map(|profile| profile.into_inner().unwrap_or_else(PoisonError::into_inner)).unwrap_or_default())
	}
}

/// Of an arena in this machine's memory.
impl Trainer {
	/// Parameters.
	///
	/// # Panics
	/// This and the other accessors: if the arena is shorter than [`Trainer::arena_len`].
	pub fn theta<'a>(&self, arena: &'a [f32]) -> &'a [f32] {
		&arena[self.runner.region(0)]
	}

	/// Parameters, to be set.
	pub fn theta_mut<'a>(&self, arena: &'a mut [f32]) -> &'a mut [f32] {
		&mut arena[self.runner.region(0)]
	}

	/// Parameters of the model that an adapter is beside, to be set before the first step; `None` without an adapter. Steps leave them as they are.
	pub fn model_mut<'a>(&self, arena: &'a mut [f32]) -> Option<&'a mut [f32]> {
		Some(&mut arena[self.runner.base_range()?])
	}

	/// First element of the arena after parameters, moments and that model: from there on a step reads nothing that it has not written.
	pub(crate) fn state_end(&self) -> usize {
		self.runner.region(self.update.gradient).start
	}

	/// First moments.
	pub fn first_moment<'a>(&self, arena: &'a [f32]) -> &'a [f32] {
		&arena[self.runner.region(self.update.first_moment)]
	}

	/// Second moments.
	pub fn second_moment<'a>(&self, arena: &'a [f32]) -> &'a [f32] {
		&arena[self.runner.region(self.update.second_moment)]
	}

	/// Gradients of the last step, before clipping.
	pub fn gradient<'a>(&self, arena: &'a [f32]) -> &'a [f32] {
		&arena[self.runner.region(self.update.gradient)]
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{exec::Arena, trace::Trace};
	use neuroshard_graph::{
		config::{Adapter, Family, Optimizer, Products, Projections, F32},
		corpus::MASK,
		graph::Op,
		init::theta_0,
	};

	fn bits(values: &[f32]) -> Vec<u32> {
		values.iter().map(|value| value.to_bits()).collect()
	}

	/// Where the steps below start: of an adapter its B is not 0, so that A has a gradient.
	fn start(model: &ModelConfig, train: &TrainConfig) -> Vec<f32> {
		let mut theta = theta_0(model, &ParamLayout::trained(model, train).unwrap(), &train.seed);
		if train.adapter.is_some() {
			theta
				.iter_mut()
				.enumerate()
				.filter(|(_, value)| **value == 0.0)
				.for_each(|(at, value)| *value = (at % 13) as f32 * 0.01 - 0.06);
		}
		theta
	}

	/// Two steps against their traces: with logits of so many rows at a time, or with memory spent in a way.
	fn steps_are_those_of_their_traces(model: &ModelConfig, train: &TrainConfig, sizes: &[usize], ways: &[StepMemory]) {
		let exec = Arc::new(Exec::new(2).unwrap());
		let layout = ParamLayout::trained(model, train).unwrap();
		// Large enough for every product with it to matter.
		let base = train.adapter.map(|_| theta_0(model, &ParamLayout::new(model).unwrap(), &[7; 32]));
		let batch = |step: u32| -> Vec<_> {
			let places = 0..train.batch * (train.seq_len + 1);
			// The first third counts nothing where there is a mask, so that whole micro-batches do not.
			let mask = |place: u32| {
				if train.masked && (3 * place < train.batch * (train.seq_len + 1) || place.is_multiple_of(5)) {
					MASK
				} else {
					0
				}
			};
			places.map(|place| mask(place) | ((place + 77 * step) * 7_919 % 1_009 % model.vocab)).collect()
		};
		let mut state = [start(model, train), vec![0.0; layout.len()], vec![0.0; layout.len()]];
		let mut expected = Vec::new();
		for step in 0..2 {
			let vectors: Vec<&[f32]> = state.iter().chain(&base).map(Vec::as_slice).collect();
			let trace = Trace::step(&exec, model, train, &vectors, &batch(step), 0, step).unwrap();
			let plan = trace.plan();
			let loss = trace.tensor(plan.job.unwrap().loss.unwrap())[0];
			let end = plan.job.unwrap().update.unwrap().first_direction;
			let squares = plan.stages()[..end].iter().filter(|stage| stage.op == Op::SquareTiles);
			let gradient: Vec<f32> = squares.flat_map(|squares| plan.inputs(squares)).flat_map(|&(id, _)| trace.tensor(id)).copied().collect();
			state = [0, 1, 2].map(|result| trace.result(result));
			expected.push((loss.to_bits(), bits(&gradient), state.each_ref().map(|vector| bits(vector))));
		}
		let whole = StepMemory::default();
		let all: Vec<_> = sizes.iter().map(|&rows| (Some(rows), whole)).chain(ways.iter().map(|&way| (None, way))).collect();
		for (threads, &(rows, memory)) in [1, 2].into_iter().flat_map(|threads| all.iter().map(move |each| (threads, each))) {
			let mut trainer = Trainer::with_memory(Arc::new(Exec::new(threads).unwrap()), model, train, memory).unwrap();
			assert_eq!(trainer.arena_len() as u64, memory.arena_len(model, train).unwrap());
			if let Some(rows) = rows {
				assert!(rows <= trainer.runner.logit_rows);
				trainer.runner.logit_rows = rows;
			}
			let mut arena = Arena::new(trainer.arena_len());
			arena.fill(f32::NAN);
			trainer.theta_mut(&mut arena).copy_from_slice(&start(model, train));
			if let (Some(place), Some(base)) = (trainer.model_mut(&mut arena), &base) {
				place.copy_from_slice(base);
			}
			trainer.reset_moments(&mut arena);
			for (step, (loss, gradient, state)) in (0..).zip(&expected) {
				let outcome = trainer.train_step(&mut arena, &batch(step), step.into(), u64::from(step) + 1).unwrap();
				let what = format!("{:?}, step {step}, {rows:?} rows at a time, {memory:?}, {threads} thread(s)", model.family);
				assert_eq!(outcome.loss.to_bits(), *loss, "{what}");
				assert!(bits(trainer.gradient(&arena)) == *gradient, "gradient, {what}");
				let vectors = [trainer.theta(&arena), trainer.first_moment(&arena), trainer.second_moment(&arena)];
				assert!(vectors.map(bits) == *state, "state, {what}");
			}
		}
	}

	#[test]
	fn a_profile_has_all_products_of_a_step() {
		let (model, train) = (ModelConfig { layers: 2, ..ModelConfig::tiny() }, TrainConfig { batch: 4, ..TrainConfig::tiny() });
		let mut trainer = Trainer::new(Arc::new(Exec::new(1).unwrap()), &model, &train).unwrap();
		let mut arena = Arena::new(trainer.arena_len());
		trainer.begin(&mut arena, &start(&model, &train));
		let tokens = vec![1; trainer.batch_tokens()];
		let profile = trainer.profiled_step(&mut arena, &tokens, 0, 1).unwrap();
		let spent = |name: &str| profile.operators().into_iter().find(|(found, _)| *found == name).unwrap().1;
		// Seven products a layer, forwards and twice back, of 2 operations for each weight and token; the head's three are in the cross-entropy.
		let (tokens, weights) = (f64::from(train.batch * train.seq_len), model.parameters() as f64);
		let (head, norms) = (f64::from(model.vocab * model.dim), f64::from(model.dim * (2 * model.layers + 1)));
		let expected = 6.0 * tokens * (weights - head - norms);
		let found = ["matmul_nt", "matmul_nn", "matmul_tn"].map(|name| spent(name).flops);
		assert_eq!(found.iter().sum::<f64>(), expected);
		assert_eq!((spent("cross_entropy").flops, spent("adamw").flops), (6.0 * tokens * head, 0.0));
		assert_eq!(
			[spent("matmul_nt").calls, spent("attention_forward").calls, spent("adamw").calls],
			[14, 2, trainer.layout().tensors().len() as u32]
		);
		assert!(profile.time() >= spent("matmul_nt").time);
	}

	#[test]
	fn a_profile_of_a_step_in_exact_int8_names_its_products() {
		let (model, train) = (ModelConfig::tiny(), TrainConfig { products: Products::Int8, ..TrainConfig::tiny() });
		let mut trainer = Trainer::new(Arc::new(Exec::new(1).unwrap()), &model, &train).unwrap();
		let mut arena = Arena::new(trainer.arena_len());
		trainer.begin(&mut arena, &start(&model, &train));
		let tokens = vec![1; trainer.batch_tokens()];
		let profile = trainer.profiled_step(&mut arena, &tokens, 0, 1).unwrap();
		let products: Vec<_> = profile.operators().into_iter().filter(|(name, _)| name.starts_with("matmul")).collect();
		let mut found: Vec<_> = products.iter().map(|(name, spent)| (*name, spent.calls, spent.flops)).collect();
		found.sort_unstable_by_key(|(name, ..)| *name);
		let weights = model.parameters() - u64::from(model.vocab * model.dim) - u64::from(model.dim * 3);
		let flops = 2.0 * (u64::from(train.batch * train.seq_len) * weights) as f64;
		assert_eq!(found, ["matmul_int8_nn", "matmul_int8_nt", "matmul_int8_tn"].map(|name| (name, 7, flops)));
	}

	#[test]
	fn a_step_has_the_same_bits_with_logits_of_any_number_of_rows_at_a_time() {
		let train = TrainConfig { batch: 3, ..TrainConfig::tiny() };
		for (vocab, tied) in [(64, true), (320, false), (1_056, true)] {
			steps_are_those_of_their_traces(&ModelConfig { vocab, tied, ..ModelConfig::tiny() }, &train, &[32, 64, 96], &[]);
		}
	}

	#[test]
	fn a_step_of_more_than_4096_tokens_has_the_same_bits_with_logits_of_any_number_of_rows_at_a_time() {
		for (batch, tied) in [(129, true), (264, true), (264, false)] {
			let train = TrainConfig { batch, ..TrainConfig::tiny() };
			steps_are_those_of_their_traces(&ModelConfig { tied, ..ModelConfig::tiny() }, &train, &[96, 416, 512], &[]);
		}
	}

	#[test]
	fn a_step_has_the_same_bits_in_micro_batches_and_with_activations_computed_again() {
		let train = TrainConfig { batch: 6, ..TrainConfig::tiny() };
		let models = [
			ModelConfig { layers: 3, ..ModelConfig::tiny() },
			ModelConfig { tied: false, family: Family::Qwen2, ..ModelConfig::tiny() },
			ModelConfig { family: Family::Qwen3, head_dim: Some(32), ..ModelConfig::tiny() },
		];
		let ways: Vec<_> = StepMemory::ways(&train).collect();
		assert_eq!(ways.len(), 8);
		for model in models {
			steps_are_those_of_their_traces(&model, &train, &[], &ways);
			steps_are_those_of_their_traces(&model, &TrainConfig { masked: true, ..train.clone() }, &[], &ways);
		}
	}

	#[test]
	fn a_step_of_muon_has_the_same_bits_in_micro_batches_and_with_activations_computed_again() {
		let optimizer = Optimizer::Muon { momentum: F32::new(0.95) };
		let models = [
			ModelConfig { layers: 3, dim: 96, ffn: 64, ..ModelConfig::tiny() },
			ModelConfig { tied: false, family: Family::Qwen2, ffn: 32, ..ModelConfig::tiny() },
			ModelConfig { family: Family::Qwen3, head_dim: Some(32), ..ModelConfig::tiny() },
		];
		for model in models {
			let train = TrainConfig { batch: 6, masked: model.tied, optimizer, ..TrainConfig::tiny() };
			let ways: Vec<_> = StepMemory::ways(&train).collect();
			steps_are_those_of_their_traces(&model, &train, &[32], &ways);
		}
		// Segments of the chains over tokens, and over rows of a matrix.
		let train = TrainConfig { batch: 256, optimizer, ..TrainConfig::tiny() };
		let ways = [128, 32].map(|micro_batch| StepMemory { micro_batch: Some(micro_batch), recompute: false });
		steps_are_those_of_their_traces(&ModelConfig { ffn: 4_128, ..ModelConfig::tiny() }, &train, &[], &ways);
	}

	#[test]
	fn a_step_in_exact_int8_has_the_same_bits_in_micro_batches_and_with_activations_computed_again() {
		let train = TrainConfig { batch: 6, products: Products::Int8, ..TrainConfig::tiny() };
		// Several blocks in every direction.
		let model = ModelConfig { dim: 96, heads: 6, kv_heads: 2, ffn: 160, layers: 2, ..ModelConfig::tiny() };
		let models = [
			model.clone(),
			ModelConfig { tied: false, family: Family::Qwen2, ..model.clone() },
			ModelConfig { family: Family::Qwen3, head_dim: Some(32), ..model },
		];
		let ways: Vec<_> = StepMemory::ways(&train).collect();
		for model in models {
			steps_are_those_of_their_traces(&model, &train, &[], &ways);
			steps_are_those_of_their_traces(&model, &TrainConfig { masked: true, ..train.clone() }, &[], &ways[..2]);
		}
		let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
		steps_are_those_of_their_traces(&ModelConfig::tiny(), &TrainConfig { adapter: Some(adapter), ..train }, &[], &ways);
	}

	#[test]
	fn a_step_of_an_adapter_has_the_same_bits_in_micro_batches_and_with_activations_computed_again() {
		let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
		for (batch, masked) in [(6, false), (6, true), (256, false)] {
			let train = TrainConfig { batch, masked, adapter: Some(adapter), ..TrainConfig::tiny() };
			let mut ways: Vec<_> = StepMemory::ways(&train).collect();
			ways.retain(|way| batch < 100 || matches!(way.micro_batch, None | Some(128 | 32)));
			for (layers, family) in [(2, Family::Llama), (1, Family::Qwen2)] {
				steps_are_those_of_their_traces(&ModelConfig { layers, family, ..ModelConfig::tiny() }, &train, &[32], &ways);
			}
		}
	}

	#[test]
	fn a_step_of_more_than_4096_tokens_has_the_same_bits_in_micro_batches() {
		// Two segments and a half of 32 tokens a sequence: micro-batches of a part of a segment, and of a whole one.
		for (batch, micro_batches) in [(320, [64, 4]), (256, [128, 32])] {
			let ways = micro_batches.map(|micro_batch| StepMemory { micro_batch: Some(micro_batch), recompute: micro_batch > 32 });
			for (tied, products) in [(true, Products::F32), (false, Products::F32), (true, Products::Int8)] {
				let train = TrainConfig { batch, seq_len: 32, products, ..TrainConfig::tiny() };
				steps_are_those_of_their_traces(&ModelConfig { tied, ..ModelConfig::tiny() }, &train, &[512], &ways);
			}
		}
	}
}
