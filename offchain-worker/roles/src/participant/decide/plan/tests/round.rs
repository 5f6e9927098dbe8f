//! A participant in every phase, and restarts in each of them.

use super::*;

#[test]
fn training_uses_the_place_among_the_participants() {
	let (chain, local) = training();
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
}

#[test]
fn a_place_in_a_round_that_is_being_trained_is_behind_all_others() {
	let (mut chain, local) = training();
	round(&mut chain).late = vec![account(ME)];
	assert_eq!(plan(&chain, &local), None, "on another branch others may have come before");
	run(&mut chain).finalized_place = Some(1);
	assert_eq!(plan(&chain, &local), None);
	run(&mut chain).finalized_place = Some(2);
	assert_eq!(plan(&chain, &local), Some(train(&chain, 2)));
}

#[test]
fn finished_training_is_committed_once_also_after_a_restart() {
	let (mut chain, mut local) = training();
	trained(&mut local);
	assert_eq!(plan(&chain, &local), Some(Task::Commit));
	me(&mut chain).sealed = Some(SEAL);
	assert_eq!(plan(&chain, &local), None, "it waits for the others' commitments");
}

#[test]
fn a_commitment_that_a_reorganisation_took_back_is_sent_again() {
	let (mut chain, mut local) = training();
	trained(&mut local);
	me(&mut chain).sealed = Some(SEAL);
	assert_eq!(plan(&chain, &local), None);
	me(&mut chain).sealed = None;
	assert_eq!(plan(&chain, &local), Some(Task::Commit));
}

#[test]
fn work_of_an_earlier_attempt_is_not_committed_to_the_next() {
	let (mut chain, mut local) = training();
	trained(&mut local);
	round(&mut chain).seed = H256::repeat_byte(0x5f);
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
	round(&mut chain).seed = SEED;
	run(&mut chain).id = 8;
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
}

#[test]
fn a_diverged_round_is_sat_out() {
	let (mut chain, mut local) = training();
	local.diverged = vec![SEED];
	assert_eq!(plan(&chain, &local), None);
	round(&mut chain).seed = H256::repeat_byte(0x5f);
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
}

#[test]
fn salts_are_revealed_only_once_the_commitment_is_final() {
	let (mut chain, mut local) = training();
	trained(&mut local);
	me(&mut chain).sealed = Some(SEAL);
	round(&mut chain).phase = Phase::Revealing;
	assert_eq!(plan(&chain, &local), None);
	run(&mut chain).finalized_seal = Some(SEAL);
	assert_eq!(plan(&chain, &local), Some(Task::Reveal));
}

/// In Revealing, which began in block 90 and lasts until block 100, at block `best`; the commitment is not final.
fn unfinalized(best: BlockNumber) -> (ChainView, LocalState) {
	let (mut chain, mut local) = training();
	trained(&mut local);
	me(&mut chain).sealed = Some(SEAL);
	round(&mut chain).phase = Phase::Revealing;
	chain.best = best;
	(chain, local)
}

#[test]
fn where_finality_stands_still_a_reveal_waits_for_it_until_shortly_before_the_deadline() {
	let reveals = |best| {
		let (chain, local) = unfinalized(best);
		plan(&chain, &local) == Some(Task::Reveal)
	};
	let first = 100 - REVEAL_MARGIN;
	assert_eq!((90..100).filter(|best| reveals(*best)).collect::<Vec<_>>(), (first..100).collect::<Vec<_>>());
}

#[test]
fn a_commitment_that_is_not_deep_in_the_best_chain_is_not_revealed_without_finality() {
	for (revealing, expected) in [(7, 98), (8, 97), (10, 95), (12, 95), (50, 95)] {
		let first = (80..100).find(|best| {
			let (mut chain, local) = unfinalized(*best);
			run(&mut chain).view.config.durations.revealing = revealing;
			plan(&chain, &local) == Some(Task::Reveal)
		});
		assert_eq!(first, Some(expected), "{revealing} blocks for revealing");
		assert!(expected >= 100 - revealing + DEEP);
	}
}

