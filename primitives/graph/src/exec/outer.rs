//! Aggregation and the outer step on SIMD registers and threads, with the bits of [`crate::outer`].

use super::Exec;
use crate::{
	config::{Aggregator, TrainConfig},
	outer::{rule, same_length, AggregateError, Rule},
};
use alloc::{vec, vec::Vec};

/// As [`crate::outer::aggregate`].
///
/// # Errors
/// [`AggregateError`] for no delta, or lengths that differ.
pub fn aggregate(exec: &Exec, deltas: &[&[f32]], aggregator: Aggregator, out: &mut [f32]) -> Result<(), AggregateError> {
	match rule(deltas, aggregator, out.len())? {
		Rule::Mean => exec.mean(deltas, out),
		Rule::TrimmedMean(trim) => exec.trimmed_mean(deltas, trim, out),
	}
	Ok(())
}

/// As [`crate::outer::outer_step`].
///
/// # Errors
/// [`AggregateError::Length`] for lengths that differ.
pub fn outer_step(exec: &Exec, theta: &mut [f32], momentum: &mut [f32], g: &[f32], lr: f32, beta: f32) -> Result<(), AggregateError> {
	same_length(theta, momentum, g)?;
	exec.nesterov(theta, momentum, g, lr, beta);
	Ok(())
}

/// A whole outer step on a checkpoint's parameters and momentum: aggregation of `deltas`, by account bytes ascending, and the Nesterov step.
/// Without deltas both stay as they are.
///
/// # Errors
/// [`AggregateError`] for too many deltas, or lengths that differ.
pub fn take_outer_step(
	exec: &Exec,
	train: &TrainConfig,
	theta: &mut [f32],
	momentum: &mut [f32],
	deltas: &[Vec<f32>],
) -> Result<(), AggregateError> {
	if deltas.is_empty() {
		return Ok(());
	}
	let inputs: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
	let mut gradient = vec![0.0; theta.len()];
	aggregate(exec, &inputs, train.aggregator, &mut gradient)?;
	outer_step(exec, theta, momentum, &gradient, train.outer_lr.get(), train.outer_beta.get())
}
