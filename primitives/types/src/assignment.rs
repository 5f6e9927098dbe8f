//! Assignment of training windows to participants: drawn without replacement across all participants of a round, and across the rounds of an epoch.
//!
//! The windows of a dataset are numbered 0..W. An epoch is a permutation of them, of which each round takes the next part. In it the round's seed keys another
//! permutation: participant `p`, inner step `s`, sequence `b` reads number `permutation((p * H + s) * B + b)` of the part. Without epochs the part of every
//! round is all windows. Chain and worker share this code.

use crate::{dataset::DatasetShape, run::RunConfig, AccountId, RoundIndex, RunId, H256};
use alloc::vec::Vec;
use codec::{Decode, Encode};
pub use neuroshard_graph::corpus::Window;
use neuroshard_graph::merkle::blake2_256;
use scale_info::TypeInfo;

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

/// What the windows of a round are drawn by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Draw {
	/// Seed of the round.
	pub seed: H256,
	/// The round's part of an epoch, in a run that reads in epochs.
	pub part: Option<Part>,
}

/// A part of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Part {
	/// Key of the epoch's permutation.
	pub epoch: H256,
	/// Number, in the epoch, of its first window.
	pub first: u64,
	/// Its windows.
	pub count: u64,
}

/// A [`Draw`] for a dataset.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
	round: Permutation,
	/// Of the epoch, and where the part begins.
	epoch: Option<(Permutation, u64)>,
}

impl Draw {
	/// Of `round` of `run`, whose seed is `seed`: [`RunConfig::epochs`] has as many rounds in an epoch as the most participants find new windows in.
	pub fn new(config: &RunConfig, (run, round): (RunId, RoundIndex), seed: H256, shape: &DatasetShape) -> Self {
		let train = &config.train;
		let count = windows_needed(config.max_participants, train.inner_steps, train.batch);
		// The chain accepts no run whose rounds need more windows than there are, or none.
		let rounds = training_windows(shape, train.seq_len).checked_div(count).unwrap_or_default().max(1);
		let round = u64::from(round);
		let (epoch, number) = (round.checked_div(rounds).unwrap_or_default(), round.checked_rem(rounds).unwrap_or_default());
		let key = || H256((b"neuroshard/epoch/1", train.seed, run, epoch).using_encoded(blake2_256));
		let part = config.epochs.then(|| Part { epoch: key(), first: number.saturating_mul(count), count });
		Self { seed, part }
	}

	/// Of a round with this seed, in a run that does not read in epochs.
	pub const fn of_all(seed: H256) -> Self {
		Self { seed, part: None }
	}

	/// The draw from so many windows; `None` if the part is not among them, or there are none.
	pub fn among(&self, windows: u64) -> Option<Drawn> {
		let Some(Part { epoch, first, count }) = self.part else {
			return Some(Drawn { round: Permutation::new(self.seed, windows)?, epoch: None });
		};
		let ends = first.checked_add(count)?;
		let epoch = Permutation::new(epoch, windows).filter(|_| ends <= windows)?;
		Some(Drawn { round: Permutation::new(self.seed, count)?, epoch: Some((epoch, first)) })
	}
}

impl Drawn {
	/// The window of this number; `None` for one that the round does not have.
	pub fn window(&self, number: u64) -> Option<u64> {
		let drawn = self.round.apply(number)?;
		match &self.epoch {
			None => Some(drawn),
			Some((epoch, first)) => epoch.apply(first.checked_add(drawn)?),
		}
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
	use crate::run::{PhaseDurations, RunStart};
	use neuroshard_graph::{ModelConfig, TrainConfig};
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

	/// A run of rounds of so many windows.
	fn config(max_participants: u32, inner_steps: u32) -> RunConfig {
		let (mut model, train) = (ModelConfig::tiny(), TrainConfig { inner_steps, batch: 1, seq_len: 32, ..TrainConfig::tiny() });
		model.vocab = 288;
		RunConfig {
			name: Default::default(),
			dataset: 0,
			tokenizer: crate::dataset::Tokenizer::BYTES,
			model,
			train,
			genesis_root: H256::zero(),
			start: RunStart::Seed,
			min_participants: 1,
			max_participants,
			min_bond: 1,
			rounds: None,
			durations: PhaseDurations { joining: 1, training: 1, revealing: 1, availability: 1, checkpointing: 1 },
			overlaps: false,
			epochs: true,
		}
	}

	/// Windows that all places of a round read.
	fn windows(config: &RunConfig, run: RunId, round: RoundIndex, shape: &DatasetShape) -> Vec<u64> {
		let drawn = Draw::new(config, (run, round), H256::from_low_u64_be(round.into()), shape).among(training_windows(shape, 32)).unwrap();
		let steps = (0..config.max_participants).flat_map(|place| (0..config.train.inner_steps).map(move |step| (place, step)));
		steps.map(|(place, step)| drawn.window(draw_index(place, config.train.inner_steps, step, 1, 0)).unwrap()).collect()
	}

	proptest! {
		/// A round reads as many windows as it would without epochs, and none of them twice in an epoch; what an epoch leaves out is less than a round reads.
		#[test]
		fn no_window_comes_again_within_an_epoch((participants, steps) in (1u32..6, 1u32..8), shards in 1u32..5, per_shard in 1u32..60, run in 0u32..4) {
			let config = config(participants, steps);
			let shape = DatasetShape { tokens_per_shard: per_shard * 32 + 1, shard_count: shards + 1, held_out: 1 };
			let (all, each) = (training_windows(&shape, 32), u64::from(participants * steps));
			prop_assume!(each <= all);
			let rounds = u32::try_from(all / each).unwrap();
			let mut orders = Vec::new();
			for epoch in 0..2 {
				let read: Vec<u64> = (epoch * rounds..(epoch + 1) * rounds).flat_map(|round| windows(&config, run, round, &shape)).collect();
				let distinct: BTreeSet<u64> = read.iter().copied().collect();
				prop_assert_eq!(distinct.len(), read.len());
				prop_assert!(all - u64::try_from(read.len()).unwrap() < each && distinct.iter().all(|window| *window < all));
				orders.push(read);
			}
			if all > 20 {
				prop_assert_ne!(&orders[0], &orders[1]);
			}
		}
	}

	#[test]
	fn without_epochs_a_round_draws_from_all_windows_by_its_seed_alone() {
		let (shape, seed) = (DatasetShape { tokens_per_shard: 3_201, shard_count: 2, held_out: 1 }, H256([7; 32]));
		let of = |epochs, run, round| Draw::new(&RunConfig { epochs, ..config(3, 5) }, (run, round), seed, &shape);
		assert_eq!(of(false, 1, 9), Draw::of_all(seed));
		let (permutation, drawn) = (Permutation::new(seed, 100).unwrap(), of(false, 1, 9).among(100).unwrap());
		assert!((0..100).all(|number| drawn.window(number) == permutation.apply(number)));
		// 100 windows are six rounds of 15: round 9 takes the fourth part of the second epoch.
		let part = of(true, 1, 9).part.unwrap();
		assert_eq!((part.first, part.count), (45, 15));
		assert_eq!(part.epoch, of(true, 1, 6).part.unwrap().epoch);
		let others = [of(true, 1, 5), of(true, 2, 9), of(true, 1, 12)].map(|draw| draw.part.unwrap().epoch);
		assert!(!others.contains(&part.epoch));
		assert!(of(true, 1, 9).among(59).is_none() && of(true, 1, 9).among(100).unwrap().window(15).is_none());
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
