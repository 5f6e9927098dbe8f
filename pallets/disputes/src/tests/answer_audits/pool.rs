//! Deliveries in pools and blocks: moves of the provider, and of nobody else.

use super::*;
use crate::{turn::is_first, Call, CheckTurn, Refusal};
use frame_support::dispatch::DispatchInfo;
use frame_support::traits::Hooks;
use sp_runtime::{
	traits::DispatchTransaction,
	transaction_validity::{InvalidTransaction, TransactionSource::External, TransactionValidityError},
};

/// Returns the verdict of a pool on this call, signed by `who`: what it provides, or why it is refused.
fn valid(who: &AccountId, call: Call<Test>) -> Result<Vec<Vec<u8>>, TransactionValidityError> {
	let valid = CheckTurn::<Test>::default().validate_only(signed(who), &call.into(), &DispatchInfo::default(), 0, External, 0);
	valid.map(|(valid, ..)| valid.provides)
}

fn refused() -> Result<Vec<Vec<u8>>, TransactionValidityError> {
	Err(InvalidTransaction::Custom(Refusal::NotToDeliver.code()).into())
}

#[test]
fn a_delivery_is_taken_from_the_provider_or_its_operator_once_while_it_is_demanded() {
	build_and_execute(|| {
		let answers = said(&HONEST, 2);
		let auditors = drawn(&answers);
		let call = |place| delivery(&answers, place);
		assert_eq!(valid(&HONEST, call(0)), refused());
		assert_ok!(demand(&auditors[0], &answers[0]));
		assert_ok!(demand(&auditors[1], &answers[1]));
		let first = valid(&HONEST, call(0)).expect("it is demanded");
		assert_eq!(first.len(), 1);
		assert_ne!(valid(&HONEST, call(1)), Ok(first.clone()));
		assert_eq!((valid(&LIAR, call(0)), valid(&auditors[0], call(0))), (refused(), refused()));
		Owners::set([(account(8), HONEST)].into());
		assert_eq!(valid(&account(8), call(0)), Ok(first));
		// What the call refuses is no move.
		let mut other = call(0);
		if let Call::deliver_answer { prompt, .. } = &mut other {
			prompt[0] += 1;
		}
		assert_eq!(valid(&HONEST, other), refused());
		assert_ok!(send(&HONEST, call(0)));
		assert_eq!(valid(&HONEST, call(0)), refused());
		run_to(System::block_number() + DELIVER_TIME + 1);
		assert_eq!(valid(&HONEST, call(1)), refused());
	});
}

#[test]
fn a_delivery_comes_first_and_takes_the_room_of_moves() {
	build_and_execute(|| {
		let answers = said(&HONEST, 1);
		let auditors = drawn(&answers);
		assert_ok!(demand(&auditors[0], &answers[0]));
		let call = RuntimeCall::from(delivery(&answers, 0));
		assert!(is_first::<Test>(&call));
		let take = |bytes| CheckTurn::<Test>::default().validate_and_prepare(signed(&HONEST), &call, &DispatchInfo::default(), bytes, 0);
		let full = Some(InvalidTransaction::ExhaustsResources.into());
		assert_eq!(take(MOVES_LENGTH as usize + 1).err(), full);
		assert!(take(MOVES_LENGTH as usize).is_ok());
		assert_eq!(take(1).err(), full);
		Disputes::on_finalize(1);
		// A demand is an extrinsic like any other.
		let demanded = RuntimeCall::from(Call::demand_answer { session: SESSION, provider: HONEST, place: 0 });
		assert!(!is_first::<Test>(&demanded));
	});
}

#[test]
fn no_other_call_carries_a_delivery_or_a_demand() {
	build_and_execute(|| {
		let answers = said(&HONEST, 1);
		let auditors = drawn(&answers);
		let carried = Some(InvalidTransaction::Custom(Refusal::Carried.code()).into());
		let batch = |call: Call<Test>| RuntimeCall::from(pallet_utility::Call::batch { calls: vec![call.into()] });
		let take = |who: &AccountId, call: Call<Test>| {
			CheckTurn::<Test>::default().validate_only(signed(who), &batch(call), &DispatchInfo::default(), 0, External, 0).err()
		};
		assert_eq!(take(&auditors[0], Call::demand_answer { session: SESSION, provider: HONEST, place: 0 }), carried);
		assert_ok!(demand(&auditors[0], &answers[0]));
		assert_eq!(take(&HONEST, delivery(&answers, 0)), carried);
	});
}
