//! From proposal to removal: calls, users and the deposit.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, ALICE, ANSWER_TIME, BOB, FUNDS, NOBODY},
	Datasets as DatasetMap, Error, HoldReason, Leaving, NextId, MAX_DATASETS,
};
use frame_support::{
	assert_noop,
	traits::fungible::{Inspect, InspectHold},
};
use neuroshard_types::{
	dataset::{DatasetStatus, Manifest},
	traits::{ActiveDataset, Datasets},
	Balance,
};
use sp_runtime::{ArithmeticError, DispatchError, TokenError};

/// Texts of 4, 17 and 17 bytes with a length byte each, root and three numbers of the tokenizer, vocabulary, whether it is masked, three numbers of shape, root, bytes of text:
/// 5 + 18 + 18 + 44 + 4 + 1 + 12 + 32 + 8 = 142 bytes at 7, and the base of 1,000.
const DEPOSIT: Balance = 1_994;

#[test]
fn a_proposal_holds_the_deposit() {
	build_and_execute(|| {
		propose(ALICE);
		let expected = DatasetView { proposer: ALICE, deposit: DEPOSIT, manifest: manifest(), status: DatasetStatus::Proposed, users: 0 };
		assert_eq!(view(0), expected);
		assert_eq!(Balances::balance(&ALICE), FUNDS - DEPOSIT);
		assert_eq!(Balances::balance_on_hold(&HoldReason::Manifest.into(), &ALICE), DEPOSIT);
		assert_eq!(events(), [Event::Proposed { id: 0, proposer: ALICE, deposit: DEPOSIT }]);
	});
}

#[test]
fn a_deposit_that_the_account_cannot_pay_is_refused() {
	build_and_execute(|| {
		assert_noop!(Dataset::propose(signed(NOBODY), manifest()), TokenError::FundsUnavailable);
	});
}

#[test]
fn calls_need_a_signature() {
	build_and_execute(|| {
		assert_noop!(Dataset::propose(RuntimeOrigin::none(), manifest()), DispatchError::BadOrigin);
		assert_noop!(Dataset::activate(RuntimeOrigin::root(), 0), DispatchError::BadOrigin);
		assert_noop!(Dataset::retire(RuntimeOrigin::none(), 0), DispatchError::BadOrigin);
	});
}

#[test]
fn runs_learn_of_a_dataset_while_it_is_active_only() {
	build_and_execute(|| {
		propose(ALICE);
		assert_eq!(Dataset::active(0), None);
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		let Manifest { shape, vocab, masked, tokenizer, root, .. } = manifest();
		assert_eq!(Dataset::active(0), Some(ActiveDataset { shape, vocab, masked, tokenizer, root }));
		assert_ok!(Dataset::acquire(0));
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		assert_eq!(Dataset::active(0), None);
	});
}

#[test]
fn identifiers_count_up_and_are_never_used_again() {
	build_and_execute(|| {
		propose(ALICE);
		propose(BOB);
		assert_ok!(Dataset::retire(signed(BOB), 1));
		remove(1);
		propose(ALICE);
		assert_eq!(Pallet::<Test>::datasets(), [0, 2]);
	});
}

#[test]
fn identifiers_run_out_with_an_error() {
	build_and_execute(|| {
		NextId::<Test>::put(u32::MAX);
		assert_noop!(Dataset::propose(signed(ALICE), manifest()), ArithmeticError::Overflow);
	});
}

#[test]
fn the_number_of_datasets_is_bounded() {
	build_and_execute(|| {
		(0..MAX_DATASETS).for_each(|_| propose(ALICE));
		assert_noop!(Dataset::propose(signed(BOB), manifest()), Error::<Test>::TooManyDatasets);
		assert_ok!(Dataset::retire(signed(ALICE), 17));
		assert_noop!(Dataset::propose(signed(BOB), manifest()), Error::<Test>::TooManyDatasets);
		remove(17);
		propose(BOB);
	});
}

#[test]
fn an_activated_dataset_is_usable() {
	build_and_execute(|| {
		propose(ALICE);
		assert_eq!(Dataset::active(0), None);
		assert_noop!(Dataset::acquire(0), Error::<Test>::NotActive);
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert!(Dataset::active(0).is_some());
		assert_ok!(Dataset::acquire(0));
		assert_eq!(view(0).users, 1);
		assert_eq!(events().last(), Some(&Event::Activated { id: 0 }));
	});
}

#[test]
fn only_the_proposer_activates_and_only_once() {
	build_and_execute(|| {
		assert_noop!(Dataset::activate(signed(ALICE), 0), Error::<Test>::UnknownDataset);
		propose(ALICE);
		assert_noop!(Dataset::activate(signed(BOB), 0), Error::<Test>::NotProposer);
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert_noop!(Dataset::activate(signed(ALICE), 0), Error::<Test>::NotProposed);
	});
}

