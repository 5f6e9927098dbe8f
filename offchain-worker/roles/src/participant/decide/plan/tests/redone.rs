//! After a fraud: several outer steps from an earlier checkpoint, and jobs that change on the way.

use super::*;

/// Checkpoint that the steps are redone from.
const START: H256 = H256::repeat_byte(0x57);

/// A delta of an earlier round.
fn old(byte: u8) -> H256 {
	H256::repeat_byte(0x80 + byte)
}

/// The round at hand is the fourth one, and outer steps are to be redone from the second one on. Of the third one, every delta is false.
fn job() -> OuterJob {
	OuterJob {
		first_round: 1,
		start: START,
		steps: vec![vec![old(1), old(2)], vec![], [1, ME, 3].map(delta).to_vec()],
		inner_steps: vec![],
	}
}

fn redoing() -> (ChainView, LocalState) {
	let (mut chain, local) = checkpointing();
	round(&mut chain).round = 3;
	run(&mut chain).view.rounds_adopted = 3;
	run(&mut chain).job = Some(job());
	(chain, local)
}

#[test]
fn the_start_and_the_deltas_of_all_steps_are_fetched_before_they_are_taken() {
	let (mut chain, mut local) = redoing();
	assert_eq!(plan(&chain, &local), Some(Task::FetchStart { root: START }));
	local.stored = Some(START);
	local.deltas.remove(&delta(3));
	let wanted = vec![(1, old(1)), (1, old(2)), (3, delta(3))];
	assert_eq!(plan(&chain, &local), Some(Task::FetchDeltas { wanted }));
	local.deltas.extend([old(1), old(2)].map(|root| (root, Delta::Held)));
	assert_eq!(plan(&chain, &local), Some(Task::FetchDeltas { wanted: vec![(3, delta(3))] }));
	local.deltas.insert(delta(3), Delta::Held);
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job: job() }));
	let attestation = stepped(&mut local, job());
	assert_eq!(plan(&chain, &local), Some(Task::Attest { attestation }));
	me(&mut chain).attestation = Some(attestation);
	assert_eq!(plan(&chain, &local), None);
	run(&mut chain).view.checkpoint = attestation.checkpoint;
	assert_eq!(plan(&chain, &local), Some(Task::Adopt { root: attestation.checkpoint }));
}

#[test]
fn a_start_that_is_loaded_is_not_fetched() {
	let (mut chain, local) = redoing();
	let job = OuterJob { start: CHECKPOINT, steps: vec![vec![delta(1)], vec![delta(3)]], first_round: 2, inner_steps: vec![] };
	run(&mut chain).job = Some(job.clone());
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job }));
}

#[test]
fn a_restart_begins_with_what_is_on_disk_and_attests_the_same_once() {
	let (mut chain, mut local) = redoing();
	local.stored = Some(START);
	local.deltas.extend([old(1), old(2)].map(|root| (root, Delta::Held)));
	let attestation = stepped(&mut local, job());
	// Neither memory nor results survive.
	(local.stored, local.next) = (None, None);
	local.deltas.clear();
	assert_eq!(plan(&chain, &local), Some(Task::FetchStart { root: START }));
	local.stored = Some(START);
	assert!(matches!(plan(&chain, &local), Some(Task::FetchDeltas { wanted }) if wanted.len() == 5));
	me(&mut chain).attestation = Some(attestation);
	assert_eq!(plan(&chain, &local), None, "it was sent before");
}

#[test]
fn a_verdict_while_checkpointing_lasts_makes_another_job_and_takes_the_attestation_back() {
	let (mut chain, mut local) = checkpointing();
	let before = single([1, ME, 3].map(delta).to_vec());
	me(&mut chain).attestation = Some(stepped(&mut local, before.clone()));
	assert_eq!(plan(&chain, &local), None);
	// A delta of an earlier round was proven false: an empty ballot, and more to do.
	me(&mut chain).attestation = None;
	run(&mut chain).job = Some(job());
	assert_eq!(plan(&chain, &local), Some(Task::FetchStart { root: START }));
	local.stored = Some(START);
	local.deltas.extend([old(1), old(2)].map(|root| (root, Delta::Held)));
	let attestation = stepped(&mut local, job());
	assert_eq!(plan(&chain, &local), Some(Task::Attest { attestation }));
	// Another one: from the same checkpoint, without it.
	let less = OuterJob { steps: vec![vec![old(2)], vec![], [1, ME, 3].map(delta).to_vec()], ..job() };
	run(&mut chain).job = Some(less.clone());
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job: less }));
	// A reorganisation takes both back.
	run(&mut chain).job = Some(before.clone());
	assert_eq!(plan(&chain, &local), Some(Task::OuterSteps { job: before }));
}

#[test]
fn a_fetch_that_the_new_job_does_not_want_is_given_up_and_one_that_it_wants_goes_on() {
	let fetch = |root| Task::FetchStart { root };
	assert!(fetch(START).is_long() && fetch(START).is_part_of(Some(&fetch(START))));
	assert!(!fetch(START).is_part_of(Some(&fetch(CHECKPOINT))));
	assert!(!fetch(START).is_part_of(Some(&Task::OuterSteps { job: job() })));
	assert!(!Task::OuterSteps { job: job() }.is_long(), "it ends by itself");
}

#[test]
fn nothing_is_attested_over_an_unsound_delta_of_an_earlier_round() {
	let (chain, mut local) = redoing();
	local.stored = Some(START);
	local.deltas.insert(old(2), Delta::Unsound);
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn a_job_that_the_chain_cannot_tell_is_waited_for() {
	let (mut chain, local) = redoing();
	run(&mut chain).job = None;
	assert_eq!(plan(&chain, &local), None);
}

#[test]
fn what_is_redone_is_said_in_words() {
	let words = Task::OuterSteps { job: job() }.to_string();
	assert_eq!(words, "redoing 3 outer steps from round 1 on, with 5 deltas");
	assert_eq!(Task::OuterSteps { job: single(vec![delta(1)]) }.to_string(), "applying 1 deltas and validating");
}
