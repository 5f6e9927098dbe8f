//! Operators: what they sign is what their owners do.

use super::*;
use crate::{Error, Members};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	run::{seal, vote_bitmap, Attestation, Phase},
	F32, H256,
};

/// The operator of a worker of the mock.
fn operator_of(who: &AccountId) -> AccountId {
	let mut bytes: [u8; 32] = who.clone().into();
	bytes[0] = 0xff;
	AccountId::new(bytes)
}

fn signed(who: &AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who.clone())
}

/// Workers 1 and 2, both with operators.
fn operated() -> [AccountId; 2] {
	let workers = [worker(1), worker(2)];
	Owners::set(workers.iter().map(|who| (operator_of(who), who.clone())).collect());
	workers
}

/// `by` commits to what `who` does, sealed for the account `bound`.
fn commit_by(by: &AccountId, who: &AccountId, bound: &AccountId, run: RunId) {
	let sealed = seal(H256::repeat_byte(0xaa), run, 0, 0, bound, &[3; 32], &work(who, run));
	assert_ok!(Training::commit(signed(by), run, 0, 0, sealed));
}

fn reveal_by(by: &AccountId, who: &AccountId, run: RunId) -> sp_runtime::DispatchResult {
	let work = work(who, run);
	let proof = proof(run, &work);
	Training::reveal(signed(by), run, 0, 0, [3; 32], work, proof, [1; 65]).map(|_| ()).map_err(|error| error.error)
}

#[test]
fn a_round_is_done_by_operators_in_the_names_of_their_owners() {
	build_and_execute(|| {
		let workers = operated();
		let run = create(config());
		for who in &workers {
			assert_ok!(Training::join(signed(&operator_of(who)), run));
			assert_noop!(Training::join(signed(who), run), Error::<Test>::AlreadyMember);
		}
		assert_eq!(Members::<Test>::get(run).into_inner(), workers);
		skip(3);
		workers.iter().for_each(|who| commit_by(&operator_of(who), who, who, run));
		assert_eq!(phase(run), Phase::Revealing);
		for who in &workers {
			assert_ok!(reveal_by(&operator_of(who), who, run));
			assert_eq!(Fates::get()[&(who.clone(), run, 0)], Fate::Pending, "the proof is the owner's");
		}
		for who in &workers {
			let vote = vote_bitmap([true, true]).expect("few bits");
			assert_ok!(Training::vote_availability(signed(&operator_of(who)), run, 0, 0, vote));
		}
		for who in &workers {
			let attestation = Attestation { checkpoint: H256::repeat_byte(7), validation_loss: F32::new(2.5) };
			assert_ok!(Training::attest(signed(&operator_of(who)), run, 0, 0, attestation));
		}
		skip(1);
		let record = Training::record(run, 0).expect("an adopted round");
		let included: Vec<_> = record.included.into_iter().map(|(who, _)| who).collect();
		assert_eq!((included, record.checkpoint), (workers.to_vec(), H256::repeat_byte(7)));
		assert!(workers.iter().all(|who| matches!(Fates::get()[&(who.clone(), run, 0)], Fate::Confirmed(_) | Fate::Unpaid(_))));
		assert_ok!(Training::leave(signed(&operator_of(&workers[0])), run));
		assert_eq!(Members::<Test>::get(run).into_inner(), workers[1..]);
	});
}

#[test]
fn a_commitment_is_bound_to_the_owner_and_opened_by_whoever_is_its_operator_then() {
	build_and_execute(|| {
		let [first, second] = operated();
		let run = create(config());
		for who in [&first, &second] {
			assert_ok!(join(who, run));
		}
		skip(3);
		commit_by(&operator_of(&first), &first, &first, run);
		commit_by(&operator_of(&second), &second, &operator_of(&second), run);
		// Another operator has taken its place since.
		let former = operator_of(&first);
		Owners::set([(worker(9), first.clone()), (operator_of(&second), second.clone())].into());
		assert_noop!(reveal_by(&former, &first, run), Error::<Test>::NotParticipant);
		assert_ok!(reveal_by(&worker(9), &first, run));
		assert_noop!(reveal_by(&operator_of(&second), &second, run), Error::<Test>::SealBroken);
	});
}

#[test]
fn an_operator_neither_ends_nor_removes_the_run_that_its_owner_pays_for() {
	build_and_execute(|| {
		let run = create(config());
		let sponsor = Training::run(run).expect("a run").sponsor;
		Owners::set([(worker(9), sponsor)].into());
		assert_noop!(Training::stop_run(signed(&worker(9)), run), Error::<Test>::NotSponsor);
		assert_noop!(Training::remove_run(signed(&worker(9)), run, 1), Error::<Test>::NotSponsor);
	});
}
