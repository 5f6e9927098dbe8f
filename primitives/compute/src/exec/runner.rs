//! Executes the stages of a plan on an arena.

use super::{
	backend::{At, Backend, RmsInput},
	loss::{add_to_weights, Gradients, Head, Rows},
	memory::Accumulated,
	profile::Profile,
	SetupError, StepError,
};
use crate::native::{Exec, Shared};
use neuroshard_graph::{
	config::{ConfigError, ModelConfig, TrainConfig},
	corpus::{id, target},
	graph::{Op, Place, Product, Stage, TensorId},
	layout::ParamLayout,
	plan::{ArenaJob, LogitsBlock, Plan, Sizes},
	resume::{momentum, muon},
};
use neuroshard_kernels::{
	scalar, schedule,
	shape::{tile_count, AdamW, AttentionDims, MatDims, Muon, RopeDims, Start},
};
use std::{
	ops::Range,
	sync::{Arc, Mutex, PoisonError},
	time::Instant,
};

/// A plan bound to kernels, with the tables and buffers that live outside the arena.
pub(super) struct Runner<B: Backend = Exec> {
	pub exec: Arc<B>,
	pub plan: Plan,
	pub layout: ParamLayout,
	pub job: ArenaJob,
	pub arena_len: usize,
	seq: usize,
	/// Of the plan, a micro-batch if it is one.
	tokens: usize,
	/// Of a step in micro-batches.
	pub accumulated: Option<Accumulated>,
	/// Stages up to the gradient's norm, in order, with those that run once more.
	order: Vec<usize>,
	/// Most rows of logits at a time.
	pub logit_rows: usize,
	/// What stages take, if that is asked for.
	pub profile: Option<Mutex<Profile>>,
	dim: usize,
	vocab: usize,
	attention: AttentionDims,
	eps: f32,
	clip: f32,
	/// What the products of an adapter are multiplied by.
	adapter_scale: f32,
	/// Decay of Muon's momentum; 0 without Muon.
	momentum: f32,
	/// Arena range of each tensor; empty where it has none.
	ranges: Vec<Range<usize>>,
	/// First element behind what all micro-batches of a span share, and how far from there the memory of the present one is.
	pub shift: (usize, usize),
	/// Cosines and sines of RoPE.
	turns: [B::Table; 2],
	/// Of the whole batch, as `targets`.
	ids: Vec<u32>,
	targets: Vec<u32>,
}

/// What the backward pass of a norm reads: gradient, input, weight and factors.
fn rms_input([dy, x, w, r]: [At; 4]) -> RmsInput {
	RmsInput { dy, x, w, r }
}

/// Where chains over tokens start that reach rows `at` of a batch.
fn goes_on(at: &Range<usize>) -> Start {
	if at.start == 0 {
		Start::Zero
	} else {
		Start::Existing
	}
}

/// Stages up to the clip factor, in order. `again`: those of a layer's forward pass run once more before its backward pass, but for
/// the last layer, whose values are those at hand, and for the last stage, whose value is kept.
fn order(plan: &Plan, again: bool) -> Vec<usize> {
	let end = plan.job.and_then(|job| job.update).map_or(plan.stages().len(), |update| update.first_direction);
	let before = plan.layers().split_last().map(|(_, before)| before).filter(|_| again).unwrap_or_default();
	let again = |index: usize| {
		before.iter().filter(move |layer| layer.backward == index).flat_map(|layer| layer.forward.start..layer.forward.end - 1)
	};
	(0..end).flat_map(|index| again(index).chain([index])).collect()
}

fn size(value: u32) -> Result<usize, SetupError> {
	usize::try_from(value).map_err(|_| SetupError::Memory)
}

impl<B: Backend> Runner<B> {
	/// Of a plan for a whole batch, or with `accumulated` for a micro-batch of one. `again`: a layer's forward stages run once more before its
	/// backward pass.
	pub fn new(
		exec: Arc<B>,
		model: &ModelConfig,
		train: &TrainConfig,
		plan: Plan,
		(accumulated, again): (Option<Accumulated>, bool),
	) -> Result<Self, SetupError> {
		let layout = ParamLayout::trained(model, train)?;
		Self::on(exec, (model, train), layout, plan, (accumulated, again))
	}

