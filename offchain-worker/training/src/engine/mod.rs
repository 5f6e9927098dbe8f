//! The engine: runs the graph's jobs on a device, with the same bits on each and with any number of threads.
//!
//! On the CPU a job (a round, a validation) is one in-place operator on one arena tensor of candle's, which no other place knows. Devices that speak OpenCL have
//! an arena of their own.

mod arena;
pub mod autograd;

use arena::ArenaTensor;
use neuroshard_compute::{
	exec::{
		decode_delta, largest_quantized, take_outer_step, Backend, CodeError, Exec, ExecError, Profile, SetupError, StepError, StepMemory,
		StepOutcome, Trainer, ValidationError, Validator,
	},
	round::{run_round, InnerState, Progress, RoundError, RoundOutcome, RoundStart, Stop},
};
use neuroshard_graph::{outer::AggregateError, plan::Plan, Hash, ModelConfig, ParamLayout, TrainConfig};
use neuroshard_opencl::{OpenCl, OpenClError};
use std::{borrow::Cow, ops::ControlFlow, sync::Arc};

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
	/// A device that speaks OpenCL.
	#[error(transparent)]
	OpenCl(#[from] OpenClError),
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

impl EngineError {
	/// Whether it is the device's fault, or the driver's: the CPU can do the same.
	pub fn is_of_device(&self) -> bool {
		matches!(self, Self::OpenCl(_) | Self::Step(StepError::Device(_)))
	}
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

/// What computes. No bit depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Device {
	/// This machine's processor.
	#[default]
	Cpu,
	/// A device that speaks OpenCL, by its number among those of this machine.
	OpenCl(usize),
}

/// What executes plans on one device.
struct Jobs<B: Backend> {
	trainer: Trainer<B>,
	validator: Validator<B>,
}

impl<B: Backend> Jobs<B> {
	fn new(backend: Arc<B>, model: &ModelConfig, train: &TrainConfig, memory: StepMemory) -> Result<Self, SetupError> {
		let trainer = Trainer::with_memory(backend.clone(), model, train, memory)?;
		Ok(Self { trainer, validator: Validator::new(backend, model, train)? })
	}

	/// Elements of an arena for both.
	fn arena_len(&self) -> usize {
		self.trainer.arena_len().max(self.validator.arena_len())
	}
}

/// A device, and its memory.
enum Place {
	Cpu { jobs: Jobs<Exec>, arena: ArenaTensor },
	OpenCl { jobs: Jobs<OpenCl>, arena: neuroshard_opencl::Arena },
}

/// Does the same on whatever device an engine has.
macro_rules! on {
	($place:expr, $what:literal, |$jobs:ident, $memory:ident| $work:expr) => {
		match $place {
			Place::Cpu { jobs: $jobs, arena } => arena.apply($what, |$memory| $work)?,
			Place::OpenCl { jobs: $jobs, arena: $memory } => {
				let done = $work;
				$jobs.trainer.exec().settled().map_err(StepError::from)?;
				done
			}
		}
	};
}

/// Runs training steps, rounds and validations of one run's configuration.
pub struct Engine {
	exec: Arc<Exec>,
	place: Place,
	layout: ParamLayout,
	model: ModelConfig,
	train: TrainConfig,
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
		Self::on(Device::Cpu, model, train, threads, Some(memory))
	}

	/// The same on a device; threads do what is left for the CPU then. Without `memory`, it is spent in the fastest way that the device has enough for,
	/// and on the CPU in the fastest of all. Where a device computes other bits than the CPU, or fails, there is no engine.
	///
	/// # Errors
	/// As [`Engine::with_memory`]; [`EngineError::OpenCl`].
	pub fn on(
		device: Device,
		model: &ModelConfig,
		train: &TrainConfig,
		threads: usize,
		memory: Option<StepMemory>,
	) -> Result<Self, EngineError> {
		let exec = Arc::new(Exec::new(threads)?);
		let place = match device {
			Device::Cpu => {
				let jobs = Jobs::new(exec.clone(), model, train, memory.unwrap_or_default())?;
				let arena = ArenaTensor::new(jobs.arena_len(), &candle_core::Device::Cpu)?;
				Place::Cpu { jobs, arena }
			}
			Device::OpenCl(number) => {
				let backend = Arc::new(OpenCl::new(number, exec.clone())?);
				backend.verify()?;
				let (seq, group) = (u64::from(train.seq_len), u64::from(model.heads / model.kv_heads.max(1)));
				// A block of 1,024 numbers of 8 bits, and its scale, are 257 of 32.
				let quantized = largest_quantized(model, train).div_ceil(1_024).saturating_mul(257);
				let scores = group.saturating_mul(seq).saturating_mul(seq).max(quantized);
				let validation = Plan::validation(model, train).map_err(SetupError::from)?.arena_len();
				let fits = |memory: &StepMemory| {
					let bytes = memory.arena_len(model, train).map(|len| len.max(validation).saturating_mul(4));
					bytes.is_ok_and(|bytes| backend.has_room(bytes, scores))
				};
				// Where no way fits, the first tells how much is missing.
				let memory = memory.or_else(|| StepMemory::ways(train).find(fits)).unwrap_or_default();
				let jobs = Jobs::new(backend.clone(), model, train, memory)?;
				let arena = backend.arena(jobs.arena_len())?;
				Place::OpenCl { jobs, arena }
			}
		};
		let layout = ParamLayout::trained(model, train).map_err(SetupError::from)?;
		let delta_layout = ParamLayout::of_deltas(model, train).map_err(SetupError::from)?;
		let has_model = train.adapter.is_none();
		Ok(Self { exec, place, layout, model: model.clone(), train: train.clone(), delta_layout, has_model })
	}

	/// What computes.
	pub fn is_on(&self) -> String {
		match &self.place {
			Place::Cpu { .. } => "the CPU".into(),
			Place::OpenCl { jobs, .. } => jobs.trainer.exec().name().to_owned(),
		}
	}

	/// Whether it computes on this machine's processor, so that the time of that is the time it takes.
	pub fn is_on_cpu(&self) -> bool {
		matches!(self.place, Place::Cpu { .. })
	}

	/// The model.
	pub fn model(&self) -> &ModelConfig {
		&self.model
	}

	/// Returns the training configuration.
	pub fn train_config(&self) -> &TrainConfig {
		&self.train
	}

	/// Layout of deltas as they are sent.
	pub fn delta_layout(&self) -> &ParamLayout {
		&self.delta_layout
	}

	/// Layout of parameters, moments, gradients and residuals.
	pub fn layout(&self) -> &ParamLayout {
		&self.layout
	}

	/// The operators, for jobs outside the arena.
	pub fn exec(&self) -> &Arc<Exec> {
		&self.exec
	}

	/// Bytes of the arena.
	pub fn arena_bytes(&self) -> usize {
		4 * match &self.place {
			Place::Cpu { jobs, .. } => jobs.arena_len(),
			Place::OpenCl { jobs, .. } => jobs.arena_len(),
		}
	}

	/// Copies the parameters of the model into the arena that an adapter is beside. They stay there.
	///
	/// # Errors
	/// [`EngineError::Parameters`] for another model's, or where there is no adapter.
	pub fn load_model(&mut self, params: &[f32]) -> Result<(), EngineError> {
		let expected = match self.train.adapter {
			Some(_) => self.model.parameters(),
			None => 0,
		};
		let found = params.len();
		if u64::try_from(found) != Ok(expected) || expected == 0 {
			return Err(EngineError::Parameters { expected: usize::try_from(expected).unwrap_or(usize::MAX), found });
		}
		on!(&mut self.place, "load the model", |jobs, arena| jobs.trainer.set_model(arena, params));
		self.has_model = true;
		Ok(())
	}

	/// Parameters of the model in the arena that an adapter is beside; `None` without an adapter.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn model_beside(&self) -> Result<Option<Vec<f32>>, EngineError> {
		Ok(on!(&self.place, "read the model", |jobs, arena| jobs.trainer.model_of(arena).map(Cow::into_owned)))
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
		on!(&mut self.place, "load", |jobs, arena| jobs.trainer.begin(arena, theta));
		Ok(())
	}

	/// Parameters in the arena.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn theta(&self) -> Result<Vec<f32>, EngineError> {
		Ok(on!(&self.place, "read parameters", |jobs, arena| jobs.trainer.theta_of(arena).into_owned()))
	}

	/// One inner step on the parameters in the arena; arguments as [`Trainer::train_step`].
	///
	/// # Errors
	/// [`EngineError::Step`]; the parameters are then unchanged.
	pub fn train_step(&mut self, tokens: &[u32], schedule_index: u64, t: u64) -> Result<StepOutcome, EngineError> {
		Ok(on!(&mut self.place, "training step", |jobs, arena| jobs.trainer.train_step(arena, tokens, schedule_index, t))?)
	}

	/// As [`Self::train_step`], with the time that each operator takes.
	///
	/// # Errors
	/// As [`Self::train_step`].
	pub fn profiled_step(&mut self, tokens: &[u32], schedule_index: u64, t: u64) -> Result<Profile, EngineError> {
		Ok(on!(&mut self.place, "training step", |jobs, arena| jobs.trainer.profiled_step(arena, tokens, schedule_index, t))?)
	}

	/// Loss and gradients of a batch at the parameters in the arena, without an update.
	///
	/// # Errors
	/// [`EngineError::Step`].
	pub fn gradients(&mut self, tokens: &[u32]) -> Result<(StepOutcome, Vec<f32>), EngineError> {
		let outcome = on!(&mut self.place, "gradients", |jobs, arena| jobs.trainer.gradients(arena, tokens))?;
		Ok((outcome, on!(&self.place, "read gradients", |jobs, arena| jobs.trainer.gradient_of(arena).into_owned())))
	}

	/// Roots of the parameters and both moments in the arena: what committing a state costs.
	///
	/// # Errors
	/// [`EngineError::Device`].
	pub fn state_roots(&self) -> Result<[Hash; 3], EngineError> {
		Ok(on!(&self.place, "state roots", |jobs, arena| jobs.trainer.state_roots(arena)))
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
		match &mut self.place {
			Place::Cpu { jobs: Jobs { trainer, .. }, arena } => {
				let outcome = arena.apply("round", |arena| run_round(trainer, arena, start, tokens, progress, inner_state));
				outcome.map_err(EngineError::from)?.map_err(JobError::Round)
			}
			Place::OpenCl { jobs: Jobs { trainer, .. }, arena } => {
				run_round(trainer, arena, start, tokens, progress, inner_state).map_err(JobError::Round)
			}
		}
	}

	/// The delta that was sent as `sent`; as [`decode_delta`].
	///
	/// # Errors
	/// [`CodeError`].
	pub fn decode_delta(&self, sent: Vec<f32>) -> Result<Vec<f32>, CodeError> {
		match &self.place {
			Place::Cpu { .. } => decode_delta(&self.train, &*self.exec, &self.layout, sent),
			Place::OpenCl { jobs, .. } => decode_delta(&self.train, &**jobs.trainer.exec(), &self.layout, sent),
		}
	}

	/// A whole outer step under the configuration `train`, on parameters and momentum; as [`take_outer_step`].
	///
	/// # Errors
	/// [`AggregateError`].
	pub fn take_outer_step(
		&self,
		train: &TrainConfig,
		[theta, momentum]: [&mut [f32]; 2],
		deltas: &[Vec<f32>],
		steps: &[u32],
	) -> Result<(), AggregateError> {
		match &self.place {
			Place::Cpu { .. } => take_outer_step(&*self.exec, &self.layout, train, theta, momentum, deltas, steps),
			Place::OpenCl { jobs, .. } => take_outer_step(&**jobs.trainer.exec(), &self.layout, train, theta, momentum, deltas, steps),
		}
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
		match &mut self.place {
			Place::Cpu { jobs: Jobs { validator, .. }, arena } => {
				let loss = arena.apply("validation", |arena| validator.loss(arena, sequence));
				loss.map_err(EngineError::from)?.map_err(JobError::Validation)
			}
			Place::OpenCl { jobs: Jobs { validator, .. }, arena } => validator.loss(arena, sequence).map_err(JobError::Validation),
		}
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
