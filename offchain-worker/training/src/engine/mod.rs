//! The engine: runs the graph's jobs on candle buffers. The only place that knows candle.
//!
//! The arithmetic is `neuroshard_graph`'s and gives the same bits with any number of threads; candle supplies the memory
//! and the device. A job (a round, a validation) is one in-place operator on one arena tensor.

mod arena;
pub mod autograd;

use arena::ArenaTensor;
use candle_core::Device;
use neuroshard_compute::{
	exec::{Exec, ExecError, SetupError, StepError, StepMemory, StepOutcome, Trainer, ValidationError, Validator},
	round::{run_round, InnerState, Progress, RoundError, RoundOutcome, RoundStart, Stop},
};
use neuroshard_graph::{ModelConfig, ParamLayout, TrainConfig};
use std::{ops::ControlFlow, sync::Arc};

/// Why the engine gives no result.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
	/// The configuration is refused, or the job does not fit.
	#[error(transparent)]
	Setup(#[from] SetupError),
	/// No threads to compute with.
	#[error(transparent)]
	Exec(#[from] ExecError),
	/// The device or its memory.
	#[error("device: {0}")]
	Device(#[from] candle_core::Error),
	/// A batch gave no result.
	#[error(transparent)]
	Step(#[from] StepError),
	/// An adapter without the model that it is beside.
	#[error("the model that the adapter is beside has not been loaded")]
	NoModel,
	/// Parameters of another model.
	#[error("{found} parameters where the model has {expected}")]
	Parameters {
		/// Of the model.
		expected: usize,
		/// Given.
		found: usize,
	},
}

/// Why a round or a validation gives no result.
#[derive(Debug, thiserror::Error)]
pub enum JobError<E> {
	/// The engine.
	#[error(transparent)]
	Engine(#[from] EngineError),
	/// The round.
	#[error(transparent)]
	Round(RoundError<E>),
	/// The validation.
	#[error(transparent)]
	Validation(ValidationError<E>),
}

/// Runs training steps, rounds and validations of one run's configuration.
pub struct Engine {
	exec: Arc<Exec>,
	trainer: Trainer,
	validator: Validator,
	arena: ArenaTensor,
	model: ModelConfig,
	delta_layout: ParamLayout,
	/// Whether the model is in the arena that an adapter is beside; `true` without an adapter.
	has_model: bool,
}

impl Engine {
	/// An engine that computes on the CPU with `threads` threads, the caller's included. It allocates all it will need.
	///
	/// # Errors
	/// [`EngineError`] for a refused configuration, no threads, or too little memory.
	pub fn new(model: &ModelConfig, train: &TrainConfig, threads: usize) -> Result<Self, EngineError> {
		Self::with_memory(model, train, threads, StepMemory::default())
	}

	/// The same, whose training steps spend memory as `memory` says.
	///
	/// # Errors
	/// As [`Engine::new`]; [`SetupError::MicroBatch`].
	pub fn with_memory(model: &ModelConfig, train: &TrainConfig, threads: usize, memory: StepMemory) -> Result<Self, EngineError> {
		let exec = Arc::new(Exec::new(threads)?);
		let trainer = Trainer::with_memory(exec.clone(), model, train, memory)?;
		let validator = Validator::new(exec.clone(), model, train)?;
		let arena = ArenaTensor::new(trainer.arena_len().max(validator.arena_len()), &Device::Cpu)?;
		let delta_layout = ParamLayout::of_deltas(model, train).map_err(SetupError::from)?;
		let has_model = train.adapter.is_none();
		Ok(Self { exec, trainer, validator, arena, model: model.clone(), delta_layout, has_model })
	}

	/// The model.
	pub fn model(&self) -> &ModelConfig {
		&self.model
	}

	/// Returns the training configuration.
	pub fn train_config(&self) -> &TrainConfig {
		self.trainer.config()
	}

	/// Layout of deltas as they are sent.
	pub fn delta_layout(&self) -> &ParamLayout {
		&self.delta_layout
	}

	/// Layout of parameters, moments, gradients and residuals.
	pub fn layout(&self) -> &ParamLayout {
		self.trainer.layout()
	}

	/// The operators, for jobs outside the arena.
	pub fn exec(&self) -> &Arc<Exec> {
		&self.exec
	}

	/// Bytes of the arena.
	pub fn arena_bytes(&self) -> usize {
		4 * self.trainer.arena_len().max(self.validator.arena_len())
	}

	/// Copies the parameters of the model into the arena that an adapter is beside. They stay there.
	///
	/// # Errors
	/// [`EngineError::Parameters`] for another model's, or where there is no adapter.
	pub fn load_model(&mut self, params: &[f32]) -> Result<(), EngineError> {
		let (trainer, found) = (&self.trainer, params.len());
		let copied = self.arena.apply("load the model", |arena| {
			let place = trainer.model_mut(arena).unwrap_or_default();
			let expected = place.len();
			if expected == found {
				place.copy_from_slice(params);
			}
			expected
		})?;
		if copied != found || self.train_config().adapter.is_none() {
			return Err(EngineError::Parameters { expected: copied, found });
		}
		self.has_model = true;
		Ok(())
	}

	/// Parameters of the model in the arena that an adapter is beside; `None` without an adapter.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn model_beside(&self) -> Result<Option<Vec<f32>>, EngineError> {
		Ok(self.arena.apply("read the model", |arena| self.trainer.model_mut(arena).map(|params| params.to_vec()))?)
	}

	/// Returns whether a model is still to be loaded that an adapter is beside.
	pub fn lacks_model(&self) -> bool {
		!self.has_model
	}

	/// Copies parameters into the arena and sets the moments to zero, as at the beginning of a round.
	///
	/// # Errors
	/// [`EngineError::Parameters`] for another model's.
	pub fn load(&mut self, theta: &[f32]) -> Result<(), EngineError> {
		self.check(theta)?;
		let trainer = &self.trainer;
		self.arena.apply("load", |arena| {
			trainer.theta_mut(arena).copy_from_slice(theta);
			trainer.reset_moments(arena);
		})?;
		Ok(())
	}

	/// Parameters in the arena.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn theta(&self) -> Result<Vec<f32>, EngineError> {
		Ok(self.arena.apply("read parameters", |arena| self.trainer.theta(arena).to_vec())?)
	}

	/// One inner step on the parameters in the arena; arguments as [`Trainer::train_step`].
	///
	/// # Errors
	/// [`EngineError::Step`]; the parameters are then unchanged.
	pub fn train_step(&mut self, tokens: &[u32], schedule_index: u64, t: u64) -> Result<StepOutcome, EngineError> {
		let trainer = &mut self.trainer;
		Ok(self.arena.apply("training step", |arena| trainer.train_step(arena, tokens, schedule_index, t))??)
	}

	/// Loss and gradients of a batch at the parameters in the arena, without an update.
	///
	/// # Errors
	/// [`EngineError::Step`].
	pub fn gradients(&mut self, tokens: &[u32]) -> Result<(StepOutcome, Vec<f32>), EngineError> {
		let trainer = &mut self.trainer;
		let result = self.arena.apply("gradients", |arena| {
			let outcome = trainer.gradients(arena, tokens)?;
			Ok::<_, StepError>((outcome, trainer.gradient(arena).to_vec()))
		})?;
		Ok(result?)
	}

	/// Roots of the parameters and both moments in the arena: what committing a state costs.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn state_roots(&self) -> Result<[neuroshard_graph::Hash; 3], EngineError> {
		let (trainer, threads) = (&self.trainer, self.exec.threads());
		Ok(self.arena.apply("state roots", |arena| {
			[trainer.theta(arena), trainer.first_moment(arena), trainer.second_moment(arena)]
				.map(|values| neuroshard_graph::commit::tensors_root(trainer.layout(), values, threads))
		})?)
	}

	/// A participant's round; arguments as [`run_round`].
	///
	/// # Errors
	/// [`JobError::Round`] or [`JobError::Engine`].
	pub fn run_round<E>(
		&mut self,
		start: RoundStart<'_>,
		tokens: impl FnMut(u32, u32, &mut [u32]) -> Result<(), E>,
		progress: impl FnMut(Progress) -> ControlFlow<Stop>,
		inner_state: impl FnMut(InnerState<'_>),
	) -> Result<RoundOutcome, JobError<E>> {
		self.check(start.theta)?;
		let trainer = &mut self.trainer;
		let outcome = self.arena.apply("round", |arena| run_round(trainer, arena, start, tokens, progress, inner_state));
		outcome.map_err(EngineError::from)?.map_err(JobError::Round)
	}

	/// Mean loss of `theta` over the held-out sequences, nats per token; `sequence` as in [`Validator::loss`].
	///
	/// # Errors
	/// [`JobError::Validation`] or [`JobError::Engine`].
	pub fn validation_loss<E>(
		&mut self,
		theta: &[f32],
		sequence: impl FnMut(u32, &mut [u32]) -> Result<(), E>,
	) -> Result<f32, JobError<E>> {
		self.load(theta)?;
		let validator = &mut self.validator;
		let loss = self.arena.apply("validation", |arena| validator.loss(arena, sequence));
		loss.map_err(EngineError::from)?.map_err(JobError::Validation)
	}

	fn check(&self, theta: &[f32]) -> Result<(), EngineError> {
		let (expected, found) = (self.layout().len(), theta.len());
		match expected == found {
			true if self.lacks_model() => Err(EngineError::NoModel),
			true => Ok(()),
			false => Err(EngineError::Parameters { expected, found }),
		}
	}
}
