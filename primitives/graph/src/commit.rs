//! What workers commit to on chain.
//!
//! Every commitment hashes a domain string, then roots and little-endian numbers of fixed width, so that no two kinds or
//! contents share a preimage.

use crate::{
	config::{ConfigError, ModelConfig, TrainConfig},
	init::theta_0,
	layout::ParamLayout,
	merkle::{blake2_256, merkle_root, Hash},
	tiles::tile_hashes,
};
use alloc::vec;

/// Blake2-256 of the concatenated `parts`.
fn digest(parts: &[&[u8]]) -> Hash {
	blake2_256(&parts.concat())
}

/// Merkle root over the tiles of a flat vector: parameters, moments, momentum or a delta.
///
/// # Panics
/// If `values` is shorter than the layout.
pub fn tensors_root(layout: &ParamLayout, values: &[f32], threads: usize) -> Hash {
	merkle_root(&tile_hashes(layout, values, threads))
}

/// Root of an inner state after `step` inner steps of a round, with `cursor` sequences of the participant's windows read.
pub fn state_root(params: &Hash, first_moment: &Hash, second_moment: &Hash, step: u32, cursor: u64) -> Hash {
	digest(&[b"neuroshard/state/1", params, first_moment, second_moment, &step.to_le_bytes(), &cursor.to_le_bytes()])
}

/// Root of the checkpoint that round `round` starts from, after `adopted_steps` adopted inner steps.
pub fn checkpoint_root(params: &Hash, outer_momentum: &Hash, round: u32, adopted_steps: u64) -> Hash {
	digest(&[b"neuroshard/checkpoint/1", params, outer_momentum, &round.to_le_bytes(), &adopted_steps.to_le_bytes()])
}

/// Checkpoint root of round 0: theta_0 from the run's seed, and zero momentum.
///
/// # Errors
/// Those of [`TrainConfig::validate`].
pub fn genesis_root(model: &ModelConfig, train: &TrainConfig, threads: usize) -> Result<Hash, ConfigError> {
	train.validate(model)?;
	let layout = ParamLayout::trained(model, train)?;
	let params = tensors_root(&layout, &theta_0(model, &layout, &train.seed), threads);
	let momentum = tensors_root(&layout, &vec![0.0; layout.len()], threads);
	Ok(checkpoint_root(&params, &momentum, 0, 0))
}
