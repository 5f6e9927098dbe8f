//! The trace of a training step.

use super::Trace;
use crate::exec::{Arena, Exec, SetupError, StepError};
use neuroshard_graph::{
	config::{ModelConfig, TrainConfig},
	corpus::{id, target},
	graph::{Extent, Op, Product, Stage},
	plan::Plan,
	resume::{muon, Parameters},
	span::Span,
};
use neuroshard_kernels::{
	scalar::{self, Lanes, RmsBackward},
	schedule,
	shape::{tile_count, AdamW, AttentionDims, MatDims, RopeDims, Start, FAN_IN},
};
use std::sync::Arc;

/// Why there is no trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TraceError {
	/// The configuration is refused, or vectors have other lengths than its model's.
	#[error(transparent)]
	Setup(#[from] SetupError),
	/// The batch is not one of this configuration.
	#[error(transparent)]
	Step(#[from] StepError),
}

impl From<neuroshard_graph::config::ConfigError> for TraceError {
	fn from(error: neuroshard_graph::config::ConfigError) -> Self {
		Self::Setup(error.into())
	}
}

/// A wrong bit in what one stage of one step computed, on which everything later is then built: what a machine that makes one mistake
/// ends up with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mistake {
	/// Inner step, from 0; as many as the round has if the mistake is in its delta; 0 if it is in reading a text.
	pub step: u32,
	/// Number of the stage.
	pub stage: u32,
	/// Which of its outputs.
	pub output: u32,
	/// Element of that output, modulo its length.
	pub element: u64,
	/// Bits that are turned over.
	pub mask: u32,
}

impl Mistake {
	pub(super) fn happen(&self, outputs: &mut [&mut [f32]]) {
		if let Some(values) = outputs.get_mut(self.output as usize) {
			self.happen_within(values.len(), 0, values);
		}
	}

	/// The same in a part of an output of `len` elements: `values` from element `first` on.
	pub(super) fn happen_within(&self, len: usize, first: usize, values: &mut [f32]) {
		let element = self.element.checked_rem(len as u64).and_then(|element| (element as usize).checked_sub(first));
		if let Some(value) = element.and_then(|element| values.get_mut(element)) {
			*value = f32::from_bits(value.to_bits() ^ self.mask);
		}
	}
}

/// What the stages of a training step, or of reading a text, need beside tensors.
pub(super) struct Batch {
	/// Each sequence with the token that follows it.
	pub(super) tokens: Vec<u32>,
	ids: Vec<u32>,
	pub(super) targets: Vec<u32>,
	cos: Vec<f32>,
	sin: Vec<f32>,
	attention: AttentionDims,
}

impl Batch {
	pub(super) fn new(model: &ModelConfig, batch: u32, parameters: &Parameters, tokens: &[u32]) -> Result<Self, TraceError> {
		let (seq, batch) = (parameters.seq, batch as usize);
		if tokens.len() != batch * (seq + 1) {
			return Err(StepError::Tokens { expected: batch * (seq + 1), found: tokens.len() }.into());
		}
		let sequences = || tokens.chunks_exact(seq + 1);
		let (cos, sin) = model.rope_tables(seq);
		let masked = parameters.masked;
		let ids = sequences().flat_map(|s| &s[..seq]).map(|&token| id(token, model.vocab, masked)).collect();
		let targets = sequences().flat_map(|s| &s[1..]).map(|&token| target(token, model.vocab, masked)).collect();
		let (heads, kv_heads, head_dim) = (parameters.heads, parameters.kv_heads, parameters.head_dim);
		Ok(Self { tokens: tokens.to_vec(), ids, targets, cos, sin, attention: AttentionDims { batch, seq, heads, kv_heads, head_dim } })
	}
}

impl Trace {
	/// Inner step `step` (from 0) of a round after `adopted_rounds` adopted rounds. `vectors` are parameters, first and second moments in layout order, and
	/// of an adapter the parameters of its base.
	/// `tokens` are the batch's, each sequence with the token that follows it. A step that diverges has a trace like any other.
	///
	/// # Errors
	/// [`TraceError`] for a configuration, vectors or tokens that do not fit together.
	pub fn step(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		vectors: &[&[f32]],
		tokens: &[u32],
		adopted_rounds: u32,
		step: u32,
	) -> Result<Self, TraceError> {
		let vectors = vectors.iter().map(|vector| Arc::new(vector.to_vec())).collect();
		let trace = Self::of_step(exec, model, train, vectors, tokens, (adopted_rounds, step), None)?;
		Ok(trace.computed(Arena::default(), 0))
	}

