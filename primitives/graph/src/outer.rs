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

/// The pseudo-gradient of one block: `deltas` are the same elements of each included delta, by account bytes ascending.
///
/// Blocks are independent, so that any number of elements at a time gives the same bits.
///
/// # Errors
/// [`AggregateError`] for no delta, or lengths that differ.
pub fn aggregate(deltas: &[&[f32]], aggregator: Aggregator, out: &mut [f32]) -> Result<(), AggregateError> {
	let count = u32::try_from(deltas.len()).ok().filter(|&count| count > 0).ok_or(AggregateError::Count(deltas.len()))?;
	if let Some(delta) = deltas.iter().find(|delta| delta.len() != out.len()) {
		return Err(AggregateError::Length(out.len(), delta.len()));
	}
	match aggregator {
		Aggregator::Mean => scalar::mean(deltas, out),
		Aggregator::TrimmedMean { trim } => {
			let trim = usize::try_from(effective_trim(trim, count)).map_err(|_| AggregateError::Count(deltas.len()))?;
			scalar::trimmed_mean(deltas, trim, out)
		}
	}
	Ok(())
}

/// One block of the outer Nesterov step on the pseudo-gradient `g`: `m <- beta m + g; theta <- theta - lr (beta m + g)`.
///
/// # Errors
/// [`AggregateError::Length`] for lengths that differ.
pub fn outer_step(theta: &mut [f32], momentum: &mut [f32], g: &[f32], lr: f32, beta: f32) -> Result<(), AggregateError> {
	for len in [momentum.len(), g.len()] {
		if len != theta.len() {
			return Err(AggregateError::Length(theta.len(), len));
		}
	}
	scalar::nesterov(theta, momentum, g, lr, beta);
	Ok(())
}
