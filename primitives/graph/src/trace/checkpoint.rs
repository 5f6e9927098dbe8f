//! Traces of jobs on whole checkpoints.

use super::{step::TraceError, Trace};
use crate::{
	config::{ConfigError, ModelConfig, TrainConfig},
	exec::Exec,
	graph::{Op, Stage},
	plan::Plan,
	resume::Parameters,
};
use alloc::{sync::Arc, vec, vec::Vec};

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
		trace.run(trace.plan.stages().len());
		Ok(trace)
	}

	/// What a stage of such a job writes.
	pub(super) fn checkpoint_stage(&self, stage: &Stage) -> Vec<Vec<f32>> {
		let inputs: Vec<&[f32]> = self.plan.inputs(stage).iter().map(|&(id, _)| self.tensor(id)).collect();
		let (exec, parameters) = (&self.exec, &self.parameters);
		match (stage.op, inputs.as_slice()) {
			(Op::Delta, &[start, end]) => {
				let mut delta = vec![0.0; start.len()];
				exec.sub(start, end, &mut delta);
				vec![delta]
			}
			(Op::Mean, [first, ..]) => {
				let mut mean = vec![0.0; first.len()];
				exec.mean(&inputs, &mut mean);
				vec![mean]
			}
			(Op::TrimmedMean { trim }, [first, ..]) => {
				let mut mean = vec![0.0; first.len()];
				exec.trimmed_mean(&inputs, trim as usize, &mut mean);
				vec![mean]
			}
			(Op::Nesterov, &[theta, momentum, gradient]) => {
				let (mut theta, mut momentum) = (theta.to_vec(), momentum.to_vec());
				exec.nesterov(&mut theta, &mut momentum, gradient, parameters.outer_lr, parameters.outer_beta);
				vec![theta, momentum]
			}
			// Those of training steps.
			_ => Vec::new(),
		}
	}
}