	/// The same of a plan on vectors of this layout.
	pub fn on(
		exec: Arc<B>,
		(model, train): (&ModelConfig, &TrainConfig),
		layout: ParamLayout,
		plan: Plan,
		(accumulated, again): (Option<Accumulated>, bool),
	) -> Result<Self, SetupError> {
		// Checkpoint jobs have no arena.
		let job = plan.job.ok_or(ConfigError::Dimension)?;
		let Sizes { batch, seq, tokens, vocab, .. } = job.sizes;
		let ranges = plan.tensors().map(|tensor| match tensor.place {
			Place::Arena(offset) => {
				let end = offset.checked_add(tensor.len()).ok_or(SetupError::Memory)?;
				let bound = |value: u64| usize::try_from(value).map_err(|_| SetupError::Memory);
				Ok(bound(offset)?..bound(end)?)
			}
			Place::Fused | Place::External => Ok(0..0),
		});
		let ranges = ranges.collect::<Result<Vec<_>, SetupError>>()?;
		let arena_len = match &accumulated {
			Some(accumulated) => accumulated.end,
			None => usize::try_from(plan.arena_len()).map_err(|_| SetupError::Memory)?,
		};
		let all_tokens = match &accumulated {
			Some(_) => usize::try_from(train.tokens_per_step()).map_err(|_| SetupError::Memory)?,
			None => size(tokens)?,
		};
		let order = order(&plan, again);
		let (batch, seq, tokens) = (size(batch)?, size(seq)?, size(tokens)?);
		let attention =
			AttentionDims { batch, seq, heads: size(model.heads)?, kv_heads: size(model.kv_heads)?, head_dim: size(model.head_dim())? };
		let (cos, sin) = model.rope_tables(seq);
		let turns = [cos, sin].map(|values| exec.table(values));
		Ok(Self {
			exec,
			plan,
			layout,
			job,
			arena_len,
			seq,
			tokens,
			accumulated,
			order,
			logit_rows: size(job.logits.rows)?,
			profile: None,
			dim: size(model.dim)?,
			vocab: size(vocab)?,
			attention,
			eps: model.norm_eps.get(),
			clip: train.clip.get(),
			adapter_scale: train.adapter.map_or(0.0, |adapter| adapter.scale()),
			momentum: momentum(train),
			ranges,
			shift: (usize::MAX, 0),
			turns,
			ids: vec![0; all_tokens],
			targets: vec![0; all_tokens],
		})
	}

	/// Tokens of one batch: each sequence and the token after it.
	pub fn batch_tokens(&self) -> usize {
		self.ids.len() / self.seq * (self.seq + 1)
	}

	/// Checks the arena and takes in the tokens of a batch.
	pub fn load(&mut self, arena: &B::Arena, tokens: &[u32]) -> Result<(), StepError> {
		let found = self.exec.len(arena);
		if found < self.arena_len {
			return Err(StepError::Arena { expected: self.arena_len, found });
		}
		if tokens.len() != self.batch_tokens() {
			return Err(StepError::Tokens { expected: self.batch_tokens(), found: tokens.len() });
		}
		let (vocab, masked) = (self.job.sizes.vocab, self.job.masked);
		let (ids, targets) = (self.ids.chunks_exact_mut(self.seq), self.targets.chunks_exact_mut(self.seq));
		for ((ids, targets), tokens) in ids.zip(targets).zip(tokens.chunks_exact(self.seq + 1)) {
			for ((read, aimed), pair) in ids.iter_mut().zip(targets).zip(tokens.windows(2)) {
				(*read, *aimed) = (id(pair[0], vocab, masked), target(pair[1], vocab, masked));
			}
		}
		Ok(())
	}

	/// Rows and columns of a tensor.
	fn shape(&self, id: TensorId) -> (usize, usize) {
		self.plan.tensor(id).map_or((0, 0), |info| (info.rows as usize, info.cols as usize))
	}

	/// The arena's range of a tensor.
	pub fn range(&self, id: TensorId) -> Range<usize> {
		let Range { start, end } = self.ranges[id.0 as usize];
		let shift = self.shift_of(start);
		start + shift..end + shift
	}

	/// How far what begins at `start` of the plan's arena is from there, for the present micro-batch.
	fn shift_of(&self, start: usize) -> usize {
		if start < self.shift.0 {
			0
		} else {
			self.shift.1
		}
	}

