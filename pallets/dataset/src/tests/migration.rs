//! A chain of the version that had no lists of what accounts attest.

use super::*;
use crate::{
	migrations::MigrateV1ToV2,
	mock::{build_and_execute, new_test_ext, stake_of, Balances, OpenClaims, ALICE, BOB, FUNDS, HOLDER, OTHER, PENALTY, STAKE},
	Attestations, AttestedBy, Challenges, Datasets, HoldReason, MAX_ATTESTED,
};
use codec::Encode;
use frame_support::traits::{
	fungible::{InspectHold, Mutate},
	GetStorageVersion, OnRuntimeUpgrade, StorageVersion,
};
use neuroshard_types::{
	dataset::{ChunkPlace, ShardRange},
	Balance,
};

const PLACE: ChunkPlace = ChunkPlace { shard: 2, chunk: 0 };

fn attest(who: AccountId, id: DatasetId) {
	assert_ok!(Dataset::attest(signed(who), id, ShardRange { first: 2, count: 1 }));
}

fn challenge(id: DatasetId) {
	assert_ok!(Dataset::challenge_shard(signed(BOB), id, HOLDER, PLACE));
}

/// Has a dataset leave at once, as version 1 had it when nobody used it.
fn remove_at_once(id: DatasetId) {
	let dataset = Datasets::<Test>::take(id).expect("a dataset");
	Dataset::release_hold(HoldReason::Manifest, &dataset.proposer, dataset.deposit);
}

/// Forgets what accounts attest, as if nothing had ever listed it.
fn forget_lists() {
	let _ = AttestedBy::<Test>::clear(u32::MAX, None);
}

fn upgrade() {
	StorageVersion::new(1).put::<Dataset>();
	MigrateV1ToV2::<Test>::on_runtime_upgrade();
	assert_eq!(Dataset::on_chain_storage_version(), 2);
	assert_eq!(Dataset::on_chain_storage_version(), Dataset::in_code_storage_version());
}

fn listed(who: AccountId) -> Vec<DatasetId> {
	AttestedBy::<Test>::get(who).into_inner()
}

fn held(reason: HoldReason, who: &AccountId) -> Balance {
	Balances::balance_on_hold(&reason.into(), who)
}

#[test]
fn attestations_are_listed_and_stay_as_they_are() {
	build_and_execute(|| {
		propose(ALICE);
		propose(BOB);
		attest(OTHER, 1);
		attest(HOLDER, 1);
		attest(HOLDER, 0);
		challenge(1);
		forget_lists();
		let attestations = || Attestations::<Test>::iter().collect::<Vec<_>>().encode();
		let before = attestations();
		assert!(Dataset::do_try_state().is_err(), "nothing is listed");
		upgrade();
		assert_eq!(listed(HOLDER), [0, 1]);
		assert_eq!(listed(OTHER), [1]);
		assert_eq!((attestations(), Challenges::<Test>::iter().count()), (before, 1));
		assert_eq!(OpenClaims::get()[&HOLDER], 2);
	});
}

#[test]
fn what_is_listed_already_keeps_its_order_and_its_challenges() {
	build_and_execute(|| {
		propose(ALICE);
		propose(BOB);
		attest(HOLDER, 1);
		attest(HOLDER, 0);
		challenge(1);
		pass(ANSWER_TIME + 1);
		remove_at_once(1);
		upgrade();
		assert_eq!(listed(HOLDER), [1, 0]);
		assert_ok!(Dataset::conclude_challenge(signed(ALICE), 1, HOLDER, BOB));
		assert_eq!(Balances::free_balance(stake_of(&HOLDER)), STAKE - PENALTY);
	});
}

#[test]
fn nobody_is_slashed_for_a_dataset_that_left_before_an_answer() {
	build_and_execute(|| {
		propose(ALICE);
		propose(ALICE);
		attest(HOLDER, 0);
		attest(HOLDER, 1);
		challenge(0);
		remove_at_once(0);
		forget_lists();
		upgrade();
		assert_eq!(listed(HOLDER), [1]);
		assert_eq!(Pallet::<Test>::attestation(0, HOLDER), None);
		assert_eq!((held(HoldReason::Challenge, &BOB), Balances::free_balance(BOB)), (0, FUNDS));
		assert_eq!(held(HoldReason::Attestation, &HOLDER), crate::mock::ATTESTATION_DEPOSIT);
		assert_eq!((OpenClaims::get()[&HOLDER], Balances::free_balance(stake_of(&HOLDER))), (1, STAKE));
	});
}

#[test]
fn attestations_beyond_what_an_account_may_have_end_with_their_challenges() {
	build_and_execute(|| {
		Balances::set_balance(&stake_of(&HOLDER), Balance::from(MAX_ATTESTED + 2) * PENALTY);
		for id in 0..MAX_ATTESTED + 2 {
			propose(ALICE);
			// Version 1 knew no limit.
			forget_lists();
			attest(HOLDER, id);
		}
		challenge(0);
		challenge(MAX_ATTESTED + 1);
		forget_lists();
		upgrade();
		assert_eq!(listed(HOLDER), (0..MAX_ATTESTED).collect::<Vec<_>>());
		assert_eq!((Attestations::<Test>::iter().count(), OpenClaims::get()[&HOLDER]), (64, 64));
		assert!(Challenges::<Test>::iter_keys().eq([((0, HOLDER), BOB)]));
		assert_eq!(Balances::free_balance(stake_of(&HOLDER)), Balance::from(MAX_ATTESTED + 2) * PENALTY);
	});
}

#[test]
fn a_new_chain_begins_with_the_newest_version() {
	new_test_ext().execute_with(|| assert_eq!(Dataset::on_chain_storage_version(), 2));
}
