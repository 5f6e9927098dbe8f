//! Traces of jobs on whole checkpoints.

use super::{step::TraceError, Mistake, Trace};
use crate::exec::{add_residual, decode_vector, encode_vector, Arena, Exec};
use neuroshard_graph::{
	config::{ConfigError, ModelConfig, TrainConfig},
	graph::{Op, Stage},
	plan::{Coded, Plan},
	resume::Parameters,
};
use neuroshard_kernels::{
	scalar::add_assign,
	shape::{Measured, Tiling},
};
use std::sync::Arc;

impl Trace {
	/// A participant's delta as it is sent, from parameters at the start and at the end of its round, and from the residual before it: for a code
	/// that leaves one, `None` is one of zeros.
	///
	/// # Errors
	/// [`TraceError::Setup`] for a configuration that is refused, vectors of other lengths than its model's, or a residual where there is none.
	pub fn delta(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		ends: [&[f32]; 2],
		residual: Option<&[f32]>,
	) -> Result<Self, TraceError> {
		Self::of_delta(exec, model, train, ends, residual, None)
	}

	/// [`Trace::delta`] with a mistake in it.
	///
	/// # Errors
	/// As [`Trace::delta`].
	pub(crate) fn of_delta(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		[start, end]: [&[f32]; 2],
		residual: Option<&[f32]>,
		mistake: Option<Mistake>,
	) -> Result<Self, TraceError> {
		let zeros = (train.leaves_residual() && residual.is_none()).then(|| vec![0.0; start.len()]);
		let vectors: Vec<&[f32]> = [start, end].into_iter().chain(residual.or(zeros.as_deref())).collect();
		Self::whole(exec, Plan::delta(model, train)?, Parameters::new(model, train, 0, 0)?, &vectors, mistake)
	}

	/// Aggregation of `deltas`, as they were sent, by account bytes ascending, with the inner `steps` behind each where deltas weigh by them, and the
	/// outer step.
	///
	/// # Errors
	/// [`TraceError::Setup`] for a configuration that is refused, no delta, other than one number of `steps` for each where they count, or vectors of other
	/// lengths than the model's.
	pub fn outer(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		[params, momentum]: [&[f32]; 2],
		deltas: &[&[f32]],
		steps: &[u32],
	) -> Result<Self, TraceError> {
		if steps.len() != if train.weighs_steps() { deltas.len() } else { 0 } {
			return Err(ConfigError::LeastSteps.into());
		}
		let count = u32::try_from(deltas.len()).map_err(|_| ConfigError::TooLarge)?;
		let vectors: Vec<&[f32]> = [params, momentum].into_iter().chain(deltas.iter().copied()).collect();
		Self::whole(exec, Plan::outer(model, train, count)?, Parameters::outer(model, train, steps)?, &vectors, None)
	}

	/// A trace of all stages.
	fn whole(
		exec: &Arc<Exec>,
		plan: Plan,
		parameters: Parameters,
		vectors: &[&[f32]],
		mistake: Option<Mistake>,
	) -> Result<Self, TraceError> {
		let mut trace = Self::new(exec, plan, parameters, vectors.iter().map(|vector| Arc::new(vector.to_vec())).collect())?;
		trace.mistake = mistake;
		trace.run(trace.plan.stages().len(), Arena::default(), 0);
		Ok(trace)
	}

	/// All deltas as vectors: what was sent, or what it says.
	fn whole_deltas(&self) -> Vec<&[f32]> {
		let sent = || self.vectors.iter().skip(2).map(|vector| vector.as_slice());
		let Some(Coded { code, .. }) = self.plan.coded else { return sent().collect() };
		let decoded = self
			.decoded
			.get_or_init(|| sent().map(|sent| decode_vector(code, &self.exec, &self.plan.tiling(), sent).unwrap_or_default()).collect());
		decoded.iter().map(Vec::as_slice).collect()
	}

	/// Tensor `slot` of all deltas.
	fn deltas(&self, slot: u32) -> Vec<&[f32]> {
		let range = self.plan.slot_range(slot).unwrap_or_default();
		self.whole_deltas().into_iter().map(|delta| delta.get(range.clone()).unwrap_or_default()).collect()
	}

	/// Computes what a stage of such a job writes.
	pub(super) fn checkpoint_stage(&self, stage: &Stage, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
		let (exec, parameters) = (&self.exec, &self.parameters);
		match (stage.op, inputs, outputs) {
			(Op::Delta, &[start, end], [delta]) => exec.sub(start, end, delta),
			(Op::Encode(code), _, [encoded]) => {
				if let [start, end, residual @ ..] = self.vectors.as_slice() {
					let mut values = vec![0.0; start.len()];
					exec.sub(start, end, &mut values);
					// The lengths are those of the plan.
					let _ = add_residual(code, residual.first().map(|residual| residual.as_slice()), &mut values);
					encoded.copy_from_slice(&encode_vector(code, exec, &self.plan.tiling(), &mut values).unwrap_or_default());
				}
			}
			(Op::Residual(code), &[start, end, residual], [after]) => {
				exec.sub(start, end, after);
				let _ = add_residual(code, Some(residual), after);
				let shape = self.plan.outputs(stage).first().map(|&id| self.shape(id));
				let _ = encode_vector(code, exec, &Tiling::new(shape), after);
			}
			(Op::Mean, inputs, [mean]) => exec.mean(inputs, mean),
			(Op::TrimmedMean { trim }, inputs, [mean]) => exec.trimmed_mean(inputs, &[], trim as usize, mean),
			(Op::ClippedTrimmedMean { slot, trim }, inputs, [mean]) => {
				let factors = inputs.first().copied().unwrap_or_default();
				exec.trimmed_mean(&self.deltas(slot), factors, trim as usize, mean);
			}
			(Op::DistanceSums(distance), inputs, [sums]) => {
				let factors = inputs.first().copied().unwrap_or_default();
				exec.distance_sums(&Measured { tiling: &self.plan.tiling(), vectors: &self.whole_deltas(), factors }, distance, sums);
			}
			(Op::Distances(_), &[sums], [squares]) => {
				squares.fill(0.0);
				sums.chunks_exact(squares.len()).for_each(|block| add_assign(squares, block));
			}
			(Op::Weights(weighing), inputs, [weights]) => {
				let (squares, factors) = match (weighing.distance(), inputs) {
					(Some(_), &[squares, factors]) => (squares, factors),
					(Some(_), &[squares]) => (squares, &[][..]),
					(_, inputs) => (&[][..], inputs.first().copied().unwrap_or_default()),
				};
				weights.copy_from_slice(&weighing.weigh(squares, weights.len(), factors, &parameters.inner_steps));
			}
			(Op::WeightedSum { slot }, &[weights], [sum]) => exec.weighted_sum(&self.deltas(slot), weights, sum),
			(Op::Nesterov, &[theta, momentum, gradient], [new_theta, new_momentum]) => {
				exec.copy(theta, new_theta);
				exec.copy(momentum, new_momentum);
				exec.nesterov(new_theta, new_momentum, gradient, parameters.outer_lr, parameters.outer_beta);
			}
			// Those of training steps.
			_ => {}
		}
	}
}