	/// Tokens of the whole batch.
	pub fn ids_len(&self) -> usize {
		self.ids.len()
	}

	/// The range of a flat vector that begins at `offset`.
	pub fn region(&self, offset: u64) -> Range<usize> {
		// Within the arena, whose length fits.
		let offset = offset as usize;
		offset..offset + self.layout.len()
	}

	/// Where the model lies that an adapter is beside.
	pub fn base_range(&self) -> Option<Range<usize>> {
		// Within the arena, whose length fits.
		self.plan.base_range().map(|range| range.start as usize..range.end as usize)
	}

	/// What clips a gradient with this square of its norm.
	pub fn clip(&self, square_norm: f32) -> f32 {
		scalar::clip_scale(square_norm, self.clip)
	}

	/// Value of a `[1, 1]` tensor.
	pub fn scalar(&self, arena: &B::Arena, id: TensorId) -> f32 {
		self.exec.value(arena, self.range(id).start)
	}

	/// Runs `stages` of a whole batch, in order. `adamw` is used by those of the update only.
	pub fn run(&self, arena: &mut B::Arena, stages: Range<usize>, adamw: Option<&AdamW>) {
		for index in stages {
			self.stage(arena, index, &(0..self.tokens), adamw);
		}
	}

	/// Forward and backward pass, and the gradient's norm.
	pub fn gradients(&self, arena: &mut B::Arena) {
		if self.accumulated.is_none() {
			for &index in &self.order {
				self.stage(arena, index, &(0..self.tokens), None);
			}
			return;
		};
		// Of an adapter the embedding has no gradient: nothing is left to be done with all micro-batches' but the norm.
		let scatter = self.position(Op::ScatterAdd);
		let Some(end) = scatter.or(self.position(Op::SquareTiles)) else { return };
		for first in (0..self.ids.len()).step_by(self.tokens) {
			let at = first..first + self.tokens;
			self.micro_batch(arena, self.order.iter().copied().filter(|&index| index < end), &at);
			self.keep_losses(arena, first);
			self.keep_stream(arena, first);
		}
		self.mean_loss(arena);
		if let Some(scatter) = scatter {
			self.scatter_all(arena, scatter);
		}
		self.order
			.iter()
			.filter(|&&index| index >= end && Some(index) != scatter)
			.for_each(|&index| self.stage(arena, index, &(0..self.ids.len()), None));
	}

	/// Runs stages on a micro-batch, but for those whose sums are those of all micro-batches.
	pub fn micro_batch(&self, arena: &mut B::Arena, stages: impl Iterator<Item = usize>, at: &Range<usize>) {
		let of_all = |index: usize| matches!(self.plan.stages()[index].op, Op::CountTargets | Op::TileSums | Op::TreeSum | Op::MeanLoss);
		stages.filter(|&index| !of_all(index)).for_each(|index| self.stage(arena, index, at, None));
	}

	/// Where the first stage of an operator is, if the plan has one.
	pub fn position(&self, op: Op) -> Option<usize> {
		self.plan.stages().iter().position(|stage| stage.op == op)
	}

	/// Keeps the losses of a micro-batch whose first token is `first`.
	pub fn keep_losses(&self, arena: &mut B::Arena, first: usize) {
		if let (Some(losses), Some(all)) = (self.position(Op::LossRows), &self.accumulated) {
			let losses = self.range(self.plan.outputs(&self.plan.stages()[losses])[0]);
			self.exec.copy(arena, losses, all.losses.start + first);
		}
	}

	/// Keeps the gradient of what the first layer begins with, of a micro-batch whose first token is `first`, where the embedding is trained.
	pub fn keep_stream(&self, arena: &mut B::Arena, first: usize) {
		if let (Some(scatter), Some(all)) = (self.position(Op::ScatterAdd), &self.accumulated) {
			let stream = self.range(self.plan.inputs(&self.plan.stages()[scatter])[0].0);
			self.exec.copy(arena, stream, all.stream.start + first * self.dim);
		}
	}

