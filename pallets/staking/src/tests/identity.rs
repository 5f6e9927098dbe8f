//! `register` and `update_info`: what is accepted, and that keys and peer ids are unique.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, ALICE, BOB, ED, FUNDS, MIN_BOND, NOBODY},
	Error, HoldReason,
};
use frame_support::{
	assert_noop,
	traits::fungible::{Inspect, InspectHold},
};
use neuroshard_types::{
	provider::{ProviderInfo, ProviderStatus, Roles, Tier},
	traits::Providers,
};
use sp_runtime::{DispatchError, TokenError};

/// Checks that both `register` and `update_info` refuse `change` with `error`.
fn refused(change: impl Fn(&mut ProviderInfo), error: Error<Test>) {
	let error = DispatchError::from(error);
	build_and_execute(|| {
		let mut bad = info(1);
		change(&mut bad);
		assert_noop!(Staking::register(signed(ALICE), bad.clone(), MIN_BOND), error);
		register(&ALICE, MIN_BOND);
		assert_noop!(Staking::update_info(signed(ALICE), bad), error);
	});
}

#[test]
fn registering_holds_the_bond_and_draws_a_challenge() {
	build_and_execute(|| {
		register_unproven(&ALICE, 1_500);
		assert_eq!(Balances::balance(&ALICE), FUNDS - 1_500);
		assert_eq!(Balances::balance_on_hold(&HoldReason::Bond.into(), &ALICE), 1_500);
		let expected = ProviderView {
			info: info(1),
			status: ProviderStatus::Unproven { challenge: challenge(&ALICE) },
			bonded: 1_500,
			unbonding: vec![],
			open_claims: 0,
			disputable_until: 0,
			reputation: 100,
			tier: Tier::C,
			locked_until: 0,
			suspended_until: 0,
			missed_audits: 0,
		};
		assert_eq!(view(&ALICE), expected);
		assert_eq!(events(), [Event::Registered { who: ALICE, bond: 1_500, challenge: challenge(&ALICE) }]);
	});
}

#[test]
fn calls_need_a_signature() {
	build_and_execute(|| {
		let none = RuntimeOrigin::none;
		assert_noop!(Staking::register(none(), info(1), MIN_BOND), DispatchError::BadOrigin);
		assert_noop!(Staking::update_info(none(), info(1)), DispatchError::BadOrigin);
		assert_noop!(Staking::bond_extra(none(), 1), DispatchError::BadOrigin);
		assert_noop!(Staking::unbond(none(), 1), DispatchError::BadOrigin);
		assert_noop!(Staking::withdraw_unbonded(none()), DispatchError::BadOrigin);
		assert_noop!(Staking::chill(RuntimeOrigin::root()), DispatchError::BadOrigin);
		assert_noop!(Staking::activate(none()), DispatchError::BadOrigin);
		assert_noop!(Staking::deregister(none()), DispatchError::BadOrigin);
		assert_noop!(Staking::prove_arithmetic(none(), H256::zero()), DispatchError::BadOrigin);
		assert_noop!(Staking::lock(none(), 1), DispatchError::BadOrigin);
		assert_noop!(Staking::set_operator(none(), None), DispatchError::BadOrigin);
		assert_noop!(Staking::serve(none(), None), DispatchError::BadOrigin);
	});
}

#[test]
fn nobody_registers_twice() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_noop!(Staking::register(signed(ALICE), info(4), MIN_BOND), Error::<Test>::AlreadyRegistered);
	});
}

#[test]
fn a_bond_below_the_minimum_is_refused() {
	build_and_execute(|| {
		assert_noop!(Staking::register(signed(ALICE), info(1), MIN_BOND - 1), Error::<Test>::BondTooSmall);
	});
}

#[test]
fn a_bond_that_the_account_cannot_pay_is_refused() {
	build_and_execute(|| {
		// The existential deposit stays free.
		assert_noop!(Staking::register(signed(ALICE), info(1), FUNDS - ED + 1), TokenError::FundsUnavailable);
		assert_noop!(Staking::register(signed(NOBODY), info(9), MIN_BOND), TokenError::FundsUnavailable);
		register(&ALICE, FUNDS - ED);
	});
}

#[test]
fn a_provider_needs_a_known_role() {
	refused(|info| info.roles = Roles(0), Error::InvalidRoles);
	refused(|info| info.roles = Roles(16), Error::InvalidRoles);
}

