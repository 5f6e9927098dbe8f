//! Tests of what shares earn against a table that Python computed with integers alone.

use crate::{Holding, Model, FRACTION_BITS};
use neuroshard_types::Balance;
use sp_core::U256;

// For each amount, in units of 2^-96 planck: all = amount * 2^96 + remainder, per_share += floor(all / shares), remainder = all mod shares. Who has
// h of the shares from the beginning on can claim floor(h * per_share / 2^96).
#[test]
fn what_a_share_has_earned_equals_an_independent_table() {
	// Shares, amounts: what a share has earned, in planck and units of 2^-96 of one; the remainder; shares of holders and what they can claim.
	type Row = (u128, &'static [Balance], (u128, u128), u128, &'static [(u128, Balance)]);
	let table: [Row; 20] = [
		// What divides, and what does not: thirds, sevenths.
		(400, &[30], (0, 5_942_112_188_569_825_319_515_796_275), 80, &[(300, 22), (100, 7)]),
		(3, &[1], (0, 26_409_387_504_754_779_197_847_983_445), 1, &[(1, 0), (2, 0), (3, 0)]),
		(3, &[1, 1], (0, 52_818_775_009_509_558_395_695_966_890), 2, &[(1, 0), (2, 1), (3, 1)]),
		(3, &[1, 1, 1], (1, 0), 0, &[(1, 1), (2, 2), (3, 3)]),
		(7, &[10, 10, 1], (3, 0), 0, &[(1, 3), (3, 9), (3, 9)]),
		// Units of rounds as in the tables of points.
		(
			981_600,
			&[1_234_567_890_123],
			(1_257_709, 59_382_621_647_801_651_637_464_278_497),
			397_728,
			&[(326_860, 411_095_008_726), (654_740, 823_472_881_396)],
		),
		(
			981_600,
			&[1_234_567_890_123, 1_234_567_890_123, 1_234_567_890_123, 1],
			(3_773_129, 19_691_620_628_163_274_697_123_999_147),
			778_720,
			&[(326_860, 1_233_285_026_178), (654_740, 2_470_418_644_191)],
		),
		// One share.
		(1, &[1], (1, 0), 0, &[(1, 1)]),
		// The most shares that a planck can be spread over: beyond them it waits for the next.
		(1 << 96, &[1], (0, 1), 0, &[(1, 0), (1 << 95, 0), ((1 << 96) - 1, 0), (1 << 96, 1)]),
		((1 << 96) + 1, &[1], (0, 0), 1 << 96, &[(1, 0), (1 << 96, 0), ((1 << 96) + 1, 0)]),
		((1 << 96) + 1, &[1, 1], (0, 1), (1 << 96) - 1, &[(1, 0), (1 << 96, 1), ((1 << 96) + 1, 1)]),
		// As many shares as can be.
		(u128::MAX, &[1], (0, 0), 1 << 96, &[(1, 0), (u128::MAX - 1, 0), (u128::MAX, 0)]),
		(u128::MAX, &[1, 4_294_967_296], (0, 1), (1 << 96) + 1, &[(1, 0), (1 << 127, 2_147_483_648), (u128::MAX, 4_294_967_295)]),
		(
			u128::MAX,
			&[100_000_000_000_000_000_000],
			(0, 23_283_064_365),
			131_676_648_332_443_228_659_533_386_932_304_698_925,
			&[(1, 0), (1 << 64, 5), (u128::MAX, 99_999_999_998_338_007_039)],
		),
		// All planck.
		(u128::MAX, &[u128::MAX], (1, 0), 0, &[(1, 1), (u128::MAX - 1, u128::MAX - 1), (u128::MAX, u128::MAX)]),
		(1, &[u128::MAX], (u128::MAX, 0), 0, &[(1, u128::MAX)]),
		(1, &[u128::MAX - 1, 1], (u128::MAX, 0), 0, &[(1, u128::MAX)]),
		(
			3,
			&[u128::MAX - 1, 1],
			(113_427_455_640_312_821_154_458_202_477_256_070_485, 0),
			0,
			&[
				(1, 113_427_455_640_312_821_154_458_202_477_256_070_485),
				(2, 226_854_911_280_625_642_308_916_404_954_512_140_970),
				(3, u128::MAX),
			],
		),
		// All that is ever issued, twice.
		(
			1_000_000_000_000_000_000,
			&[100_000_000_000_000_000_000, 99_999_999_999_999_999_999],
			(199, 79_228_162_514_264_337_514_315_787_821),
			735_662_406_456_049_664,
			&[(1, 199), (999_999_999_999_999_999, 199_999_999_999_999_999_798), (1_000_000_000_000_000_000, 199_999_999_999_999_999_998)],
		),
		(
			1_000_000_000_000_000_009,
			&[100_000_000_000_000_000_000, 0, 7],
			(99, 79_228_162_514_264_266_842_794_825_097),
			947_165_721_994_477_103,
			&[(1, 99), (1_000_000_000_000_000_000, 99_999_999_999_999_999_106), (1_000_000_000_000_000_009, 100_000_000_000_000_000_006)],
		),
	];
	for (shares, amounts, (whole, parts), remainder, holders) in table {
		let mut model = Model { earning: shares, ..Default::default() };
		for amount in amounts {
			model.spread(*amount).expect("there are shares, and the revenue fits");
		}
		let per_share = (U256::from(whole) << FRACTION_BITS) + U256::from(parts);
		let what = format!("{amounts:?} over {shares}");
		assert_eq!((model.per_share, model.remainder), (per_share, remainder.into()), "{what}");
		for (held, claimable) in holders {
			let mut holding = Holding { earning: *held, ..Default::default() };
			holding.settle(&model);
			assert_eq!(holding.take(), *claimable, "{held} of {what}");
		}
	}
}

#[test]
fn revenue_without_shares_and_beyond_all_planck_is_spread_over_nobody() {
	assert_eq!(Model::default().spread(1), None);
	let mut full = Model { earning: 1, ..Default::default() };
	assert_eq!((full.spread(Balance::MAX), full.spread(1)), (Some(()), None));
}
