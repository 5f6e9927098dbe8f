//! Aggregation and the outer step, on SIMD registers and threads or on a device.

use super::{
	code::{decode_vector, CodeError},
	Exec,
};
use neuroshard_graph::{
	config::{Aggregator, Code, Compressed, TrainConfig},
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
	deltas.iter().try_for_each(|delta| expect(tiling.len(), delta.len()))?;
	Combination::new(aggregator, deltas.len(), steps, |distance, factors| {
		let (rows, cols) = distance.block(deltas.len());
		let mut sums = vec![0.0; tiling.segments() * rows * cols];
		compute.distance_sums(&Measured { tiling, vectors: deltas, factors }, distance, &mut sums);
		let mut squares = vec![0.0; rows * cols];
		sums.chunks_exact(rows * cols).for_each(|block| add_assign(&mut squares, block));
		Ok(squares)
	})
}

impl Combination {
	/// How `count` deltas are combined, with the inner `steps` behind each where deltas weigh by them. `squares(distance, factors)` gives squared distances of
	/// the deltas, each shortened by its factor where there are factors: the sums over segments that [`Deltas::distance_sums`] gives, ascending. It is asked at most twice.
	///
	/// # Errors
	/// [`AggregateError`] for no delta or too many, or other steps; those of `squares`.
	pub fn new<E: From<AggregateError>>(
		aggregator: Aggregator,
		count: usize,
		steps: &[u32],
		mut squares: impl FnMut(Distance, &[f32]) -> Result<Vec<f32>, E>,
	) -> Result<Self, E> {
		let deltas = u32::try_from(count).ok().filter(|&deltas| deltas > 0).ok_or(AggregateError::Count(count))?;
		if steps.len() != if aggregator.weighs_steps() { count } else { 0 } {
			return Err(AggregateError::Steps { steps: steps.len(), deltas: count }.into());
		}
		let robust = match aggregator {
			Aggregator::Mean => return Ok(Self::Mean),
			Aggregator::TrimmedMean { trim } => {
				return Ok(Self::TrimmedMean { factors: Vec::new(), trim: effective_trim(trim, deltas) as usize });
			}
			Aggregator::Robust(robust) | Aggregator::Compressed(Compressed { robust, .. }) => robust,
		};
		let mut weights = |weighing: Weighing, factors: &[f32]| {
			let squares = weighing.distance().map_or(Ok(Vec::new()), |distance| squares(distance, factors))?;
			Ok::<_, E>(weighing.weigh(&squares, count, factors, steps))
		};
		let factors = robust.clipping().map_or(Ok(Vec::new()), |clipping| weights(clipping, &[]))?;
		Ok(match robust.way(deltas) {
			Way::Trimmed(trim) => Self::TrimmedMean { trim: trim as usize, factors },
			Way::Weighted(weighing) => Self::WeightedSum(weights(weighing, &factors)?),
		})
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
