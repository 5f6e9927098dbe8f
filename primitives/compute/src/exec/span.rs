//! Training steps of a span: the part of a step that whoever holds some units of a model computes.
//!
//! A holder runs the stages of its units on micro-batches of the batch: rows come in and go out forwards, their gradients backwards. Then each tells the
//! sums of the squares of its gradients, from which all follow by how much the gradient is clipped, and changes its own parameters. All bits are
//! those of a [`super::Trainer`] that has the whole model.

use super::{memory::Accumulated, runner::Runner, At, Backend, Exec, SetupError, StepError, StepMemory, StepOutcome};
use neuroshard_graph::{
	config::{ConfigError, ModelConfig, TrainConfig},
	graph::{Op, TensorId},
	merkle::Hash,
	plan::{Seams, Segment, Update, ALIGNMENT},
	resume::adamw,
	span::{Held, Span},
};
use neuroshard_kernels::{num::sqrt, shape::AdamW};
use std::{borrow::Cow, ops::Range, sync::Arc};

/// Runs the part of training steps that falls to a span, on an arena of [`SpanTrainer::arena_len`] elements.
pub struct SpanTrainer<B: Backend = Exec> {
	runner: Runner<B>,
	update: Update,
	seams: Seams,
	train: TrainConfig,
	held: Held,
	/// Of the model that an adapter is beside.
	base: Option<Held>,
	/// Elements of the memory of one micro-batch.
	room: usize,
	/// Tokens of a micro-batch.
	part: usize,
}

fn size(value: u64) -> Result<usize, SetupError> {
	usize::try_from(value).map_err(|_| SetupError::Memory)
}

impl<B: Backend> SpanTrainer<B> {
	/// For `span`, with steps in micro-batches of so many sequences, `flying` of which are at most between forward and backward pass at the same time.
	///
	/// # Errors
	/// [`SetupError`] if the configuration is refused or does not fit this machine, has no such micro-batches, or is of arithmetic version 1, in which
	/// units have no sums of their own.
	pub fn new(
		exec: Arc<B>,
		model: &ModelConfig,
		train: &TrainConfig,
		span: Span,
		(micro_batch, flying): (u32, usize),
	) -> Result<Self, SetupError> {
		let plan = StepMemory { micro_batch: Some(micro_batch), recompute: false }.of_span(model, train, span)?;
		let (job, seams) = (plan.job.ok_or(ConfigError::Dimension)?, plan.seams().ok_or(ConfigError::Dimension)?.clone());
		let update = job.update.ok_or(ConfigError::Dimension)?;
		let (held, base) = (Held::new(model, train.adapter, span)?, train.adapter.map(|_| Held::new(model, None, span)).transpose()?);
		// What micro-batches have each for themselves lies behind what they share.
		let gradient = size(update.gradient)?;
		let first = gradient.checked_add(held.layout.len()).ok_or(SetupError::Memory)?.next_multiple_of(ALIGNMENT as usize);
		let room = size(plan.arena_len())?.saturating_sub(first);
		let end = room.checked_mul(flying.max(1)).and_then(|len| len.checked_add(first)).ok_or(SetupError::Memory)?;
		let has_embedding = plan.stages().iter().any(|stage| stage.op == Op::ScatterAdd);
		let wide = if has_embedding { size(model.dim.into())? } else { 0 };
		let part = size(job.sizes.tokens.into())?;
		let accumulated = Accumulated::behind(end, (&held.layout, gradient), train, part, (job.loss.is_some(), wide))?;
		let mut runner = Runner::on(exec, (model, train), held.layout.clone(), plan, (Some(accumulated), false))?;
		runner.shift = (first, 0);
		Ok(Self { runner, update, seams, train: train.clone(), held, base, room, part })
	}

	/// Elements of the arena.
	pub fn arena_len(&self) -> usize {
		self.runner.arena_len
	}

	/// What the span holds of a vector.
	pub fn held(&self) -> &Held {
		&self.held
	}

	/// Its parts, in the model's order.
	pub fn segments(&self) -> &[Segment] {
		&self.seams.segments
	}

	/// Micro-batches of a step.
	pub fn micro_batches(&self) -> usize {
		self.runner.ids_len() / self.part
	}

	/// Tokens of a micro-batch.
	pub fn micro_tokens(&self) -> usize {
		self.part
	}

	/// Tokens of a batch: `batch * (seq_len + 1)`, each sequence with the token that follows it.
	pub fn batch_tokens(&self) -> usize {
		self.runner.batch_tokens()
	}

	/// What it computes with.
	pub fn exec(&self) -> &Arc<B> {
		&self.runner.exec
	}

	/// Where the span's parameters, first and second moments, and gradients lie.
	fn vectors_at(&self) -> [At; 4] {
		[0, self.update.first_moment, self.update.second_moment, self.update.gradient].map(|offset| self.runner.region(offset))
	}

