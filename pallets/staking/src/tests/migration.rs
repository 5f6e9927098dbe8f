//! State of earlier versions, as it was stored.

use super::*;
use crate::{
	migrations::{MigrateV1ToV2, MigrateV2ToV3},
	mock::{new_test_ext, ALICE, BOB, CHARLIE, MIN_BOND},
	PeerIdOwner, PonwKeyOwner, Providers,
};
use codec::Encode;
use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
};
use neuroshard_types::{
	provider::{Role, Tier},
	traits::Providers as _,
	BlockNumber,
};

/// Bytes of a provider in version 1, written down by hand: roles, three numbers of hardware, PoNW key, peer id and addresses; status; active
/// bond and unbonding chunks; open claims, end of disputes, reputation.
fn version_1(tag: u8, roles: u8, status: &[u8], active: Balance, chunks: &[(Balance, BlockNumber)]) -> Vec<u8> {
	let mut bytes = vec![roles];
	for number in [7_000u32, 4_096, 1_000] {
		bytes.extend(number.to_le_bytes());
	}
	bytes.extend([&[2u8][..], &[tag; 32]].concat());
	// Lengths below 64 are one byte: the number times four.
	bytes.extend([&[38 * 4, 0, 36, 8, 1, 0x12, 0x20][..], &[tag; 32]].concat());
	bytes.extend([4, 5 * 4, 4, 127, 0, 0, tag]);
	bytes.extend(status);
	bytes.extend(active.to_le_bytes());
	bytes.push(u8::try_from(chunks.len() * 4).expect("few chunks"));
	for (amount, unlocks_at) in chunks {
		bytes.extend(amount.to_le_bytes());
		bytes.extend(unlocks_at.to_le_bytes());
	}
	for number in [3u32, 9, 250] {
		bytes.extend(number.to_le_bytes());
	}
	bytes
}

const ACTIVE: [u8; 1] = [0];
const CHILLED: [u8; 1] = [1];

/// Stores a provider of version 1 with all that belongs to it.
fn store(who: &AccountId, bytes: &[u8], held: Balance) {
	unhashed::put_raw(&Providers::<Test>::hashed_key_for(who), bytes);
	PonwKeyOwner::<Test>::insert(info(tag(who)).ponw_key, who);
	PeerIdOwner::<Test>::insert(info(tag(who)).peer_id, who);
	assert_ok!(Staking::hold(who, held));
}

#[test]
fn providers_of_version_1_go_on_as_they_were_and_are_counted() {
	new_test_ext().execute_with(|| {
		StorageVersion::new(1).put::<Staking>();
		let unproven = [&[2u8][..], &[0x5a; 32]].concat();
		store(&ALICE, &version_1(1, 6, &ACTIVE, 2_000, &[(300, 7), (20, 8)]), 2_320);
		store(&BOB, &version_1(2, 2, &CHILLED, 0, &[]), 0);
		store(&CHARLIE, &version_1(3, 2, &unproven, MIN_BOND, &[]), MIN_BOND);
		System::set_block_number(2);

		MigrateV1ToV2::<Test>::on_runtime_upgrade();
		assert_eq!(Staking::on_chain_storage_version(), 2);
		assert_ok!(Staking::do_try_state());
		let alice = view(&ALICE);
		assert_eq!((alice.status, alice.bonded, alice.unbonding), (ProviderStatus::Active, 2_000, vec![chunk(300, 7), chunk(20, 8)]));
		assert_eq!((alice.open_claims, alice.disputable_until, alice.reputation, alice.tier), (3, 9, 250, Tier::B));
		assert_eq!((alice.locked_until, alice.suspended_until, alice.missed_audits), (0, 0, 0));
		assert_eq!((alice.info.ponw_key, alice.info.peer_id), (info(1).ponw_key, info(1).peer_id));
		assert_eq!(Pallet::<Test>::active_counts(), [0, 1, 1, 0]);
		assert_eq!((view(&BOB).status, challenge(&CHARLIE)), (ProviderStatus::Chilled, H256([0x5a; 32])));
		// What it can do now is what anybody can.
		assert_ok!(Staking::lock(signed(ALICE), 1));
		prove(&CHARLIE);

		// A second time nothing happens.
		let before = Providers::<Test>::get(&ALICE).encode();
		MigrateV1ToV2::<Test>::on_runtime_upgrade();
		assert_eq!(Providers::<Test>::get(&ALICE).encode(), before);
		assert_ok!(Staking::do_try_state());
	});
}

#[test]
fn no_speed_of_before_is_above_the_largest_that_can_be_registered() {
	new_test_ext().execute_with(|| {
		StorageVersion::new(2).put::<Staking>();
		System::set_block_number(2);
		for (who, gflops) in [(&ALICE, u32::MAX), (&BOB, 7_000)] {
			register(who, MIN_BOND);
			Providers::<Test>::mutate_extant(who, |provider| provider.info.hardware.gflops = gflops);
		}
		assert!(Staking::do_try_state().is_err());

		MigrateV2ToV3::<Test>::on_runtime_upgrade();
		assert_eq!(Staking::on_chain_storage_version(), 3);
		assert_eq!(Staking::on_chain_storage_version(), Staking::in_code_storage_version());
		assert_ok!(Staking::do_try_state());
		let speed = |who| Staking::hardware(who).map(|hardware| hardware.gflops);
		assert_eq!((speed(&ALICE), speed(&BOB)), (Some(1_000_000), Some(7_000)));
		assert!(Staking::is_active(&ALICE, Role::Worker) && Staking::is_active(&BOB, Role::Worker));
	});
}

#[test]
fn a_new_chain_begins_with_the_newest_version() {
	new_test_ext().execute_with(|| assert_eq!(Staking::on_chain_storage_version(), 3));
}
