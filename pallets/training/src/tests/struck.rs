//! Tests of what becomes of an account in the round under way when it loses a claim, or its stake.

use super::*;
use crate::{AbortReason, Error, Event};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::run::Phase;

/// Returns for each participant of the round under way whether its delta is included.
fn included(run: RunId) -> Vec<bool> {
	round(run).participants.iter().map(|place| place.included).collect()
}

/// A run whose round 0 is adopted by workers 1 to `count`, in Training of round 1.
fn second_round(count: u8) -> (RunId, Vec<AccountId>) {
	let (run, workers) = training(count);
	full_round(run, &workers, 1);
	(run, workers)
}

#[test]
fn nobody_waits_for_who_lost_a_claim() {
	build_and_execute(|| {
		let (run, workers) = second_round(3);
		commit_all(run, &workers[..2]);
		condemn_attestation(run, 0, &workers[2]);
		assert_noop!(commit(&workers[2], run), Error::<Test>::DroppedOut);
		assert_eq!(phase(run), Phase::Training);
		skip(1);
		assert_eq!((phase(run), at(run)), (Phase::Revealing, (1, 0)));
		// It did not miss a deadline: neither the note of a dropout nor a wait.
		assert_eq!((notes(&workers[2]).1, Training::next_join(run, workers[2].clone())), (0, None));
	});
}

#[test]
fn neither_the_vote_nor_the_delta_of_who_lost_a_claim_counts() {
	build_and_execute(|| {
		let (run, workers) = second_round(4);
		commit_all(run, &workers);
		reveal_all(run, &workers);
		// Of four, three vote for the third delta; without the fourth and its vote it is two of three. Of the first, one of three.
		assert_ok!(vote(&workers[0], run, &[true, true, true, true]));
		assert_ok!(vote(&workers[3], run, &[true, true, true, true]));
		condemn_work(run, 0, &workers[3]);
		assert_eq!(round(run).revealed().count(), 4, "the bits of votes mean what they meant");
		assert_ok!(vote(&workers[1], run, &[false, true, true, true]));
		assert_ok!(vote(&workers[2], run, &[false, true, false, true]));
		assert_eq!((phase(run), included(run)), (Phase::Checkpointing, vec![false, true, true, false]));
		assert_noop!(attest(&workers[3], run, 2, 2.5), Error::<Test>::DroppedOut);
		attest_all(run, &workers[..2], 2);
		assert_eq!((fate(&workers[3], run, 1), fate(&workers[2], run, 1)), (Some(Fate::Void), Some(Fate::Unpaid(256))));
		let record = Training::record(run, 1).expect("an adopted round");
		assert_eq!(record.included.iter().map(|(who, _)| who.clone()).collect::<Vec<_>>(), workers[1..3]);
	});
}

#[test]
fn an_attestation_of_who_lost_a_claim_does_not_count_and_what_was_included_stays() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		commit_all(run, &workers);
		reveal_all(run, &workers);
		// A delta that is not included can be condemned without anything to be redone.
		workers.iter().for_each(|who| vote(who, run, &[true, true, true, false]).expect("a vote"));
		attest_all(run, &workers, 1);
		to_checkpointing(run, &workers);
		// Two of four are too few, two of three are enough.
		workers[..2].iter().for_each(|who| attest(who, run, 2, 2.5).expect("an attestation"));
		assert_ok!(attest(&workers[3], run, 9, 2.5));
		skip(1);
		assert_eq!(phase(run), Phase::Checkpointing);
		condemn_work(run, 0, &workers[3]);
		skip(1);
		let record = Training::record(run, 1).expect("an adopted round");
		assert_eq!((record.included.len(), record.attested.len()), (4, 2));
		// Its work is a claim like any other. That of who attests nothing is none.
		use neuroshard_types::dispute::Claims as _;
		assert!(Training::work(run, 1, &workers[3]).is_some() && Training::attestation(run, 1, &workers[3]).is_none());
		assert_eq!(round(run).counted().map(|place| place.account.clone()).collect::<Vec<_>>(), workers[..3]);
	});
}

#[test]
fn a_round_in_which_nobody_is_left_is_aborted() {
	build_and_execute(|| {
		let (run, workers) = second_round(2);
		to_checkpointing(run, &workers);
		workers.iter().for_each(|who| condemn_attestation(run, 0, who));
		skip(1);
		assert!(happened(Event::RoundAborted { run, round: 1, attempt: 1, reason: AbortReason::NobodyLeft }));
		assert_eq!((phase(run), Training::members(run)), (Phase::Joining, vec![]));
	});
}