#[test]
fn a_last_call_reveals_only_what_the_best_chain_has_a_commitment_to() {
	let (mut chain, mut local) = unfinalized(99);
	me(&mut chain).sealed = Some(H256::repeat_byte(0x77));
	assert_eq!(plan(&chain, &local), None, "it is not this work's");
	me(&mut chain).sealed = None;
	assert_eq!(plan(&chain, &local), None);
	me(&mut chain).sealed = Some(SEAL);
	local.pending.clear();
	assert_eq!(plan(&chain, &local), None, "the salt is lost");
	let (mut chain, local) = unfinalized(99);
	me(&mut chain).work = Some(work(ME));
	assert_ne!(plan(&chain, &local), Some(Task::Reveal), "it is revealed");
}

#[test]
fn a_commitment_whose_salt_is_lost_cannot_be_revealed() {
	let (mut chain, local) = training();
	me(&mut chain).sealed = Some(SEAL);
	run(&mut chain).finalized_seal = Some(SEAL);
	round(&mut chain).phase = Phase::Revealing;
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn a_salt_that_does_not_open_the_commitment_on_chain_stays_secret() {
	let (mut chain, mut local) = training();
	trained(&mut local);
	let other = Some(H256::repeat_byte(0x77));
	me(&mut chain).sealed = other;
	run(&mut chain).finalized_seal = other;
	round(&mut chain).phase = Phase::Revealing;
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn deltas_are_fetched_while_others_still_reveal() {
	let (mut chain, mut local) = revealed_by_all(Phase::Revealing);
	round(&mut chain).participants[2].work = None;
	assert_eq!(plan(&chain, &local), Some(Task::FetchDeltas { wanted: vec![(1, delta(1))] }));
	local.deltas.insert(delta(1), Delta::Held);
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn after_a_crash_between_reveal_and_vote_the_own_delta_is_fetched_like_any_other() {
	let (chain, mut local) = revealed_by_all(Phase::Availability);
	local.pending.clear();
	local.deltas.clear();
	let wanted = [1, ME, 3].map(|byte| (1, delta(byte))).to_vec();
	assert_eq!(plan(&chain, &local), Some(Task::FetchDeltas { wanted }));
}

#[test]
fn the_vote_names_every_delta_that_is_held() {
	let (chain, mut local) = revealed_by_all(Phase::Availability);
	local.deltas.insert(delta(1), Delta::Held);
	local.deltas.insert(delta(3), Delta::Held);
	assert_eq!(plan(&chain, &local), Some(Task::Vote { vote: vec![0b111].try_into().unwrap() }));
}

#[test]
fn those_who_did_not_reveal_have_no_bit_in_the_vote() {
	let (mut chain, local) = revealed_by_all(Phase::Availability);
	round(&mut chain).participants[0].work = None;
	round(&mut chain).participants[2].work = None;
	assert_eq!(plan(&chain, &local), Some(Task::Vote { vote: vec![0b1].try_into().unwrap() }));
}

#[test]
fn a_delta_that_does_not_come_is_waited_for_until_the_vote_must_be_sent() {
	let (mut chain, mut local) = revealed_by_all(Phase::Availability);
	local.deltas.insert(delta(1), Delta::Held);
	chain.best = 100 - VOTE_MARGIN - 1;
	assert_eq!(plan(&chain, &local), Some(Task::FetchDeltas { wanted: vec![(1, delta(3))] }));
	chain.best = 100 - VOTE_MARGIN;
	assert_eq!(plan(&chain, &local), Some(Task::Vote { vote: vec![0b011].try_into().unwrap() }));
}

#[test]
fn an_unsound_delta_is_voted_against_without_asking_again() {
	let (chain, mut local) = revealed_by_all(Phase::Availability);
	local.deltas.insert(delta(1), Delta::Unsound);
	local.deltas.insert(delta(3), Delta::Held);
	assert_eq!(plan(&chain, &local), Some(Task::Vote { vote: vec![0b110].try_into().unwrap() }));
}

#[test]
fn a_delta_beyond_reach_is_voted_against_and_applied_if_it_is_included_all_the_same() {
	let (chain, mut local) = revealed_by_all(Phase::Availability);
	local.deltas.insert(delta(1), Delta::Held);
	local.deltas.insert(delta(3), Delta::Excessive);
	assert_eq!(plan(&chain, &local), Some(Task::Vote { vote: vec![0b011].try_into().unwrap() }));
	let (chain, mut local) = checkpointing();
	let wanted = plan(&chain, &local);
	assert!(matches!(wanted, Some(Task::OuterSteps { .. })));
	local.deltas.insert(delta(3), Delta::Excessive);
	assert_eq!(plan(&chain, &local), wanted);
}

#[test]
fn the_vote_does_not_miss_its_deadline() {
	let (mut chain, local) = revealed_by_all(Phase::Availability);
	chain.best = 100 - VOTE_MARGIN;
	assert_eq!(plan(&chain, &local), Some(Task::Vote { vote: vec![0b010].try_into().unwrap() }));
}

#[test]
fn a_vote_is_cast_once_and_not_by_those_who_did_not_reveal() {
	let (mut chain, local) = revealed_by_all(Phase::Availability);
	me(&mut chain).vote = Some(vec![0b010].try_into().unwrap());
	assert_eq!(plan(&chain, &local), None);
	me(&mut chain).vote = None;
	me(&mut chain).work = None;
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn a_repeated_availability_phase_is_voted_on_again() {
	let (chain, mut local) = revealed_by_all(Phase::Availability);
	local.deltas.insert(delta(1), Delta::Held);
	local.deltas.insert(delta(3), Delta::Held);
	// The phase repeats: the chain forgets the votes, this worker's state stays.
	assert!(matches!(plan(&chain, &local), Some(Task::Vote { .. })));
}

#[test]
fn the_outer_step_takes_what_the_chain_says_in_its_order() {
	let (mut chain, mut local) = checkpointing();
	let job = single(vec![delta(ME), delta(3)]);
	run(&mut chain).job = Some(job.clone());
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job: job.clone() }));
	let attestation = stepped(&mut local, job);
	assert_eq!(plan(&chain, &local), Some(Task::Attest { attestation }));
	me(&mut chain).attestation = Some(attestation);
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn an_included_delta_is_fetched_also_by_those_who_voted_without_it() {
	let (chain, mut local) = checkpointing();
	local.deltas.remove(&delta(1));
	assert_eq!(plan(&chain, &local), Some(Task::FetchDeltas { wanted: vec![(1, delta(1))] }));
}

#[test]
fn nothing_is_attested_over_an_unsound_delta() {
	let (mut chain, mut local) = checkpointing();
	local.deltas.insert(delta(1), Delta::Unsound);
	assert_eq!(plan(&chain, &local), None);
	let job = single(vec![delta(ME), delta(3)]);
	run(&mut chain).job = Some(job.clone());
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job }));
}

#[test]
fn an_outer_step_over_other_deltas_or_from_another_checkpoint_is_done_again() {
	let (chain, mut local) = checkpointing();
	let all = single([1, ME, 3].map(delta).to_vec());
	stepped(&mut local, single(vec![delta(1)]));
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job: all.clone() }));
	stepped(&mut local, OuterJob { start: H256::zero(), ..all.clone() });
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job: all.clone() }));
	stepped(&mut local, all.clone());
	local.next.as_mut().unwrap().run = 8;
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job: all }));
}

#[test]
fn the_adopted_checkpoint_is_taken_from_the_own_step_if_it_agrees_and_from_peers_otherwise() {
	let (mut chain, mut local) = checkpointing();
	let attestation = stepped(&mut local, single(vec![delta(1)]));
	run(&mut chain).view.checkpoint = attestation.checkpoint;
	run(&mut chain).view.rounds_adopted = 2;
	assert_eq!(plan(&chain, &local), Some(Task::Adopt { root: attestation.checkpoint }));
	let other = H256::repeat_byte(0xee);
	run(&mut chain).view.checkpoint = other;
	assert_eq!(plan(&chain, &local), Some(Task::FetchCheckpoint { root: other }));
}
