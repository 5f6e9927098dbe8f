//! Assignment of training windows to participants: drawn without replacement across all participants of a round.
//!
//! The windows of a dataset are numbered 0..N. A round's seed keys a permutation of 0..N; participant `p`, inner step
//! `s`, sequence `b` reads window `permutation((p * H + s) * B + b)`. Chain and worker share this code.

use crate::{dataset::DatasetShape, AccountId, H256};
use alloc::vec::Vec;
pub use neuroshard_graph::corpus::Window;
use neuroshard_graph::merkle::blake2_256;

/// Windows of `seq_len` tokens (plus one target) in one shard.
pub fn windows_per_shard(shape: &DatasetShape, seq_len: u32) -> u64 {
	match seq_len {
		0 => 0,
		_ => u64::from(shape.tokens_per_shard.saturating_sub(1) / seq_len),
	}
}

/// Windows that may be assigned for training: those of the shards that are not held out.
pub fn training_windows(shape: &DatasetShape, seq_len: u32) -> u64 {
	u64::from(shape.shard_count.saturating_sub(shape.held_out)) * windows_per_shard(shape, seq_len)
}

/// Window `index` of the training shards; `None` at or beyond [`training_windows`].
pub fn training_window(shape: &DatasetShape, seq_len: u32, index: u64) -> Option<Window> {
	if index >= training_windows(shape, seq_len) {
		return None;
	}
	let per_shard = windows_per_shard(shape, seq_len);
	let shard = u32::try_from(index / per_shard).ok()?;
	let start = u32::try_from(index % per_shard).ok()?.checked_mul(seq_len)?;
	Some(Window { shard, start })
}

/// Held-out window `index`, in order, for the validation loss; `None` beyond the held-out shards.
pub fn validation_window(shape: &DatasetShape, seq_len: u32, index: u64) -> Option<Window> {
	let per_shard = windows_per_shard(shape, seq_len);
	if per_shard == 0 || index >= u64::from(shape.held_out) * per_shard {
		return None;
	}
	let first = shape.shard_count.checked_sub(shape.held_out)?;
	let shard = first.checked_add(u32::try_from(index / per_shard).ok()?)?;
	let start = u32::try_from(index % per_shard).ok()?.checked_mul(seq_len)?;
	Some(Window { shard, start })
}

/// Held-out window that sequence `sequence` of `count` measures the validation loss on: the windows are spread evenly
/// over the held-out shards. `None` if `count` exceeds the held-out windows or `sequence` is not below `count`.
pub fn validation_draw(shape: &DatasetShape, seq_len: u32, sequence: u32, count: u32) -> Option<Window> {
	let windows = u64::from(shape.held_out).checked_mul(windows_per_shard(shape, seq_len))?;
	if sequence >= count || u64::from(count) > windows {
		return None;
	}
	let index = u128::from(sequence) * u128::from(windows) / u128::from(count);
	validation_window(shape, seq_len, u64::try_from(index).ok()?)
}

/// A keyed permutation of `0..domain`: a four-round Feistel network on the next even number of bits, walked until the
/// value falls inside the domain (fewer than four steps on average).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
	keys: [[u8; 32]; 4],
	half_bits: u32,
	domain: u64,
}

impl Permutation {
	/// The permutation of `0..domain` keyed by `seed`. `None` for an empty domain or one above 2^62.
	pub fn new(seed: H256, domain: u64) -> Option<Self> {
		if domain == 0 || domain > 1 << 62 {
			return None;
		}
		let bits = 64 - (domain - 1).leading_zeros();
		let half_bits = bits.div_ceil(2).max(1);
		let key = |round: u8| {
			let mut input = [0u8; 33];
			input[..32].copy_from_slice(seed.as_bytes());
			input[32] = round;
			blake2_256(&input)
		};
		Some(Self { keys: [key(0), key(1), key(2), key(3)], half_bits, domain })
	}

	/// Image of `index`; `None` if it is outside the domain.
	pub fn apply(&self, index: u64) -> Option<u64> {
		if index >= self.domain {
			return None;
		}
		let mut value = index;
		loop {
			value = self.encrypt(value);
			if value < self.domain {
				return Some(value);
			}
		}
	}

	fn encrypt(&self, value: u64) -> u64 {
		let mask = (1u64 << self.half_bits) - 1;
		let (mut left, mut right) = (value >> self.half_bits, value & mask);
		for key in &self.keys {
			let mut input = [0u8; 40];
			input[..32].copy_from_slice(key);
			input[32..].copy_from_slice(&right.to_le_bytes());
			let digest = blake2_256(&input);
			let mut word = [0u8; 8];
			word.copy_from_slice(&digest[..8]);
			(left, right) = (right, left ^ (u64::from_le_bytes(word) & mask));
		}
		left << self.half_bits | right
	}
}

