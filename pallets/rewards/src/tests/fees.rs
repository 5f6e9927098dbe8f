//! Fees of inference: every planck goes where it must, and what nobody can be paid is burned.

use crate::{
	fees::{split_by_layers, split_fee},
	mock::*,
	Event, TotalBurned,
};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{reward::FeeShares, traits::InferenceFees, AccountId, Balance};
use proptest::prelude::*;
use sp_runtime::TokenError;

/// Layers that accounts computed.
fn layers(layers: &[(AccountId, u32)]) -> Vec<(AccountId, u32)> {
	layers.to_vec()
}

/// An account of a worker, with money.
fn funded(number: u8) -> AccountId {
	let who = AccountId::new([number; 32]);
	assert_ok!(Balances::transfer_allow_death(RuntimeOrigin::signed(BOB), who.clone(), ED));
	who
}

#[test]
fn a_fee_is_split_as_an_independent_table_says() {
	// Amount; burned, driver, workers, validators, treasury.
	let table: [(Balance, [Balance; 5]); 10] = [
		(0, [0; 5]),
		(1, [1, 0, 0, 0, 0]),
		(2, [2, 0, 0, 0, 0]),
		(3, [2, 0, 1, 0, 0]),
		(9, [3, 1, 3, 2, 0]),
		(10, [2, 2, 4, 2, 0]),
		(19, [5, 3, 7, 4, 0]),
		(100, [10, 20, 40, 25, 5]),
		(101, [11, 20, 40, 25, 5]),
		(
			Balance::MAX,
			[
				34_028_236_692_093_846_346_337_460_743_176_821_147,
				68_056_473_384_187_692_692_674_921_486_353_642_291,
				136_112_946_768_375_385_385_349_842_972_707_284_582,
				85_070_591_730_234_615_865_843_651_857_942_052_863,
				17_014_118_346_046_923_173_168_730_371_588_410_572,
			],
		),
	];
	for (amount, [burn, driver, workers, validators, treasury]) in table {
		assert_eq!(split_fee(amount), FeeShares { burn, driver, workers, validators, treasury }, "{amount}");
	}
}

#[test]
fn layers_share_exactly() {
	assert_eq!(split_by_layers(100, &[1, 1, 2]), [25, 25, 50]);
	assert_eq!(split_by_layers(100, &[1, 1, 1]), [33, 33, 34]);
	assert_eq!(split_by_layers(1, &[3, 5]), [0, 1]);
	assert_eq!(split_by_layers(7, &[0, 4, 0]), [0, 7, 0]);
	assert_eq!(split_by_layers(7, &[0, 0]), [0, 0]);
	assert!(split_by_layers(7, &[]).is_empty());
	assert_eq!(split_by_layers(Balance::MAX, &[u32::MAX, u32::MAX]), [Balance::MAX / 2, Balance::MAX / 2 + 1]);
}

#[test]
fn a_fee_pays_everybody_who_served_and_burns_a_tenth() {
	build_and_execute(|| {
		let (driver, near, far) = (funded(20), funded(21), funded(22));
		let workers = layers(&[(near.clone(), 3), (far.clone(), 1)]);
		let shares = FeeShares { burn: 50, driver: 100, workers: 200, validators: 125, treasury: 25 };
		let issued = Balances::total_issuance();
		assert_eq!(Rewards::pay_fee(&ALICE, 500, &driver, &workers), Ok(shares));
		assert_eq!(Balances::free_balance(ALICE), FUNDS - 500);
		assert_eq!([&driver, &near, &far].map(Balances::free_balance), [ED + 100, ED + 150, ED + 50]);
		assert_eq!((Balances::free_balance(VALIDATOR), Balances::free_balance(TREASURY)), (FUNDS + 125, FUNDS + 25));
		assert_eq!((Balances::total_issuance(), TotalBurned::<Test>::get()), (issued - 50, 50));
		System::assert_last_event(Event::FeePaid { from: ALICE, amount: 500, shares }.into());
	});
}

