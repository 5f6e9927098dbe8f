//! Tests of what wallets see of eras, of an account in them, and of what work would bring.

use crate::{mock::*, GenesisConfig, Points};
use frame_support::assert_ok;
use neuroshard_types::{
	proof::ProofKind,
	provider::Role,
	reward::{AccountEra, EraIndex},
	traits::WorkCredits,
	AccountId, Balance, NEURO,
};
use proptest::prelude::*;

/// Numbers of the eras in a page of the history.
fn page(from: EraIndex, count: u32) -> Vec<EraIndex> {
	Rewards::era_history(from, count).into_iter().map(|era| era.index).collect()
}

#[test]
fn the_history_holds_every_ended_era_until_it_expires() {
	build_and_execute(|| {
		assert!(page(0, 9).is_empty());
		run_to_era(2);
		assert_eq!(page(0, 9), [0, 1]);
		run_to_era(5);
		// The depth is three: eras 0 and 1 have expired.
		assert_eq!(page(0, u32::MAX), [2, 3, 4]);
		assert_eq!((page(3, 1), page(4, 5), page(5, 5), page(u32::MAX, u32::MAX)), (vec![3], vec![4], vec![], vec![]));
	});
}

#[test]
fn the_history_shows_what_was_claimed_of_an_era() {
	build_and_execute(|| {
		bond(&ALICE, 0, Balance::MAX);
		work(&ALICE, 1);
		work(&ALICE, 3);
		run_to_era(1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		let era = Rewards::era_history(0, 1)[0];
		assert_eq!((era.total_points, era.claimed, era.parts.total()), (4 << 32, INITIAL, INITIAL));
	});
}

#[test]
fn an_account_sees_what_it_did_and_got_in_each_era() {
	build_and_execute(|| {
		for who in [ALICE, BOB] {
			bond(&who, 0, 300_000);
		}
		work(&ALICE, 2);
		Rewards::credit(&ALICE, ProofKind::Training, Role::Verifier, 1);
		work(&BOB, 9);
		run_to_era(2);
		work(&ALICE, 1);
		assert_ok!(Rewards::claim(RuntimeOrigin::signed(ALICE), 0));
		let first = AccountEra { index: 0, training: 2 << 32, audits: 1 << 32, amount: 250_000, claimed: true };
		// It would be 810,000, but for its stake.
		let now = AccountEra { index: 2, training: 1 << 32, audits: 0, amount: 300_000, claimed: false };
		assert_eq!(Rewards::account_history(ALICE), [first, now]);
		let bob = AccountEra { index: 0, training: 9 << 32, audits: 0, amount: 300_000, claimed: false };
		assert_eq!(Rewards::account_history(BOB), [bob]);
		run_to_era(DEPTH + 1);
		assert_eq!(Rewards::account_history(ALICE), [now]);
		assert!(Rewards::account_history(NOBODY).is_empty());
	});
}

#[test]
fn an_estimate_is_the_share_of_the_part_for_training() {
	execute_with(with_shares(), || {
		bond(&BOB, 0, Balance::MAX);
		assert_eq!(Rewards::estimate(INITIAL, Role::Worker, 100, 5), 800_000);
		work(&BOB, 3);
		// A quarter; no more than the stake; nothing for nothing.
		assert_eq!(Rewards::estimate(INITIAL, Role::Worker, 100, 1), 200_000);
		assert_eq!(Rewards::estimate(1_000, Role::Worker, 100, 1), 1_000);
		assert_eq!(Rewards::estimate(0, Role::Worker, 100, 1), 0);
		assert_eq!(Rewards::estimate(INITIAL, Role::Worker, 100, 0), 0);
		// Half a point of 3.5.
		assert_eq!(Rewards::estimate(INITIAL, Role::Worker, 0, 1), 114_285);
	});
}

#[test]
fn an_estimate_of_extremes_stays_within_the_part() {
	execute_with(with_shares(), || {
		assert_eq!(Rewards::estimate(Balance::MAX, Role::Driver, u32::MAX, u128::MAX), 800_000);
		work(&ALICE, 1);
		let most = Rewards::estimate(Balance::MAX, Role::Predictor, 1_000, u128::MAX);
		assert!((799_999..=800_000).contains(&most), "{most}");
	});
}

/// Returns a strategy for roles of work.
fn role() -> impl Strategy<Value = Role> {
	prop_oneof![Just(Role::Worker), Just(Role::Verifier)]
}

proptest! {
	#[test]
	fn an_estimate_is_what_the_claim_brings(
		stake in 0..10_000_000 * NEURO, role in role(), reputation in 0..=1_000u32, units in 1..1_000_000u128,
		others in 0..1_000_000u128, present in 0..20u32,
	) {
		let genesis = GenesisConfig { role_targets: [10; 4], role_rates: [1_200, 1_000, 1_100, 1_100], ..with_shares() };
		ext_with(genesis).execute_with(|| {
			let who = AccountId::new([7; 32]);
			assert_ok!(Balances::transfer_allow_death(RuntimeOrigin::signed(BOB), who.clone(), ED));
			bond(&who, stake, 0);
			Offered::set([(role, present)].into());
			Reputations::set([(who.clone(), reputation)].into());
			work(&ALICE, others);
			let estimate = Rewards::estimate(stake, role, reputation, units);
			Rewards::credit(&who, ProofKind::Training, role, units);
			run_to_era(1);
			if Points::<Test>::contains_key(0, &who) {
				assert_ok!(Rewards::claim(RuntimeOrigin::signed(who.clone()), 0));
			}
			prop_assert_eq!(Balances::free_balance(&who) - ED, estimate);
			Ok(())
		})?;
	}
}
