//! View functions.

use super::*;
use crate::mock::{build_and_execute, new_test_ext, ALICE, BOB, CHARLIE, COOLDOWN, MIN_BOND, NOBODY};
use frame_support::traits::fungible::Mutate;
use std::collections::BTreeSet;

type View = Pallet<Test>;

#[test]
fn an_unknown_provider_is_none() {
	build_and_execute(|| assert_eq!(View::provider(NOBODY), None));
}

#[test]
fn limits_are_the_genesis_values() {
	build_and_execute(|| {
		assert_eq!(View::limits(), (MIN_BOND, COOLDOWN));
		assert_eq!(View::cooldown(), COOLDOWN);
	});
}

#[test]
fn pages_of_peers_cover_every_provider_once() {
	build_and_execute(|| {
		for who in [&ALICE, &BOB, &CHARLIE] {
			register(who, MIN_BOND);
		}
		// Chilled providers are still reachable.
		assert_ok!(Staking::chill(signed(BOB)));
		let first = View::peers(None, 2);
		assert_eq!(first.len(), 2);
		let second = View::peers(Some(first[1].0.clone()), 2);
		assert_eq!(second.len(), 1);
		for (who, peer_id, addresses) in first.iter().chain(&second) {
			assert_eq!((peer_id, addresses), (&info(tag(who)).peer_id, &info(tag(who)).addresses));
		}
		let accounts: BTreeSet<_> = first.into_iter().chain(second).map(|(who, ..)| who).collect();
		assert_eq!(accounts, BTreeSet::from([ALICE, BOB, CHARLIE]));
		assert_eq!(View::peers(None, 0), []);
	});
}

#[test]
fn a_page_has_at_most_128_peers() {
	new_test_ext().execute_with(|| {
		for number in 1..=130u8 {
			let who = AccountId::new([number; 32]);
			crate::mock::Balances::set_balance(&who, 2 * MIN_BOND);
			register(&who, MIN_BOND);
		}
		let page = View::peers(None, u32::MAX);
		assert_eq!(page.len(), 128);
		assert_eq!(View::peers(page.last().map(|(who, ..)| who.clone()), u32::MAX).len(), 2);
		assert_ok!(View::do_try_state());
	});
}
