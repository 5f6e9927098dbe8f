//! Deadlines that so many miss that it is not their fault.

use super::*;
use crate::{Absences, Error};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::Balance;
use proptest::prelude::*;

/// Returns the number of times in a row that `who` dropped out.
fn row(run: RunId, who: &AccountId) -> u32 {
	Absences::<Test>::get(run).iter().find(|absence| absence.who == *who).map_or(0, |absence| absence.dropouts)
}

#[test]
fn a_deadline_that_more_than_a_third_miss_makes_nobody_wait_however_often() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		for time in 1..6 {
			// As when the blocks before the deadline were full: two of four are late.
			commit_all(run, &workers[..2]);
			run_to_deadline(run);
			assert_eq!(Training::members(run), workers[..2]);
			for late in &workers[2..] {
				assert_eq!((row(run, late), Training::next_join(run, late.clone())), (0, None));
				assert_eq!(notes(late).1, time, "a point of reputation is lost each time");
				assert_ok!(join(late, run));
			}
			reveal_all(run, &workers[..2]);
			vote_all(run, &workers[..2]);
			attest_all(run, &workers[..2], 1);
		}
	});
}

#[test]
fn a_stall_of_all_makes_nobody_wait() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		for attempt in 1..6 {
			commit_all(run, &workers);
			// Nobody reveals before what it committed to is final.
			run_to_deadline(run);
			assert_eq!(at(run), (0, attempt));
			workers.iter().for_each(|who| join(who, run).expect("no wait"));
			skip(3);
		}
		full_round(run, &workers, 1);
	});
}

#[test]
fn a_third_is_not_more_than_a_third_by_heads_or_by_stake() {
	build_and_execute(|| {
		// One of three, with almost all of the stake.
		provider(&worker(1), |provider| provider.bond = 100_000);
		let (run, workers) = training(3);
		commit_all(run, &workers[1..]);
		run_to_deadline(run);
		assert_eq!(row(run, &workers[0]), 1);
	});
	build_and_execute(|| {
		// Three of four, with a third of the stake.
		provider(&worker(1), |provider| provider.bond = 6 * BOND);
		let (run, workers) = training(4);
		assert_ok!(commit(&workers[0], run));
		run_to_deadline(run);
		assert!(workers[1..].iter().all(|who| row(run, who) == 1));
	});
}

#[test]
fn who_dropped_out_earlier_in_the_round_still_counts_as_one_who_began_it() {
	build_and_execute(|| {
		let (run, workers) = training_with(RunConfig { max_participants: 6, ..config() }, 6);
		commit_all(run, &workers[1..]);
		run_to_deadline(run);
		assert_eq!(row(run, &workers[0]), 1);
		// Two of the five that are left, but of six that began.
		reveal_all(run, &workers[1..4]);
		run_to_deadline(run);
		assert!(workers[4..].iter().all(|who| row(run, who) == 1));
	});
}

#[test]
fn a_mass_neither_forgives_earlier_dropouts_nor_shortens_a_wait() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let idle = &workers[2];
		for _ in 0..2 {
			commit_all(run, &workers[..2]);
			run_to_deadline(run);
			let _ = join(idle, run);
			reveal_all(run, &workers[..2]);
			vote_all(run, &workers[..2]);
			attest_all(run, &workers[..2], 1);
		}
		let (dropouts, until) = (row(run, idle), Training::next_join(run, idle.clone()).expect("a wait"));
		assert_eq!(dropouts, 2);
		// Both of those who are left miss the next deadline.
		commit_all(run, &workers[..2]);
		run_to_deadline(run);
		assert_eq!((row(run, idle), Training::next_join(run, idle.clone())), (dropouts, Some(until)));
		assert_noop!(join(idle, run), Error::<Test>::CoolingOff);
	});
}

