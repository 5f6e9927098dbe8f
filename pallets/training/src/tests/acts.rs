//! Tests of what participants may not do, and of reveals that are refused.

use super::*;
use crate::{expected, Error};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	proof::{Proof, ProofKind},
	run::{vote_bitmap, Attestation, VoteBitmap, Work},
	Adapter, Code, Family, ModelConfig, Projections, RoundIndex, TrainConfig, H256,
};
use sp_runtime::DispatchError;

fn signed(who: &AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who.clone())
}

fn reveal_with(who: &AccountId, run: RunId, index: RoundIndex, work: Work, proof: Proof) -> Result<(), DispatchError> {
	Training::reveal(signed(who), run, index, 0, [3; 32], work, proof, [1; 65]).map(|_| ()).map_err(|error| error.error)
}

#[test]
fn acts_of_another_phase_are_refused() {
	build_and_execute(|| {
		let run = create(config());
		assert_noop!(commit(&worker(1), run), Error::<Test>::WrongPhase);
		let (run, workers) = training(2);
		let who = &workers[0];
		assert_noop!(reveal(who, run), Error::<Test>::WrongPhase);
		assert_noop!(vote(who, run, &[]), Error::<Test>::WrongPhase);
		assert_noop!(attest(who, run, 1, 1.0), Error::<Test>::WrongPhase);
		commit_all(run, &workers);
		assert_noop!(commit(who, run), Error::<Test>::WrongPhase);
	});
}

#[test]
fn acts_for_another_round_or_run_are_refused() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let who = &workers[0];
		let attestation = Attestation { checkpoint: H256::zero(), validation_loss: Default::default() };
		assert_noop!(Training::commit(signed(who), run, 1, 0, H256::zero()), Error::<Test>::WrongRound);
		assert_noop!(Training::commit(signed(who), 9, 0, 0, H256::zero()), Error::<Test>::UnknownRun);
		assert_noop!(Training::vote_availability(signed(who), run, 1, 0, VoteBitmap::default()), Error::<Test>::WrongRound);
		assert_noop!(Training::attest(signed(who), run, 1, 0, attestation), Error::<Test>::WrongRound);
		let (work, proof) = (work(who, run), proof(run, &work(who, run)));
		assert_noop!(reveal_with(who, run, 1, work, proof), Error::<Test>::WrongRound);
	});
}

/// A run of two whose round 0 was aborted and started anew at once, with both of them.
fn retried(workers: &[AccountId; 2]) -> RunId {
	let run = create(config());
	workers.iter().for_each(|who| join(who, run).unwrap());
	skip(3);
	commit_all(run, workers);
	reveal_all(run, workers);
	for _ in 0..3 {
		workers.iter().for_each(|who| vote(who, run, &[false, false]).unwrap());
		skip(1);
	}
	assert_eq!(at(run), (0, 1));
	run
}

#[test]
fn acts_that_were_signed_for_an_aborted_attempt_are_refused() {
	build_and_execute(|| {
		let workers = [worker(1), worker(2)];
		let run = retried(&workers);
		let who = &workers[0];
		assert_noop!(Training::commit(signed(who), run, 0, 0, H256::zero()), Error::<Test>::WrongAttempt);
		assert_noop!(Training::commit(signed(who), run, 0, 2, H256::zero()), Error::<Test>::WrongAttempt);
		commit_all(run, &workers);
		let (work, proof) = (work(who, run), proof(run, &work(who, run)));
		let stale = Training::reveal(signed(who), run, 0, 0, [3; 32], work, proof, [1; 65]);
		assert_noop!(stale, Error::<Test>::WrongAttempt);
		reveal_all(run, &workers);
		let yes = vote_bitmap([true, true]).unwrap();
		assert_noop!(Training::vote_availability(signed(who), run, 0, 0, yes), Error::<Test>::WrongAttempt);
		vote_all(run, &workers);
		let attestation = Attestation { checkpoint: H256::zero(), validation_loss: Default::default() };
		assert_noop!(Training::attest(signed(who), run, 0, 0, attestation), Error::<Test>::WrongAttempt);
	});
}

#[test]
fn a_seal_of_an_aborted_attempt_is_not_opened_by_the_next() {
	build_and_execute(|| {
		let workers = [worker(1), worker(2)];
		let run = retried(&workers);
		let (who, work) = (&workers[0], work(&workers[0], run));
		// The very work, sealed for the attempt before.
		let sealed = neuroshard_types::run::seal(H256::repeat_byte(0xaa), run, 0, 0, who, &[3; 32], &work);
		assert_ok!(Training::commit(signed(who), run, 0, 1, sealed));
		assert_ok!(commit(&workers[1], run));
		assert_noop!(reveal_work(who, run, work), Error::<Test>::SealBroken);
	});
}

