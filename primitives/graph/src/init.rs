//! Initial parameters, theta_0, from a run's seed.
//!
//! Tensor `i` of the layout has its own ChaCha20 stream, keyed by `Blake2-256("neuroshard/init/1" | seed | i)`. Two 32-bit
//! words of it (little-endian) give two consecutive values by [`normal_pair`], times the standard deviation.

use crate::{
	config::ModelConfig,
	layout::{ParamKind, ParamLayout, ParamTensor},
	merkle::{blake2_256, Hash},
};
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{math::normal_pair, num::sqrt};
use rand_chacha::{
	rand_core::{RngCore, SeedableRng},
	ChaCha20Rng,
};

/// Standard deviation of embeddings and linear maps.
const STD: f32 = 0.02;

/// The parameters that round 0 of a run with `seed` starts from: normal with standard deviation 0.02, for outputs to the
/// residual stream 0.02 / sqrt(2 layers); RMSNorm scales are 1, biases 0. Of an adapter A is normal with standard deviation 0.02, and B 0: it
/// changes nothing at first.
///
/// `layout` is that of what is trained.
pub fn theta_0(model: &ModelConfig, layout: &ParamLayout, seed: &[u8; 32]) -> Vec<f32> {
	let mut theta = vec![0.0; layout.len()];
	for (index, tensor) in (0u32..).zip(layout.tensors()) {
		fill_first(model, (index, tensor), seed, &mut theta[tensor.range()]);
	}
	theta
}

/// Initial values of one tensor, number `index` of what is trained, in `values`, which are zeros: as [`theta_0`] has them.
pub fn fill_first(model: &ModelConfig, (index, tensor): (u32, &ParamTensor), seed: &[u8; 32], values: &mut [f32]) {
	// A model has fewer than 2^21 layers, since each has 1,024 parameters or more: the conversion is exact.
	let residual_std = STD / sqrt((2 * model.layers) as f32);
	match tensor.kind {
		ParamKind::Norm => values.fill(1.0),
		ParamKind::Bias | ParamKind::AdapterOut | ParamKind::Code => {}
		ParamKind::ResidualLinear => fill(values, key(seed, index), residual_std),
		ParamKind::Embedding | ParamKind::Linear | ParamKind::Head | ParamKind::AdapterIn => fill(values, key(seed, index), STD),
	}
}

fn key(seed: &[u8; 32], index: u32) -> Hash {
	blake2_256(&[&b"neuroshard/init/1"[..], seed, &index.to_le_bytes()].concat())
}

/// `values` has an even length, like every tensor.
fn fill(values: &mut [f32], key: Hash, std: f32) {
	let mut random = ChaCha20Rng::from_seed(key);
	for pair in values.chunks_exact_mut(2) {
		let (first, second) = (random.next_u32(), random.next_u32());
		let (a, b) = normal_pair(first, second);
		pair.copy_from_slice(&[a * std, b * std]);
	}
}