	/// What falls to `span` of inner step `step` of a round. `vectors` are its parameters, first and second moments, of an adapter its part of the base, and
	/// what it is given: see [`neuroshard_graph::plan::Seams::given`].
	///
	/// # Errors
	/// As [`Trace::step`].
	pub fn of_span(
		exec: &Arc<Exec>,
		(model, train, span): (&ModelConfig, &TrainConfig, Span),
		vectors: Vec<Arc<Vec<f32>>>,
		tokens: &[u32],
		(adopted_rounds, step): (u32, u32),
		mistake: Option<Mistake>,
	) -> Result<Self, TraceError> {
		let parameters = Parameters::new(model, train, adopted_rounds, step)?;
		let batch = Batch::new(model, train.batch, &parameters, tokens)?;
		let mut trace = Self::new(exec, Plan::span(model, train, span)?, parameters, vectors)?;
		(trace.batch, trace.mistake) = (Some(batch), mistake.filter(|mistake| mistake.step == step));
		Ok(trace.computed(Arena::default(), 0))
	}

	/// [`Trace::step`] before anything is computed, with a mistake in it if that is one of this step.
	///
	/// # Errors
	/// As [`Trace::step`].
	pub(crate) fn of_step(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		vectors: Vec<Arc<Vec<f32>>>,
		tokens: &[u32],
		(adopted_rounds, step): (u32, u32),
		mistake: Option<Mistake>,
	) -> Result<Self, TraceError> {
		let parameters = Parameters::new(model, train, adopted_rounds, step)?;
		let batch = Batch::new(model, train.batch, &parameters, tokens)?;
		let mut trace = Self::new(exec, Plan::training(model, train)?, parameters, vectors)?;
		(trace.batch, trace.mistake) = (Some(batch), mistake.filter(|mistake| mistake.step == step));
		Ok(trace)
	}

	/// The trace of the step with what its nodes write, in `arena` from element `used` on as far as there is room. The elements before are
	/// left as they are.
	pub(crate) fn computed(mut self, arena: Arena, used: usize) -> Self {
		// The update follows if a game asks for it: the state after a step has roots of its own.
		let listed = self.plan.stages().partition_point(|stage| stage.first_node < self.plan.listed_nodes());
		self.run(listed, arena, used);
		self
	}