#[test]
fn who_cannot_pay_pays_nobody() {
	build_and_execute(|| {
		let workers = layers(&[(BOB, 1)]);
		for amount in [FUNDS + 1, Balance::MAX] {
			assert!(Rewards::pay_fee(&ALICE, amount, &BOB, &workers).is_err());
		}
		// The account stays alive.
		assert_noop!(Rewards::pay_fee(&ALICE, FUNDS - ED + 1, &BOB, &workers), TokenError::FundsUnavailable);
		assert_eq!((Balances::free_balance(BOB), TotalBurned::<Test>::get()), (FUNDS, 0));
		assert_ok!(Rewards::pay_fee(&ALICE, FUNDS - ED, &BOB, &workers));
		assert_eq!(Balances::free_balance(ALICE), ED);
	});
}

#[test]
fn what_cannot_be_paid_is_burned_and_counted() {
	build_and_execute(|| {
		Author::set(None);
		// A driver that does not exist and gets eight planck, no layers, no author.
		let shares = FeeShares { burn: 4 + 8 + 16 + 10, driver: 0, workers: 0, validators: 0, treasury: 2 };
		assert_eq!(Rewards::pay_fee(&ALICE, 40, &NOBODY, &[]), Ok(shares));
		assert_eq!((Balances::free_balance(NOBODY), TotalBurned::<Test>::get()), (0, 38));
	});
}

#[test]
fn a_fee_of_nothing_moves_nothing() {
	build_and_execute(|| {
		assert_eq!(Rewards::pay_fee(&ALICE, 0, &BOB, &layers(&[(BOB, 1)])), Ok(FeeShares::default()));
		assert_eq!((Balances::free_balance(ALICE), Balances::free_balance(BOB)), (FUNDS, FUNDS));
	});
}

#[test]
fn the_same_account_may_serve_in_every_place() {
	build_and_execute(|| {
		assert_ok!(Rewards::pay_fee(&ALICE, 100, &ALICE, &layers(&[(ALICE, 1), (ALICE, 2)])));
		assert_eq!(Balances::free_balance(ALICE), FUNDS - 100 + 20 + 40);
	});
}

proptest! {
	#[test]
	fn shares_of_any_fee_add_up(amount: Balance) {
		let FeeShares { burn, driver, workers, validators, treasury } = split_fee(amount);
		let sum = [burn, driver, workers, validators, treasury].into_iter().try_fold(0, Balance::checked_add);
		prop_assert_eq!(sum, Some(amount));
		// A tenth, and less than a planck of each of the other four.
		prop_assert!(burn >= amount / 10 && burn - amount / 10 <= 4);
	}

	#[test]
	fn parts_of_layers_add_up_and_are_off_by_less_than_a_planck(amount in 0..1_000_000_000_000u128, layers in prop::collection::vec(0..200u32, 1..20)) {
		let parts = split_by_layers(amount, &layers);
		let all: u128 = layers.iter().map(|one| u128::from(*one)).sum();
		prop_assert_eq!(parts.iter().sum::<Balance>(), if all == 0 { 0 } else { amount });
		for (part, one) in parts.iter().zip(&layers) {
			prop_assert!((part * all).abs_diff(amount * u128::from(*one)) < all.max(1));
		}
	}

	#[test]
	fn fees_lose_and_make_no_planck(amount in 0..2 * FUNDS, served in prop::collection::vec((0u8..6, 0..50u32), 0..8), author: bool) {
		new_test_ext().execute_with(|| {
			Author::set(author.then_some(VALIDATOR));
			let before = Balances::total_issuance();
			let workers: Vec<(AccountId, u32)> = served.iter().map(|(who, layers)| (AccountId::new([*who + 1; 32]), *layers)).collect();
			let had = Balances::free_balance(ALICE);
			match Rewards::pay_fee(&ALICE, amount, &BOB, &workers) {
				Ok(shares) => {
					let sum = shares.burn + shares.driver + shares.workers + shares.validators + shares.treasury;
					prop_assert_eq!(sum, amount);
					prop_assert_eq!(before - Balances::total_issuance(), shares.burn);
				},
				Err(_) => prop_assert!(amount > had - ED),
			}
			check_invariants(before);
			Ok(())
		})?;
	}
}
