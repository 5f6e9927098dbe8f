//! Datasets: who retires them, and how the stakes of those who attest them answer.

use super::*;
use crate::common::{
	dataset::{manifest, opening},
	provider,
};
use frame_support::{
	dispatch::{DispatchClass, GetDispatchInfo},
	traits::fungible::{Inspect, InspectHold},
};
use neuroshard_runtime::{Balances, Staking};
use neuroshard_types::{
	dataset::{ChunkPlace, DatasetStatus, ShardRange},
	provider::{ProviderStatus, Role, Roles},
};
use pallet_neuro_dataset::{Call, Error, Reason, Refusal};
use pallet_neuro_disputes::CheckTurn;
use sp_runtime::{
	traits::{DispatchTransaction, TransactionExtension},
	transaction_validity::{InvalidTransaction, TransactionSource::External},
};

const BOND: u128 = 1_000 * NEURO;
/// 0.1 NEURO for each of two items, and 0.01 NEURO for each of 145 bytes.
const DEPOSIT: u128 = 165 * NEURO / 100;
const PLACE: ChunkPlace = ChunkPlace { shard: 3, chunk: 1 };

fn force_retire() -> Call<Runtime> {
	Call::force_retire { id: 0, reason: Reason::truncate_from(b"not theirs to give".to_vec()) }
}

/// A dataset of zeros, which Ferdie proposes.
fn propose() {
	assert_ok!(Dataset::propose(signed(Ferdie), manifest(0)));
}

/// Makes Eve an active provider that attests all of the dataset.
fn attest() {
	assert_ok!(Staking::register(signed(Eve), provider::info(Roles::only(Role::Worker), 1), BOND));
	let Some(ProviderStatus::Unproven { challenge }) = status() else { panic!("a new provider is unproven") };
	assert_ok!(Staking::prove_arithmetic(signed(Eve), H256(neuroshard_kernels::kat::drawn(challenge.0))));
	assert_ok!(Dataset::attest(signed(Eve), 0, ShardRange { first: 0, count: 4 }));
}

fn status() -> Option<ProviderStatus> {
	Staking::provider(account(Eve)).map(|provider| provider.status)
}

fn bonded() -> u128 {
	Staking::provider(account(Eve)).map_or(0, |provider| provider.bonded)
}

#[test]
fn each_collective_alone_retires_the_dataset_of_anybody() {
	let bodies: [fn(RuntimeCall) -> DispatchResult; 2] = [|call| council(call), |call| committee(call)];
	for by in bodies {
		execute(|| {
			create_run();
			assert_eq!(dispatch(Ferdie, force_retire()), Err(DispatchError::BadOrigin));
			assert_ok!(by(force_retire().into()));
			// Its run goes on.
			assert_eq!(Dataset::dataset(0).map(|dataset| dataset.status), Some(DatasetStatus::Retired));
			assert!(is_active());
		});
	}
}

#[test]
fn who_attests_withdraws_no_stake_and_who_does_not_answer_loses_some_and_is_suspended() {
	execute(|| {
		propose();
		attest();
		assert_eq!(Dataset::coverage(0).iter().map(|part| (part.shards.count, part.holders)).collect::<Vec<_>>(), [(4, 1)]);
		assert_ok!(Staking::unbond(signed(Eve), BOND - 100 * NEURO));
		System::set_block_number(System::block_number() + Staking::limits().1);
		assert_eq!(Staking::withdraw_unbonded(signed(Eve)), Err(pallet_neuro_staking::Error::<Runtime>::OpenClaims.into()));

		assert_ok!(Dataset::attest(signed(Eve), 0, ShardRange { first: 0, count: 4 }));
		assert_ok!(Dataset::challenge_shard(signed(Dave), 0, account(Eve), PLACE));
		assert_eq!(Balances::balance(&account(Dave)), FUNDS - 10 * NEURO);
		let issuance = Balances::total_issuance();
		System::set_block_number(System::block_number() + Dataset::attestation_terms().answer_time + 1);
		assert_ok!(Dataset::conclude_challenge(signed(Bob), 0, account(Eve), account(Dave)));
		assert_eq!(Balances::balance(&account(Dave)), FUNDS + 50 * NEURO);
		assert_eq!(issuance - Balances::total_issuance(), 50 * NEURO);
		// Unbonding parts go first.
		assert_eq!((status(), bonded()), (Some(ProviderStatus::Chilled), 100 * NEURO));
		assert_ok!(Staking::withdraw_unbonded(signed(Eve)));
		assert_eq!(Balances::total_balance_on_hold(&account(Eve)), 100 * NEURO);
		assert_eq!(Balances::balance(&account(Eve)), FUNDS - 200 * NEURO);
		assert!(Dataset::holders(0, 0).is_empty());
	});
}

