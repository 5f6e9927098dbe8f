//! Executes the stages of a plan on an arena.

use super::{
	loss::{add_to_weights, Gradients, Head, Rows},
	memory::Accumulated,
	SetupError, StepError,
};
use crate::native::Exec;
use neuroshard_graph::{
	config::{ConfigError, ModelConfig, TrainConfig},
	corpus::{id, target},
	graph::{Op, Place, Product, Stage, TensorId},
	layout::ParamLayout,
	plan::{ArenaJob, LogitsBlock, Plan, Sizes},
};
use neuroshard_kernels::{
	scalar::{self, AttentionBackward, RmsBackward},
	schedule,
	shape::{tile_count, AdamW, AttentionDims, MatDims, RopeDims, Start},
};
use std::{ops::Range, sync::Arc};

/// A plan bound to kernels, with the tables and buffers that live outside the arena.
pub(super) struct Runner {
	pub exec: Arc<Exec>,
	pub plan: Plan,
	pub layout: ParamLayout,
	pub job: ArenaJob,
	pub arena_len: usize,
	seq: usize,
	/// Of the plan, a micro-batch if it is one.
	tokens: usize,
	/// Of a step in micro-batches.
	accumulated: Option<Accumulated>,
	/// Stages up to the gradient's norm, in order, with those that run once more.
	order: Vec<usize>,
	/// Most rows of logits at a time.
	pub logit_rows: usize,
	dim: usize,
	vocab: usize,
	attention: AttentionDims,
	eps: f32,
	clip: f32,
	/// What the products of an adapter are multiplied by.
	adapter_scale: f32,
	/// Arena range of each tensor; empty where it has none.
	ranges: Vec<Range<usize>>,
	cos: Vec<f32>,
	sin: Vec<f32>,
	/// Of the whole batch, as `targets`.
	ids: Vec<u32>,
	targets: Vec<u32>,
}

/// Disjoint parts of the arena.
#[expect(clippy::expect_used, reason = "plans are checked before they are executed")]
fn parts<const N: usize>(arena: &mut [f32], ranges: [Range<usize>; N]) -> [&mut [f32]; N] {
	arena.get_disjoint_mut(ranges).expect("a plan gives the operands of one operator disjoint buffers within the arena")
}

/// Where chains over tokens start that reach rows `at` of a batch.
fn goes_on(at: &Range<usize>) -> Start {
	if at.start == 0 {
		Start::Zero
	} else {
		Start::Existing
	}
}

/// Stages up to the first that changes parameters, in order. `again`: those of a layer's forward pass run once more before its backward pass, but for
/// the last layer, whose values are those at hand, and for the last stage, whose value is kept.
fn order(plan: &Plan, again: bool) -> Vec<usize> {
	let end = plan.job.and_then(|job| job.update).map_or(plan.stages().len(), |update| update.first_stage);
	let before = plan.layers().split_last().map(|(_, before)| before).filter(|_| again).unwrap_or_default();
	let again = |index: usize| {
		before.iter().filter(move |layer| layer.backward == index).flat_map(|layer| layer.forward.start..layer.forward.end - 1)
	};
	(0..end).flat_map(|index| again(index).chain([index])).collect()
}

fn size(value: u32) -> Result<usize, SetupError> {
	usize::try_from(value).map_err(|_| SetupError::Memory)
}

