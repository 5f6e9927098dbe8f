//! Tests of what `submit` refuses, one refusal a test.

use crate::{mock::*, Error, Pending};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	proof::{PendingProof, Proof, ProofKind, ProofSignature, WorkClaim},
	traits::WorkProofs,
	AccountId, H256,
};
use sp_core::{crypto::Pair as _, ecdsa};

/// Submits a training proof of round 0 of run 0 with `change` applied before it is signed.
fn submit_changed(change: impl FnOnce(&mut Proof)) -> Result<(), sp_runtime::DispatchError> {
	let mut proof = proof(key(0, 0));
	change(&mut proof);
	Ponw::submit(&ALICE, &proof, &sign(&ALICE, &proof), EASY)
}

/// Submits a correct proof under this signature.
fn submit_signed(signature: impl FnOnce(&Proof) -> ProofSignature) -> Result<(), sp_runtime::DispatchError> {
	let proof = proof(key(0, 0));
	Ponw::submit(&ALICE, &proof, &signature(&proof), EASY)
}

#[test]
fn a_correct_proof_is_pending_without_payment() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(3, 4)));
		assert_eq!(Pending::<Test>::get(ALICE, key(3, 4)).map(PendingProof::from), Some(PendingProof { units: 0, final_at: None }));
		assert_eq!(Claims::get().get(&ALICE), Some(&1));
	});
}

#[test]
fn the_signature_covers_exactly_the_documented_bytes() {
	build_and_execute(|| {
		let proof = proof(key(0x0102_0304, 5));
		// "neuroshard/ponw/1", genesis hash, account, run, round, kind, timestamp, work hash: integers little-endian.
		let mut bytes = b"neuroshard/ponw/1".to_vec();
		bytes.extend(System::block_hash(0).as_bytes());
		bytes.extend([1; 32]);
		bytes.extend([4, 3, 2, 1, 5, 0, 0, 0, 0]);
		bytes.extend(START.to_le_bytes());
		bytes.extend([5; 32]);
		let hash = sp_io::hashing::blake2_256(&bytes);
		assert_ok!(Ponw::submit(&ALICE, &proof, &pair(&ALICE).sign_prehashed(&hash).0, EASY));
	});
}

#[test]
fn a_proof_is_fresh_for_five_minutes_both_ways() {
	build_and_execute(|| {
		assert_noop!(submit_changed(|proof| proof.timestamp = START - 5 * MINUTE - 1), Error::<Test>::TooOld);
		assert_noop!(submit_changed(|proof| proof.timestamp = START + 5 * MINUTE + 1), Error::<Test>::FromTheFuture);
		assert_ok!(submit_changed(|proof| proof.timestamp = START - 5 * MINUTE));
		assert_ok!(submit_changed(|proof| (proof.timestamp, proof.key) = (START + 5 * MINUTE, key(0, 1))));
	});
}

#[test]
fn timestamps_at_the_ends_of_time_are_refused() {
	build_and_execute(|| {
		assert_noop!(submit_changed(|proof| proof.timestamp = 0), Error::<Test>::TooOld);
		assert_noop!(submit_changed(|proof| proof.timestamp = u64::MAX), Error::<Test>::FromTheFuture);
	});
}

#[test]
fn only_training_is_submitted_here() {
	build_and_execute(|| {
		assert_noop!(submit_changed(|proof| proof.key.kind = ProofKind::Uptime), Error::<Test>::WrongKind);
	});
}

#[test]
fn who_never_registered_cannot_prove() {
	build_and_execute(|| {
		assert_noop!(submit(&NOBODY, key(0, 0)), Error::<Test>::NotRegistered);
	});
}

#[test]
fn a_chilled_provider_can_still_prove_what_it_has_done() {
	build_and_execute(|| {
		Chilled::set([ALICE].into());
		assert_ok!(submit(&ALICE, key(0, 0)));
	});
}

#[test]
fn the_signature_of_another_key_is_refused() {
	build_and_execute(|| {
		assert_noop!(submit_signed(|proof| sign(&BOB, proof)), Error::<Test>::BadSignature);
	});
}

#[test]
fn a_signature_over_another_proof_is_refused() {
	build_and_execute(|| {
		assert_noop!(submit_signed(|proof| sign(&ALICE, &Proof { work_hash: H256::zero(), ..*proof })), Error::<Test>::BadSignature);
		assert_noop!(submit_signed(|proof| sign(&ALICE, &Proof { key: key(0, 1), ..*proof })), Error::<Test>::BadSignature);
		assert_noop!(submit_signed(|proof| sign(&ALICE, &Proof { timestamp: START + 1, ..*proof })), Error::<Test>::BadSignature);
	});
}

