//! Traces of jobs on whole checkpoints.

use super::{step::TraceError, Trace};
use crate::{
	config::{ConfigError, ModelConfig, TrainConfig},
	exec::{Arena, Exec},
	graph::{Op, Stage},
	plan::Plan,
	resume::Parameters,
};
use alloc::{sync::Arc, vec::Vec};
use neuroshard_kernels::{scalar::add_assign, shape::Measured};

impl Trace {
	/// A participant's delta, from parameters at the start and at the end of its round.
	///
	/// # Errors
	/// [`TraceError::Setup`] for a configuration that is refused, or vectors of other lengths than its model's.
	pub fn delta(exec: &Arc<Exec>, model: &ModelConfig, train: &TrainConfig, start: &[f32], end: &[f32]) -> Result<Self, TraceError> {
		Self::whole(exec, Plan::delta(model)?, Parameters::new(model, train, 0, 0)?, &[start, end])
	}

	/// Aggregation of `deltas`, by account bytes ascending, and the outer step.
	///
	/// # Errors
	/// [`TraceError::Setup`] for a configuration that is refused, no delta, or vectors of other lengths than the model's.
	pub fn outer(
		exec: &Arc<Exec>,
		model: &ModelConfig,
		train: &TrainConfig,
		[params, momentum]: [&[f32]; 2],
		deltas: &[&[f32]],
	) -> Result<Self, TraceError> {
		let count = u32::try_from(deltas.len()).map_err(|_| ConfigError::TooLarge)?;
		let vectors: Vec<&[f32]> = [params, momentum].into_iter().chain(deltas.iter().copied()).collect();
		Self::whole(exec, Plan::outer(model, train, count)?, Parameters::new(model, train, 0, 0)?, &vectors)
	}

	/// A trace of all stages.
	fn whole(exec: &Arc<Exec>, plan: Plan, parameters: Parameters, vectors: &[&[f32]]) -> Result<Self, TraceError> {
		let mut trace = Self::new(exec, plan, parameters, vectors.iter().map(|vector| Arc::new(vector.to_vec())).collect())?;
		trace.run(trace.plan.stages().len(), Arena::default(), 0);
		Ok(trace)
	}

	/// Tensor `slot` of all deltas.
	fn deltas(&self, slot: u32) -> Vec<&[f32]> {
		(0..self.plan.deltas()).filter_map(|delta| self.plan.delta_tensor(delta, slot)).map(|id| self.tensor(id)).collect()
	}

	/// Computes what a stage of such a job writes.
	pub(super) fn checkpoint_stage(&self, stage: &Stage, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
		let (exec, parameters) = (&self.exec, &self.parameters);
		match (stage.op, inputs, outputs) {
			(Op::Delta, &[start, end], [delta]) => exec.sub(start, end, delta),
			(Op::Mean, inputs, [mean]) => exec.mean(inputs, mean),
			(Op::TrimmedMean { trim }, inputs, [mean]) => exec.trimmed_mean(inputs, &[], trim as usize, mean),
			(Op::ClippedTrimmedMean { slot, trim }, &[factors], [mean]) => {
				exec.trimmed_mean(&self.deltas(slot), factors, trim as usize, mean);
			}
			(Op::DistanceSums(distance), inputs, [sums]) => {
				let factors = inputs.first().copied().unwrap_or_default();
				let vectors: Vec<&[f32]> = self.vectors.iter().skip(2).map(|vector| vector.as_slice()).collect();
				exec.distance_sums(&Measured { tiling: &self.plan.tiling(), vectors: &vectors, factors }, distance, sums);
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
				weights.copy_from_slice(&weighing.weigh(squares, weights.len(), factors));
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
