//! The trace of a training step.

use super::Trace;
use crate::{
	config::{ModelConfig, TrainConfig},
	corpus::known,
	exec::{Exec, SetupError, StepError},
	graph::{Extent, Op, Product, Stage},
	plan::Plan,
	resume::Parameters,
};
use alloc::{sync::Arc, vec, vec::Vec};
use neuroshard_kernels::{
	scalar::{self, Lanes, RmsBackward},
	schedule,
	shape::{tile_count, AdamW, AttentionDims, MatDims, RopeDims, Start, FAN_IN},
};

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

impl From<crate::config::ConfigError> for TraceError {
	fn from(error: crate::config::ConfigError) -> Self {
		Self::Setup(error.into())
	}
}

/// A wrong bit in what one stage of one step computed, on which everything later is then built: what a machine that makes one mistake
/// ends up with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mistake {
	/// Inner step, from 0.
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
	pub(super) fn happen(&self, outputs: &mut [Vec<f32>]) {
		let output = outputs.get_mut(self.output as usize).filter(|values| !values.is_empty());
		if let Some(values) = output {
			let element = (self.element % values.len() as u64) as usize;
			values[element] = f32::from_bits(values[element].to_bits() ^ self.mask);
		}
	}
}

/// What the stages of a training step need beside tensors.
pub(super) struct Batch {
	/// Each sequence with the token that follows it.
	pub(super) tokens: Vec<u16>,
	ids: Vec<u32>,
	targets: Vec<u32>,
	cos: Vec<f32>,
	sin: Vec<f32>,
	attention: AttentionDims,
}

impl Batch {
	fn new(model: &ModelConfig, train: &TrainConfig, parameters: &Parameters, tokens: &[u16]) -> Result<Self, TraceError> {
		let (seq, batch) = (parameters.seq, train.batch as usize);
		if tokens.len() != batch * (seq + 1) {
			return Err(StepError::Tokens { expected: batch * (seq + 1), found: tokens.len() }.into());
		}
		let sequences = || tokens.chunks_exact(seq + 1);
		let half = parameters.head_dim / 2;
		let (mut cos, mut sin) = (vec![0.0; seq * half], vec![0.0; seq * half]);
		schedule::rope_tables(model.rope_theta, parameters.head_dim, 0, &mut cos, &mut sin);
		let id = |&token: &u16| known(token, model.vocab).into();
		let ids = sequences().flat_map(|s| &s[..seq]).map(id).collect();
		let targets = sequences().flat_map(|s| &s[1..]).map(id).collect();
		let (heads, kv_heads, head_dim) = (parameters.heads, parameters.kv_heads, parameters.head_dim);
		Ok(Self { tokens: tokens.to_vec(), ids, targets, cos, sin, attention: AttentionDims { batch, seq, heads, kv_heads, head_dim } })
	}
}

impl Trace {
	/// Inner step `step` (from 0) of a round after `adopted_rounds` adopted rounds, from parameters and moments in layout order.
	/// `tokens` are the batch's, each sequence with the token that follows it. A step that diverges has a trace like any other.
	///
	/// # Errors
	/// [`TraceError`] for a configuration, vectors or tokens that do not fit together.
	pub fn step(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		vectors: [&[f32]; 3],
		tokens: &[u16],
		adopted_rounds: u32,
		step: u32,
	) -> Result<Self, TraceError> {
		let vectors = vectors.map(|vector| Arc::new(vector.to_vec()));
		Self::step_with(exec, model, train, vectors, tokens, (adopted_rounds, step), None)
	}

	/// [`Trace::step`], with a mistake in it if that is one of this step.
	///
	/// # Errors
	/// As [`Trace::step`].
	pub(crate) fn step_with(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		vectors: [Arc<Vec<f32>>; 3],
		tokens: &[u16],
		(adopted_rounds, step): (u32, u32),
		mistake: Option<Mistake>,
	) -> Result<Self, TraceError> {
		let parameters = Parameters::new(model, train, adopted_rounds, step)?;
		let batch = Batch::new(model, train, &parameters, tokens)?;
		let mut trace = Self::new(exec, Plan::training(model, train)?, parameters, vectors.into())?;
		(trace.batch, trace.mistake) = (Some(batch), mistake.filter(|mistake| mistake.step == step));
		// The update follows if a game asks for it: the state after a step has roots of its own.
		let listed = trace.plan.stages().partition_point(|stage| stage.first_node < trace.plan.listed_nodes());
		trace.run(listed);
		Ok(trace)
	}

