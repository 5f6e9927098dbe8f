//! Claims of workers: work that is made up, and whose tiles hold one number each, so that whatever a dispute asks for can be answered.
//!
//! Parameters are all zeros (all ones in a false checkpoint), moments and momentum too, until the last inner step makes the parameters of each
//! participant a number of its own. What is proven false or right about that is up to the arithmetic.

use codec::Encode;
use neuroshard_graph::{
	commit::{checkpoint_root, state_root},
	merkle::{blake2_256, uniform_root, Hash},
	plan::Plan,
	resume::NUMBERS,
	tiles::{bytes_of, leaf_hash},
};
use neuroshard_types::{run::Work, AccountId, ModelConfig, RoundIndex, RunId, TrainConfig, H256};
use pallet_neuro_training::expected::delta_bytes;
use std::sync::OnceLock;

pub fn model() -> ModelConfig {
	ModelConfig { vocab: 288, ..ModelConfig::tiny() }
}

pub fn train() -> TrainConfig {
	TrainConfig { validation_sequences: 2, ..TrainConfig::tiny() }
}

/// Hash of a tile full of a number.
pub fn tile(value: f32) -> Hash {
	leaf_hash(&bytes_of(&[value; NUMBERS]))
}

/// Root of a vector full of a number: parameters, moments, momentum, a delta.
pub fn vector(value: f32) -> Hash {
	static TILES: OnceLock<u32> = OnceLock::new();
	uniform_root(tile(value), *TILES.get_or_init(|| Plan::delta(&model(), &train()).expect("a plan").vector_len()))
}

/// Root of a checkpoint that `round` starts from.
pub fn checkpoint(value: f32, round: RoundIndex) -> H256 {
	let steps = u64::from(round) * u64::from(train().inner_steps);
	H256(checkpoint_root(&vector(value), &vector(0.0), round, steps))
}

/// Root of a state after so many inner steps.
pub fn state(value: f32, steps: u32) -> Hash {
	let zeros = vector(0.0);
	state_root(&vector(value), &zeros, &zeros, steps, u64::from(steps) * u64::from(train().batch))
}

/// The parameters of the checkpoint that `round` starts from.
pub fn start(root: H256, round: RoundIndex) -> f32 {
	if root == checkpoint(1.0, round) {
		1.0
	} else {
		0.0
	}
}

/// Returns the number in a participant's parameters after the last inner step, and the one in its delta from the start: every third one lies.
pub fn end_and_delta(who: &AccountId, run: RunId, round: RoundIndex, start: f32) -> (f32, f32) {
	let [low, high, lie, ..] = blake2_256(&(who, run, round).encode());
	// A multiple of 2^-17, so that differences are exact.
	let end = f32::from(u16::from_le_bytes([low, high])) / 131_072.0;
	let delta = start - end;
	(end, if lie.is_multiple_of(3) { delta + 4.0 } else { delta })
}

/// The work of a participant.
pub fn work(who: &AccountId, run: RunId, round: RoundIndex, from: H256) -> Work {
	let (train, first) = (train(), start(from, round));
	let (end, delta) = end_and_delta(who, run, round, first);
	let steps = (1..=train.inner_steps).filter(|steps| train.commits_after(*steps));
	let roots: Vec<H256> = steps.map(|steps| H256(state(if steps == train.inner_steps { end } else { first }, steps))).collect();
	Work {
		state_roots: roots.try_into().expect("few roots"),
		delta_root: H256(vector(delta)),
		delta_bytes: delta_bytes(&model(), &train),
		tokens: train.tokens_per_round(),
	}
}

/// All numbers that tiles of claims of a run can be full of.
pub fn numbers(run: RunId) -> Vec<f32> {
	let records = pallet_neuro_training::Records::<neuroshard_runtime::Runtime>::iter_prefix(run);
	let claimed = records.flat_map(|(round, record)| {
		let first = start(record.start, round);
		let of = move |account| end_and_delta(&account, run, round, first);
		record.places.into_iter().map(|place| place.account).map(of).flat_map(|(end, delta)| [end, delta])
	});
	[0.0, 1.0, 2.0].into_iter().chain(claimed).collect()
}