	/// Computes the mean loss of a step in micro-batches, of the losses of all of them, where the plan has it. Returns where it is.
	pub fn mean_loss(&self, arena: &mut B::Arena) -> Option<TensorId> {
		let (accumulated, id) = (self.accumulated.as_ref()?, self.job.loss?);
		let loss = self.range(id).start;
		self.exec.partial_sums(arena, accumulated.losses.clone(), accumulated.sums.clone());
		self.exec.tree_sum(arena, accumulated.sums.clone(), loss);
		let mean = self.plan.stages().iter().find(|stage| stage.op == Op::MeanLoss);
		self.exec.scale(arena, loss..loss + 1, mean.map_or(0.0, |stage| self.inverse_count(stage, 1)));
		Some(id)
	}

	/// The ScatterAdd at `index` of a step in micro-batches, for all of them.
	pub fn scatter_all(&self, arena: &mut B::Arena, index: usize) {
		let Some(accumulated) = &self.accumulated else { return };
		let begun = self.begun();
		self.scatter(arena, &self.plan.stages()[index], accumulated.stream.clone());
		self.note(index, begun);
	}

	/// Runs a stage on the rows of tokens `at`, and notes what it takes if that is asked for.
	pub fn stage(&self, arena: &mut B::Arena, index: usize, at: &Range<usize>, adamw: Option<&AdamW>) {
		let begun = self.begun();
		self.execute(arena, index, at, adamw);
		self.note(index, begun);
	}

	/// When something begins, if it is to be noted.
	fn begun(&self) -> Option<Instant> {
		self.profile.as_ref().map(|_| Instant::now())
	}

	/// Notes that a stage has been computed since `begun`.
	fn note(&self, index: usize, begun: Option<Instant>) {
		if let (Some(profile), Some(begun)) = (&self.profile, begun) {
			// What fails here is told at the end of the step.
			let _ = self.exec.settled();
			let (time, stage) = (begun.elapsed(), &self.plan.stages()[index]);
			let (flops, bytes) = self.work(index);
			if bytes > 0.0 {
				profile.lock().unwrap_or_else(PoisonError::into_inner).note(stage.op, time, flops, bytes);
			}
		}
	}

	/// Multiplications and additions of the products in a stage, and bytes of what it reads and writes in the arena; 0 for what is computed with another stage.
	fn work(&self, index: usize) -> (f64, f64) {
		let stage = &self.plan.stages()[index];
		let (inputs, outputs) = (self.plan.inputs(stage), self.plan.outputs(stage));
		let len = |id: TensorId| self.range(id).len() as f64;
		if self.range(outputs[0]).is_empty() || matches!(stage.op, Op::Product(_)) && len(inputs[0].0) == 0.0 {
			return (0.0, 0.0);
		}
		let rows = 4.0 * (self.tokens * self.dim) as f64;
		let bytes = 4.0 * (inputs.iter().map(|(id, _)| len(*id)).sum::<f64>() + outputs.iter().map(|id| len(*id)).sum::<f64>());
		let AttentionDims { batch, seq, heads, head_dim, .. } = self.attention;
		// Each query with the keys up to it.
		let pairs = (batch * heads * head_dim) as f64 * (seq * (seq + 1)) as f64;
		let flops = match stage.op {
			Op::Product(kind) => {
				let (m, n) = self.shape(outputs[0]);
				let (rows, cols) = self.shape(inputs[0].0);
				2.0 * (m * n) as f64 * if kind.over_tokens() { rows } else { cols } as f64
			}
			// Scores and weighted values; backwards these scores again, and gradients of probabilities, queries, keys and values.
			Op::Context => 2.0 * pairs,
			Op::ValueBack => 5.0 * pairs,
			Op::LossRows => {
				let products = if self.plan.stages()[index..].iter().any(|stage| stage.op == Op::LossBack) { 3.0 } else { 1.0 };
				products * 2.0 * (self.tokens * self.dim) as f64 * self.vocab as f64
			}
			// Of the table, the rows of the tokens.
			Op::Gather => return (0.0, 2.0 * rows),
			Op::ScatterAdd => return (0.0, 3.0 * rows),
			_ => 0.0,
		};
		(flops, bytes)
	}