#[test]
fn nobody_acts_twice_in_a_phase() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let who = &workers[0];
		assert_ok!(commit(who, run));
		assert_noop!(commit(who, run), Error::<Test>::AlreadyActed);
		commit_all(run, &workers[1..]);
		assert_ok!(reveal(who, run));
		assert_noop!(reveal(who, run), Error::<Test>::AlreadyActed);
		reveal_all(run, &workers[1..]);
		assert_ok!(vote(who, run, &[true, false, true]));
		assert_noop!(vote(who, run, &[true, true, true]), Error::<Test>::AlreadyActed);
		vote_all(run, &workers[1..]);
		assert_ok!(attest(who, run, 1, 1.0));
		assert_noop!(attest(who, run, 2, 1.0), Error::<Test>::AlreadyActed);
	});
}

#[test]
fn strangers_do_not_act() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let stranger = worker(7);
		assert_noop!(commit(&stranger, run), Error::<Test>::NotParticipant);
		commit_all(run, &workers);
		assert_noop!(reveal(&stranger, run), Error::<Test>::NotParticipant);
		reveal_all(run, &workers);
		assert_noop!(vote(&stranger, run, &[true, true]), Error::<Test>::NotParticipant);
		vote_all(run, &workers);
		assert_noop!(attest(&stranger, run, 1, 1.0), Error::<Test>::NotParticipant);
	});
}

#[test]
fn a_reveal_must_open_the_seal() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let who = &workers[0];
		commit_all(run, &workers);
		let honest = work(who, run);
		let other = Work { delta_root: H256::repeat_byte(1), ..honest.clone() };
		assert_noop!(reveal_work(who, run, other), Error::<Test>::SealBroken);
		let proof = proof(run, &honest);
		assert_noop!(Training::reveal(signed(who), run, 0, 0, [4; 32], honest, proof, [1; 65]), Error::<Test>::SealBroken);
	});
}

/// Expects that a reveal of work that was changed before its commitment is refused.
fn wrong_work(change: impl FnOnce(&mut Work), error: Error<Test>) {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let mut work = work(&workers[0], run);
		change(&mut work);
		assert_ok!(commit_to(&workers[0], run, &work));
		assert_ok!(commit(&workers[1], run));
		assert_noop!(reveal_work(&workers[0], run, work), error);
	});
}

#[test]
fn figures_that_the_run_fixes_cannot_be_declared() {
	// 4 steps, a root every 3: two roots.
	wrong_work(|work| work.state_roots.truncate(1), Error::WrongStateRoots);
	wrong_work(|work| work.state_roots.try_push(H256::zero()).unwrap(), Error::WrongStateRoots);
	wrong_work(|work| work.tokens += 1, Error::WrongTokens);
	wrong_work(|work| work.delta_bytes -= 4_096, Error::WrongDeltaBytes);
}

#[test]
fn who_has_withdrawn_its_stake_or_lost_it_does_nothing_any_more() {
	build_and_execute(|| {
		let (run, workers) = training_with(RunConfig { max_participants: 5, ..config() }, 5);
		// What unbonds still counts; what is gone does not.
		provider(&workers[0], |provider| (provider.bond, provider.unbonding) = (0, BOND));
		let loses = |who: &AccountId| provider(who, |provider| provider.bond = BOND - 1);
		loses(&workers[1]);
		assert_noop!(commit(&workers[1], run), Error::<Test>::StakeGone);
		workers.iter().filter(|who| **who != workers[1]).for_each(|who| commit(who, run).expect("a commitment"));
		run_to_deadline(run);
		loses(&workers[2]);
		assert_noop!(reveal(&workers[2], run), Error::<Test>::StakeGone);
		[0, 3, 4].into_iter().for_each(|who: usize| reveal(&workers[who], run).expect("a reveal"));
		run_to_deadline(run);
		loses(&workers[3]);
		assert_noop!(vote(&workers[3], run, &ALL[..3]), Error::<Test>::StakeGone);
		[0, 4].into_iter().for_each(|who: usize| vote(&workers[who], run, &ALL[..3]).expect("a vote"));
		run_to_deadline(run);
		loses(&workers[4]);
		assert_noop!(attest(&workers[4], run, 1, 1.0), Error::<Test>::StakeGone);
		assert_ok!(attest(&workers[0], run, 1, 1.0));
		// Each of them drops out, so that in the end nobody waits for it, and no vote counts that has nothing behind it.
		run_to_deadline(run);
		assert_eq!(Training::record(run, 0).expect("an adopted round").attested, [(workers[0].clone(), H256::repeat_byte(1))]);
	});
}

