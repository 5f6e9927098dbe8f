//! Aggregation and the outer step, on SIMD registers and threads or on a device.

use super::{
	code::{decode_vector, CodeError},
	Exec,
};
use neuroshard_graph::{
	config::{Aggregator, Code, Compressed, Robust, TrainConfig},
	layout::ParamLayout,
	outer::{effective_trim, AggregateError, Way, Weighing},
};
use neuroshard_kernels::{
	scalar::add_assign,
	shape::{Distance, Measured, Tiling},
};

/// What is computed of deltas that others sent, in this machine's memory. Where a device fails, this machine's processor does what is left.
pub trait Deltas {
	/// See [`decode_vector`].
	///
	/// # Errors
	/// [`CodeError::Length`].
	fn decode(&self, code: Code, tiling: &Tiling, encoded: &[f32]) -> Result<Vec<f32>, CodeError>;
	/// See [`neuroshard_kernels::scalar::distance_sums`].
	fn distance_sums(&self, measured: &Measured<'_>, from: Distance, out: &mut [f32]);
	/// [`outer_step`] on the pseudo-gradient of `deltas`, which have the length of parameters and momentum.
	fn step(&self, deltas: &[&[f32]], combination: &Combination, state: [&mut [f32]; 2], step: OuterStep);
}

/// How deltas become a pseudo-gradient: see the functions in [`neuroshard_kernels::scalar`] of the same names.
#[derive(Clone, PartialEq, Debug)]
pub enum Combination {
	/// Mean.
	Mean,
	/// Trimmed mean.
	TrimmedMean {
		/// Of each delta, or nothing.
		factors: Vec<f32>,
		/// Values dropped at each end.
		trim: usize,
	},
	/// Weighted sum, with the weight of each.
	WeightedSum(Vec<f32>),
}

/// Numbers of an outer step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OuterStep {
	/// Learning rate.
	pub lr: f32,
	/// Decay of the momentum.
	pub beta: f32,
}

impl Deltas for Exec {
	fn decode(&self, code: Code, tiling: &Tiling, encoded: &[f32]) -> Result<Vec<f32>, CodeError> {
		decode_vector(code, self, tiling, encoded)
	}

	fn distance_sums(&self, measured: &Measured<'_>, from: Distance, out: &mut [f32]) {
		self.distance_sums(measured, from, out);
	}

	fn step(&self, deltas: &[&[f32]], combination: &Combination, [theta, momentum]: [&mut [f32]; 2], OuterStep { lr, beta }: OuterStep) {
		let mut gradient = vec![0.0; theta.len()];
		combine(self, deltas, combination, &mut gradient);
		self.nesterov(theta, momentum, &gradient, lr, beta);
	}
}

/// Whether each element of the pseudo-gradient of so many deltas follows from those at the same place alone, so that [`aggregate`] may be called for parts of
/// a vector, one after the other. Rules with distances or norms ask for whole deltas.
pub fn is_local(aggregator: Aggregator, deltas: u32) -> bool {
	match aggregator {
		Aggregator::Mean | Aggregator::TrimmedMean { .. } => true,
		Aggregator::Robust(robust) | Aggregator::Compressed(Compressed { robust, .. }) => {
			let by_place = match robust.way(deltas) {
				Way::Trimmed(_) => true,
				Way::Weighted(weighing) => weighing.distance().is_none(),
			};
			by_place && robust.clipping().is_none()
		}
	}
}

fn combine(exec: &Exec, deltas: &[&[f32]], combination: &Combination, out: &mut [f32]) {
	match combination {
		Combination::Mean => exec.mean(deltas, out),
		Combination::TrimmedMean { factors, trim } => exec.trimmed_mean(deltas, factors, *trim, out),
		Combination::WeightedSum(weights) => exec.weighted_sum(deltas, weights, out),
	}
}

/// The pseudo-gradient `out` of `deltas`, decoded and by account bytes ascending, which are vectors with the tensors of `tiling`. `steps` are the inner
/// steps behind each where deltas weigh by them, and none elsewhere.
///
/// # Errors
/// [`AggregateError`] for no delta, or lengths that differ.
pub fn aggregate(
	exec: &Exec,
	tiling: &Tiling,
	deltas: &[&[f32]],
	steps: &[u32],
	aggregator: Aggregator,
	out: &mut [f32],
) -> Result<(), AggregateError> {
	expect(tiling.len(), out.len())?;
	combine(exec, deltas, &combination(exec, tiling, deltas, steps, aggregator)?, out);
	Ok(())
}