#[test]
fn a_signature_for_another_account_or_chain_is_refused() {
	build_and_execute(|| {
		let other = |genesis: H256, who: AccountId| move |proof: &Proof| pair(&ALICE).sign(&proof.message(genesis, &who)).0;
		assert_noop!(submit_signed(other(System::block_hash(0), BOB)), Error::<Test>::BadSignature);
		assert_noop!(submit_signed(other(H256::repeat_byte(1), ALICE)), Error::<Test>::BadSignature);
	});
}

#[test]
fn bytes_that_are_no_signature_are_refused() {
	build_and_execute(|| {
		for byte in [0, 1, 27, 255] {
			assert_noop!(submit_signed(|_| [byte; 65]), Error::<Test>::BadSignature);
		}
	});
}

#[test]
fn a_registered_key_that_is_no_point_verifies_nothing() {
	build_and_execute(|| {
		Keys::mutate(|keys| keys.insert(ALICE, [0; 33]));
		assert_noop!(submit(&ALICE, key(0, 0)), Error::<Test>::BadSignature);
	});
}

#[test]
fn another_signature_of_a_pending_key_is_a_replay() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 0)));
		// New timestamp, new work: other bytes, same work.
		let again = submit_changed(|proof| (proof.timestamp, proof.work_hash) = (START + 1, H256::zero()));
		assert_noop!(again, Error::<Test>::AlreadyPending);
		// The twin of a signature, with s negated, is other bytes too.
		let proof = proof(key(0, 0));
		let twin = negated(sign(&ALICE, &proof));
		assert!(ecdsa::Signature::from_raw(twin).recover(proof.message(System::block_hash(0), &ALICE)).is_some());
		assert_noop!(Ponw::submit(&ALICE, &proof, &twin, EASY), Error::<Test>::AlreadyPending);
	});
}

/// The other signature of the same message: (r, n - s) with the recovery bit flipped.
fn negated(mut signature: ProofSignature) -> ProofSignature {
	let order =
		sp_core::U256::from_str_radix("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16).expect("the group's order");
	let s = order - sp_core::U256::from_big_endian(&signature[32..64]);
	signature[32..64].copy_from_slice(&s.to_big_endian());
	signature[64] ^= 1;
	signature
}

#[test]
fn the_same_key_of_two_accounts_is_two_proofs() {
	build_and_execute(|| {
		assert_ok!(submit(&ALICE, key(0, 0)));
		assert_ok!(submit(&BOB, key(0, 0)));
	});
}

#[test]
fn work_beyond_four_times_the_hardware_is_implausible() {
	build_and_execute(|| {
		let proof = proof(key(0, 0));
		let submit = |flops, elapsed_ms| Ponw::submit(&ALICE, &proof, &sign(&ALICE, &proof), WorkClaim { flops, elapsed_ms });
		// 100 GFLOP/s for 2 s, four times over: 8e11 operations.
		assert_noop!(submit(800_000_000_001, 2_000), Error::<Test>::Implausible);
		assert_noop!(submit(1, 0), Error::<Test>::Implausible);
		assert_noop!(submit(u128::MAX, u64::MAX), Error::<Test>::Implausible);
		assert_ok!(submit(800_000_000_000, 2_000));
	});
}

#[test]
fn a_hundred_and_twenty_proofs_pass_in_an_hour() {
	build_and_execute(|| {
		for round in 0..120 {
			assert_ok!(submit(&ALICE, key(0, round)));
			Now::mutate(|now| *now += 1_000);
		}
		assert_noop!(submit(&ALICE, key(0, 120)), Error::<Test>::RateExceeded);
		// Others have their own rate.
		assert_ok!(submit(&BOB, key(0, 120)));
		// The first proof counts until a whole hour has passed, then one more is accepted, and no two.
		Now::set(START + HOUR - 1);
		assert_noop!(submit(&ALICE, key(0, 120)), Error::<Test>::RateExceeded);
		Now::set(START + HOUR);
		assert_ok!(submit(&ALICE, key(0, 120)));
		assert_noop!(submit(&ALICE, key(0, 121)), Error::<Test>::RateExceeded);
	});
}

#[test]
fn refused_proofs_do_not_use_up_the_rate() {
	build_and_execute(|| {
		for _ in 0..200 {
			assert_noop!(submit_signed(|_| [0; 65]), Error::<Test>::BadSignature);
		}
		assert_eq!(Ponw::rate(ALICE).used, 0);
	});
}
