//! The trace of a training step.

use super::Trace;
use crate::{
	config::{ModelConfig, TrainConfig},
	corpus::known,
	exec::{Exec, SetupError, StepError},
	graph::{Extent, Op, Product, Stage, TensorId},
	plan::Plan,
	resume::{Parameters, SIDE},
};
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{
	math::exp,
	num::max,
	scalar::{self, Lanes, RmsBackward},
	schedule,
	shape::{tile_count, AdamW, MatDims, RopeDims, Start, FAN_IN},
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
	fn happen(&self, outputs: &mut [Vec<f32>]) {
		let output = outputs.get_mut(self.output as usize).filter(|values| !values.is_empty());
		if let Some(values) = output {
			let element = (self.element % values.len() as u64) as usize;
			values[element] = f32::from_bits(values[element].to_bits() ^ self.mask);
		}
	}
}

/// What stages need beside tensors.
pub(super) struct Executor<'a> {
	exec: &'a Exec,
	parameters: &'a Parameters,
	ids: Vec<u32>,
	targets: Vec<u32>,
	cos: Vec<f32>,
	sin: Vec<f32>,
}

impl Trace {
	/// Inner step `step` (from 0) of a round after `adopted_rounds` adopted rounds, from parameters and moments in layout order.
	/// `tokens` are the batch's, each sequence with the token that follows it. A step that diverges has a trace like any other.
	///
	/// # Errors
	/// [`TraceError`] for a configuration, vectors or tokens that do not fit together.
	pub fn step(
		exec: &Exec,
		model: &ModelConfig,
		train: &TrainConfig,
		vectors: [&[f32]; 3],
		tokens: &[u16],
		adopted_rounds: u32,
		step: u32,
	) -> Result<Self, TraceError> {
		Self::step_with(exec, model, train, vectors, tokens, (adopted_rounds, step), None)
	}

	/// [`Trace::step`], with a mistake in it if that is one of this step.
	///
	/// # Errors
	/// As [`Trace::step`].
	pub fn step_with(
		exec: &Exec,
		model: &ModelConfig,
		train: &TrainConfig,
		[params, first_moment, second_moment]: [&[f32]; 3],
		tokens: &[u16],
		(adopted_rounds, step): (u32, u32),
		mistake: Option<Mistake>,
	) -> Result<Self, TraceError> {
		let mistake = mistake.filter(|mistake| mistake.step == step);
		let plan = Plan::training(model, train)?;
		let parameters = Parameters::new(model, train, adopted_rounds, step)?;
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
		let mut trace = Self::new(exec, plan, parameters.clone(), &[params, first_moment, second_moment])?;
		(trace.tokens, trace.seq) = (tokens.to_vec(), seq);
		let executor = Executor { exec, parameters: &parameters, ids, targets, cos, sin };
		for index in 0..trace.plan.stages().len() {
			let mut outputs = executor.stage(&trace, &trace.plan.stages()[index]);
			if let Some(mistake) = mistake.filter(|mistake| mistake.stage as usize == index) {
				mistake.happen(&mut outputs);
			}
			let ids = trace.plan.outputs(&trace.plan.stages()[index]).to_vec();
			for (id, values) in ids.into_iter().zip(outputs) {
				trace.tensors[id.0 as usize] = values;
			}
		}
		Ok(trace)
	}
}