#[test]
fn a_provider_needs_speed_and_memory() {
	refused(|info| info.hardware.gflops = 0, Error::InvalidHardware);
	refused(|info| info.hardware.gflops = 1_000_001, Error::InvalidHardware);
	refused(|info| info.hardware.memory_mib = 0, Error::InvalidHardware);
}

#[test]
fn a_ponw_key_is_a_compressed_point() {
	refused(|info| info.ponw_key[0] = 4, Error::InvalidPonwKey);
}

#[test]
fn a_peer_id_is_a_multihash_of_a_key() {
	let peer_id = |bytes: Vec<u8>| move |info: &mut ProviderInfo| info.peer_id = bytes.clone().try_into().expect("short enough");
	refused(peer_id(vec![]), Error::InvalidPeerId);
	refused(peer_id(vec![0x00, 0]), Error::InvalidPeerId);
	refused(peer_id([vec![0x00, 37], vec![1; 36]].concat()), Error::InvalidPeerId);
	refused(peer_id([vec![0x00, 43], vec![1; 43]].concat()), Error::InvalidPeerId);
	refused(peer_id([vec![0x12, 31], vec![1; 31]].concat()), Error::InvalidPeerId);
	refused(peer_id([vec![0x13, 32], vec![1; 32]].concat()), Error::InvalidPeerId);
}

#[test]
fn a_peer_id_may_be_the_digest_of_a_long_key() {
	build_and_execute(|| {
		let mut rsa = info(1);
		rsa.peer_id = [vec![0x12, 32], vec![1; 32]].concat().try_into().expect("34 bytes fit");
		assert_ok!(Staking::register(signed(ALICE), rsa, MIN_BOND));
	});
}

#[test]
fn an_empty_address_is_refused_but_no_address_is_fine() {
	refused(|info| info.addresses = vec![Default::default()].try_into().expect("one fits"), Error::InvalidAddress);
	build_and_execute(|| {
		let mut hidden = info(1);
		hidden.addresses = Default::default();
		assert_ok!(Staking::register(signed(ALICE), hidden, MIN_BOND));
	});
}

#[test]
fn two_providers_never_share_a_key_or_a_peer_id() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		let same_key = ProviderInfo { ponw_key: info(1).ponw_key, ..info(2) };
		let same_peer = ProviderInfo { peer_id: info(1).peer_id, ..info(2) };
		assert_noop!(Staking::register(signed(BOB), same_key.clone(), MIN_BOND), Error::<Test>::PonwKeyTaken);
		assert_noop!(Staking::register(signed(BOB), same_peer.clone(), MIN_BOND), Error::<Test>::PeerIdTaken);
		register(&BOB, MIN_BOND);
		assert_noop!(Staking::update_info(signed(BOB), same_key), Error::<Test>::PonwKeyTaken);
		assert_noop!(Staking::update_info(signed(BOB), same_peer), Error::<Test>::PeerIdTaken);
	});
}

#[test]
fn an_update_replaces_the_info_and_frees_the_old_identity() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::update_info(signed(ALICE), info(7)));
		assert_eq!(view(&ALICE).info, info(7));
		assert_eq!(events().last(), Some(&Event::InfoUpdated { who: ALICE }));
		assert_ok!(Staking::register(signed(BOB), info(1), MIN_BOND));
		assert_noop!(Staking::update_info(signed(BOB), info(7)), Error::<Test>::PonwKeyTaken);
	});
}

#[test]
fn a_key_whose_signatures_can_be_disputed_stays_and_everything_else_may_change() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		assert_ok!(Staking::open_claim(&ALICE));
		let other = ProviderInfo { ponw_key: info(1).ponw_key, ..info(7) };
		assert_noop!(Staking::update_info(signed(ALICE), info(7)), Error::<Test>::OpenClaims);
		assert_ok!(Staking::update_info(signed(ALICE), other));
		Staking::close_claim(&ALICE);
		Staking::note_disputable(&ALICE);
		assert_noop!(Staking::update_info(signed(ALICE), info(7)), Error::<Test>::Disputable);
		System::set_block_number(view(&ALICE).disputable_until);
		assert_ok!(Staking::update_info(signed(ALICE), info(7)));
	});
}

#[test]
fn an_update_may_keep_key_and_peer_id() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		let moved = ProviderInfo { addresses: info(8).addresses, ..info(1) };
		assert_ok!(Staking::update_info(signed(ALICE), moved.clone()));
		assert_eq!(view(&ALICE).info, moved);
	});
}

#[test]
fn only_providers_update() {
	build_and_execute(|| {
		assert_noop!(Staking::update_info(signed(ALICE), info(1)), Error::<Test>::NotRegistered);
	});
}
