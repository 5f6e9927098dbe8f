//! Cross-entropy of next-token logits (rule 11).

use super::Lanes;
use crate::{
	math::{exp, ln},
	num::{from_order_key, order_key},
};

/// Stands for a target that does not count: its row has no loss and no gradient.
pub const NO_TARGET: u32 = u32::MAX;

/// For each target 1 if it counts, else 0.
pub fn count_targets(targets: &[u32], counts: &mut [f32]) {
	assert_eq!(targets.len(), counts.len(), "shape");
	for (count, &target) in counts.iter_mut().zip(targets) {
		*count = if target == NO_TARGET { 0.0 } else { 1.0 };
	}
}

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

/// Loss of each row: `(max + ln(sum)) - logits[target]`, +0 for [`NO_TARGET`].
///
/// # Panics
/// If a target is neither below `vocab` nor [`NO_TARGET`].
pub fn cross_entropy_loss(logits: &[f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], loss: &mut [f32]) {
	let rows = targets.len();
	assert!(logits.len() == rows * vocab && max.len() == rows && sum.len() == rows && loss.len() == rows, "shape");
	for (row, loss) in loss.iter_mut().enumerate() {
		if targets[row] == NO_TARGET {
			*loss = 0.0;
			continue;
		}
		let target = logits[row * vocab..(row + 1) * vocab][targets[row] as usize];
		*loss = (max[row] + ln(sum[row])) - target;
	}
}

/// Turns logits into their gradients in place: `(exp(logit - max) * (1 / sum) - onehot) * inv_n`, +0 in a row with [`NO_TARGET`].
///
/// `inv_n` is one by the number of targets in the batch that count: [`crate::schedule::reciprocal`] where all do, else
/// [`crate::schedule::reciprocal_count`].
///
/// # Panics
/// If a target is neither below `vocab` nor [`NO_TARGET`].
pub fn cross_entropy_backward(logits: &mut [f32], vocab: usize, targets: &[u32], max: &[f32], sum: &[f32], inv_n: f32) {
	let rows = targets.len();
	assert!(logits.len() == rows * vocab && max.len() == rows && sum.len() == rows, "shape");
	for (row, logits) in logits.chunks_exact_mut(vocab).enumerate() {
		if targets[row] == NO_TARGET {
			logits.fill(0.0);
			continue;
		}
		let inv = 1.0 / sum[row];
		let target = targets[row] as usize;
		assert!(target < vocab, "target");
		for (e, l) in logits.iter_mut().enumerate() {
			let p = exp(*l - max[row]) * inv;
			*l = (if e == target { p - 1.0 } else { p }) * inv_n;
		}
	}
}