	/// Computes what a stage of a training step writes from the values of its inputs.
	pub(super) fn step_stage(&self, batch: &Batch, stage: &Stage, values: &[&[f32]], outputs: &mut [&mut [f32]]) {
		let (exec, parameters, attention) = (&self.exec, &self.parameters, batch.attention);
		let inputs = self.plan.inputs(stage);
		let input = |number: usize| values.get(number).copied().unwrap_or_default();
		let vocab = parameters.vocab as usize;
		let width = |number: usize| inputs.get(number).map_or(0, |&(id, _)| self.shape(id).1);
		let (rows, cols) = self.plan.outputs(stage).first().map_or((0, 0), |&id| self.shape(id));
		// What accumulates begins with its optional last input.
		let start = |number: usize, out: &mut [f32]| {
			if number == inputs.len() {
				return Start::Zero;
			}
			exec.copy(input(number), out);
			Start::Existing
		};
		// One by the number of targets that count, which is an optional input.
		let inverse_count = |number: usize| match values.get(number) {
			Some(count) => schedule::reciprocal_count(count[0]),
			None => parameters.inverse_tokens,
		};
		let out = match (stage.op, outputs) {
			(_, [out]) => out,
			(Op::SwigluBack, [gate, up]) => return exec.swiglu_backward(input(0), input(1), input(2), gate, up),
			(Op::AdamW, [p, m, v]) => {
				(0..).zip([&mut *p, &mut *m, &mut *v]).for_each(|(number, values)| exec.copy(input(number), values));
				return exec.adamw(&AdamW { clip: input(4)[0], ..parameters.adamw }, p, m, v, input(3));
			}
			(Op::Muon, [p, m, v]) => {
				(0..).zip([&mut *p, &mut *m]).for_each(|(number, values)| exec.copy(input(number), values));
				v.fill(0.0);
				let step = AdamW { clip: input(3)[0], ..parameters.adamw };
				return exec.muon(&muon(&step, parameters.momentum, (rows, cols)), p, m, input(2), input(4));
			}
			_ => return,
		};
		match stage.op {
			Op::Gather => exec.embedding_gather(input(1), parameters.dim, &batch.ids, out),
			Op::RmsStats => exec.rms_stats(input(0), width(0) / cols, parameters.norm_eps, out),
			Op::RmsApply => exec.rms_apply(input(0), input(1), input(2), out),
			Op::Product(kind) => {
				let start = start(2, out);
				let k = if kind.over_tokens() { self.shape(inputs[0].0).0 } else { width(0) };
				let dims = MatDims { m: rows, n: cols, k };
				match kind {
					Product::Nt => exec.matmul_nt(dims, input(0), input(1), out, start),
					Product::Nn => exec.matmul_nn(dims, input(0), input(1), out, start),
					Product::Tn => exec.matmul_tn(dims, input(0), input(1), out, start),
					Product::Int8 => exec.matmul_int8(dims, input(0), input(1), out, start),
					Product::Int8Nt => exec.matmul_int8_nt(dims, input(0), input(1), out, start),
					Product::Int8Nn => exec.matmul_int8_nn(dims, input(0), input(1), out, start),
					Product::Int8Tn => exec.matmul_int8_tn(dims, input(0), input(1), out, start),
				}
			}
			Op::AddBias => {
				exec.copy(input(0), out);
				exec.add_bias(out, input(1));
			}
			Op::Scale => {
				exec.copy(input(0), out);
				exec.scale(out, parameters.adapter_scale);
			}
			Op::Rope { heads } | Op::RopeBack { heads } => {
				exec.copy(input(0), out);
				let dims = RopeDims { seq: parameters.seq, heads: heads as usize, head_dim: parameters.head_dim };
				match stage.op {
					Op::Rope { .. } => exec.rope_forward(dims, out, &batch.cos, &batch.sin),
					_ => exec.rope_backward(dims, out, &batch.cos, &batch.sin),
				}
			}
			Op::Scores => {
				let scale = schedule::attention_scale(parameters.head_dim);
				exec.attention_scores(attention, input(0), input(1), Some(scale), out);
			}
			Op::ProbabilityBack => exec.attention_scores(attention, input(0), input(1), None, out),
			Op::HeadDots => exec.head_dots(attention, input(0), input(1), out),
			Op::Context | Op::QueryBack => exec.weighted_keys(attention, input(0), input(1), out),
			Op::KeyBack | Op::ValueBack => exec.weighted_queries(attention, input(0), input(1), out),
			Op::RowMax(extent) => exec.row_max(input(0), width(0), extent == Extent::Causal, out),
			Op::ExpSum(extent) => exec.exp_sum(input(0), width(0), extent == Extent::Causal, input(1), out),
			Op::Softmax => exec.softmax(input(0), cols, input(1), input(2), out),
			Op::ScoreBack => {
				let scale = schedule::attention_scale(parameters.head_dim);
				exec.score_back(input(0), input(1), cols, input(2), scale, out);
			}
			Op::Swiglu => exec.swiglu_forward(input(0), input(1), out),
			Op::CountTargets => scalar::count_targets(&batch.targets, out),
			Op::LossRows => exec.cross_entropy_loss(input(0), vocab, &batch.targets, input(2), input(3), out),
			Op::LossBack => {
				exec.copy(input(0), out);
				exec.cross_entropy_backward(out, vocab, &batch.targets, input(2), input(3), inverse_count(4));
			}
			Op::TileSums => exec.partial_sums(input(0), out),
			Op::TreeSum => {
				out.fill(0.0);
				for (out, group) in out.iter_mut().zip(input(0).chunks(FAN_IN)) {
					let mut lanes = Lanes::default();
					group.iter().enumerate().for_each(|(element, &x)| lanes.add(element, x));
					*out = lanes.finish();
				}
			}
			Op::MeanLoss => out[0] = input(0)[0] * inverse_count(1),
			Op::RmsBackStats => exec.rms_backward_stats(input(0), input(1), input(3), input(2), out),
			Op::RmsBackApply => {
				let start = start(5, out);
				let input = RmsBackward { dy: input(0), x: input(1), r: input(2), k: input(3), w: input(4) };
				exec.rms_backward_apply(input, out, start);
			}
			Op::RmsWeightGrad => exec.rms_weight_grad(input(0), input(1), input(2), width(2), out, Start::Zero),
			Op::ColumnSums => exec.column_sums(input(0), out, Start::Zero),
			Op::ScatterAdd => {
				if start(2, out) == Start::Zero {
					out.fill(0.0);
				}
				exec.embedding_scatter_add(input(0), parameters.dim, &batch.ids, out);
			}
			Op::SquareTiles => {
				let mut next = 0;
				for (&(id, _), values) in inputs.iter().zip(values) {
					let (rows, cols) = self.shape(id);
					let end = next + tile_count(rows, cols);
					exec.tile_sum_squares(values, rows, cols, &mut out[next..end]);
					next = end;
				}
				// Zeros fill the last row of partial sums.
				out[next..].fill(0.0);
			}
			Op::AddUp => {
				out.fill(0.0);
				values.iter().flat_map(|sums| sums.chunks(1)).for_each(|sum| scalar::add_assign(out, sum));
			}
			Op::ClipScale => out[0] = scalar::clip_scale(input(0)[0], parameters.clip),
			Op::MuonDirection => {
				let step = AdamW { clip: input(2)[0], ..parameters.adamw };
				exec.muon_direction(&muon(&step, parameters.momentum, (rows, cols)), input(0), input(1), out);
			}
			Op::MuonNormalize => {
				exec.copy(input(0), out);
				exec.muon_normalize(out, input(1)[0]);
			}
			Op::MuonPolynomial => {
				exec.copy(input(1), out);
				exec.muon_polynomial(input(0), out, cols, 0);
			}
			// They write more than one tensor.
			Op::SwigluBack | Op::AdamW | Op::Muon => {}
			// Jobs on whole checkpoints.
			Op::Init | Op::Delta | Op::Mean | Op::TrimmedMean { .. } | Op::ClippedTrimmedMean { .. } | Op::Nesterov => {}
			Op::DistanceSums(_) | Op::Distances(_) | Op::Weights(_) | Op::WeightedSum { .. } | Op::Encode(_) | Op::Residual(_) => {}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_graph::{init::theta_0, layout::ParamLayout};

	#[test]
	fn a_step_is_traced_alike_in_used_memory_with_any_room_and_leaves_what_is_before() {
		let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
		let (exec, layout) = (Arc::new(Exec::new(2).unwrap()), ParamLayout::new(&model).unwrap());
		let state = [theta_0(&model, &layout, &train.seed), vec![0.0; layout.len()], vec![0.0; layout.len()]].map(Arc::new);
		let tokens: Vec<u32> = (0..train.batch * (train.seq_len + 1)).map(|place| place * 7 % model.vocab).collect();
		let step = || Trace::of_step(&exec, &model, &train, state.to_vec(), &tokens, (3, 2), None).unwrap();
		let alone = step().computed(Arena::default(), 0);
		let used = 3 * 16;
		let mut rooms = Vec::new();
		for len in [used, used + 500, used + 5_000, used + 500_000] {
			let mut arena = Arena::new(len);
			arena.fill(f32::NAN);
			let traced = step().computed(arena, used);
			assert_eq!((traced.node_roots(), traced.result_roots::<3>()), (alone.node_roots(), alone.result_roots::<3>()));
			let ids = || (0..).map(neuroshard_graph::graph::TensorId).take(traced.plan().tensor_count());
			assert!(ids().all(|id| traced.tensor(id).iter().map(|x| x.to_bits()).eq(alone.tensor(id).iter().map(|x| x.to_bits()))));
			rooms.push(traced.places.iter().filter(|place| !place.is_empty()).count());
			let arena = traced.into_arena();
			assert!(arena.len() == len && arena[..used].iter().all(|x| x.is_nan()));
		}
		assert!(rooms[0] == 0 && rooms.is_sorted() && rooms[1] < rooms[2] && rooms[2] < rooms[3], "{rooms:?}");
	}
}