	fn execute(&self, arena: &mut B::Arena, index: usize, at: &Range<usize>, adamw: Option<&AdamW>) {
		let stage = &self.plan.stages()[index];
		let exec = &*self.exec;
		let input = |n: usize| self.range(self.plan.inputs(stage)[n].0);
		let output = |n: usize| self.range(self.plan.outputs(stage)[n]);
		let dim = self.dim;
		if output(0).is_empty() {
			// Fused into the operator that reads it.
			return;
		}
		match stage.op {
			Op::Gather => exec.embedding_gather(arena, input(1), dim, &self.ids[at.clone()], output(0)),
			Op::RmsStats => exec.rms_stats(arena, input(0), input(0).len() / output(0).len(), self.eps, output(0)),
			Op::RmsApply => exec.rms_apply(arena, input(0), input(1), input(2), output(0)),
			// The gradient of the logits is gone: what is made of it came with the losses.
			Op::Product(_) if input(0).is_empty() => {}
			Op::Product(kind) => self.product(arena, index, kind, at),
			Op::AddBias => exec.add_bias(arena, output(0), input(1)),
			Op::Scale => exec.scale(arena, output(0), self.adapter_scale),
			Op::Rope { heads } => exec.rope(arena, self.rope_dims(heads), output(0), self.turns.each_ref(), false),
			Op::RopeBack { heads } => exec.rope(arena, self.rope_dims(heads), output(0), self.turns.each_ref(), true),
			Op::Context => self.attention(arena, index),
			Op::Swiglu => exec.swiglu_forward(arena, input(0), input(1), output(0)),
			Op::CountTargets => exec.count_targets(arena, &self.targets, output(0)),
			Op::LossRows => self.losses(arena, index, at),
			Op::TileSums => exec.partial_sums(arena, input(0), output(0)),
			Op::TreeSum => self.tree_sum(arena, index),
			Op::MeanLoss => {
				exec.copy(arena, input(0), output(0).start);
				exec.scale(arena, output(0), self.inverse_count(stage, 1));
			}
			Op::RmsBackStats => exec.rms_backward_stats(arena, rms_input([0, 1, 3, 2].map(input)), output(0)),
			Op::RmsBackApply => {
				let start = self.start(arena, stage, 5);
				exec.rms_backward_apply(arena, rms_input([0, 1, 4, 2].map(input)), input(3), output(0), start);
			}
			Op::RmsWeightGrad => {
				let heads = self.shape(self.plan.inputs(stage)[2].0).1;
				exec.rms_weight_grad(arena, [0, 1, 2].map(input), heads, output(0), goes_on(at));
			}
			Op::ColumnSums => exec.column_sums(arena, input(0), output(0), goes_on(at)),
			Op::SwigluBack => exec.swiglu_backward(arena, [0, 1, 2].map(input), [0, 1].map(output)),
			Op::ValueBack => self.attention_back(arena, index),
			Op::ScatterAdd => self.scatter(arena, stage, input(0)),
			Op::SquareTiles => self.square_tiles(arena, stage),
			Op::AddUp => {
				let inputs = self.plan.inputs(stage).iter().flat_map(|&(id, _)| self.range(id));
				exec.fill(arena, output(0), 0.0);
				inputs.for_each(|at| exec.add_assign(arena, output(0), at..at + 1));
			}
			// The update is given its value.
			Op::ClipScale => {}
			Op::AdamW => {
				if let Some(step) = adamw {
					exec.adamw(arena, step, [0, 1, 2].map(output), input(3));
				}
			}
			Op::MuonDirection => {
				if let Some(step) = adamw {
					exec.muon_direction(arena, &self.muon(step, stage), input(0), input(1), output(0));
				}
			}
			Op::MuonNormalize => exec.muon_normalize(arena, output(0), input(1).start),
			Op::MuonPolynomial => exec.muon_polynomial(arena, input(0), output(0), self.shape(self.plan.outputs(stage)[0]).1),
			Op::Muon => {
				if let Some(step) = adamw {
					exec.muon(arena, &self.muon(step, stage), [0, 1].map(output), input(2), input(4));
					// Where the direction was.
					exec.fill(arena, output(2), 0.0);
				}
			}
			// Maxima and sums come with the losses, gradients of queries and keys with that of values.
			Op::RowMax(_) | Op::ExpSum(_) | Op::QueryBack | Op::KeyBack => {}
			// Always fused.
			Op::LossBack | Op::Scores | Op::Softmax | Op::HeadDots | Op::ProbabilityBack | Op::ScoreBack => {}
			// Jobs on checkpoints, which have no arena.
			Op::Init
			| Op::Delta
			| Op::Encode(_)
			| Op::Residual(_)
			| Op::Mean
			| Op::TrimmedMean { .. }
			| Op::ClippedTrimmedMean { .. }
			| Op::Nesterov => {}
			Op::DistanceSums(_) | Op::Distances(_) | Op::Weights(_) | Op::WeightedSum { .. } => {}
		}
	}