/// Place in a round of `who` among its `participants`, which stand here by account bytes ascending: `late` of them came while the round was trained, and have the
/// places behind all others, in the order in which they came. `None` if it is no participant.
pub fn place<'a>(participants: impl IntoIterator<Item = &'a AccountId>, late: &[AccountId], who: &AccountId) -> Option<u32> {
	let mut sorted: Vec<&AccountId> = late.iter().collect();
	sorted.sort_unstable();
	let mut early = participants.into_iter().filter(|one| sorted.binary_search(one).is_err());
	let place = match late.iter().position(|one| one == who) {
		Some(number) => early.count().checked_add(number),
		None => early.position(|one| one == who),
	};
	u32::try_from(place?).ok()
}

/// The number, before permutation, of the window that a participant reads.
///
/// `position` is the participant's place in the round; see [`place`].
pub fn draw_index(position: u32, inner_steps: u32, step: u32, batch: u32, sequence: u32) -> u64 {
	(u64::from(position) * u64::from(inner_steps) + u64::from(step)) * u64::from(batch) + u64::from(sequence)
}

/// Windows that a round of `participants` consumes.
pub fn windows_needed(participants: u32, inner_steps: u32, batch: u32) -> u64 {
	u64::from(participants).saturating_mul(u64::from(inner_steps)).saturating_mul(u64::from(batch))
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;
	use std::collections::BTreeSet;

	proptest! {
		#[test]
		fn a_permutation_hits_every_value_once(seed: [u8; 32], domain in 1u64..2_000) {
			let permutation = Permutation::new(H256(seed), domain).unwrap();
			let image: BTreeSet<u64> = (0..domain).map(|index| permutation.apply(index).unwrap()).collect();
			prop_assert_eq!(image.len() as u64, domain);
			prop_assert!(image.iter().all(|value| *value < domain));
			prop_assert_eq!(permutation.apply(domain), None);
		}
	}

	const SHAPE: DatasetShape = DatasetShape { tokens_per_shard: 101, shard_count: 5, held_out: 2 };

	#[test]
	fn windows_stay_inside_their_shard_and_leave_held_out_shards_alone() {
		// (101 - 1) / 25 = 4 windows a shard, three training shards.
		assert_eq!(training_windows(&SHAPE, 25), 12);
		assert_eq!(training_window(&SHAPE, 25, 11), Some(Window { shard: 2, start: 75 }));
		assert_eq!(training_window(&SHAPE, 25, 12), None);
		assert_eq!(validation_window(&SHAPE, 25, 0), Some(Window { shard: 3, start: 0 }));
		assert_eq!(validation_window(&SHAPE, 25, 8), None);
	}

	#[test]
	fn validation_sequences_are_spread_over_the_held_out_shards() {
		// Eight held-out windows, four of them drawn: every second one.
		let draw = |sequence| validation_draw(&SHAPE, 25, sequence, 4);
		assert_eq!(draw(1), Some(Window { shard: 3, start: 50 }));
		assert_eq!(draw(3), Some(Window { shard: 4, start: 50 }));
		assert_eq!(draw(4), None);
		assert_eq!(validation_draw(&SHAPE, 25, 0, 9), None);
	}

	#[test]
	fn whoever_comes_late_has_a_place_behind_all_others_and_moves_nobody() {
		let account = |byte| AccountId::new([byte; 32]);
		let (all, late) = ([1, 2, 3, 4, 5].map(account), [4, 1].map(account));
		let places = |late: &[AccountId]| [1, 2, 3, 4, 5].map(|byte| place(&all, late, &account(byte)).unwrap());
		assert_eq!(places(&[]), [0, 1, 2, 3, 4]);
		// Of 2, 3 and 5 nothing changes when 4 comes, and then 1.
		assert_eq!(places(&late), [4, 0, 1, 3, 2]);
		assert_eq!(place(&all, &late, &account(6)), None);
	}

	#[test]
	fn degenerate_shapes_have_no_windows() {
		assert_eq!(training_windows(&SHAPE, 0), 0);
		assert_eq!(training_windows(&SHAPE, 101), 0);
		assert_eq!(training_windows(&DatasetShape { held_out: 9, ..SHAPE }, 25), 0);
		assert_eq!(validation_window(&SHAPE, 101, 0), None);
	}
}
