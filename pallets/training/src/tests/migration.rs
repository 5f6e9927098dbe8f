//! Chains of earlier versions: one that kept a deposit for every model, and one whose runs did not say whether rounds overlap.

use super::*;
use crate::{
	migrations::{MigrateV1ToV2, MigrateV2ToV3},
	HoldReason, Runs,
};
use codec::Encode;
use frame_support::{
	assert_ok, parameter_types,
	traits::{
		fungible::{InspectHold, MutateHold},
		GetStorageVersion, OnRuntimeUpgrade, StorageVersion,
	},
};

parameter_types! {
	/// Accounts whose deposits go back.
	pub static Unowed: (u64, Vec<AccountId>) = (0, Vec::new());
}

#[test]
fn deposits_for_models_that_nobody_owns_go_back_and_nothing_else_does() {
	build_and_execute(|| {
		let run = create(config());
		let on_hold = |who: &AccountId| Balances::balance_on_hold(&HoldReason::Model.into(), who);
		let deposit = Balances::total_balance_on_hold(&SPONSOR);
		assert!(deposit > 0 && Runs::<Test>::contains_key(run));
		for who in [SPONSOR, worker(1)] {
			assert_ok!(Balances::hold(&HoldReason::Model.into(), &who, 40));
		}
		StorageVersion::new(1).put::<Training>();
		Unowed::set((9, vec![SPONSOR]));
		MigrateV1ToV2::<Test, Unowed>::on_runtime_upgrade();
		assert_eq!((on_hold(&SPONSOR), on_hold(&worker(1))), (0, 40));
		assert_eq!(Balances::total_balance_on_hold(&SPONSOR), deposit);
		assert_eq!(Training::on_chain_storage_version(), 2);

		// A second time nothing happens.
		Unowed::set((9, vec![worker(1)]));
		MigrateV1ToV2::<Test, Unowed>::on_runtime_upgrade();
		assert_eq!(on_hold(&worker(1)), 40);
		assert_ok!(Balances::release_all(&HoldReason::Model.into(), &worker(1), frame_support::traits::tokens::Precision::Exact));
	});
}

#[test]
fn runs_of_before_do_not_overlap_and_go_on() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let stored = Runs::<Test>::get(run).expect("a run");
		// The field is the last one of the configuration, which shape and the rest follow.
		let new = stored.encode();
		let rest = (stored.shape, stored.dataset_root, stored.approved, stored.rounds_adopted, stored.checkpoint, stored.replay)
			.encode()
			.len() + (stored.spans.clone(), stored.finished_at).encode().len();
		let at = new.len() - rest - 1;
		assert_eq!(new[at], 0);
		let old = [&new[..at], &new[at + 1..]].concat();
		frame_support::storage::unhashed::put_raw(&Runs::<Test>::hashed_key_for(run), &old);
		assert_eq!(Runs::<Test>::get(run), None);
		StorageVersion::new(2).put::<Training>();
		MigrateV2ToV3::<Test>::on_runtime_upgrade();
		assert_eq!(Runs::<Test>::get(run), Some(stored));
		assert_eq!(Training::on_chain_storage_version(), Training::in_code_storage_version());
		full_round(run, &workers, 1);
	});
}