/// Whom of six a deadline of Training finds absent, round after round, and what each has at stake.
fn rounds() -> impl Strategy<Value = (Vec<Balance>, Vec<u8>)> {
	(prop::collection::vec(100u128..2_000, 6), prop::collection::vec(0u8..63, 1..12))
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

	#[test]
	fn rows_grow_at_every_deadline_but_those_that_more_than_a_third_of_heads_and_stake_miss((stakes, rounds) in rounds()) {
		build_and_execute(|| {
			for (number, stake) in (1..).zip(&stakes) {
				provider(&worker(number), |provider| provider.bond = *stake);
			}
			let (run, workers) = training_with(RunConfig { max_participants: 6, min_participants: 1, ..config() }, 6);
			for bits in rounds {
				let began: Vec<AccountId> = round(run).counted().map(|place| place.account.clone()).collect();
				let stake = |who: &AccountId| stakes[workers.iter().position(|one| one == who).expect("one of the six")];
				let is_absent = |who: &&AccountId| bits >> workers.iter().position(|one| one == *who).expect("one of the six") & 1 == 1;
				let (absent, busy): (Vec<_>, Vec<_>) = began.iter().partition(is_absent);
				if busy.is_empty() {
					continue;
				}
				let before: Vec<_> = absent.iter().map(|who| (row(run, who), notes(who).1)).collect();
				busy.iter().for_each(|who| commit(who, run).expect("a commitment"));
				run_to(round(run).deadline.expect("a deadline").min(System::block_number() + if absent.is_empty() { 0 } else { 99 }));
				// By multiplication, in numbers that nothing overflows.
				let all: Balance = began.iter().map(stake).sum();
				let missing: Balance = absent.iter().copied().map(stake).sum();
				let mass = 3 * absent.len() > began.len() && 3 * missing > all;
				for (who, (dropouts, failures)) in absent.iter().zip(before) {
					assert_eq!(row(run, who), dropouts + u32::from(!mass), "{absent:?} of {began:?}");
					// Whatever the reason, place and reputation are lost.
					assert_eq!(notes(who).1, failures + 1);
					assert!(!Training::members(run).contains(who));
				}
				let busy: Vec<AccountId> = busy.into_iter().cloned().collect();
				reveal_all(run, &busy);
				vote_all(run, &busy);
				// Whoever may be back for the next round but one is.
				workers.iter().for_each(|who| _ = join(who, run));
				attest_all(run, &busy, 1);
			}
		});
	}

	/// Those who have a third at most, by heads or by stake, cannot make a mass of themselves: one who stays away by their agreement is
	/// noted at each deadline at which all others are there, so that its waits double.
	#[test]
	fn a_third_in_league_shields_nobody_from_a_wait(league in prop::collection::btree_set(0usize..6, 1..=2), rounds in 3u32..5) {
		build_and_execute(|| {
			let (run, workers) = training_with(RunConfig { max_participants: 6, ..config() }, 6);
			let (absent, busy): (Vec<_>, Vec<_>) = workers.iter().cloned().enumerate().partition(|(place, _)| league.contains(place));
			let [absent, busy] = [absent, busy].map(|half| half.into_iter().map(|(_, who)| who).collect::<Vec<_>>());
			for dropouts in 1..=rounds {
				assert_eq!(round(run).counted().count(), 6);
				commit_all(run, &busy);
				run_to_deadline(run);
				for who in &absent {
					assert_eq!(row(run, who), dropouts);
					let waits = Training::next_join(run, who.clone()).map_or(0, |until| until - System::block_number());
					// The time for training is 10 blocks.
					assert_eq!(waits, 10 * (2u32.pow(dropouts - 1) - 1));
				}
				reveal_all(run, &busy);
				vote_all(run, &busy);
				attest_all(run, &busy, 1);
				while absent.iter().any(|who| Training::next_join(run, who.clone()).is_some()) {
					full_round(run, &busy, 1);
				}
				// Places go to the members of the round before.
				workers.iter().for_each(|who| _ = join(who, run));
				full_round(run, &busy, 1);
			}
		});
	}
}