	/// What a stage of a training step writes.
	pub(super) fn step_stage(&self, batch: &Batch, stage: &Stage) -> Vec<Vec<f32>> {
		let (exec, parameters, attention) = (&self.exec, &self.parameters, batch.attention);
		let (inputs, outputs) = (self.plan.inputs(stage), self.plan.outputs(stage));
		let input = |number: usize| inputs.get(number).map_or(&[][..], |&(id, _)| self.tensor(id));
		let vocab = parameters.vocab as usize;
		let width = |number: usize| inputs.get(number).map_or(0, |&(id, _)| self.shape(id).1);
		let (rows, cols) = self.shape(outputs[0]);
		let mut out = self.memory(if outputs.len() == 1 { rows * cols } else { 0 });
		// What accumulates begins with its optional last input.
		let start = |number: usize, out: &mut [f32]| {
			if number == inputs.len() {
				return Start::Zero;
			}
			exec.copy(input(number), out);
			Start::Existing
		};
		match stage.op {
			Op::Gather => exec.embedding_gather(input(1), parameters.dim, &batch.ids, &mut out),
			Op::RmsStats => exec.rms_stats(input(0), parameters.dim, parameters.norm_eps, &mut out),
			Op::RmsApply => exec.rms_apply(input(0), input(1), input(2), &mut out),
			Op::Product(kind) => {
				let start = start(2, &mut out);
				let k = if kind == Product::Tn { self.shape(inputs[0].0).0 } else { width(0) };
				let dims = MatDims { m: rows, n: cols, k };
				match kind {
					Product::Nt => exec.matmul_nt(dims, input(0), input(1), &mut out, start),
					Product::Nn => exec.matmul_nn(dims, input(0), input(1), &mut out, start),
					Product::Tn => exec.matmul_tn(dims, input(0), input(1), &mut out, start),
				}
			}
			Op::Rope { heads } | Op::RopeBack { heads } => {
				exec.copy(input(0), &mut out);
				let dims = RopeDims { seq: parameters.seq, heads: heads as usize, head_dim: parameters.head_dim };
				match stage.op {
					Op::Rope { .. } => exec.rope_forward(dims, &mut out, &batch.cos, &batch.sin),
					_ => exec.rope_backward(dims, &mut out, &batch.cos, &batch.sin),
				}
			}
			Op::Scores => {
				let scale = schedule::attention_scale(parameters.head_dim);
				exec.attention_scores(attention, input(0), input(1), Some(scale), &mut out);
			}
			Op::ProbabilityBack => exec.attention_scores(attention, input(0), input(1), None, &mut out),
			Op::HeadDots => exec.head_dots(attention, input(0), input(1), &mut out),
			Op::Context | Op::QueryBack => exec.weighted_keys(attention, input(0), input(1), &mut out),
			Op::KeyBack | Op::ValueBack => exec.weighted_queries(attention, input(0), input(1), &mut out),
			Op::RowMax(extent) => exec.row_max(input(0), width(0), extent == Extent::Causal, &mut out),
			Op::ExpSum(extent) => exec.exp_sum(input(0), width(0), extent == Extent::Causal, input(1), &mut out),
			Op::Softmax => exec.softmax(input(0), cols, input(1), input(2), &mut out),
			Op::ScoreBack => {
				let scale = schedule::attention_scale(parameters.head_dim);
				exec.score_back(input(0), input(1), cols, input(2), scale, &mut out);
			}
			Op::Swiglu => exec.swiglu_forward(input(0), input(1), &mut out),
			Op::SwigluBack => {
				let [mut gate, mut up] = [self.memory(rows * cols), self.memory(rows * cols)];
				exec.swiglu_backward(input(0), input(1), input(2), &mut gate, &mut up);
				return vec![gate, up];
			}
			Op::LossRows => exec.cross_entropy_loss(input(0), vocab, &batch.targets, input(2), input(3), &mut out),
			Op::LossBack => {
				exec.copy(input(0), &mut out);
				exec.cross_entropy_backward(&mut out, vocab, &batch.targets, input(2), input(3), parameters.inverse_tokens);
			}
			Op::TileSums => {
				let x = input(0);
				let (sums, rest) = out.split_at_mut(tile_count(x.len(), 1));
				exec.tile_sums(x, x.len(), 1, sums);
				rest.fill(0.0);
			}
			Op::TreeSum => {
				out.fill(0.0);
				for (out, group) in out.iter_mut().zip(input(0).chunks(FAN_IN)) {
					let mut lanes = Lanes::default();
					group.iter().enumerate().for_each(|(element, &x)| lanes.add(element, x));
					*out = lanes.finish();
				}
			}
			Op::MeanLoss => out[0] = input(0)[0] * parameters.inverse_tokens,
			Op::RmsBackStats => exec.rms_backward_stats(input(0), input(1), input(3), input(2), &mut out),
			Op::RmsBackApply => {
				let start = start(5, &mut out);
				let input = RmsBackward { dy: input(0), x: input(1), r: input(2), k: input(3), w: input(4) };
				exec.rms_backward_apply(input, &mut out, start);
			}
			Op::RmsWeightGrad => exec.rms_weight_grad(input(0), input(1), input(2), &mut out, Start::Zero),
			Op::ScatterAdd => {
				if start(2, &mut out) == Start::Zero {
					out.fill(0.0);
				}
				exec.embedding_scatter_add(input(0), parameters.dim, &batch.ids, &mut out);
			}
			Op::SquareTiles => {
				let mut next = 0;
				for &(id, _) in inputs {
					let (rows, cols) = self.shape(id);
					let end = next + tile_count(rows, cols);
					exec.tile_sum_squares(self.tensor(id), rows, cols, &mut out[next..end]);
					next = end;
				}
				// Zeros fill the last row of partial sums.
				out[next..].fill(0.0);
			}
			Op::ClipScale => out[0] = scalar::clip_scale(input(0)[0], parameters.clip),
			Op::AdamW => {
				let [mut p, mut m, mut v] = [0, 1, 2].map(|number| {
					let mut values = self.memory(rows * cols);
					exec.copy(input(number), &mut values);
					values
				});
				exec.adamw(&AdamW { clip: input(4)[0], ..parameters.adamw }, &mut p, &mut m, &mut v, input(3));
				return vec![p, m, v];
			}
			// Jobs on whole checkpoints.
			Op::Init | Op::Delta | Op::Mean | Op::TrimmedMean { .. } | Op::Nesterov => {}
		}
		vec![out]
	}
}
