//! Factors of reputation and scarcity against values computed elsewhere, and the cap of a proof.

use crate::{factors::*, mock::*, AccountPoints, CurrentTotal, GenesisConfig, Points};
use neuroshard_types::{
	proof::ProofKind,
	provider::Role,
	traits::{WorkCredits, WorkUnits},
	ModelConfig, TrainConfig, NEURO,
};
use proptest::prelude::*;

#[test]
fn reputation_counts_as_an_independent_table_says() {
	// Thousandths of 0.5 + r / 200 below 100, of 1 + (r - 100) / 1,800 from there on, by Python's fractions.
	let table = [
		(0, 500),
		(1, 505),
		(50, 750),
		(99, 995),
		(100, 1_000),
		(101, 1_000),
		(102, 1_001),
		(250, 1_083),
		(550, 1_250),
		(999, 1_499),
		(1_000, 1_500),
		(u32::MAX, 1_500),
	];
	for (reputation, factor) in table {
		assert_eq!(of_reputation(reputation), factor, "{reputation}");
	}
}

#[test]
fn scarcity_counts_as_an_independent_table_says() {
	// Target, present: thousandths of 1 + (target - present) / target / 2.
	let table = [
		(10, 0, 1_500),
		(10, 1, 1_450),
		(10, 9, 1_050),
		(10, 10, 1_000),
		(10, 11, 1_000),
		(3, 1, 1_333),
		(7, 4, 1_214),
		(1_000, 999, 1_000),
		(u32::MAX, 0, 1_500),
		(u32::MAX, u32::MAX - 1, 1_000),
		(0, 0, 1_000),
		(0, 5, 1_000),
	];
	for (target, present, factor) in table {
		assert_eq!(of_scarcity(500, target, present), factor, "{present} of {target}");
	}
	// The largest bonus doubles.
	assert_eq!(of_scarcity(1_000, 8, 0), 2_000);
	assert_eq!(of_scarcity(0, 8, 0), 1_000);
}

#[test]
fn a_credit_is_weighed_with_reputation_and_scarcity_of_its_moment() {
	execute_with(GenesisConfig { role_targets: [0, 10, 4, 0], ..genesis() }, || {
		bond(&ALICE, 0, 5);
		Offered::set([(Role::Worker, 5), (Role::Verifier, 1)].into());
		Reputations::set([(ALICE, 1_000)].into());
		// 100 x 1.25 x 1.5; audits: 100 x 1.375 x 1.5.
		work(&ALICE, 100);
		Rewards::credit(&ALICE, ProofKind::Training, Role::Verifier, 100);
		let [training, audits] = [(187 << 32) + (1 << 31), (206 << 32) + (1 << 30)];
		assert_eq!(Points::<Test>::get(0, ALICE), Some(AccountPoints { training, audits, cap: 5, claimed: None }));
		// A reputation that fell counts from the next credit on.
		Reputations::set([(ALICE, 0)].into());
		work(&ALICE, 100);
		assert_eq!(CurrentTotal::<Test>::get(), training + audits + (62 << 32) + (1 << 31));
	});
}

#[test]
fn one_proof_brings_at_most_the_cap() {
	execute_with(GenesisConfig { max_points_per_proof: 1_000, ..genesis() }, || {
		bond(&ALICE, 0, 5);
		bond(&BOB, 1_000 * NEURO, 0);
		work(&ALICE, 1_000);
		assert_eq!(CurrentTotal::<Test>::get(), 1_000 << 32);
		work(&ALICE, 1_001);
		assert_eq!(CurrentTotal::<Test>::get(), 2_000 << 32);
		// Points are capped, not units: a stake cannot lift a proof above it.
		work(&BOB, 999);
		work(&BOB, u128::MAX);
		assert_eq!(Points::<Test>::get(0, BOB).map(|entry| entry.points()), Some(2_000 << 32));
	});
}

#[test]
fn work_units_follow_the_table_of_the_chain() {
	let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
	// One layer, 2 x 32 tokens a step, 4 steps, 4 held-out sequences: 256 x 2.5 + 64 x 0.8 + 128 x 2.
	build_and_execute(|| assert_eq!(Rewards::of_round(&model, &train, train.inner_steps), 947));
	execute_with(GenesisConfig { operation_units: [1_000, 0, 0, 0, 0], ..genesis() }, || {
		assert_eq!(Rewards::of_round(&model, &train, train.inner_steps), 256);
	});
}

proptest! {
	#[test]
	fn factors_stay_within_their_bounds_and_never_turn(a: u32, b: u32, target: u32, bonus in 0..=1_000u32) {
		let (low, high) = (a.min(b), a.max(b));
		prop_assert!(of_reputation(low) <= of_reputation(high));
		prop_assert!((500..=1_500).contains(&of_reputation(a)));
		prop_assert!(of_scarcity(bonus, target, low) >= of_scarcity(bonus, target, high));
		prop_assert!((1_000..=1_000 + bonus).contains(&of_scarcity(bonus, target, a)));
	}
}