	/// Muon's scalars for what a stage writes.
	fn muon(&self, step: &AdamW, stage: &Stage) -> Muon {
		muon(step, self.momentum, self.shape(self.plan.outputs(stage)[0]))
	}

	/// Adds the gradients of all rows of the batch, which are at `dx`, to those of their tokens.
	fn scatter(&self, arena: &mut B::Arena, stage: &Stage, dx: Range<usize>) {
		let start = self.start(arena, stage, 2);
		let grad = self.range(self.plan.outputs(stage)[0]);
		if start == Start::Zero {
			self.exec.fill(arena, grad.clone(), 0.0);
		}
		self.exec.embedding_scatter_add(arena, dx, self.dim, &self.ids, grad);
	}

	/// Targets of the batch that count.
	pub fn target_count(&self) -> u64 {
		self.targets.iter().filter(|&&target| target != scalar::NO_TARGET).count() as u64
	}

	/// One by the number of targets that count, which is input `n`; by that of all tokens where there is no such input.
	fn inverse_count(&self, stage: &Stage, n: usize) -> f32 {
		match self.plan.inputs(stage).get(n) {
			// At most 2^22 ones, whose sum in any order is exact.
			Some(_) => schedule::reciprocal_count(self.target_count() as f32),
			None => schedule::reciprocal(self.ids.len() as u64),
		}
	}

	fn rope_dims(&self, heads: u32) -> RopeDims {
		RopeDims { seq: self.seq, heads: heads as usize, head_dim: self.attention.head_dim }
	}

	/// What an operator whose optional starting value is input `n` starts from; brings that value to the output's place.
	fn start(&self, arena: &mut B::Arena, stage: &Stage, n: usize) -> Start {
		let Some(&(start, _)) = self.plan.inputs(stage).get(n) else { return Start::Zero };
		let (from, to) = (self.range(start), self.range(self.plan.outputs(stage)[0]));
		if from != to {
			self.exec.copy(arena, from, to.start);
		}
		Start::Existing
	}

	/// Which operands of a product of quantized blocks others beside it read. Stages are run one by one in parts that begin and end with other operators, and
	/// a product changes nothing that others beside it read.
	fn shared(&self, index: usize) -> Shared {
		let stages = self.plan.stages();
		let is_product = |stage: &&Stage| matches!(stage.op, Op::Product(_));
		let reads = |stage: &Stage| match stage.op {
			Op::Product(Product::Int8Nt | Product::Int8Nn | Product::Int8Tn) => [0, 1].map(|n| Some(self.plan.inputs(stage)[n].0)),
			_ => [None; 2],
		};
		let mine = reads(&stages[index]);
		let same = |other: [Option<TensorId>; 2]| [0, 1].map(|n| mine[n].is_some() && other[n] == mine[n]);
		let either = |[a, b]: [bool; 2], [c, d]: [bool; 2]| [a | c, b | d];
		Shared {
			before: stages[..index].iter().rev().take_while(is_product).map(reads).map(same).fold([false; 2], either),
			after: stages[index + 1..].iter().take_while(is_product).map(reads).map(same).fold([false; 2], either),
		}
	}

	fn product(&self, arena: &mut B::Arena, index: usize, kind: Product, at: &Range<usize>) {
		let (stage, shared) = (&self.plan.stages()[index], self.shared(index));
		let start = self.start(arena, stage, 2);
		let (inputs, c) = (self.plan.inputs(stage), self.plan.outputs(stage)[0]);
		let (a, b) = (inputs[0].0, inputs[1].0);
		let (m, n) = self.shape(c);
		let k = if kind.over_tokens() { self.shape(a).0 } else { self.shape(a).1 };
		let dims = MatDims { m, n, k };
		let [a, b, c] = [a, b, c].map(|id| self.range(id));
		// Products behind the gradients are of the whole batch.
		let gradient = kind.over_tokens() && self.job.update.is_some_and(|update| index < update.first_direction);
		if let Some(accumulated) = self.accumulated.as_ref().filter(|_| gradient) {
			let later = accumulated.later(&c);
			return add_to_weights(&*self.exec, arena, (kind, shared), (at, self.ids.len()), [a, b], c, later);
		}
		self.exec.product_sharing(arena, kind, dims, [a, b], c, (start, shared));
	}

