//! Jobs on whole checkpoints, which run block by block outside the arena: theta_0, a delta, aggregation and the outer step.

use super::{rows, Builder, Plan};
use crate::{
	config::{Aggregator, ConfigError, ModelConfig, TrainConfig},
	graph::{Access, Op, TensorId},
	layout::ParamLayout,
	outer::effective_trim,
};
use alloc::vec::Vec;

/// See [`Plan::init`].
pub(super) fn init(model: &ModelConfig) -> Result<Plan, ConfigError> {
	let mut builder = Builder::new();
	for theta in builder.parameters(&ParamLayout::new(model)?, None)? {
		builder.stage(Op::Init, Vec::new(), &[theta])?;
	}
	Ok(builder.finish())
}

/// See [`Plan::delta`].
pub(super) fn delta(model: &ModelConfig) -> Result<Plan, ConfigError> {
	let layout = ParamLayout::new(model)?;
	let mut builder = Builder::new();
	let start = builder.parameters(&layout, None)?;
	let end = builder.parameters(&layout, None)?;
	let delta = builder.parameters(&layout, None)?;
	for ((&start, &end), &delta) in start.iter().zip(&end).zip(&delta) {
		builder.stage(Op::Delta, rows([start, end]), &[delta])?;
	}
	builder.plan.results.push(delta);
	Ok(builder.finish())
}

/// See [`Plan::outer`].
pub(super) fn outer(model: &ModelConfig, train: &TrainConfig, deltas: u32) -> Result<Plan, ConfigError> {
	if deltas == 0 {
		return Err(ConfigError::TooLarge);
	}
	let op = match train.aggregator {
		Aggregator::Mean => Op::Mean,
		Aggregator::TrimmedMean { trim } => Op::TrimmedMean { trim: effective_trim(trim, deltas) },
	};
	let layout = ParamLayout::new(model)?;
	let mut builder = Builder::new();
	let theta = builder.parameters(&layout, None)?;
	let momentum = builder.parameters(&layout, None)?;
	let deltas = (0..deltas).map(|_| builder.parameters(&layout, None)).collect::<Result<Vec<_>, _>>()?;
	let gradient = builder.parameters(&layout, None)?;
	let (mut new_theta, mut new_momentum) = (Vec::new(), Vec::new());
	for (index, ((&theta, &momentum), &gradient)) in theta.iter().zip(&momentum).zip(&gradient).enumerate() {
		let inputs: Vec<(TensorId, Access)> =
			deltas.iter().filter_map(|delta| delta.get(index)).map(|&delta| (delta, Access::SameRows)).collect();
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
