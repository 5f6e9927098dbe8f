//! Stake multiplier, curve and points against values computed elsewhere.

use crate::{
	curve::{Curve, WHOLE},
	multiplier::{stake_multiplier, ONE},
	points::{Rates, Standing},
};
use neuroshard_types::{proof::ProofKind, provider::Role, Balance, NEURO};
use proptest::prelude::*;

type Curves = crate::GenesisConfig<crate::mock::Test>;

/// floor(2^32 * (1 + log2(1 + stake / 1000 NEURO) / 10)) with the logarithm first rounded down to 32 bits, computed with 120 decimal digits.
const TABLE: [(Balance, u64); 18] = [
	(0, 4_294_967_296),
	(1, 4_294_967_296),
	(232_931, 4_294_967_296),
	(NEURO, 4_295_586_619),
	(100 * NEURO, 4_354_024_609),
	(500 * NEURO, 4_546_206_776),
	(999 * NEURO, 4_724_154_131),
	(1_000 * NEURO, 4_724_464_025),
	(3_000 * NEURO, 5_153_960_755),
	(10_000 * NEURO, 5_780_781_862),
	(1_000_000 * NEURO, 8_575_858_377),
	(1_234_567_890_123_456_789, 8_706_310_411),
	(7_000_000 * NEURO, 9_781_077_324),
	(18_446_744_073_709_551_616, 10_381_432_789),
	(1_000_000_000 * NEURO, 12_855_511_431),
	(1 << 100, 25_843_281_465),
	(1 << 127, 37_439_693_164),
	(Balance::MAX, 37_869_189_893),
];

#[test]
fn the_multiplier_equals_an_independent_table() {
	for (stake, expected) in TABLE {
		assert_eq!(stake_multiplier(stake), expected, "stake {stake}");
	}
}

#[test]
fn the_multiplier_is_whole_tenths_at_powers_of_two() {
	for doublings in 0u32..60 {
		let stake = 1_000 * NEURO * ((1u128 << doublings) - 1);
		assert_eq!(stake_multiplier(stake), ONE + ONE * u64::from(doublings) / 10, "2^{doublings}");
	}
}

#[test]
fn budgets_fall_by_the_ratio_to_the_floor() {
	let curve = Curve { initial: 1_000, floor: 700, ratio: WHOLE / 10 * 9, eras_per_step: 1, cap: Balance::MAX };
	let budgets: Vec<_> = (1..=5)
		.scan(curve.initial, |budget, era| {
			*budget = curve.next(era, *budget, 0);
			Some(*budget)
		})
		.collect();
	assert_eq!(budgets, [900, 810, 729, 700, 700]);
}

#[test]
fn budgets_stay_within_a_step() {
	let curve = Curve { initial: 1_000, floor: 0, ratio: WHOLE / 2, eras_per_step: 3, cap: Balance::MAX };
	let budgets: Vec<_> = (1..=7)
		.scan(curve.initial, |budget, era| {
			*budget = curve.next(era, *budget, 0);
			Some(*budget)
		})
		.collect();
	assert_eq!(budgets, [1_000, 1_000, 500, 500, 500, 250, 250]);
}

#[test]
fn the_default_curve_halves_in_a_year() {
	let genesis = Curves::default();
	let Curves { initial_budget: initial, decay_ratio: ratio, eras_per_step, .. } = genesis;
	let curve = Curve { initial, floor: 0, ratio, eras_per_step, cap: Balance::MAX };
	let after_a_year = (1..=365).fold(curve.initial, |budget, era| curve.next(era, budget, 0));
	let half = genesis.initial_budget / 2;
	assert!(after_a_year.abs_diff(half) < 1_000, "{after_a_year} planck is not half of {}", genesis.initial_budget);
}

#[test]
fn a_curve_that_rises_or_never_steps_is_invalid() {
	let good = Curve { initial: 10, floor: 10, ratio: WHOLE, eras_per_step: 1, cap: Balance::MAX };
	assert!(good.is_valid());
	assert!(!Curve { ratio: WHOLE + 1, ..good }.is_valid());
	assert!(!Curve { eras_per_step: 0, ..good }.is_valid());
	assert!(!Curve { floor: 11, ..good }.is_valid());
	assert!(!Curve { cap: 9, ..good }.is_valid());
}

/// Rates without scarcity.
fn rates(training: u32, roles: [u32; 4]) -> Rates {
	Rates { training, roles, targets: [0; 4], scarcity: 500, cap: u64::MAX }
}

