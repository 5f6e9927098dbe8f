//! Aggregation of deltas and DiLoCo's outer step.

use crate::config::Aggregator;
use neuroshard_kernels::scalar;

/// Values dropped at each end when `deltas` arrive and the configuration says `trim`: at most `(deltas - 1) / 2`.
pub fn effective_trim(trim: u16, deltas: u32) -> u32 {
	u32::from(trim).min(deltas.saturating_sub(1) / 2)
}

/// Why a set of deltas cannot be aggregated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AggregateError {
	/// There is no delta, or more than the protocol has participants.
	#[error("{0} deltas cannot be aggregated")]
	Count(usize),
	/// Deltas, result, parameters or momentum differ in length.
	#[error("vectors of different lengths: {0} and {1}")]
	Length(usize, usize),
}

/// What is computed for `count` deltas: the mean, or the trimmed mean with this many values dropped at each end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
	Mean,
	TrimmedMean(usize),
}

/// The rule for `deltas` and a result of `len` elements.
pub(crate) fn rule(deltas: &[&[f32]], aggregator: Aggregator, len: usize) -> Result<Rule, AggregateError> {
	let bad_count = AggregateError::Count(deltas.len());
	let count = u32::try_from(deltas.len()).ok().filter(|&count| count > 0).ok_or(bad_count)?;
	if let Some(delta) = deltas.iter().find(|delta| delta.len() != len) {
		return Err(AggregateError::Length(len, delta.len()));
	}
	Ok(match aggregator {
		Aggregator::Mean => Rule::Mean,
		Aggregator::TrimmedMean { trim } => Rule::TrimmedMean(usize::try_from(effective_trim(trim, count)).map_err(|_| bad_count)?),
	})
}

/// Whether parameters, momentum and pseudo-gradient have one length.
pub(crate) fn same_length(theta: &[f32], momentum: &[f32], g: &[f32]) -> Result<(), AggregateError> {
	let differs = [momentum.len(), g.len()].into_iter().find(|&len| len != theta.len());
	differs.map_or(Ok(()), |len| Err(AggregateError::Length(theta.len(), len)))
}

/// The pseudo-gradient of one block: `deltas` are the same elements of each included delta, by account bytes ascending.
///
/// Blocks are independent: any number of elements at a time gives the same bits. `exec::aggregate` does the same
/// on all cores.
///
/// # Errors
/// [`AggregateError`] for no delta, or lengths that differ.
pub fn aggregate(deltas: &[&[f32]], aggregator: Aggregator, out: &mut [f32]) -> Result<(), AggregateError> {
	match rule(deltas, aggregator, out.len())? {
		Rule::Mean => scalar::mean(deltas, out),
		Rule::TrimmedMean(trim) => scalar::trimmed_mean(deltas, trim, out),
	}
	Ok(())
}

/// One block of the outer Nesterov step on the pseudo-gradient `g`: `m <- beta m + g; theta <- theta - lr (beta m + g)`.
/// `exec::outer_step` does the same on all cores.
///
/// # Errors
/// [`AggregateError::Length`] for lengths that differ.
pub fn outer_step(theta: &mut [f32], momentum: &mut [f32], g: &[f32], lr: f32, beta: f32) -> Result<(), AggregateError> {
	same_length(theta, momentum, g)?;
	scalar::nesterov(theta, momentum, g, lr, beta);
	Ok(())
}
