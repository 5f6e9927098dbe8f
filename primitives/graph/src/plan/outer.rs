//! Jobs on whole checkpoints, which run block by block outside the arena: theta_0, a delta, aggregation and the outer step.

use super::{rows, Builder, Plan, MAX_DELTAS};
use crate::{
	config::{Aggregator, ConfigError, ModelConfig, TrainConfig},
	graph::{Access, Op},
	outer::effective_trim,
};
use alloc::vec::Vec;

/// See [`Plan::init`].
pub(super) fn init(model: &ModelConfig) -> Result<Plan, ConfigError> {
	let mut builder = Builder::new(model)?;
	for theta in builder.parameters(None)? {
		builder.stage(Op::Init, [], &[theta])?;
	}
	Ok(builder.finish())
}

/// See [`Plan::delta`].
pub(super) fn delta(model: &ModelConfig) -> Result<Plan, ConfigError> {
	let mut builder = Builder::new(model)?;
	let (start, end) = (builder.vector(None)?, builder.vector(None)?);
	let delta = builder.parameters(None)?;
	for ((start, end), &delta) in start.ids().zip(end.ids()).zip(&delta) {
		builder.stage(Op::Delta, rows([start, end]), &[delta])?;
	}
	builder.plan.results.push(delta);
	Ok(builder.finish())
}

/// See [`Plan::outer`].
pub(super) fn outer(model: &ModelConfig, train: &TrainConfig, deltas: u32) -> Result<Plan, ConfigError> {
	if deltas == 0 || deltas > MAX_DELTAS {
		return Err(ConfigError::TooLarge);
	}
	let op = match train.aggregator {
		Aggregator::Mean => Op::Mean,
		Aggregator::TrimmedMean { trim } => Op::TrimmedMean { trim: effective_trim(trim, deltas) },
	};
	let mut builder = Builder::new(model)?;
	let (theta, momentum) = (builder.vector(None)?, builder.vector(None)?);
	let deltas = (0..deltas).map(|_| builder.vector(None)).collect::<Result<Vec<_>, _>>()?;
	let gradient = builder.parameters(None)?;
	let (mut new_theta, mut new_momentum) = (Vec::new(), Vec::new());
	for (index, ((theta, momentum), &gradient)) in theta.ids().zip(momentum.ids()).zip(&gradient).enumerate() {
		let inputs = deltas.iter().filter_map(|delta| delta.get(index)).map(|delta| (delta, Access::SameRows));
		builder.stage(op, inputs, &[gradient])?;
		let outputs = [builder.in_place(theta)?, builder.in_place(momentum)?];
		builder.stage(Op::Nesterov, rows([theta, momentum, gradient]), &outputs)?;
		let [theta, momentum] = outputs;
		new_theta.push(theta);
		new_momentum.push(momentum);
	}
	builder.plan.results = alloc::vec![gradient, new_theta, new_momentum];
	Ok(builder.finish())
}
