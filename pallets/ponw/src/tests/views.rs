//! View functions.

use crate::mock::*;
use frame_support::assert_ok;
use neuroshard_types::{
	proof::{PendingProof, RateView},
	traits::WorkProofs,
};

#[test]
fn pending_lists_an_account_s_proofs_by_key() {
	build_and_execute(|| {
		for (run, round) in [(2, 0), (0, 7), (0, 5)] {
			assert_ok!(submit(&ALICE, key(run, round)));
		}
		assert_ok!(submit(&BOB, key(9, 9)));
		Ponw::confirm(&ALICE, key(0, 5), 3, true);
		let open = PendingProof { units: 0, final_at: None };
		let confirmed = PendingProof { units: 3, final_at: Some(1 + WINDOW) };
		assert_eq!(Ponw::pending(ALICE).into_inner(), vec![(key(0, 5), confirmed), (key(0, 7), open), (key(2, 0), open)]);
		assert_eq!(Ponw::pending(NOBODY).into_inner(), vec![]);
	});
}

#[test]
fn rate_shows_what_is_used_and_when_more_is_accepted() {
	build_and_execute(|| {
		assert_eq!(Ponw::rate(ALICE), RateView { used: 0, limit: 120, next_allowed_at: START });
		for round in 0..120 {
			Now::set(START + u64::from(round) * MINUTE / 4);
			assert_ok!(submit(&ALICE, key(0, round)));
		}
		assert_eq!(Ponw::rate(ALICE), RateView { used: 120, limit: 120, next_allowed_at: START + HOUR });
		Now::set(START + HOUR);
		assert_eq!(Ponw::rate(ALICE), RateView { used: 119, limit: 120, next_allowed_at: START + HOUR });
		Now::set(START + 2 * HOUR);
		assert_eq!(Ponw::rate(ALICE), RateView { used: 0, limit: 120, next_allowed_at: START + 2 * HOUR });
	});
}

#[test]
fn window_shows_the_genesis_value() {
	build_and_execute(|| assert_eq!(Ponw::window(), WINDOW));
}