	/// The four stages that end with the LossRows at `index`, and in a training step the three that begin with LossBack.
	fn losses(&self, arena: &mut B::Arena, index: usize, at: &Range<usize>) {
		let stages = self.plan.stages();
		let [logits, max, sum, loss] = &stages[index - 3..=index] else { return };
		let output = |stage: &Stage| self.range(self.plan.outputs(stage)[0]);
		let [h, w] = [0, 1].map(|n| self.range(self.plan.inputs(logits)[n].0));
		let [max, sum, loss] = [max, sum, loss].map(output);
		let LogitsBlock { offset, later, .. } = self.job.logits;
		// Within the arena, whose length fits.
		let room = |offset: u64, len: usize| {
			let first = offset as usize + self.shift_of(offset as usize);
			first..first + len
		};
		let block = room(offset, self.logit_rows * self.vocab);
		let back = stages[index..].iter().position(|stage| stage.op == Op::LossBack);
		// A head that is not trained has no gradient.
		let gradient = |stage: &Stage| if matches!(stage.op, Op::Product(_)) { output(stage) } else { 0..0 };
		let [dh, dw] = back.map_or([0..0, 0..0], |back| [1, 2].map(|after| gradient(&stages[index + back + after])));
		let later = match &self.accumulated {
			Some(accumulated) => accumulated.later(&dw),
			None => later.map_or(0..0, |offset| room(offset, w.len())),
		};
		let inverse_count = back.map_or(0.0, |back| self.inverse_count(&stages[index + back], 4));
		let gradients = back.map(|_| Gradients { dh, dw, later, inverse_count });
		let head = Head { h, w, targets: &self.targets[at.clone()], first: at.start, tokens: self.ids.len() };
		head.cross_entropy(&*self.exec, arena, (self.logit_rows, &block), &Rows { max, sum, loss }, gradients.as_ref());
	}

	/// The five stages that end with the Context at `index`.
	fn attention(&self, arena: &mut B::Arena, index: usize) {
		let [scores, _, _, _, context] = &self.plan.stages()[index - 4..=index] else { return };
		let input = [(scores, 0), (scores, 1), (context, 1)].map(|(stage, n)| self.range(self.plan.inputs(stage)[n].0));
		self.exec.attention_forward(arena, self.attention, input, self.range(self.plan.outputs(context)[0]));
	}

	/// The six stages that end with the ValueBack at `index`.
	fn attention_back(&self, arena: &mut B::Arena, index: usize) {
		let [dots, probability, _, query, key, value] = &self.plan.stages()[index - 5..=index] else { return };
		let inputs = [(key, 1), (query, 1), (probability, 1), (dots, 1), (dots, 0)];
		let inputs = inputs.map(|(stage, n)| self.range(self.plan.inputs(stage)[n].0));
		let gradients = [query, key, value].map(|stage| self.range(self.plan.outputs(stage)[0]));
		self.exec.attention_backward(arena, self.attention, inputs, gradients);
	}

	/// All levels of the tree whose last is at `index`. Overwrites the partial sums.
	fn tree_sum(&self, arena: &mut B::Arena, index: usize) {
		let stages = self.plan.stages();
		let levels = stages[..=index].iter().rev().take_while(|stage| stage.op == Op::TreeSum).count();
		let partials = self.range(self.plan.inputs(&stages[index + 1 - levels])[0].0);
		self.exec.tree_sum(arena, partials, self.range(self.plan.outputs(&stages[index])[0]).start);
	}

	fn square_tiles(&self, arena: &mut B::Arena, stage: &Stage) {
		let mut next = self.range(self.plan.outputs(stage)[0]).start;
		for &(gradient, _) in self.plan.inputs(stage) {
			let (rows, cols) = self.shape(gradient);
			let partials = next..next + tile_count(rows, cols);
			next = partials.end;
			self.exec.tile_sum_squares(arena, self.range(gradient), rows, cols, partials);
		}
		// Zeros fill the last row of partial sums.
		self.exec.fill(arena, next..self.range(self.plan.outputs(stage)[0]).end, 0.0);
	}
}