/// Two runs with the same workers: in the first a round is adopted, the second is in Availability.
fn two_runs(count: u8) -> (RunId, RunId, Vec<AccountId>) {
	let (first, workers) = second_round(count);
	let (second, _) = availability(count);
	(first, second, workers)
}

/// A claim of `who` in round 0 of `run` is proven false, and it loses all that it has at stake.
fn slash(run: RunId, who: &AccountId) {
	condemn_work(run, 0, who);
	provider(who, |provider| provider.bond = 0);
}

#[test]
fn neither_the_vote_nor_the_delta_of_who_lost_its_stake_in_another_run_counts() {
	build_and_execute(|| {
		let (first, second, workers) = two_runs(4);
		// Two of four vote for the first delta; without the fourth it is two of three. Everybody votes for the fourth.
		assert_ok!(vote(&workers[3], second, &[false, true, true, true]));
		assert_ok!(vote(&workers[0], second, &[true, true, true, true]));
		slash(first, &workers[3]);
		assert_ok!(vote(&workers[1], second, &[true, true, false, true]));
		assert_eq!(round(second).counted().count(), 4, "the round notices only when it is decided");
		// The last vote moves it on.
		assert_ok!(vote(&workers[2], second, &[false, true, false, true]));
		assert_eq!((phase(second), included(second)), (Phase::Checkpointing, vec![true, true, false, false]));
		assert_noop!(attest(&workers[3], second, 2, 2.5), Error::<Test>::DroppedOut);
		attest_all(second, &workers[..2], 2);
		assert_eq!((fate(&workers[3], second, 0), fate(&workers[0], second, 0)), (Some(Fate::Void), Some(Fate::Unpaid(256))));
	});
}

#[test]
fn a_vote_that_decides_nothing_without_the_lost_stakes_is_left_to_the_next_block() {
	build_and_execute(|| {
		let (first, second, workers) = two_runs(3);
		// With the first two, everything is included. Without them nothing is: the third says no.
		workers[..2].iter().for_each(|who| vote(who, second, &[true; 3]).expect("a vote"));
		workers[..2].iter().for_each(|who| slash(first, who));
		assert_ok!(vote(&workers[2], second, &[false; 3]));
		assert_eq!((phase(second), round(second).counted().count()), (Phase::Availability, 1));
		assert!(round(second).participants.iter().all(|place| place.vote.is_some()), "nothing is repeated yet");
		skip(1);
		assert_eq!(round(second).stage, crate::Stage::Availability { repeats: 1 });
		// What is left of the electorate decides.
		assert_ok!(vote(&workers[2], second, &[true; 3]));
		assert_eq!((phase(second), included(second)), (Phase::Checkpointing, vec![false, false, true]));
	});
}

#[test]
fn at_the_deadline_of_a_vote_lost_stakes_do_not_count_either() {
	build_and_execute(|| {
		let (first, second, workers) = two_runs(4);
		workers[..3].iter().for_each(|who| vote(who, second, &[true, false, true, true]).expect("a vote"));
		slash(first, &workers[0]);
		run_to_deadline(second);
		assert_eq!((phase(second), included(second)), (Phase::Checkpointing, vec![false, false, true, true]));
		assert_eq!(round(second).counted().map(|place| place.account.clone()).collect::<Vec<_>>(), workers[1..3]);
	});
}

#[test]
fn what_was_lost_in_another_run_no_longer_counts_when_a_checkpoint_is_adopted() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(4);
		// Three of four, two of which lose their stakes for something else before the block ends.
		workers[..3].iter().for_each(|who| attest(who, run, 1, 2.5).expect("an attestation"));
		workers[..2].iter().for_each(|who| provider(who, |provider| provider.bond = BOND - 1));
		skip(1);
		assert_eq!((phase(run), round(run).counted().count()), (Phase::Checkpointing, 2));
		assert_ok!(attest(&workers[3], run, 1, 2.5));
		skip(1);
		let record = crate::Records::<Test>::get(run, 0).expect("an adopted round");
		let counted: Vec<_> = record.places.iter().map(|place| (place.counted, place.stake, place.attested.is_some())).collect();
		assert_eq!(counted, [(false, 0, false), (false, 0, false), (true, BOND, true), (true, BOND, true)]);
		assert_eq!(Training::record(run, 0).expect("the same").included.len(), 4);
		// What is left of their bonds counts in the next round.
		assert_eq!(round(run).participants.iter().map(|place| place.stake).collect::<Vec<_>>(), [BOND - 1, BOND - 1, BOND, BOND]);
	});
}
