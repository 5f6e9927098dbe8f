//! Aggregation and the outer step on SIMD registers and threads.

use super::Exec;
use neuroshard_graph::{
	config::{Aggregator, Compressed, Robust, TrainConfig},
	layout::ParamLayout,
	outer::{effective_trim, AggregateError, Way, Weighing},
};
use neuroshard_kernels::{
	scalar::add_assign,
	shape::{Distance, Measured, Tiling},
};

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
	let bad_count = AggregateError::Count(deltas.len());
	let count = u32::try_from(deltas.len()).ok().filter(|&count| count > 0).ok_or(bad_count)?;
	let lengths = deltas.iter().map(|delta| delta.len()).chain([out.len()]);
	if let Some(other) = lengths.into_iter().find(|&len| len != tiling.len()) {
		return Err(AggregateError::Length(tiling.len(), other));
	}
	if steps.len() != if aggregator.weighs_steps() { deltas.len() } else { 0 } {
		return Err(AggregateError::Steps { steps: steps.len(), deltas: deltas.len() });
	}
	match aggregator {
		Aggregator::Mean => exec.mean(deltas, out),
		Aggregator::TrimmedMean { trim } => exec.trimmed_mean(deltas, &[], effective_trim(trim, count) as usize, out),
		Aggregator::Robust(robust) | Aggregator::Compressed(Compressed { robust, .. }) => {
			Aggregation { exec, tiling, deltas, steps, factors: Vec::new() }.run(&robust, count, out)
		}
	}
	Ok(())
}

/// Deltas, and the factors that shorten them.
struct Aggregation<'a> {
	exec: &'a Exec,
	tiling: &'a Tiling,
	deltas: &'a [&'a [f32]],
	steps: &'a [u32],
	factors: Vec<f32>,
}

impl Aggregation<'_> {
	fn run(mut self, robust: &Robust, count: u32, out: &mut [f32]) {
		if let Some(clipping) = robust.clipping() {
			self.factors = self.weights(clipping);
		}
		match robust.way(count) {
			Way::Trimmed(trim) => self.exec.trimmed_mean(self.deltas, &self.factors, trim as usize, out),
			Way::Weighted(weighing) => self.exec.weighted_sum(self.deltas, &self.weights(weighing), out),
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
		self.exec.distance_sums(&measured, distance, &mut sums);
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
pub fn take_outer_step(
	exec: &Exec,
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
	let mut gradient = vec![0.0; theta.len()];
	aggregate(exec, &layout.tiling(), &inputs, steps, train.aggregator, &mut gradient)?;
	outer_step(exec, theta, momentum, &gradient, train.outer_lr.get(), train.outer_beta.get())
}