/// Work follows from what everybody knows, so that whoever computes somebody else's instead of its own can be first to reveal it. And where the
/// learning rate has reached zero, all deltas are the same.
#[test]
fn nobody_is_kept_from_revealing_by_another_one_with_the_same_delta() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let own = work(&workers[1], run);
		let copied = Work { delta_root: own.delta_root, ..work(&workers[0], run) };
		assert_ok!(commit_to(&workers[0], run, &copied));
		assert_ok!(commit(&workers[1], run));
		assert_ok!(reveal_work(&workers[0], run, copied));
		assert_ok!(reveal(&workers[1], run));
		vote_all(run, &workers);
		assert_eq!(Training::outer_job(run).map(|job| job.steps), Some(vec![vec![own.delta_root; 2]]));
		attest_all(run, &workers, 1);
		// Each is a claim of its own. That of the copy is false, and falls by itself.
		condemn_work(run, 0, &workers[0]);
		let record = Training::record(run, 0).expect("an adopted round");
		assert_eq!((record.participants, record.excluded), (workers.clone(), vec![workers[0].clone()]));
		assert_eq!(Training::work_claim(run, 0, workers[1].clone()).map(|claim| claim.position), Some(1));
	});
}

#[test]
fn the_proof_must_be_about_the_work() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		commit_all(run, &workers);
		let who = &workers[0];
		let work = work(who, run);
		let honest = proof(run, &work);
		let with = |change: fn(&mut Proof)| {
			let mut proof = honest;
			change(&mut proof);
			reveal_with(who, run, 0, work.clone(), proof)
		};
		assert_noop!(with(|proof| proof.work_hash = H256::zero()), Error::<Test>::WrongProof);
		assert_noop!(with(|proof| proof.key.run += 1), Error::<Test>::WrongProof);
		assert_noop!(with(|proof| proof.key.round += 1), Error::<Test>::WrongProof);
		assert_noop!(with(|proof| proof.key.kind = ProofKind::Uptime), Error::<Test>::WrongProof);
		assert_ok!(with(|_| ()));
	});
}

#[test]
fn a_refused_proof_refuses_the_reveal() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		commit_all(run, &workers);
		let work = work(&workers[0], run);
		let proof = proof(run, &work);
		let call = Training::reveal(signed(&workers[0]), run, 0, 0, [3; 32], work, proof, BAD_SIGNATURE);
		assert_noop!(call, DispatchError::Other("bad signature"));
		assert_eq!(Submitted::get(), 0);
	});
}

#[test]
fn a_vote_has_one_bit_for_each_that_revealed() {
	build_and_execute(|| {
		let (run, workers) = availability(3);
		let who = &workers[0];
		assert_noop!(vote(who, run, &[]), Error::<Test>::BadVote);
		// Bit 3 is beyond the three that revealed, and a second byte is too long.
		assert_noop!(vote(who, run, &[true; 4]), Error::<Test>::BadVote);
		let long = vote_bitmap([false; 9]).unwrap();
		assert_noop!(Training::vote_availability(signed(who), run, 0, 0, long), Error::<Test>::BadVote);
		assert_ok!(vote(who, run, &[false; 3]));
	});
}

#[test]
fn the_size_of_a_delta_is_that_of_the_models_layout() {
	let (tiny, train) = (config().model, config().train);
	let deep = ModelConfig { layers: 7, dim: 96, heads: 6, kv_heads: 2, ffn: 160, vocab: 512, tied: false, ..tiny.clone() };
	let others = [(Family::Qwen2, 48), (Family::Qwen3, 32)];
	let others =
		others.map(|(family, head_dim)| ModelConfig { family, head_dim: Some(head_dim), dim: 64, heads: 4, kv_heads: 2, ..deep.clone() });
	for model in [tiny, deep].into_iter().chain(others) {
		let layout = neuroshard_graph::ParamLayout::new(&model).unwrap();
		assert_eq!(u64::try_from(layout.encoded_len()), Ok(expected::delta_bytes(&model, &train)));
		let zeros = neuroshard_graph::commit::tensors_root(&layout, &vec![0.0; layout.len()], 1);
		assert_eq!(expected::no_residual(&model, &train), H256(zeros));
		for rank in [1, 8, 32, 40, 256] {
			let adapter = Adapter { base: [1; 32], rank, alpha: neuroshard_types::F32::new(8.0), projections: Projections::ALL };
			let train = TrainConfig { adapter: Some(adapter), ..train.clone() };
			let layout = neuroshard_graph::ParamLayout::trained(&model, &train).unwrap();
			assert_eq!(u64::try_from(layout.encoded_len()), Ok(expected::delta_bytes(&model, &train)), "rank {rank}");
			assert_eq!(u64::try_from(layout.len()), Ok(adapter.parameters(&model)), "rank {rank}");
		}
		for code in [Code::Int8, top_k()] {
			let train = TrainConfig { aggregator: sent_as(code), ..train.clone() };
			let layout = neuroshard_graph::ParamLayout::of_deltas(&model, &train).unwrap();
			assert_eq!(u64::try_from(layout.encoded_len()), Ok(expected::delta_bytes(&model, &train)), "{code:?}");
		}
	}
}
