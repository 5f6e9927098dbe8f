//! Rewards: how a block's is shared, and how shares are claimed.

use super::*;
use crate::{
	mock::{build_and_execute, COOLDOWN, ED, FUNDS},
	pool::ONE,
	Error, Owed, Pool, Stake,
};
use frame_support::assert_noop;
use proptest::prelude::*;

fn pot() -> Balance {
	Balances::free_balance(Validators::pot()) - ED
}

#[test]
fn a_block_pays_the_commission_to_its_author_and_the_rest_by_stake() {
	build_and_execute(|| {
		bond(3, 1_024, 10);
		nominate(5, 3, 2_048);
		nominate(6, 3, 1_024);
		authored(3, 1_000);
		// A tenth, and of the other 900 a quarter, a half and a quarter.
		let claimable = [3, 5, 6].map(|tag| Validators::claimable(account(tag)));
		assert_eq!(claimable, [100 + 225, 450, 225]);
		assert_eq!(pot(), 1_000);
		let rewarded = Event::Rewarded { validator: account(3), amount: 1_000, kept: 100 };
		assert_eq!(events().last(), Some(&rewarded));
	});
}

#[test]
fn a_claim_pays_once_and_out_of_the_pot() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		nominate(5, 3, 1_024);
		authored(3, 1_000);
		let issuance = Balances::total_issuance();
		assert_ok!(Validators::claim_rewards(signed(5), account(3)));
		assert_eq!(Balances::free_balance(account(5)), FUNDS - 1_024 + 500);
		assert_noop!(Validators::claim_rewards(signed(5), account(3)), Error::<Test>::NothingToClaim);
		assert_ok!(Validators::claim_rewards(signed(3), account(3)));
		assert_eq!(Balances::free_balance(account(3)), FUNDS - 1_024 + 500);
		assert_eq!((pot(), Balances::total_issuance()), (0, issuance));
		assert_noop!(Validators::claim_rewards(signed(7), account(3)), Error::<Test>::NothingToClaim);
	});
}

#[test]
fn who_comes_later_has_no_part_of_what_was_earned_before() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		authored(3, 1_000);
		nominate(5, 3, 3_072);
		authored(3, 1_000);
		assert_eq!([3, 5].map(|tag| Validators::claimable(account(tag))), [1_250, 750]);
		assert_ok!(Validators::bond_extra(signed(3), 4_096));
		authored(3, 1_000);
		assert_eq!([3, 5].map(|tag| Validators::claimable(account(tag))), [1_250 + 625, 750 + 375]);
	});
}

#[test]
fn unbonding_parts_earn_nothing() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		nominate(5, 3, 2_048);
		assert_ok!(Validators::unnominate(signed(5), account(3), 1_024));
		authored(3, 1_000);
		assert_eq!([3, 5].map(|tag| Validators::claimable(account(tag))), [500, 500]);
	});
}

#[test]
fn a_nominator_that_withdrew_keeps_what_it_is_owed() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		nominate(5, 3, 1_024);
		authored(3, 1_000);
		assert_ok!(Validators::unnominate(signed(5), account(3), 1_024));
		wait(COOLDOWN);
		assert_ok!(Validators::withdraw_nomination(signed(5), account(3)));
		authored(3, 1_000);
		assert_eq!(Validators::claimable(account(5)), 500);
		assert_ok!(Validators::claim_rewards(signed(5), account(3)));
		assert_eq!(Balances::free_balance(account(5)), FUNDS + 500);
	});
}

#[test]
fn a_candidate_that_left_keeps_what_it_is_owed_and_so_do_its_nominators() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		nominate(5, 3, 1_024);
		authored(3, 1_000);
		assert_ok!(Validators::unbond(signed(3), 1_024));
		wait(COOLDOWN);
		assert_ok!(Validators::withdraw_unbonded(signed(3)));
		for tag in [3, 5] {
			assert_ok!(Validators::claim_rewards(signed(tag), account(3)));
			assert_eq!(Balances::free_balance(account(tag)), FUNDS + 500);
		}
	});
}

#[test]
fn an_author_that_is_no_candidate_keeps_everything() {
	build_and_execute(|| {
		authored(9, 1_000);
		assert_ok!(Validators::claim_rewards(signed(9), account(9)));
		assert_eq!(Balances::free_balance(account(9)), FUNDS + 1_000);
	});
}

#[test]
fn a_block_without_a_reward_changes_nothing() {
	build_and_execute(|| {
		authored(1, 0);
		assert_eq!(events(), vec![]);
	});
}

