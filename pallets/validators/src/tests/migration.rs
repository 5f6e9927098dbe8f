//! A chain of the version that did not remember sets.

use super::*;
use crate::{
	migrations::{MigrateV1ToV2, V1ToV2},
	mock::{build_and_execute, keys, new_test_ext, Keys, MIN_BOND},
	FirstSessions, Sets,
};
use frame_support::{
	parameter_types,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion, UncheckedOnRuntimeUpgrade},
};
use sp_runtime::key_types::DUMMY;

parameter_types! {
	/// Session keys of the running set.
	pub static Running: Vec<Keys> = vec![keys(1), keys(2)];
}

fn owner(session: SessionIndex, key: u64) -> Option<((AccountId, Exposure), u32)> {
	Validators::key_owner(session, DUMMY, &key.to_le_bytes())
}

/// Forgets the sets, as if nothing had ever remembered them.
fn forget_sets() {
	let _ = FirstSessions::<Test>::clear(u32::MAX, None);
	let _ = Sets::<Test>::clear(u32::MAX, None);
	StorageVersion::new(1).put::<Validators>();
}

#[test]
fn the_running_and_the_planned_set_are_remembered_with_their_keys() {
	build_and_execute(|| {
		bond(3, 3_000, 0);
		next_session();
		forget_sets();
		assert!(Validators::do_try_state().is_err(), "nothing is known of the running session");
		assert_ok!(Session::purge_keys(signed(2)));
		MigrateV1ToV2::<Test, Running>::on_runtime_upgrade();
		let exposure = Exposure { total: MIN_BOND, own: MIN_BOND };
		assert_eq!(owner(1, 2), Some(((account(2), exposure), 2)), "it has purged its keys");
		assert_eq!(owner(2, 3), Some(((account(3), Exposure { total: 3_000, own: 3_000 }), 2)));
		assert_eq!(owner(2, 2), None);
		assert_eq!(owner(0, 1), None);
		assert_eq!(Validators::on_chain_storage_version(), Validators::in_code_storage_version());
	});
}

#[test]
fn a_set_that_goes_on_is_remembered_once() {
	build_and_execute(|| {
		next_session();
		forget_sets();
		V1ToV2::<Test, Running>::on_runtime_upgrade();
		assert_eq!([0, 1, 2].map(FirstSessions::<Test>::get), [None, Some(1), Some(1)]);
		next_session();
		assert_eq!(FirstSessions::<Test>::get(3), Some(1));
	});
}

#[test]
fn what_is_remembered_stays() {
	build_and_execute(|| {
		bond(3, 3_000, 0);
		next_session();
		let before: Vec<_> = [0, 1, 2].map(|session| owner(session, 1)).into();
		Running::set(vec![keys(8), keys(9)]);
		V1ToV2::<Test, Running>::on_runtime_upgrade();
		assert_eq!([0, 1, 2].map(|session| owner(session, 1)).to_vec(), before);
		assert_eq!(owner(1, 8), None);
	});
}

#[test]
fn keys_of_more_or_fewer_than_the_running_set_are_nobodys() {
	new_test_ext().execute_with(|| {
		next_session();
		forget_sets();
		Running::set(vec![keys(2)]);
		V1ToV2::<Test, Running>::on_runtime_upgrade();
		assert_eq!((owner(1, 2), owner(2, 2).map(|((who, _), _)| who)), (None, Some(account(2))));
	});
}
