//! View functions.

use super::*;
use crate::{
	mock::{build_and_execute, new_test_ext, ALICE, BOB, CHARLIE, COOLDOWN, MIN_BOND, NOBODY},
	Provider, Providers,
};
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

/// Registers so many accounts with infos of their own, all of them active.
fn crowd(size: u16) {
	for number in 1..=size {
		let mut who = [0; 32];
		who[..2].copy_from_slice(&number.to_be_bytes());
		let mut info = info(0);
		info.ponw_key[1..3].copy_from_slice(&number.to_be_bytes());
		info.peer_id = [&info.peer_id[..36], number.to_be_bytes().as_slice()].concat().try_into().unwrap();
		let mut provider = Provider::new(info, MIN_BOND, Default::default());
		provider.status = ProviderStatus::Active;
		Providers::<Test>::insert(AccountId::new(who), provider);
	}
}

#[test]
fn whoever_comes_late_in_storage_order_is_found_by_its_account_among_any_number_of_others() {
	new_test_ext().execute_with(|| {
		crowd(1_100);
		let (last, provider) = Providers::<Test>::iter().last().unwrap();
		let found = View::peers_of(vec![last.clone()]);
		assert_eq!(found, [(last, provider.info.peer_id, provider.info.addresses)]);
	});
}

#[test]
fn registrations_come_in_the_order_asked_whatever_their_status_and_others_are_left_out() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		register_unproven(&BOB, MIN_BOND);
		assert_ok!(Staking::chill(signed(ALICE)));
		let registered = |who: AccountId| (who.clone(), info(tag(&who)).peer_id, info(tag(&who)).addresses);
		assert_eq!(View::peers_of(vec![BOB, NOBODY, ALICE]), [registered(BOB), registered(ALICE)]);
		assert_eq!(View::peers_of(vec![]), []);
	});
}

#[test]
fn at_most_128_accounts_are_looked_at() {
	new_test_ext().execute_with(|| {
		crowd(130);
		let accounts: Vec<_> = Providers::<Test>::iter_keys().collect();
		let found: Vec<_> = View::peers_of(accounts.clone()).into_iter().map(|(who, ..)| who).collect();
		assert_eq!(found, accounts[..128]);
		// Unregistered ones count as well: no question makes the chain look at more.
		let strangers = vec![NOBODY; 128];
		assert_eq!(View::peers_of([strangers, vec![accounts[0].clone()]].concat()), []);
	});
}

#[test]
fn pages_of_active_peers_leave_the_others_out_and_go_on_behind_them() {
	new_test_ext().execute_with(|| {
		crowd(300);
		let accounts: Vec<_> = Providers::<Test>::iter_keys().collect();
		let mut active: Vec<_> = accounts.clone();
		// A whole page of chilled ones, and one that has not proven anything.
		for who in active.drain(100..200) {
			Providers::<Test>::mutate(who, |provider| provider.as_mut().unwrap().status = ProviderStatus::Chilled);
		}
		let unproven = ProviderStatus::Unproven { challenge: Default::default() };
		Providers::<Test>::mutate(active.remove(7), |provider| provider.as_mut().unwrap().status = unproven);
		let (first, after) = View::active_peers(None, 100);
		assert_eq!((first.len(), &after), (99, &Some(accounts[99].clone())));
		let (second, after) = View::active_peers(after, 100);
		assert_eq!((second.len(), &after), (0, &Some(accounts[199].clone())));
		let (third, after) = View::active_peers(after, 101);
		assert_eq!((third.len(), after), (100, None));
		let found: Vec<_> = first.into_iter().chain(third).map(|(who, ..)| who).collect();
		assert_eq!(found, active);
		// What is asked for is bounded, and the end is said.
		assert_eq!(View::active_peers(None, u32::MAX).1, Some(accounts[127].clone()));
		assert_eq!(View::active_peers(None, 0), (vec![], None));
	});
}
