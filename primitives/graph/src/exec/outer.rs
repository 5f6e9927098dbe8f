//! Aggregation and the outer step on SIMD registers and threads, with the bits of [`crate::outer`].

use super::Exec;
use crate::{
	config::Aggregator,
	outer::{rule, same_length, AggregateError, Rule},
};

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
