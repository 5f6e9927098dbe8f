//! Genesis values, and what they must satisfy.

use super::*;
use crate::{
	mock::{build_and_execute, storage, ChallengeWindow, ED},
	Cooldown,
};
use frame_support::assert_err;

#[test]
#[should_panic(expected = "the cooldown must be longer than the challenge window")]
fn a_cooldown_within_the_challenge_window_is_refused() {
	storage(20, ED);
}

#[test]
#[should_panic(expected = "the minimum bond must reach the existential deposit")]
fn a_minimum_bond_below_the_existential_deposit_is_refused() {
	storage(21, ED - 1);
}

#[test]
fn the_smallest_allowed_values_are_accepted() {
	let mut ext = sp_io::TestExternalities::new(storage(21, ED));
	ext.execute_with(|| assert_eq!(Pallet::<Test>::limits(), (ED, 21)));
}

#[test]
fn a_challenge_window_that_outgrows_the_cooldown_is_noticed() {
	build_and_execute(|| {
		let window = ChallengeWindow::get();
		ChallengeWindow::set(Cooldown::<Test>::get());
		assert_err!(Staking::do_try_state(), "cooldown is not longer than the challenge window");
		ChallengeWindow::set(window);
	});
}