/// An account of reputation 100 with this stake.
fn with(stake: Balance) -> Standing {
	Standing { stake, reputation: 100, active: 0 }
}

#[test]
fn points_multiply_base_role_and_stake() {
	let rates = rates(2_000, [1_200, 500, 1_000, 0]);
	// 100 units x 2 x 0.5 x 1.1, in units of 2^-32; 1.1 is 4,724,464,025 of them.
	assert_eq!(rates.points(ProofKind::Training, Role::Worker, 100, with(1_000 * NEURO)), 472_446_402_500);
	// 100 x 2 x 1.2 x 1
	assert_eq!(rates.points(ProofKind::Training, Role::Driver, 100, with(0)), 240 << 32);
	assert_eq!(rates.points(ProofKind::Training, Role::Verifier, 3, with(0)), 6 << 32);
	assert_eq!(rates.points(ProofKind::Training, Role::Predictor, 100, with(0)), 0);
}

#[test]
fn points_multiply_scarcity_and_reputation() {
	let rates = Rates { targets: [4, 10, 0, 1], ..rates(1_000, [1_000; 4]) };
	let points = |role, reputation, active| rates.points(ProofKind::Training, role, 1_000, Standing { stake: 0, reputation, active }) >> 32;
	// 1.5 x 1, 1.25 x 1.5, 1 x 0.5, 1.35 x 1.25
	assert_eq!(points(Role::Driver, 100, 0), 1_500);
	assert_eq!(points(Role::Driver, 1_000, 2), 1_875);
	assert_eq!(points(Role::Driver, 0, 4), 500);
	assert_eq!(points(Role::Worker, 550, 3), 1_687);
	// No target: never scarce.
	assert_eq!(points(Role::Verifier, 100, 0), 1_000);
}

#[test]
fn uptime_earns_no_points() {
	assert_eq!(rates(1_000, [1_000; 4]).points(ProofKind::Uptime, Role::Worker, u128::MAX, with(Balance::MAX)), 0);
}

#[test]
fn points_saturate() {
	let most = Rates { targets: [u32::MAX; 4], scarcity: 1_000, ..rates(1_000_000, [1_000_000; 4]) };
	let standing = Standing { stake: Balance::MAX, reputation: u32::MAX, active: 0 };
	assert_eq!(most.points(ProofKind::Training, Role::Worker, u128::MAX, standing), u128::MAX);
	// A million million times 2 times 1.5 times 8.8...: the most that a unit is worth.
	assert_eq!(most.points(ProofKind::Training, Role::Worker, 1, standing), 113_607_569_679_000_000);
}

#[test]
fn rates_above_a_thousandfold_are_invalid() {
	assert!(rates(1_000_000, [1_000_000; 4]).is_valid());
	assert!(!rates(1_000_001, [0; 4]).is_valid());
	assert!(!rates(0, [0, 0, 0, 1_000_001]).is_valid());
	assert!(!Rates { scarcity: 1_001, ..rates(1_000, [1_000; 4]) }.is_valid());
	assert!(!Rates { cap: 0, ..rates(1_000, [1_000; 4]) }.is_valid());
}

/// The formula in f64.
fn multiplier_f64(stake: Balance) -> f64 {
	1.0 + (1.0 + stake as f64 / 1e15).log2() / 10.0
}

proptest! {
	#[test]
	fn the_multiplier_agrees_with_floating_point(bits in 0u32..128, stake: Balance) {
		let stake = stake >> bits;
		let exact = stake_multiplier(stake) as f64 / ONE as f64;
		// Rounded down twice, to 2^-32 in the logarithm and in its tenth; f64 itself is off by up to 1e-15.
		let difference = multiplier_f64(stake) - exact;
		prop_assert!((-2e-15..3e-10).contains(&difference), "stake {} differs by {}", stake, difference);
	}

	#[test]
	fn more_stake_never_multiplies_less(a: Balance, b: Balance) {
		let (low, high) = (a.min(b), a.max(b));
		prop_assert!(stake_multiplier(low) <= stake_multiplier(high));
	}

	#[test]
	fn budgets_never_rise_nor_fall_below_the_floor(
		initial: Balance, floor: Balance, ratio in 0..=WHOLE, eras_per_step in 1u32..5,
	) {
		let curve = Curve { initial: initial.max(floor), floor: initial.min(floor), ratio, eras_per_step, cap: Balance::MAX };
		let mut budget = curve.initial;
		for era in 1..50 {
			let next = curve.next(era, budget, 0);
			prop_assert!(next <= budget && next >= curve.floor);
			budget = next;
		}
	}
}