impl Runner {
	/// Of a plan for a whole batch, or with `accumulated` for a micro-batch of one. `again`: a layer's forward stages run once more before its
	/// backward pass.
	pub fn new(
		exec: Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		plan: Plan,
		(accumulated, again): (Option<Accumulated>, bool),
	) -> Result<Self, SetupError> {
		let layout = ParamLayout::trained(model, train)?;
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
		let all_tokens = accumulated.as_ref().map_or(size(tokens)?, |accumulated| accumulated.losses.len());
		let order = order(&plan, again);
		let (batch, seq, tokens) = (size(batch)?, size(seq)?, size(tokens)?);
		let attention =
			AttentionDims { batch, seq, heads: size(model.heads)?, kv_heads: size(model.kv_heads)?, head_dim: size(model.head_dim())? };
		let (cos, sin) = model.rope_tables(seq);
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
			dim: size(model.dim)?,
			vocab: size(vocab)?,
			attention,
			eps: model.norm_eps.get(),
			clip: train.clip.get(),
			adapter_scale: train.adapter.map_or(0.0, |adapter| adapter.scale()),
			ranges,
			cos,
			sin,
			ids: vec![0; all_tokens],
			targets: vec![0; all_tokens],
		})
	}

	/// Tokens of one batch: each sequence and the token after it.
	pub fn batch_tokens(&self) -> usize {
		self.ids.len() / self.seq * (self.seq + 1)
	}

	/// Checks the arena and takes in the tokens of a batch.
	pub fn load(&mut self, arena: &[f32], tokens: &[u32]) -> Result<(), StepError> {
		if arena.len() < self.arena_len {
			return Err(StepError::Arena { expected: self.arena_len, found: arena.len() });
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
		self.ranges[id.0 as usize].clone()
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

	/// Value of a `[1, 1]` tensor.
	pub fn scalar(&self, arena: &[f32], id: TensorId) -> f32 {
		arena[self.range(id).start]
	}

	/// Runs `stages` of a whole batch, in order. `adamw` is used by [`Op::AdamW`] only.
	pub fn run(&self, arena: &mut [f32], stages: Range<usize>, adamw: Option<&AdamW>) {
		for index in stages {
			self.stage(arena, index, &(0..self.tokens), adamw);
		}
	}

	/// Forward and backward pass, and the gradient's norm.
	pub fn gradients(&self, arena: &mut [f32]) {
		let Some(accumulated) = &self.accumulated else {
			for &index in &self.order {
				self.stage(arena, index, &(0..self.tokens), None);
			}
			return;
		};
		let stages = self.plan.stages();
		let place = |op: Op| stages.iter().position(|stage| stage.op == op);
		// Of an adapter the embedding has no gradient: nothing is left to be done with all micro-batches' but the norm.
		let scatter = place(Op::ScatterAdd);
		let Some(end) = scatter.or(place(Op::SquareTiles)) else { return };
		let output = |op: Op| stages.iter().find(|stage| stage.op == op).map_or(0..0, |stage| self.range(self.plan.outputs(stage)[0]));
		let losses = output(Op::LossRows);
		let stream = scatter.map(|scatter| self.range(self.plan.inputs(&stages[scatter])[0].0));
		let mean = stages.iter().find(|stage| stage.op == Op::MeanLoss);
		if let Some(&(count, _)) = mean.and_then(|stage| self.plan.inputs(stage).get(1)) {
			// At most 2^22 ones, whose sum in any order is exact.
			arena[self.range(count).start] = self.target_count() as f32;
		}
		for first in (0..self.ids.len()).step_by(self.tokens) {
			let at = first..first + self.tokens;
			let parts = self.order.iter().filter(|&&index| index < end);
			for &index in parts.filter(|&&index| !matches!(stages[index].op, Op::CountTargets | Op::TileSums | Op::TreeSum | Op::MeanLoss))
			{
				self.stage(arena, index, &at, None);
			}
			arena.copy_within(losses.clone(), accumulated.losses.start + first);
			if let Some(stream) = stream.clone() {
				arena.copy_within(stream, accumulated.stream.start + first * self.dim);
			}
		}
		let [losses, sums] = parts(arena, [accumulated.losses.clone(), accumulated.sums.clone()]);
		self.exec.partial_sums(losses, sums);
		let sum = self.exec.tree_sum(sums);
		arena[self.range(self.job.loss).start] = sum * mean.map_or(0.0, |stage| self.inverse_count(arena, stage, 1));
		if let Some(scatter) = scatter {
			self.scatter(arena, &stages[scatter], accumulated.stream.clone());
		}
		self.order
			.iter()
			.filter(|&&index| index >= end && Some(index) != scatter)
			.for_each(|&index| self.stage(arena, index, &(0..self.ids.len()), None));
	}

	/// Runs a stage on the rows of tokens `at`.
	fn stage(&self, arena: &mut [f32], index: usize, at: &Range<usize>, adamw: Option<&AdamW>) {
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
			Op::Gather => {
				let [table, x] = parts(arena, [input(1), output(0)]);
				exec.embedding_gather(table, dim, &self.ids[at.clone()], x);
			}
			Op::RmsStats => {
				let [x, r] = parts(arena, [input(0), output(0)]);
				exec.rms_stats(x, x.len() / r.len(), self.eps, r);
			}
			Op::RmsApply => {
				let [x, r, w, y] = parts(arena, [input(0), input(1), input(2), output(0)]);
				exec.rms_apply(x, r, w, y);
			}
			// The gradient of the logits is gone: what is made of it came with the losses.
			Op::Product(_) if input(0).is_empty() => {}
			Op::Product(kind) => self.product(arena, stage, kind, at),
			Op::AddBias => {
				let [b, y] = parts(arena, [input(1), output(0)]);
				exec.add_bias(y, b);
			}
			Op::Scale => exec.scale(&mut arena[output(0)], self.adapter_scale),
			Op::Rope { heads } => {
				exec.rope_forward(self.rope_dims(heads), &mut arena[output(0)], &self.cos, &self.sin);
			}
			Op::RopeBack { heads } => {
				exec.rope_backward(self.rope_dims(heads), &mut arena[output(0)], &self.cos, &self.sin);
			}
			Op::Context => self.attention(arena, index),
			Op::Swiglu => {
				let [gate, up, h] = parts(arena, [input(0), input(1), output(0)]);
				exec.swiglu_forward(gate, up, h);
			}
			Op::CountTargets => scalar::count_targets(&self.targets, &mut arena[output(0)]),
			Op::LossRows => self.losses(arena, index, at),
			Op::TileSums => {
				let [x, partials] = parts(arena, [input(0), output(0)]);
				exec.partial_sums(x, partials);
			}
			Op::TreeSum => self.tree_sum(arena, index),
			Op::MeanLoss => {
				arena[output(0).start] = arena[input(0).start] * self.inverse_count(arena, stage, 1);
			}
			Op::RmsBackStats => {
				let [dy, x, r, w, k] = parts(arena, [input(0), input(1), input(2), input(3), output(0)]);
				exec.rms_backward_stats(dy, x, w, r, k);
			}
			Op::RmsBackApply => {
				let start = self.start(arena, stage, 5);
				let [dy, x, r, k, w, dx] = parts(arena, [input(0), input(1), input(2), input(3), input(4), output(0)]);
				exec.rms_backward_apply(RmsBackward { dy, x, w, r, k }, dx, start);
			}
			Op::RmsWeightGrad => {
				let [dy, x, r, dw] = parts(arena, [input(0), input(1), input(2), output(0)]);
				exec.rms_weight_grad(dy, x, r, self.shape(self.plan.inputs(stage)[2].0).1, dw, goes_on(at));
			}
			Op::ColumnSums => {
				let [dy, db] = parts(arena, [input(0), output(0)]);
				exec.column_sums(dy, db, goes_on(at));
			}
			Op::SwigluBack => {
				let [dh, gate, up, d_gate, d_up] = parts(arena, [input(0), input(1), input(2), output(0), output(1)]);
				exec.swiglu_backward(dh, gate, up, d_gate, d_up);
			}
			Op::ValueBack => self.attention_back(arena, index),
			Op::ScatterAdd => self.scatter(arena, stage, input(0)),
			Op::SquareTiles => self.square_tiles(arena, stage),
			Op::ClipScale => {
				arena[output(0).start] = scalar::clip_scale(arena[input(0).start], self.clip);
			}
			Op::AdamW => {
				if let Some(step) = adamw {
					let [p, m, v, g] = parts(arena, [output(0), output(1), output(2), input(3)]);
					exec.adamw(step, p, m, v, g);
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

	/// Adds the gradients of all rows of the batch, which are at `dx`, to those of their tokens.
	fn scatter(&self, arena: &mut [f32], stage: &Stage, dx: Range<usize>) {
		let start = self.start(arena, stage, 2);
		let [dx, grad] = parts(arena, [dx, self.range(self.plan.outputs(stage)[0])]);
		if start == Start::Zero {
			grad.fill(0.0);
		}
		self.exec.embedding_scatter_add(dx, self.dim, &self.ids, grad);
	}

	/// Targets of the batch that count.
	pub fn target_count(&self) -> u64 {
		self.targets.iter().filter(|&&target| target != scalar::NO_TARGET).count() as u64
	}

	/// One by the number of targets that count, which is input `n`; by that of all tokens where there is no such input.
	fn inverse_count(&self, arena: &[f32], stage: &Stage, n: usize) -> f32 {
		let count = self.plan.inputs(stage).get(n).map(|&(count, _)| self.scalar(arena, count));
		count.map_or_else(|| schedule::reciprocal(self.ids.len() as u64), schedule::reciprocal_count)
	}

	fn rope_dims(&self, heads: u32) -> RopeDims {
		RopeDims { seq: self.seq, heads: heads as usize, head_dim: self.attention.head_dim }
	}

	/// What an operator whose optional starting value is input `n` starts from; brings that value to the output's place.
	fn start(&self, arena: &mut [f32], stage: &Stage, n: usize) -> Start {
		let Some(&(start, _)) = self.plan.inputs(stage).get(n) else { return Start::Zero };
		let (from, to) = (self.range(start), self.range(self.plan.outputs(stage)[0]));
		if from != to {
			arena.copy_within(from, to.start);
		}
		Start::Existing
	}

	fn product(&self, arena: &mut [f32], stage: &Stage, kind: Product, at: &Range<usize>) {
		let start = self.start(arena, stage, 2);
		let (inputs, c) = (self.plan.inputs(stage), self.plan.outputs(stage)[0]);
		let (a, b) = (inputs[0].0, inputs[1].0);
		let (m, n) = self.shape(c);
		let k = if kind == Product::Tn { self.shape(a).0 } else { self.shape(a).1 };
		let dims = MatDims { m, n, k };
		if let Some(accumulated) = self.accumulated.as_ref().filter(|_| kind == Product::Tn) {
			let later = accumulated.later(&self.range(c));
			let [a, b, c, later] = parts(arena, [self.range(a), self.range(b), self.range(c), later]);
			return add_to_weights(&self.exec, (at, self.ids.len()), [a, b], c, later);
		}
		let [a, b, c] = parts(arena, [self.range(a), self.range(b), self.range(c)]);
		match kind {
			Product::Nt => self.exec.matmul_nt(dims, a, b, c, start),
			Product::Nn => self.exec.matmul_nn(dims, a, b, c, start),
			Product::Tn => self.exec.matmul_tn(dims, a, b, c, start),
			Product::Int8 => self.exec.matmul_int8(dims, a, b, c, start),
		}
	}

	/// The four stages that end with the LossRows at `index`, and in a training step the three that begin with LossBack.
	fn losses(&self, arena: &mut [f32], index: usize, at: &Range<usize>) {
		let stages = self.plan.stages();
		let [logits, max, sum, loss] = &stages[index - 3..=index] else { return };
		let output = |stage: &Stage| self.range(self.plan.outputs(stage)[0]);
		let [h, w] = [0, 1].map(|n| self.range(self.plan.inputs(logits)[n].0));
		let [max, sum, loss] = [max, sum, loss].map(output);
		let LogitsBlock { offset, later, .. } = self.job.logits;
		// Within the arena, whose length fits.
		let room = |offset: u64, len: usize| offset as usize..offset as usize + len;
		let block = room(offset, self.logit_rows * self.vocab);
		let back = stages[index..].iter().position(|stage| stage.op == Op::LossBack);
		// A head that is not trained has no gradient.
		let gradient = |stage: &Stage| if matches!(stage.op, Op::Product(_)) { output(stage) } else { 0..0 };
		let [dh, dw] = back.map_or([0..0, 0..0], |back| [1, 2].map(|after| gradient(&stages[index + back + after])));
		let later = match &self.accumulated {
			Some(accumulated) => accumulated.later(&dw),
			None => later.map_or(0..0, |offset| room(offset, w.len())),
		};
		let inverse_count = back.map_or(0.0, |back| self.inverse_count(arena, &stages[index + back], 4));
		let [h, w, max, sum, loss, block, dh, dw, later] = parts(arena, [h, w, max, sum, loss, block, dh, dw, later]);
		let gradients = back.map(|_| Gradients { dh, dw, later, inverse_count });
		let head = Head { h, w, targets: &self.targets[at.clone()], first: at.start, tokens: self.ids.len() };
		head.cross_entropy(&self.exec, self.logit_rows, block, Rows { max, sum, loss }, gradients);
	}

	/// The five stages that end with the Context at `index`.
	fn attention(&self, arena: &mut [f32], index: usize) {
		let [scores, _, _, _, context] = &self.plan.stages()[index - 4..=index] else { return };
		let [q, k, v] = [(scores, 0), (scores, 1), (context, 1)].map(|(stage, n)| self.range(self.plan.inputs(stage)[n].0));
		let [q, k, v, o] = parts(arena, [q, k, v, self.range(self.plan.outputs(context)[0])]);
		self.exec.attention_forward(self.attention, q, k, v, o);
	}

	/// The six stages that end with the ValueBack at `index`.
	fn attention_back(&self, arena: &mut [f32], index: usize) {
		let [dots, probability, _, query, key, value] = &self.plan.stages()[index - 5..=index] else { return };
		let inputs = [(key, 1), (query, 1), (probability, 1), (dots, 1), (dots, 0)];
		let [q, k, v, o, d_o] = inputs.map(|(stage, n)| self.range(self.plan.inputs(stage)[n].0));
		let [dq, dk, dv] = [query, key, value].map(|stage| self.range(self.plan.outputs(stage)[0]));
		let [q, k, v, o, d_o, dq, dk, dv] = parts(arena, [q, k, v, o, d_o, dq, dk, dv]);
		self.exec.attention_backward(self.attention, AttentionBackward { q, k, v, o, d_o }, dq, dk, dv);
	}

	/// All levels of the tree whose last is at `index`. Overwrites the partial sums.
	fn tree_sum(&self, arena: &mut [f32], index: usize) {
		let stages = self.plan.stages();
		let levels = stages[..=index].iter().rev().take_while(|stage| stage.op == Op::TreeSum).count();
		let partials = self.range(self.plan.inputs(&stages[index + 1 - levels])[0].0);
		let sum = self.exec.tree_sum(&mut arena[partials]);
		arena[self.range(self.plan.outputs(&stages[index])[0]).start] = sum;
	}

	fn square_tiles(&self, arena: &mut [f32], stage: &Stage) {
		let mut next = self.range(self.plan.outputs(stage)[0]).start;
		for &(gradient, _) in self.plan.inputs(stage) {
			let (rows, cols) = self.shape(gradient);
			let partials = next..next + tile_count(rows, cols);
			next = partials.end;
			let [x, partials] = parts(arena, [self.range(gradient), partials]);
			self.exec.tile_sum_squares(x, rows, cols, partials);
		}
		// Zeros fill the last row of partial sums.
		arena[next..self.range(self.plan.outputs(stage)[0]).end].fill(0.0);
	}
}
