//! Cross-entropy of next-token logits (rule 11).

use super::Lanes;
use crate::{
	math::{exp, ln},
	num::{from_order_key, order_key},
};

/// For each row of `logits` `[rows, vocab]`: its maximum in the total order, and the sum by lanes of `exp(logit - max)`.
pub fn cross_entropy_stats(logits: &[f32], vocab: usize, max: &mut [f32], sum: &mut [f32]) {
	assert!(logits.len() == max.len() * vocab && sum.len() == max.len(), "shape");
	for ((logits, max), sum) in logits.chunks_exact(vocab).zip(max).zip(sum) {
		*max = from_order_key(logits.iter().map(|&l| order_key(l)).max().unwrap_or(i32::MIN));
		let mut lanes = Lanes::default();
		for (e, &l) in logits.iter().enumerate() {
			lanes.add(e, exp(l - *max));
		}
		*sum = lanes.finish();
	}
}

/// Loss of each row: `(max + ln(sum)) - logits[target]`.
///
/// # Panics
/// If a target is not below `vocab`.
pub fn cross_entropy_loss(logits: &[f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], loss: &mut [f32]) {
	let rows = targets.len();
	assert!(logits.len() == rows * vocab && max.len() == rows && sum.len() == rows && loss.len() == rows, "shape");
	for (row, loss) in loss.iter_mut().enumerate() {
		let target = logits[row * vocab..(row + 1) * vocab][targets[row] as usize];
		*loss = (max[row] + ln(sum[row])) - target;
	}
}

/// Turns logits into their gradients in place: `(exp(logit - max) * (1 / sum) - onehot) * inv_n`.
///
/// `inv_n` is [`crate::schedule::reciprocal`] of the number of tokens in the batch.
///
/// # Panics
/// If a target is not below `vocab`.
pub fn cross_entropy_backward(logits: &mut [f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], inv_n: f32) {
	let rows = targets.len();
	assert!(logits.len() == rows * vocab && max.len() == rows && sum.len() == rows, "shape");
	for (row, logits) in logits.chunks_exact_mut(vocab).enumerate() {
		let inv = 1.0 / sum[row];
		let target = targets[row] as usize;
		assert!(target < vocab, "target");
		for (e, l) in logits.iter_mut().enumerate() {
			let p = exp(*l - max[row]) * inv;
			*l = (if e == target { p - 1.0 } else { p }) * inv_n;
		}
	}
}