impl Executor<'_> {
	fn stage(&self, trace: &Trace, stage: &Stage) -> Vec<Vec<f32>> {
		let (exec, parameters) = (self.exec, self.parameters);
		let vocab = parameters.vocab as usize;
		let (inputs, outputs) = (trace.plan.inputs(stage), trace.plan.outputs(stage));
		let shape = |id: TensorId| trace.plan.tensor(id).map_or((0, 0), |info| (info.rows as usize, info.cols as usize));
		let input = |number: usize| inputs.get(number).map_or(&[][..], |&(id, _)| trace.tensor(id));
		let (rows, cols) = shape(outputs[0]);
		// What accumulates begins with its optional last input.
		let start = |number: usize| match inputs.get(number) {
			Some(&(id, _)) => (trace.tensor(id).to_vec(), Start::Existing),
			None => (vec![0.0; rows * cols], Start::Zero),
		};
		let mut out = vec![0.0; if outputs.len() == 1 { rows * cols } else { 0 }];
		match stage.op {
			Op::Gather => exec.embedding_gather(input(1), parameters.dim, &self.ids, &mut out),
			Op::RmsStats => exec.rms_stats(input(0), parameters.dim, parameters.norm_eps, &mut out),
			Op::RmsApply => exec.rms_apply(input(0), input(1), input(2), &mut out),
			Op::Product(kind) => {
				let (mut c, start) = start(2);
				let (a, b) = (inputs[0].0, input(1));
				let k = if kind == Product::Tn { shape(a).0 } else { shape(a).1 };
				let dims = MatDims { m: rows, n: cols, k };
				match kind {
					Product::Nt => exec.matmul_nt(dims, input(0), b, &mut c, start),
					Product::Nn => exec.matmul_nn(dims, input(0), b, &mut c, start),
					Product::Tn => exec.matmul_tn(dims, input(0), b, &mut c, start),
				}
				out = c;
			}
			Op::Rope { heads } | Op::RopeBack { heads } => {
				out.copy_from_slice(input(0));
				let dims = RopeDims { seq: parameters.seq, heads: heads as usize, head_dim: parameters.head_dim };
				match stage.op {
					Op::Rope { .. } => exec.rope_forward(dims, &mut out, &self.cos, &self.sin),
					_ => exec.rope_backward(dims, &mut out, &self.cos, &self.sin),
				}
			}
			Op::Scores => self.scores(input(0), input(1), Some(schedule::attention_scale(parameters.head_dim)), &mut out),
			Op::ProbabilityBack => self.scores(input(0), input(1), None, &mut out),
			Op::HeadDots => self.head_dots(input(0), input(1), &mut out),
			Op::Context | Op::QueryBack => self.weighted_rows(input(0), input(1), &mut out),
			Op::KeyBack | Op::ValueBack => self.weighted_columns(input(0), input(1), &mut out),
			Op::RowMax(extent) => self.in_rows(&mut out, 1, |row, out| {
				out[0] = self.counted(extent, trace, stage, row).iter().fold(f32::NEG_INFINITY, |most, &x| max(most, x));
			}),
			Op::ExpSum(Extent::Row) => {
				let mut most = vec![0.0; out.len()];
				exec.cross_entropy_stats(input(0), vocab, &mut most, &mut out);
			}
			Op::ExpSum(extent) => self.in_rows(&mut out, 1, |row, out| {
				let (mut lanes, most) = (Lanes::default(), input(1)[row]);
				let x = self.counted(extent, trace, stage, row);
				x.iter().enumerate().for_each(|(element, &x)| lanes.add(element, exp(x - most)));
				out[0] = lanes.finish();
			}),
			Op::Softmax => self.in_rows(&mut out, cols, |row, out| {
				let (most, inv) = (input(1)[row], 1.0 / input(2)[row]);
				let x = self.counted(Extent::Causal, trace, stage, row);
				out.iter_mut().zip(x).for_each(|(out, &x)| *out = exp(x - most) * inv);
			}),
			Op::ScoreBack => {
				let scale = schedule::attention_scale(parameters.head_dim);
				self.in_rows(&mut out, cols, |row, out| {
					let (p, d) = (self.counted(Extent::Causal, trace, stage, row), input(2)[row]);
					let dp = &input(1)[row * cols..];
					out.iter_mut().zip(p).zip(dp).for_each(|((out, &p), &dp)| *out = (p * (dp - d)) * scale);
				});
			}
			Op::Swiglu => exec.swiglu_forward(input(0), input(1), &mut out),
			Op::SwigluBack => {
				let (mut gate, mut up) = (vec![0.0; rows * cols], vec![0.0; rows * cols]);
				exec.swiglu_backward(input(0), input(1), input(2), &mut gate, &mut up);
				return vec![gate, up];
			}
			Op::LossRows => exec.cross_entropy_loss(input(0), vocab, &self.targets, input(2), input(3), &mut out),
			Op::LossBack => {
				out.copy_from_slice(input(0));
				exec.cross_entropy_backward(&mut out, vocab, &self.targets, input(2), input(3), parameters.inverse_tokens);
			}
			Op::TileSums => {
				let x = input(0);
				exec.tile_sums(x, x.len(), 1, &mut out[..tile_count(x.len(), 1)]);
			}
			Op::TreeSum => {
				for (out, group) in out.iter_mut().zip(input(0).chunks(FAN_IN)) {
					let mut lanes = Lanes::default();
					group.iter().enumerate().for_each(|(element, &x)| lanes.add(element, x));
					*out = lanes.finish();
				}
			}
			Op::MeanLoss => out[0] = input(0)[0] * parameters.inverse_tokens,
			Op::RmsBackStats => exec.rms_backward_stats(input(0), input(1), input(3), input(2), &mut out),
			Op::RmsBackApply => {
				let (mut dx, start) = start(5);
				let input = RmsBackward { dy: input(0), x: input(1), r: input(2), k: input(3), w: input(4) };
				exec.rms_backward_apply(input, &mut dx, start);
				out = dx;
			}
			Op::RmsWeightGrad => exec.rms_weight_grad(input(0), input(1), input(2), &mut out, Start::Zero),
			Op::ScatterAdd => {
				let (mut grad, _) = start(2);
				exec.embedding_scatter_add(input(0), parameters.dim, &self.ids, &mut grad);
				out = grad;
			}
			Op::SquareTiles => {
				let mut next = 0;
				for &(id, _) in inputs {
					let (rows, cols) = shape(id);
					let end = next + tile_count(rows, cols);
					exec.tile_sum_squares(trace.tensor(id), rows, cols, &mut out[next..end]);
					next = end;
				}
			}
			Op::ClipScale => out[0] = scalar::clip_scale(input(0)[0], parameters.clip),
			Op::AdamW => {
				let [mut p, mut m, mut v] = [0, 1, 2].map(|number| input(number).to_vec());
				exec.adamw(&AdamW { clip: input(4)[0], ..parameters.adamw }, &mut p, &mut m, &mut v, input(3));
				return vec![p, m, v];
			}
			// Jobs on whole checkpoints.
			Op::Init | Op::Delta | Op::Mean | Op::TrimmedMean { .. } | Op::Nesterov => {}
		}
		vec![out]
	}

	/// The part of row `row` of a stage's first input that counts.
	fn counted<'t>(&self, extent: Extent, trace: &'t Trace, stage: &Stage, row: usize) -> &'t [f32] {
		let (id, seq) = (trace.plan.inputs(stage)[0].0, self.parameters.seq);
		let cols = trace.plan.tensor(id).map_or(SIDE, |info| info.cols as usize);
		let x = &trace.tensor(id)[row * cols..(row + 1) * cols];
		match extent {
			Extent::Row => x,
			Extent::Causal => &x[..row % seq + 1],
		}
	}

	/// Runs `work(number, row)` over the rows of `out`, in parts on all threads.
	pub(super) fn in_rows(&self, out: &mut [f32], cols: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
		let rows = (out.len() / cols).div_ceil(self.exec.threads()).max(1);
		std::thread::scope(|scope| {
			let work = &work;
			for (part, out) in out.chunks_mut(rows * cols).enumerate() {
				scope.spawn(move || out.chunks_exact_mut(cols).enumerate().for_each(|(row, out)| work(part * rows + row, out)));
			}
		});
	}

	pub(super) fn exec(&self) -> &Exec {
		self.exec
	}

	pub(super) fn parameters(&self) -> &Parameters {
		self.parameters
	}
}
