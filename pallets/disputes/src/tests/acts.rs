//! Acts in rounds of training: what room they have, and how long.

use super::*;
use crate::{MovesAlone, FIRST};
use codec::Decode;
use frame_support::{
	dispatch::{DispatchClass, DispatchInfo, GetDispatchInfo, PostDispatchInfo},
	traits::Hooks,
	weights::Weight,
};
use frame_system::CheckWeight;
use neuroshard_types::run::{Act, Phase};
use sp_runtime::{
	traits::{DispatchTransaction, TransactionExtension},
	transaction_validity::{InvalidTransaction, TransactionSource::External, TransactionValidityError, ValidTransaction},
};

/// An act of the mock.
fn act(attempt: u32) -> Act {
	Act { run: 1, round: 2, attempt, phase: Phase::Revealing }
}

fn call(act: Act) -> RuntimeCall {
	frame_system::Call::remark_with_event { remark: codec::Encode::encode(&act) }.into()
}

fn extension() -> MovesAlone<Test, CheckWeight<Test>> {
	Decode::decode(&mut &[][..]).expect("nothing to decode")
}

/// Returns the dispatch information of `call` where it takes so much time.
fn info(call: &RuntimeCall, time: u64) -> DispatchInfo {
	DispatchInfo { call_weight: Weight::from_parts(time, 0), ..call.get_dispatch_info() }
}

fn valid(who: &AccountId, call: &RuntimeCall) -> ValidTransaction {
	extension().validate_only(signed(who), call, &info(call, 1), 1, External, 0).expect("valid").0
}

fn taken(who: &AccountId, call: &RuntimeCall, bytes: usize, time: u64) -> Result<(), TransactionValidityError> {
	extension().validate_and_prepare(signed(who), call, &info(call, time), bytes, 0).map(|_| ())
}

#[test]
fn an_act_is_first_and_operational_for_whom_there_is_room_alone() {
	build_and_execute(|| {
		Acts::set(vec![(ALICE, act(0))]);
		let of = |class| System::block_weight().get(class).ref_time();
		for (who, attempt, first) in [(ALICE, 0, true), (BOB, 0, false), (ALICE, 1, false)] {
			let (call, before) = (call(act(attempt)), [DispatchClass::Operational, DispatchClass::Normal].map(of));
			let valid = valid(&who, &call);
			assert_eq!((valid.priority >= FIRST, valid.provides.len()), (first, usize::from(first)));
			assert_eq!(taken(&who, &call, 1, 5), Ok(()));
			let grown =
				[DispatchClass::Operational, DispatchClass::Normal].map(of).into_iter().zip(before).map(|(after, before)| after > before);
			assert_eq!(grown.collect::<Vec<_>>(), [first, !first]);
		}
		Disputes::on_finalize(1);
	});
}

#[test]
fn two_acts_of_one_account_in_one_phase_exclude_each_other_in_the_pool() {
	build_and_execute(|| {
		Acts::set(vec![(ALICE, act(0)), (ALICE, act(1)), (BOB, act(0))]);
		let tags = [(ALICE, 0), (ALICE, 1), (BOB, 0)].map(|(who, attempt)| valid(&who, &call(act(attempt))).provides);
		assert!(tags[0] != tags[1] && tags[0] != tags[2]);
		assert_eq!(tags[0], valid(&ALICE, &call(act(0))).provides);
	});
}

#[test]
fn the_acts_of_a_block_have_so_many_bytes_and_so_much_time_and_no_more() {
	build_and_execute(|| {
		Acts::set(vec![(ALICE, act(0))]);
		let (call, most, full) = (call(act(0)), ACTS_LENGTH as usize, Err(InvalidTransaction::ExhaustsResources.into()));
		assert_eq!([taken(&ALICE, &call, most + 1, 1), taken(&ALICE, &call, most - 1, 1)], [full, Ok(())]);
		assert_eq!([taken(&ALICE, &call, 2, 1), taken(&ALICE, &call, 1, 1)], [full, Ok(())]);
		// Those for which there is no room take nothing of it.
		assert_eq!(taken(&BOB, &call, most, 1), Ok(()));
		Disputes::on_finalize(1);
		assert_eq!([taken(&ALICE, &call, 1, ACTS_TIME + 1), taken(&ALICE, &call, 1, ACTS_TIME)], [full, Ok(())]);
		assert_eq!(taken(&ALICE, &call, 1, 1), full);
		Disputes::on_finalize(2);
	});
}

#[test]
fn what_an_act_does_not_need_is_room_for_the_next_one() {
	build_and_execute(|| {
		Acts::set(vec![(ALICE, act(0))]);
		let (call, full) = (call(act(0)), Err(InvalidTransaction::ExhaustsResources.into()));
		let run = |who: &AccountId, declared: u64, needed: u64| {
			let post = PostDispatchInfo { actual_weight: Some(Weight::from_parts(needed, 0)), ..Default::default() };
			extension().test_run(signed(who), &call, &info(&call, declared), 1, 0, |_| Ok(post)).expect("a place in the block").is_ok()
		};
		assert!(run(&ALICE, ACTS_TIME, ACTS_TIME / 10));
		// What needs nothing of the room gives nothing back.
		assert!(run(&BOB, 50, 0));
		assert_eq!(
			[taken(&ALICE, &call, 1, ACTS_TIME - ACTS_TIME / 10 + 1), taken(&ALICE, &call, 1, ACTS_TIME - ACTS_TIME / 10)],
			[full, Ok(())]
		);
		Disputes::on_finalize(1);
	});
}

#[test]
fn an_act_that_was_refused_is_noted_and_one_that_was_taken_is_not() {
	build_and_execute(|| {
		Acts::set(vec![(ALICE, act(0)), (BOB, act(0))]);
		let call = call(act(0));
		let run = |who: &AccountId, result: Result<_, sp_runtime::DispatchError>| {
			let dispatch = |_| result.map(|()| Default::default()).map_err(Into::into);
			let ran = extension().test_run(signed(who), &call, &info(&call, 1), 1, 0, dispatch);
			ran.expect("a place in the block").is_ok()
		};
		assert!(run(&BOB, Ok(())) && !run(&ALICE, Err(sp_runtime::DispatchError::Unavailable)));
		assert_eq!(Acts::get(), [(BOB, act(0))]);
		Disputes::on_finalize(1);
	});
}

#[test]
fn the_look_whether_there_is_room_is_paid_for_by_acts_alone() {
	build_and_execute(|| {
		let remark = frame_system::Call::remark { remark: codec::Encode::encode(&act(0)) }.into();
		let [act, other] = [call(act(0)), remark].map(|call| extension().weight(&call));
		let database = <Test as frame_system::Config>::DbWeight::get().reads_writes(2, 1);
		assert_eq!(act - other, Weight::from_parts(ACT_WEIGHT, 0) + database);
	});
}
