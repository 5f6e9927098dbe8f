//! Jobs on whole checkpoints, which run block by block outside the arena: theta_0, a delta, aggregation and the outer step.

use super::{rows, whole, Builder, Plan, Vector, TILE};
use crate::{
	config::{Aggregator, Compressed, ConfigError, ModelConfig, Robust, TrainConfig},
	graph::{Access, Distance, Op, Place, TensorId},
	outer::{effective_trim, Way, Weighing},
	span::Span,
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
pub(super) fn delta(model: &ModelConfig, train: &TrainConfig) -> Result<Plan, ConfigError> {
	let mut builder = Builder::trained(model, train, Span::all(model))?;
	let (start, end) = (builder.vector(None)?, builder.vector(None)?);
	let Some(code) = train.code() else {
		let delta = builder.parameters(None)?;
		for ((start, end), &delta) in start.ids().zip(end.ids()).zip(&delta) {
			builder.stage(Op::Delta, rows([start, end]), &[delta])?;
		}
		builder.plan.results.push(delta);
		return Ok(builder.finish());
	};
	let residual = code.decay().map(|_| builder.vector(None)).transpose()?;
	let code_rows = builder.coded(code, 0, true)?;
	let encoded = builder.tensor(code_rows, TILE, Place::External)?;
	builder.stage(Op::Encode(code), [], &[encoded])?;
	builder.plan.results.push(alloc::vec![encoded]);
	if let Some(residual) = residual {
		let after = builder.parameters(None)?;
		for (((start, end), before), &after) in start.ids().zip(end.ids()).zip(residual.ids()).zip(&after) {
			builder.stage(Op::Residual(code), rows([start, end, before]), &[after])?;
		}
		builder.plan.results.push(after);
	}
	Ok(builder.finish())
}

/// See [`Plan::outer`].
pub(super) fn outer(model: &ModelConfig, train: &TrainConfig, deltas: u32) -> Result<Plan, ConfigError> {
	if deltas == 0 || deltas > train.aggregator.most_deltas() {
		return Err(ConfigError::TooLarge);
	}
	let mut builder = Builder::trained(model, train, Span::all(model))?;
	let (theta, momentum) = (builder.vector(None)?, builder.vector(None)?);
	let given = match train.code() {
		None => (0..deltas).map(|_| builder.vector(None)).collect::<Result<Vec<_>, _>>()?,
		Some(code) => {
			builder.coded(code, deltas, false)?;
			Vec::new()
		}
	};
	let aggregation = Aggregation { deltas: given, count: deltas };
	let last = match train.aggregator {
		Aggregator::Mean => Last::Listed(Op::Mean),
		Aggregator::TrimmedMean { trim } => Last::Listed(Op::TrimmedMean { trim: effective_trim(trim, deltas) }),
		Aggregator::Robust(robust) | Aggregator::Compressed(Compressed { robust, .. }) => aggregation.robust(&mut builder, &robust)?,
	};
	let gradient = builder.parameters(None)?;
	let (mut new_theta, mut new_momentum) = (Vec::new(), Vec::new());
	for (index, ((theta, momentum), &gradient)) in theta.ids().zip(momentum.ids()).zip(&gradient).enumerate() {
		aggregation.stage(&mut builder, &last, index, gradient)?;
		let outputs = [builder.in_place(theta)?, builder.in_place(momentum)?];
		builder.stage(Op::Nesterov, rows([theta, momentum, gradient]), &outputs)?;
		let [theta, momentum] = outputs;
		new_theta.push(theta);
		new_momentum.push(momentum);
	}
	builder.plan.results = alloc::vec![gradient, new_theta, new_momentum];
	Ok(builder.finish())
}

/// What makes the pseudo-gradient of the deltas, tensor by tensor.
enum Last {
	/// An operator whose inputs are the deltas.
	Listed(Op),
	/// The mean without so many values at each end, of deltas that are not listed and which these factors shorten.
	Trimmed(u32, Option<TensorId>),
	/// A sum with these weights.
	Weighted(TensorId),
}

/// The deltas of an outer step.
struct Aggregation {
	deltas: Vec<Vector>,
	count: u32,
}

impl Aggregation {
	/// The stages before those of the pseudo-gradient.
	fn robust(&self, builder: &mut Builder, robust: &Robust) -> Result<Last, ConfigError> {
		let factors = robust.clipping().map(|clipping| self.weights(builder, clipping, None)).transpose()?;
		Ok(match (robust.way(self.count), factors) {
			(Way::Trimmed(trim), None) if builder.plan.coded.is_none() => Last::Listed(Op::TrimmedMean { trim }),
			(Way::Trimmed(trim), factors) => Last::Trimmed(trim, factors),
			(Way::Weighted(weighing), factors) => Last::Weighted(self.weights(builder, weighing, factors)?),
		})
	}

	/// The stage that writes `output`, tensor `index` of the pseudo-gradient.
	fn stage(&self, builder: &mut Builder, last: &Last, index: usize, output: TensorId) -> Result<(), ConfigError> {
		let slot = u32::try_from(index).map_err(|_| ConfigError::TooLarge)?;
		match *last {
			Last::Listed(op) => {
				let inputs = self.deltas.iter().filter_map(|delta| delta.get(index)).map(|delta| (delta, Access::SameRows));
				builder.stage(op, inputs, &[output])
			}
			Last::Trimmed(trim, factors) => {
				let inputs = factors.into_iter().flat_map(|factors| whole([factors]));
				builder.stage(Op::ClippedTrimmedMean { slot, trim }, inputs, &[output])
			}
			Last::Weighted(weights) => builder.stage(Op::WeightedSum { slot }, whole([weights]), &[output]),
		}
	}

	/// The stages that weigh the deltas, which `factors` shorten.
	fn weights(&self, builder: &mut Builder, weighing: Weighing, factors: Option<TensorId>) -> Result<TensorId, ConfigError> {
		let squares = weighing.distance().map(|distance| self.squares(builder, distance, factors)).transpose()?;
		let weights = builder.tensor(1, self.count, Place::External)?;
		builder.stage(Op::Weights(weighing), squares.into_iter().chain(factors).flat_map(|tensor| whole([tensor])), &[weights])?;
		Ok(weights)
	}

	fn squares(&self, builder: &mut Builder, distance: Distance, factors: Option<TensorId>) -> Result<TensorId, ConfigError> {
		let cols = self.count.next_multiple_of(TILE);
		let rows = match distance {
			Distance::Pairs => cols,
			Distance::Norms => TILE,
		};
		let sums = builder.tensor(builder.plan.segments().checked_mul(rows).ok_or(ConfigError::TooLarge)?, cols, Place::External)?;
		builder.stage(Op::DistanceSums(distance), factors.into_iter().flat_map(|factors| whole([factors])), &[sums])?;
		let squares = builder.tensor(rows, cols, Place::External)?;
		builder.stage(Op::Distances(distance), whole([sums]), &[squares])?;
		Ok(squares)
	}
}