#[test]
fn an_unused_dataset_that_was_retired_stays_a_while_and_then_anybody_has_its_deposit_returned() {
	for active in [false, true] {
		build_and_execute(|| {
			propose(ALICE);
			if active {
				assert_ok!(Dataset::activate(signed(ALICE), 0));
			}
			pass(3);
			assert_noop!(Dataset::remove(signed(ALICE), 0), Error::<Test>::InUse);
			assert_eq!(Pallet::<Test>::removable_at(0), None);
			assert_ok!(Dataset::retire(signed(ALICE), 0));
			// Retired in block 4.
			assert_eq!(Pallet::<Test>::removable_at(0), Some(4 + 2 * ANSWER_TIME));
			pass(2 * ANSWER_TIME - 1);
			assert_noop!(Dataset::remove(signed(ALICE), 0), Error::<Test>::StillLeaving);
			assert_eq!((view(0).status, Balances::balance(&ALICE)), (DatasetStatus::Retired, FUNDS - DEPOSIT));
			pass(1);
			assert_noop!(Dataset::remove(RuntimeOrigin::none(), 0), DispatchError::BadOrigin);
			assert_ok!(Dataset::remove(signed(NOBODY), 0));
			assert_eq!((Pallet::<Test>::dataset(0), Pallet::<Test>::removable_at(0)), (None, None));
			assert_eq!(Balances::balance(&ALICE), FUNDS);
			let last = events().split_off(if active { 2 } else { 1 });
			assert_eq!(last, [Event::Retired { id: 0 }, Event::Removed { id: 0, deposit: DEPOSIT }]);
			assert_noop!(Dataset::remove(signed(NOBODY), 0), Error::<Test>::UnknownDataset);
		});
	}
}

#[test]
fn a_retired_dataset_that_is_used_leaves_after_its_last_user() {
	build_and_execute(|| {
		propose(ALICE);
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert_ok!(Dataset::acquire(0));
		assert_ok!(Dataset::acquire(0));
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		assert_eq!(view(0).status, DatasetStatus::Retired);
		assert_eq!(Dataset::active(0), None);
		assert_noop!(Dataset::acquire(0), Error::<Test>::NotActive);
		assert_noop!(Dataset::activate(signed(ALICE), 0), Error::<Test>::NotProposed);
		assert_noop!(Dataset::retire(signed(ALICE), 0), Error::<Test>::AlreadyRetired);

		Dataset::release(0);
		assert_eq!(view(0).users, 1);
		pass(4 * ANSWER_TIME);
		assert_noop!(Dataset::remove(signed(ALICE), 0), Error::<Test>::InUse);
		Dataset::release(0);
		assert_noop!(Dataset::remove(signed(ALICE), 0), Error::<Test>::StillLeaving);
		assert_eq!(Balances::balance(&ALICE), FUNDS - DEPOSIT);
		remove(0);
		assert_eq!(Pallet::<Test>::dataset(0), None);
		assert_eq!(Balances::balance(&ALICE), FUNDS);
		assert_eq!(events().last(), Some(&Event::Removed { id: 0, deposit: DEPOSIT }));
	});
}

#[test]
fn only_the_proposer_retires() {
	build_and_execute(|| {
		assert_noop!(Dataset::retire(signed(ALICE), 0), Error::<Test>::UnknownDataset);
		propose(ALICE);
		assert_noop!(Dataset::retire(signed(BOB), 0), Error::<Test>::NotProposer);
	});
}

#[test]
fn a_released_dataset_that_is_still_active_stays() {
	build_and_execute(|| {
		propose(ALICE);
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert_ok!(Dataset::acquire(0));
		Dataset::release(0);
		assert_eq!((view(0).users, Leaving::<Test>::get(0)), (0, None));
		assert_eq!(view(0).status, DatasetStatus::Active);
		// Without a use that was noted, nothing happens; neither for an unknown dataset.
		Dataset::release(0);
		Dataset::release(7);
		assert_eq!(view(0).users, 0);
	});
}

#[test]
fn acquiring_needs_a_dataset_and_room_in_the_counter() {
	build_and_execute(|| {
		assert_noop!(Dataset::acquire(0), Error::<Test>::UnknownDataset);
		propose(ALICE);
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		DatasetMap::<Test>::mutate(0, |entry| entry.as_mut().expect("just proposed").users = u32::MAX);
		assert_noop!(Dataset::acquire(0), ArithmeticError::Overflow);
	});
}
