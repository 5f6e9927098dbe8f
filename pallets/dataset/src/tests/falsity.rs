//! Datasets that are condemned, and those that governance retires.

use super::{
	chunks::{opening_of, propose_real, root_of_all, PLACE},
	*,
};
use crate::{
	mock::{build_and_execute, Balances, ALICE, ANSWER_TIME, BOB, FUNDS},
	Datasets as DatasetMap, Error,
};
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_types::{
	dataset::{ChunkPlace, DatasetStatus},
	traits::Datasets,
};
use sp_runtime::{DispatchError, DispatchResult};

/// Deposit of the mock's manifest: see `lifecycle`.
const DEPOSIT: u128 = 1_994;

/// Proposes a dataset of which hardly a token is below the vocabulary.
fn propose_false() {
	let mut manifest = manifest();
	manifest.root = root_of_all();
	manifest.vocab = 32;
	manifest.tokenizer.tokens = TextTokens { usable: 32, end: 31 };
	assert_ok!(Dataset::propose(signed(ALICE), manifest));
}

fn condemn(who: AccountId, place: ChunkPlace) -> DispatchResult {
	Dataset::condemn(signed(who), 0, place, opening_of(place))
}

#[test]
fn a_chunk_that_contradicts_the_manifest_costs_the_proposer_its_deposit() {
	build_and_execute(|| {
		propose_false();
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		let issuance = Balances::total_issuance();
		assert_ok!(condemn(BOB, PLACE));
		// Of 1,994 planck 997 are paid.
		assert_eq!((Balances::balance(&BOB), Balances::total_balance(&ALICE)), (FUNDS + 997, FUNDS - DEPOSIT));
		assert_eq!(issuance - Balances::total_issuance(), 997);
		assert_noop!(condemn(BOB, PLACE), Error::<Test>::Condemned);
		remove(0);
		let told = events().split_off(2);
		let expected =
			[Event::Condemned { id: 0, reporter: BOB, place: PLACE, rewarded: 997, burned: 997 }, Event::Removed { id: 0, deposit: 0 }];
		assert_eq!(told, expected);
		assert_eq!((Pallet::<Test>::dataset(0), Balances::total_balance(&ALICE)), (None, FUNDS - DEPOSIT));
		assert_noop!(condemn(BOB, PLACE), Error::<Test>::UnknownDataset);
	});
}

#[test]
fn a_condemned_dataset_takes_no_new_runs_and_goes_with_the_last_one() {
	build_and_execute(|| {
		propose_false();
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert_ok!(Dataset::acquire(0));
		assert_ok!(condemn(BOB, PLACE));
		assert_eq!((view(0).status, view(0).deposit), (DatasetStatus::Condemned, 0));
		assert_eq!((Dataset::active(0), view(0).manifest.root), (None, root_of_all()));
		assert_noop!(Dataset::acquire(0), Error::<Test>::NotActive);
		assert_noop!(Dataset::activate(signed(ALICE), 0), Error::<Test>::NotProposed);
		assert_noop!(Dataset::retire(signed(ALICE), 0), Error::<Test>::Condemned);
		assert_noop!(Dataset::force_retire(RuntimeOrigin::root(), 0, Default::default()), Error::<Test>::Condemned);
		assert_noop!(condemn(BOB, PLACE), Error::<Test>::Condemned);
		Dataset::release(0);
		remove(0);
		assert_eq!(Pallet::<Test>::dataset(0), None);
		assert_eq!(Balances::total_balance(&ALICE), FUNDS - DEPOSIT);
	});
}

#[test]
fn who_sees_a_condemnation_coming_does_not_escape_it_by_retiring() {
	build_and_execute(|| {
		propose_false();
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		pass(2 * ANSWER_TIME - 1);
		assert_ok!(condemn(BOB, PLACE));
		assert_eq!((Balances::balance(&BOB), Balances::total_balance(&ALICE)), (FUNDS + 997, FUNDS - DEPOSIT));
		// It leaves when it would have left anyway.
		pass(1);
		assert_ok!(Dataset::remove(signed(ALICE), 0));
		assert_eq!(Balances::total_balance(&ALICE), FUNDS - DEPOSIT);
	});
}

#[test]
fn who_sees_a_condemnation_coming_does_not_escape_it_by_ending_the_last_run_either() {
	build_and_execute(|| {
		propose_false();
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert_ok!(Dataset::acquire(0));
		assert_ok!(Dataset::retire(signed(ALICE), 0));
		pass(3 * ANSWER_TIME);
		Dataset::release(0);
		assert_noop!(Dataset::remove(signed(ALICE), 0), Error::<Test>::StillLeaving);
		assert_ok!(condemn(BOB, PLACE));
		assert_eq!(Balances::balance(&BOB), FUNDS + 997);
	});
}

#[test]
fn what_is_as_the_manifest_says_or_is_not_shown_condemns_nothing() {
	build_and_execute(|| {
		propose_real();
		let another = ChunkPlace { shard: 0, chunk: 0 };
		assert_noop!(Dataset::condemn(signed(BOB), 0, PLACE, opening_of(another)), Error::<Test>::WrongOpening);
		assert_noop!(Dataset::condemn(RuntimeOrigin::none(), 0, PLACE, opening_of(PLACE)), DispatchError::BadOrigin);
		// Tokens of two equal or nearly equal bytes are beyond the vocabulary of 1,024 of the mock.
		DatasetMap::<Test>::mutate(0, |entry| entry.as_mut().expect("just proposed").manifest.vocab = 65_536);
		assert_noop!(condemn(BOB, PLACE), Error::<Test>::NotFalse);
		// What fills up the last chunk is no zero.
		assert_ok!(condemn(BOB, ChunkPlace { shard: 2, chunk: 2 }));
	});
}

#[test]
fn who_condemns_its_own_dataset_loses_all_of_the_deposit() {
	build_and_execute(|| {
		propose_false();
		let issuance = Balances::total_issuance();
		assert_ok!(condemn(ALICE, PLACE));
		assert_eq!((Balances::total_balance(&ALICE), issuance - Balances::total_issuance()), (FUNDS - DEPOSIT, DEPOSIT));
		let expected = Event::Condemned { id: 0, reporter: ALICE, place: PLACE, rewarded: 0, burned: DEPOSIT };
		assert_eq!(events().last(), Some(&expected));
	});
}

#[test]
fn governance_retires_the_dataset_of_anybody_and_the_deposit_goes_back() {
	build_and_execute(|| {
		assert_noop!(Dataset::force_retire(RuntimeOrigin::root(), 0, Default::default()), Error::<Test>::UnknownDataset);
		propose(ALICE);
		assert_ok!(Dataset::activate(signed(ALICE), 0));
		assert_ok!(Dataset::acquire(0));
		assert_noop!(Dataset::force_retire(signed(ALICE), 0, Default::default()), DispatchError::BadOrigin);
		let reason: crate::Reason = b"not theirs to give".to_vec().try_into().expect("short enough");
		assert_ok!(Dataset::force_retire(RuntimeOrigin::root(), 0, reason.clone()));
		assert_eq!(view(0).status, DatasetStatus::Retired);
		assert_eq!(events().split_off(2), [Event::Retired { id: 0 }, Event::ForceRetired { id: 0, reason }]);
		assert_noop!(Dataset::force_retire(RuntimeOrigin::root(), 0, Default::default()), Error::<Test>::AlreadyRetired);
		Dataset::release(0);
		remove(0);
		assert_eq!(Balances::balance(&ALICE), FUNDS);
	});
}