#[test]
fn what_others_pay_into_the_pot_is_shared_alike() {
	build_and_execute(|| {
		bond(3, 1_024, 50);
		nominate(5, 3, 1_024);
		assert_ok!(Balances::transfer_allow_death(signed(9), Validators::pot(), 400));
		Validators::reward(&account(3), 400);
		assert_eq!([3, 5].map(|tag| Validators::claimable(account(tag))), [300, 100]);
	});
}

#[test]
fn extremes_are_shared_without_overflow() {
	let position = |active| Position { stake: Stake { active, ..Default::default() }, settled_at: 0 };
	// All money that could ever be, as a reward and as a stake.
	let mut pool = Pool::default();
	assert_eq!(pool.spread(u128::MAX, u128::MAX), 0);
	assert_eq!(pool.due(&position(u128::MAX)), u128::MAX);
	// A reward that is too large for so little stake, and one that is too small for so much, are not spread.
	let mut pool = Pool::default();
	assert_eq!(pool.spread(u128::MAX, 1), u128::MAX);
	assert_eq!(pool.spread(1, ONE + 1), 1);
	assert_eq!(pool.spread(5, 0), 5);
	assert_eq!(pool, Pool::default());
	// One planck of stake, and the largest reward that fits.
	assert_eq!(pool.spread(ONE - 1, 1), 0);
	assert_eq!(pool.spread(1, 1), 1);
	assert_eq!(pool.due(&position(1)), ONE - 1);
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(256))]

	/// A block's shares against exact fractions: never more, and less by a planck at most.
	#[test]
	fn shares_are_the_fractions_rounded_down(reward in 1..10u128.pow(15), stakes in prop::collection::vec(1..10u128.pow(18), 1..66)) {
		let total: u128 = stakes.iter().sum();
		let mut pool = Pool::default();
		let kept = pool.spread(reward, total);
		prop_assert!(kept <= total / ONE + 1, "kept {}", kept);
		let mut paid = kept;
		for stake in &stakes {
			let mut position = Position { stake: Stake { active: *stake, ..Default::default() }, settled_at: 0 };
			let due = pool.settle(&mut position);
			// The product has 110 bits.
			let exact = reward * stake / total;
			prop_assert!(due <= exact && due + 2 > exact, "{} of {}", due, exact);
			prop_assert_eq!(pool.due(&position), 0, "settled");
			paid += due;
		}
		prop_assert_eq!(paid + pool.unsettled, reward, "nothing appears or disappears");
		prop_assert!(pool.unsettled <= stakes.len() as u128 + 1);
	}

	/// Over many blocks with changing stakes, everybody gets the sum of the fractions but for rounding.
	#[test]
	fn changing_stakes_earn_by_what_they_are_at_each_block(
		steps in prop::collection::vec((0..3usize, 1..1_000_000u128, 0..1_000_000u128), 1..60)
	) {
		let mut pool = Pool::default();
		let mut positions = vec![Position { stake: Stake { active: 1, ..Default::default() }, settled_at: 0 }; 3];
		let (mut got, mut least, mut most) = ([0u128; 3], [0u128; 3], [0u128; 3]);
		let mut in_all = 0;
		for (index, stake, reward) in steps {
			got[index] += pool.settle(&mut positions[index]);
			positions[index].stake.active = stake;
			let total = positions.iter().map(|position| position.stake.active).sum();
			let kept = pool.spread(reward, total);
			in_all += reward - kept;
			for other in 0..3 {
				let exact = reward * positions[other].stake.active;
				least[other] += (exact / total).saturating_sub(1 + kept);
				most[other] += exact.div_ceil(total);
			}
		}
		for index in 0..3 {
			got[index] += pool.settle(&mut positions[index]);
			// Settling at each of at most 60 changes loses less than a planck.
			prop_assert!(got[index] + 61 >= least[index] && got[index] <= most[index], "{} of {}..{}", got[index], least[index], most[index]);
		}
		prop_assert_eq!(got.iter().sum::<u128>() + pool.unsettled, in_all);
		prop_assert!(u128::from(pool.roundings) + 3 >= pool.unsettled, "no more is left than was rounded");
	}
}

#[test]
fn owed_money_of_an_account_adds_up_over_candidates() {
	build_and_execute(|| {
		bond(3, 1_024, 0);
		bond(4, 1_024, 0);
		nominate(5, 3, 1_024);
		nominate(5, 4, 1_024);
		authored(3, 1_000);
		authored(4, 600);
		assert_eq!(Validators::claimable(account(5)), 800);
		assert_ok!(Validators::claim_rewards(signed(5), account(3)));
		assert_eq!((Owed::<Test>::get(account(5)), Validators::claimable(account(5))), (0, 300));
	});
}
