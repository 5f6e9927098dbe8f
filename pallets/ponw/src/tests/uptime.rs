//! The call `submit_uptime`.

use crate::{mock::*, Activities, Error, Event};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{proof::Proof, H256};
use sp_runtime::DispatchError;

#[test]
fn uptime_is_noted_and_pays_nothing() {
	build_and_execute(|| {
		assert_ok!(submit_uptime(&ALICE, uptime(START)));
		assert_eq!((Uptimes::get().get(&ALICE), Successes::get().get(&ALICE)), (Some(&1), None));
		System::assert_last_event(Event::Up { who: ALICE, hour: 480_000 }.into());
		run_to(100);
		assert_eq!(Credited::get(), vec![]);
		assert_eq!(Claims::get().get(&ALICE), None);
	});
}

#[test]
fn uptime_counts_once_an_hour() {
	build_and_execute(|| {
		assert_ok!(submit_uptime(&ALICE, uptime(START)));
		Now::set(START + 30 * MINUTE);
		assert_noop!(submit_uptime(&ALICE, uptime(START + 30 * MINUTE)), Error::<Test>::AlreadyProven);
		Now::set(START + HOUR);
		// The hour before is still fresh for five minutes, and still used.
		assert_noop!(submit_uptime(&ALICE, uptime(START + HOUR - 1)), Error::<Test>::AlreadyProven);
		assert_ok!(submit_uptime(&ALICE, uptime(START + HOUR)));
		assert_eq!(Uptimes::get().get(&ALICE), Some(&2));
	});
}

#[test]
fn the_key_must_be_the_hour_of_the_timestamp() {
	build_and_execute(|| {
		let mut proof = uptime(START);
		proof.key.run += 1;
		assert_noop!(submit_uptime(&ALICE, proof), Error::<Test>::WrongHour);
		let mut proof = uptime(START);
		proof.key.round = 1;
		assert_noop!(submit_uptime(&ALICE, proof), Error::<Test>::WrongHour);
		let proof = Proof { timestamp: u64::MAX, ..uptime(START) };
		assert_noop!(submit_uptime(&ALICE, proof), Error::<Test>::WrongHour);
	});
}

#[test]
fn uptime_carries_no_work() {
	build_and_execute(|| {
		let proof = Proof { work_hash: H256::repeat_byte(1), ..uptime(START) };
		assert_noop!(submit_uptime(&ALICE, proof), Error::<Test>::WorkInUptime);
	});
}

#[test]
fn training_is_not_submitted_as_uptime() {
	build_and_execute(|| {
		assert_noop!(submit_uptime(&ALICE, proof(key(480_000, 0))), Error::<Test>::WrongKind);
	});
}

#[test]
fn uptime_must_be_fresh() {
	build_and_execute(|| {
		assert_noop!(submit_uptime(&ALICE, uptime(START - 5 * MINUTE - 1)), Error::<Test>::TooOld);
		assert_noop!(submit_uptime(&ALICE, uptime(START + 5 * MINUTE + 1)), Error::<Test>::FromTheFuture);
		assert_ok!(submit_uptime(&ALICE, uptime(START - 5 * MINUTE)));
	});
}

#[test]
fn uptime_is_signed_by_the_caller_s_registered_key() {
	build_and_execute(|| {
		let proof = uptime(START);
		let origin = RuntimeOrigin::signed(ALICE);
		assert_noop!(Ponw::submit_uptime(origin, proof, sign(&BOB, &proof)), Error::<Test>::BadSignature);
		assert_noop!(Ponw::submit_uptime(RuntimeOrigin::none(), proof, sign(&ALICE, &proof)), DispatchError::BadOrigin);
		assert_noop!(Ponw::submit_uptime(RuntimeOrigin::signed(BOB), proof, sign(&ALICE, &proof)), Error::<Test>::BadSignature);
	});
}

#[test]
fn only_active_providers_prove_uptime() {
	build_and_execute(|| {
		assert_noop!(submit_uptime(&NOBODY, uptime(START)), Error::<Test>::NotRegistered);
		Chilled::set([ALICE].into());
		assert_noop!(submit_uptime(&ALICE, uptime(START)), Error::<Test>::NotActive);
	});
}

#[test]
fn uptime_and_training_share_the_rate() {
	build_and_execute(|| {
		for round in 0..120 {
			assert_ok!(submit(&ALICE, key(0, round)));
		}
		assert_noop!(submit_uptime(&ALICE, uptime(START)), Error::<Test>::RateExceeded);
		assert_eq!(Activities::<Test>::get(ALICE).and_then(|activity| activity.uptime_hour), None);
	});
}

#[test]
fn the_operator_of_a_provider_proves_that_its_owner_is_up() {
	build_and_execute(|| {
		Owners::set([(BOB, ALICE)].into());
		let (proof, signature) = (uptime(START), sign(&ALICE, &uptime(START)));
		assert_ok!(Ponw::submit_uptime(RuntimeOrigin::signed(BOB), proof, signature));
		assert_eq!((Uptimes::get().get(&ALICE), Uptimes::get().get(&BOB)), (Some(&1), None));
		// The proof is bound to the owner.
		Now::set(START + HOUR);
		let (proof, signature) = (uptime(START + HOUR), sign(&BOB, &uptime(START + HOUR)));
		assert_noop!(Ponw::submit_uptime(RuntimeOrigin::signed(BOB), proof, signature), Error::<Test>::BadSignature);
	});
}
