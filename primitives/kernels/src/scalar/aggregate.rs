//! Aggregators of pseudo-gradients. The caller orders the inputs: providers by account bytes, ascending.

use crate::num::{from_order_key, order_key};
use alloc::vec::Vec;

/// `out = (x_0 + x_1 + ...) / n`, added in ascending order from +0.
///
/// # Panics
/// If there is no input.
pub fn mean(inputs: &[&[f32]], out: &mut [f32]) {
	assert!(!inputs.is_empty() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
	let n = inputs.len() as f32;
	for (i, out) in out.iter_mut().enumerate() {
		let mut sum = 0.0;
		for x in inputs {
			sum += x[i];
		}
		*out = sum / n;
	}
}

/// Per coordinate: sorts the canonical values by the total order, drops `trim` at each end, and takes the mean of the rest, added in ascending order.
///
/// # Panics
/// If `2 * trim` is not below the number of inputs.
pub fn trimmed_mean(inputs: &[&[f32]], trim: usize, out: &mut [f32]) {
	assert!(2 * trim < inputs.len() && inputs.iter().all(|x| x.len() == out.len()), "inputs");
	let n = (inputs.len() - 2 * trim) as f32;
	let mut keys = Vec::with_capacity(inputs.len());
	for (i, out) in out.iter_mut().enumerate() {
		keys.clear();
		keys.extend(inputs.iter().map(|x| order_key(x[i])));
		keys.sort_unstable();
		let mut sum = 0.0;
		for &key in &keys[trim..inputs.len() - trim] {
			sum += from_order_key(key);
		}
		*out = sum / n;
	}
}
