//! Rewards of blocks against tables that Python computed with integers and fractions alone.

use super::*;
use crate::{mock::new_test_ext, Owed, MAX_NOMINATORS};
use neuroshard_types::NEURO;

/// Shares `blocks` rewards of `reward` planck among an author with the first of the `stakes` and nominators with the others. Returns what the
/// author keeps beside its stake's share, and what each stake is due.
fn shared(reward: Balance, blocks: u32, commission: u32, stakes: &[Balance]) -> (Balance, Vec<Balance>) {
	new_test_ext().execute_with(|| {
		let author = account(1);
		let mut entry = Candidate::new(stakes[0], Perbill::from_parts(commission));
		entry.backing = stakes[1..].iter().sum();
		Candidates::<Test>::insert(&author, entry);
		for _ in 0..blocks {
			Validators::reward(&author, reward);
		}
		let candidate = candidate(1);
		let due = |stake: &Balance| {
			let mut position = Position::default();
			position.stake.active = *stake;
			candidate.pool.due(&position)
		};
		(Owed::<Test>::get(&author), stakes.iter().map(due).collect())
	})
}

// With the stake S of all, for each block: commission = floor(c * R / 10^9), step = floor((R - commission) * 2^64 / S); a stake s is due
// floor(s * sum of steps / 2^64), and the author keeps the commission and what the step does not reach, R - commission - ceil(step * S / 2^64).
// Where there is no stake, the step is 0, or the sum of steps does not fit 128 bits, the author keeps R.
#[test]
fn commission_and_stakers_shares_equal_an_independent_table() {
	// Reward, blocks, commission in units of 10^-9, stakes: what the author keeps, what the stakes are due.
	type Row = (Balance, u32, u32, &'static [Balance], Balance, &'static [Balance]);
	let table: [Row; 25] = [
		// A block of the presets, and ten of them.
		(
			105_000_000_000_000,
			1,
			50_000_000,
			&[10_000_000_000_000_000, 1_000_000_000_000_000, 333_000_000_000_001],
			5_250_000_000_000,
			&[88_017_294_626_312, 8_801_729_462_631, 2_930_975_911_056],
		),
		(
			105_000_000_000_000,
			10,
			50_000_000,
			&[10_000_000_000_000_000, 1_000_000_000_000_000, 333_000_000_000_001],
			52_500_000_000_000,
			&[880_172_946_263_125, 88_017_294_626_312, 29_309_759_110_562],
		),
		// A third of what does not divide.
		(
			105_000_000_000_000,
			7,
			333_333_333,
			&[10_000_000_000_000_000, 7_000_000_000_007, 9_999_999_999_999_999],
			244_999_999_755_000,
			&[244_914_280_124_456, 171_439_996_087, 244_914_280_124_456],
		),
		// What is not a whole planck waits in the pool.
		(1_000, 3, 0, &[1, 1, 1], 0, &[999, 999, 999]),
		(1_000, 3, 100_000_000, &[3, 2, 1], 300, &[1_350, 900, 450]),
		// No commission, all of it, and parts of 10^-9.
		(7, 1, 0, &[1, 0], 0, &[7, 0]),
		(7, 1, 1_000_000_000, &[1, 100_000_000_000_000_000_000], 7, &[0, 0]),
		(999_999_999, 1, 1, &[5, 5], 0, &[499_999_999, 499_999_999]),
		(1_000_000_000, 1, 1, &[5, 5], 1, &[499_999_999, 499_999_999]),
		(1, 1, 999_999_999, &[1, 0], 0, &[1, 0]),
		// One planck: whole, in halves, in halves twice, in thirds, as commission.
		(1, 1, 0, &[1, 0], 0, &[1, 0]),
		(1, 1, 0, &[1, 1], 0, &[0, 0]),
		(1, 2, 0, &[1, 1], 0, &[1, 1]),
		(1, 3, 0, &[1, 2], 0, &[0, 1]),
		(1, 1, 1_000_000_000, &[1, 1], 1, &[0, 0]),
		// The most stake that a planck can be spread over, and one planck more, which leaves all of it to the author.
		(1, 1, 0, &[1 << 63, 1 << 63], 0, &[0, 0]),
		(1, 1, 0, &[1 << 63, (1 << 63) + 1], 1, &[0, 0]),
		// An author without stake.
		(1_000, 2, 500_000_000, &[0, 0], 2_000, &[0, 0]),
		// All that is ever issued.
		(
			100_000_000_000_000_000_000,
			1,
			100_000_000,
			&[60_000_000_000_000_000_000, 30_000_000_000_000_000_000, 10_000_000_000_000_000_000],
			10_000_000_000_000_000_002,
			&[53_999_999_999_999_999_998, 26_999_999_999_999_999_999, 8_999_999_999_999_999_999],
		),
		// All planck, over as many and over 2^64; over fewer they do not fit the pool and are the author's.
		(u128::MAX, 1, 0, &[1 << 127, (1 << 127) - 1], 0, &[1 << 127, (1 << 127) - 1]),
		(
			u128::MAX,
			1,
			500_000_000,
			&[1 << 127, (1 << 127) - 1],
			(1 << 127) - 1,
			&[1 << 126, 85_070_591_730_234_615_865_843_651_857_942_052_863],
		),
		(u128::MAX, 1, 0, &[1 << 63, 1 << 63], 0, &[(1 << 127) - 1, (1 << 127) - 1]),
		(u128::MAX, 1, 0, &[1 << 63, (1 << 63) - 1], u128::MAX, &[0, 0]),
		// The pool's last planck, and the block that does not fit any more.
		((1 << 127) - 1, 2, 0, &[1 << 63, 1 << 63], 0, &[(1 << 127) - 1, (1 << 127) - 1]),
		(1 << 127, 2, 0, &[1 << 63, 1 << 63], 1 << 127, &[1 << 126, 1 << 126]),
	];
	for (reward, blocks, commission, stakes, kept, due) in table {
		let what = format!("{blocks} of {reward} at {commission} for {stakes:?}");
		assert_eq!(shared(reward, blocks, commission, stakes), (kept, due.to_vec()), "{what}");
	}
}