fn expect(expected: usize, found: usize) -> Result<(), AggregateError> {
	if expected == found {
		Ok(())
	} else {
		Err(AggregateError::Length(expected, found))
	}
}

/// How `deltas` are combined; arguments and errors as those of [`aggregate`].
fn combination<D: Deltas>(
	compute: &D,
	tiling: &Tiling,
	deltas: &[&[f32]],
	steps: &[u32],
	aggregator: Aggregator,
) -> Result<Combination, AggregateError> {
	let bad_count = AggregateError::Count(deltas.len());
	let count = u32::try_from(deltas.len()).ok().filter(|&count| count > 0).ok_or(bad_count)?;
	deltas.iter().try_for_each(|delta| expect(tiling.len(), delta.len()))?;
	if steps.len() != if aggregator.weighs_steps() { deltas.len() } else { 0 } {
		return Err(AggregateError::Steps { steps: steps.len(), deltas: deltas.len() });
	}
	Ok(match aggregator {
		Aggregator::Mean => Combination::Mean,
		Aggregator::TrimmedMean { trim } => Combination::TrimmedMean { factors: Vec::new(), trim: effective_trim(trim, count) as usize },
		Aggregator::Robust(robust) | Aggregator::Compressed(Compressed { robust, .. }) => {
			Weights { compute, tiling, deltas, steps, factors: Vec::new() }.combination(&robust, count)
		}
	})
}

/// Deltas, and the factors that shorten them.
struct Weights<'a, D> {
	compute: &'a D,
	tiling: &'a Tiling,
	deltas: &'a [&'a [f32]],
	steps: &'a [u32],
	factors: Vec<f32>,
}

impl<D: Deltas> Weights<'_, D> {
	fn combination(mut self, robust: &Robust, count: u32) -> Combination {
		if let Some(clipping) = robust.clipping() {
			self.factors = self.weights(clipping);
		}
		match robust.way(count) {
			Way::Trimmed(trim) => Combination::TrimmedMean { trim: trim as usize, factors: self.factors },
			Way::Weighted(weighing) => Combination::WeightedSum(self.weights(weighing)),
		}
	}

	fn weights(&self, weighing: Weighing) -> Vec<f32> {
		let squares = weighing.distance().map_or(Vec::new(), |distance| self.squares(distance));
		weighing.weigh(&squares, self.deltas.len(), &self.factors, self.steps)
	}

	/// Squared distances.
	fn squares(&self, distance: Distance) -> Vec<f32> {
		let (rows, cols) = distance.block(self.deltas.len());
		let mut sums = vec![0.0; self.tiling.segments() * rows * cols];
		let measured = Measured { tiling: self.tiling, vectors: self.deltas, factors: &self.factors };
		self.compute.distance_sums(&measured, distance, &mut sums);
		let mut squares = vec![0.0; rows * cols];
		sums.chunks_exact(rows * cols).for_each(|block| add_assign(&mut squares, block));
		squares
	}
}

/// The outer Nesterov step on the pseudo-gradient `g`: `m <- beta m + g; theta <- theta - lr (beta m + g)`.
///
/// # Errors
/// [`AggregateError::Length`] for lengths that differ.
pub fn outer_step(exec: &Exec, theta: &mut [f32], momentum: &mut [f32], g: &[f32], lr: f32, beta: f32) -> Result<(), AggregateError> {
	let differs = [momentum.len(), g.len()].into_iter().find(|&len| len != theta.len());
	if let Some(len) = differs {
		return Err(AggregateError::Length(theta.len(), len));
	}
	exec.nesterov(theta, momentum, g, lr, beta);
	Ok(())
}

/// A whole outer step on a checkpoint's parameters and momentum: aggregation of `deltas`, decoded and by account bytes ascending, with the inner `steps`
/// behind each where deltas weigh by them, and the Nesterov step. Without deltas both stay as they are.
///
/// # Errors
/// [`AggregateError`] for too many deltas, or lengths that differ.
pub fn take_outer_step<D: Deltas>(
	compute: &D,
	layout: &ParamLayout,
	train: &TrainConfig,
	theta: &mut [f32],
	momentum: &mut [f32],
	deltas: &[Vec<f32>],
	steps: &[u32],
) -> Result<(), AggregateError> {
	if deltas.is_empty() {
		return Ok(());
	}
	let inputs: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
	expect(layout.len(), theta.len())?;
	expect(theta.len(), momentum.len())?;
	let combination = combination(compute, &layout.tiling(), &inputs, steps, train.aggregator)?;
	let step = OuterStep { lr: train.outer_lr.get(), beta: train.outer_beta.get() };
	compute.step(&inputs, &combination, [theta, momentum], step);
	Ok(())
}