	/// Where parameters (0), first (1) or second moments (2), or the gradients (3) lie in the arena.
	///
	/// # Panics
	/// If there is no such vector.
	pub fn vector_at(&self, place: usize) -> At {
		self.vectors_at()[place].clone()
	}

	/// Where the part of the model lies that an adapter is beside; `None` without an adapter.
	pub fn base_at(&self) -> Option<At> {
		self.runner.base_range()
	}

	/// The span's parameters, first and second moments; copies, where the arena is a device's.
	pub fn state<'a>(&self, arena: &'a B::Arena) -> [Cow<'a, [f32]>; 3] {
		let [theta, first, second, _] = self.vectors_at();
		[theta, first, second].map(|at| self.runner.exec.view(arena, at))
	}

	/// The span's gradients of the last step, before clipping; a copy, where the arena is a device's.
	pub fn gradient<'a>(&self, arena: &'a B::Arena) -> Cow<'a, [f32]> {
		let [.., gradient] = self.vectors_at();
		self.runner.exec.view(arena, gradient)
	}

	/// Sets parameters (0), first (1) or second moments (2), or the gradients (3) as they were when the span was left.
	///
	/// # Panics
	/// If there is no such vector, or there are other numbers than the span's layout has.
	pub fn set_vector(&self, arena: &mut B::Arena, place: usize, values: &[f32]) {
		let at = &self.vectors_at()[place];
		assert_eq!(at.len(), values.len(), "vector");
		self.runner.exec.write(arena, at.start, values);
	}

	/// What the span holds of the model that an adapter is beside; `None` without an adapter.
	pub fn base(&self) -> Option<&Held> {
		self.base.as_ref()
	}

	/// Sets that part of it.
	///
	/// # Panics
	/// If there is no adapter, or there are other numbers of parameters.
	pub fn set_base(&self, arena: &mut B::Arena, params: &[f32]) {
		let at = self.runner.base_range();
		assert_eq!(at.as_ref().map(|at| at.len()), Some(params.len()), "model");
		at.into_iter().for_each(|at| self.runner.exec.write(arena, at.start, params));
	}

	/// Sets both moments to zero, as at the beginning of a round.
	pub fn reset_moments(&self, arena: &mut B::Arena) {
		let [_, first, second, _] = self.vectors_at();
		[first, second].into_iter().for_each(|at| self.runner.exec.fill(arena, at, 0.0));
	}

	/// Roots of the subtrees of the whole parameters' tree that the span has, then those of the moments.
	pub fn state_roots(&self, arena: &B::Arena) -> [Vec<Hash>; 3] {
		self.state(arena).map(|vector| self.held.roots(&vector, self.runner.exec.host().threads()))
	}

	/// Begins a step on a batch of tokens: whoever has neither embedding nor end needs none, and may give zeros.
	///
	/// # Errors
	/// [`StepError::Arena`], [`StepError::Tokens`].
	pub fn begin_step(&mut self, arena: &B::Arena, tokens: &[u32]) -> Result<(), StepError> {
		self.runner.load(arena, tokens)
	}

	/// Tokens of micro-batch `micro`, in whose memory number `slot` the runner then is.
	fn enter(&mut self, micro: usize, slot: usize) -> Range<usize> {
		self.runner.shift.1 = slot.saturating_mul(self.room);
		micro * self.part..(micro + 1) * self.part
	}

	/// Runs `stages` from values that are given for a tensor, and leaves the memory of the micro-batch. Returns where another tensor is.
	fn pass(
		&mut self,
		arena: &mut B::Arena,
		(given, values): (Option<TensorId>, &[f32]),
		(stages, at): (Range<usize>, &Range<usize>),
		result: Option<TensorId>,
	) -> At {
		let to = given.map_or(0..0, |id| self.runner.range(id));
		assert_eq!(to.len(), values.len(), "rows");
		if !values.is_empty() {
			self.runner.exec.write(arena, to.start, values);
		}
		self.runner.micro_batch(arena, stages, at);
		result.map_or(0..0, |id| self.runner.range(id))
	}

	/// The forward pass of segment `segment` on micro-batch `micro`, in the memory of slot `slot`, from the rows that its first unit is given; none for the
	/// embedding. Returns the rows that it gives to the unit behind it; none at the end of the model, where the loss is computed, and gradients from it.
	///
	/// # Panics
	/// If there is no such segment, or there are other numbers of rows than those of a micro-batch.
	pub fn forward<'a>(&mut self, arena: &'a mut B::Arena, segment: usize, (micro, slot): (usize, usize), rows: &[f32]) -> Cow<'a, [f32]> {
		let at = self.enter(micro, slot);
		let Segment { rows_in, rows_out, forward, .. } = self.seams.segments[segment].clone();
		let rows_out = self.pass(arena, (rows_in, rows), (forward, &at), rows_out);
		if rows_out.is_empty() {
			self.runner.keep_losses(arena, at.start);
		}
		self.runner.shift.1 = 0;
		self.runner.exec.view(arena, rows_out)
	}

	/// Whether the backward pass of segment `segment` goes on from a gradient: not at the end of the model, and of an adapter not at the embedding.
	///
	/// # Panics
	/// If there is no such segment.
	pub fn is_given_gradients(&self, segment: usize) -> bool {
		self.seams.segments[segment].gradient_in.is_some()
	}

	/// The backward pass of segment `segment` on micro-batch `micro`, whose forward pass is in the memory of slot `slot`, from the gradient of the rows that
	/// it gave; none at the end of the model. Micro-batches come in ascending order. Returns the gradient of the rows that it was given; none for the embedding,
	/// and where nobody asks for it.
	///
	/// # Panics
	/// As [`SpanTrainer::forward`].
	pub fn backward<'a>(
		&mut self,
		arena: &'a mut B::Arena,
		segment: usize,
		(micro, slot): (usize, usize),
		gradient: &[f32],
	) -> Cow<'a, [f32]> {
		let at = self.enter(micro, slot);
		let Segment { units, gradient_in, gradient_out, backward, .. } = self.seams.segments[segment].clone();
		let gradient_out = self.pass(arena, (gradient_in, gradient), (backward, &at), gradient_out);
		if units.start == 0 {
			self.runner.keep_stream(arena, at.start);
		}
		self.runner.shift.1 = 0;
		self.runner.exec.view(arena, gradient_out)
	}

	/// Sums of squares of gradients that all spans tell each other in a step: one for each unit that is trained.
	pub fn sums(&self) -> usize {
		self.runner.range(self.seams.sums).len()
	}

	/// Writes the sums of the squares of the gradients of the span's units to their places among those of all units, once all micro-batches are through.
	///
	/// # Panics
	/// If there are fewer than [`SpanTrainer::sums`] places.
	pub fn squares(&mut self, arena: &mut B::Arena, all: &mut [f32]) {
		let tokens = 0..self.runner.ids_len();
		if let Some(scatter) = self.runner.position(Op::ScatterAdd) {
			self.runner.scatter_all(arena, scatter);
		}
		let add_up = self.add_up();
		for index in self.runner.position(Op::SquareTiles).unwrap_or(add_up)..add_up {
			self.runner.stage(arena, index, &tokens, None);
		}
		for &(place, sum) in &self.seams.own_sums {
			all[place as usize] = self.runner.scalar(arena, sum);
		}
	}

	/// The stage that adds up the sums of all units.
	fn add_up(&self) -> usize {
		self.runner.position(Op::AddUp).unwrap_or(self.runner.plan.stages().len())
	}

	/// The mean loss of the batch, where the span has the end of the model.
	pub fn loss(&mut self, arena: &mut B::Arena) -> Option<f32> {
		let loss = self.runner.mean_loss(arena)?;
		Some(self.runner.scalar(arena, loss))
	}

	/// Sums of the losses of 32 tokens each, of the whole batch in order, once its forward pass is through; none where the span does not have the end of the
	/// model.
	pub fn loss_tiles(&mut self, arena: &mut B::Arena) -> Vec<f32> {
		let Some(all) = &self.runner.accumulated else { return Vec::new() };
		let tiles = all.sums.start..all.sums.start + all.losses.len() / 32;
		self.runner.exec.partial_sums(arena, all.losses.clone(), all.sums.clone());
		self.runner.exec.view(arena, tiles).into_owned()
	}

	/// Ends a step: from the sums of the squares of all units, ascending, and the loss. `schedule_index` and `t` are those of
	/// [`super::Trainer::train_step`].
	///
	/// # Errors
	/// [`StepError::Diverged`] if loss or norm is not finite; parameters and moments are then unchanged. [`StepError::Device`].
	///
	/// # Panics
	/// If there are not as many sums as units that are trained.
	pub fn end_step(
		&mut self,
		arena: &mut B::Arena,
		(squares, loss): (&[f32], f32),
		schedule_index: u64,
		t: u64,
	) -> Result<StepOutcome, StepError> {
		assert_eq!(squares.len(), self.sums(), "sums of squares");
		self.runner.exec.write(arena, self.runner.range(self.seams.sums).start, squares);
		let all = 0..self.runner.ids_len();
		self.runner.stage(arena, self.add_up(), &all, None);
		let square_norm = self.runner.scalar(arena, self.update.square_norm);
		self.runner.exec.settled()?;
		if !loss.is_finite() || !square_norm.is_finite() {
			return Err(StepError::Diverged);
		}
		let step = AdamW { clip: self.runner.clip(square_norm), ..adamw(&self.train, schedule_index, t) };
		for index in self.update.first_direction..self.runner.plan.stages().len() {
			self.runner.stage(arena, index, &all, Some(&step));
		}
		self.runner.exec.settled()?;
		Ok(StepOutcome { loss, grad_norm: sqrt(square_norm) })
	}
}