#[test]
fn as_many_nominators_as_there_can_be_get_what_an_independent_table_says() {
	// An author of 10,000 NEURO, and nominators of 100 NEURO and 1^3, 2^3, ... 64^3 planck.
	let nominators = 1..=u128::from(MAX_NOMINATORS);
	let large: Vec<_> = [10_000 * NEURO].into_iter().chain(nominators.clone().map(|i| 100 * NEURO + i * i * i)).collect();
	// One of 36 planck, and nominators of 1, 2, ... 64.
	let small: Vec<_> = [36].into_iter().chain(nominators).collect();
	// Reward, blocks, commission, stakes: what the author keeps, what itself and the nominators number 1, 32 and 64 are due, and all together.
	let table = [
		(
			105 * NEURO,
			1,
			50_000_000,
			&large,
			5_250_000_000_000,
			[60_823_170_715_661, 608_231_707_156, 608_231_707_355, 608_231_708_751],
			99_749_999_999_967,
		),
		(
			105 * NEURO,
			1_000,
			50_000_000,
			&large,
			5_250_000_000_000_000,
			[60_823_170_715_661_867, 608_231_707_156_624, 608_231_707_355_924, 608_231_708_751_061],
			99_749_999_999_999_967,
		),
		(97, 1, 0, &small, 0, [1, 0, 1, 2], 65),
		(97, 50, 0, &small, 0, [82, 2, 73, 146], 4_818),
		(64, 1, 0, &small, 0, [1, 0, 0, 1], 32),
	];
	for (reward, blocks, commission, stakes, kept, some, all) in table {
		let (keeps, due) = shared(reward, blocks, commission, stakes);
		assert_eq!((keeps, [0, 1, 32, 64].map(|i| due[i]), due.iter().sum()), (kept, some, all), "{blocks} of {reward}");
	}
}