#[test]
fn in_safe_mode_attesters_answer_and_withdraw_and_nobody_asks_anew() {
	execute(|| {
		propose();
		attest();
		assert_ok!(Dataset::challenge_shard(signed(Dave), 0, account(Eve), PLACE));
		assert_ok!(committee(pallet_safe_mode::Call::force_enter {}));
		let ask = Call::challenge_shard { id: 0, who: account(Eve), place: PLACE };
		assert_eq!(dispatch(Bob, ask), Err(FILTERED));
		assert_ok!(dispatch(Eve, Call::answer_challenge { id: 0, challenger: account(Dave), opening: opening(0) }));
		let answer_time = Dataset::attestation_terms().answer_time;
		assert_ok!(dispatch(Eve, Call::withdraw_attestation { id: 0, who: account(Eve) }));
		System::set_block_number(System::block_number() + answer_time);
		assert_ok!(dispatch(Eve, Call::withdraw_attestation { id: 0, who: account(Eve) }));
		assert_eq!(Balances::balance(&account(Eve)), FUNDS - BOND + 5 * NEURO);
		// What is as it should be is not condemned, in safe mode either.
		let condemn = Call::condemn { id: 0, place: PLACE, opening: opening(0) };
		assert_eq!(dispatch(Bob, condemn), Err(Error::<Runtime>::NotFalse.into()));
		assert_ok!(dispatch(Ferdie, Call::retire { id: 0 }));
		System::set_block_number(System::block_number() + 2 * answer_time);
		assert_ok!(dispatch(Ferdie, Call::remove { id: 0 }));
		assert_eq!(Balances::balance(&account(Ferdie)), FUNDS);
	});
}

#[test]
fn an_attestation_costs_its_deposit_while_it_stands() {
	execute(|| {
		propose();
		attest();
		assert_eq!(Balances::total_balance_on_hold(&account(Eve)), BOND + DEPOSIT);
		assert_ok!(Dataset::withdraw_attestation(signed(Eve), 0, account(Eve)));
		System::set_block_number(System::block_number() + Dataset::attestation_terms().answer_time);
		assert_ok!(Dataset::withdraw_attestation(signed(Bob), 0, account(Eve)));
		assert_eq!(Balances::total_balance_on_hold(&account(Eve)), BOND);
	});
}

#[test]
fn only_an_answer_of_whom_is_asked_in_time_gets_into_a_block() {
	execute(|| {
		propose();
		attest();
		let answer = |challenger, text| Call::answer_challenge { id: 0, challenger: account(challenger), opening: opening(text) }.into();
		let valid = |who, call: &RuntimeCall| {
			let extension = CheckTurn::<Runtime>::default();
			extension.validate_only(signed(who), call, &Default::default(), 0, External, 0).map(|_| ())
		};
		let refused = |refusal: Refusal| Err(InvalidTransaction::Custom(refusal.code()).into());
		assert_eq!(valid(Eve, &answer(Dave, 0)), refused(Refusal::NoChallenge));
		assert_ok!(Dataset::challenge_shard(signed(Dave), 0, account(Eve), PLACE));
		assert_eq!(valid(Eve, &answer(Dave, 0)), Ok(()));
		assert_eq!(valid(Bob, &answer(Dave, 0)), refused(Refusal::NoChallenge));
		assert_eq!(valid(Eve, &answer(Bob, 0)), refused(Refusal::NoChallenge));
		assert_eq!(valid(Eve, &answer(Dave, 1)), refused(Refusal::WrongOpening));
		// Its weight is charged, and no other call about datasets is looked at.
		let weight = |call: RuntimeCall| CheckTurn::<Runtime>::default().weight(&call);
		assert!(weight(answer(Dave, 0)).ref_time() > 0 && weight(Call::retire { id: 0 }.into()) == Default::default());
		assert_eq!(valid(Bob, &Call::retire { id: 0 }.into()), Ok(()));
		assert_eq!(answer(Dave, 0).get_dispatch_info().class, DispatchClass::Operational);
		System::set_block_number(System::block_number() + Dataset::attestation_terms().answer_time + 1);
		assert_eq!(valid(Eve, &answer(Dave, 0)), refused(Refusal::TooLate));
	});
}
