//! Tests of the acts that blocks keep room for.

use super::*;
use crate::Refusals;
use neuroshard_types::run::{Act, Phase};

/// Action of a participant in a phase.
type Deed = fn(&AccountId, RunId);

/// Returns the act that the present phase asks for.
fn act(run: RunId) -> Act {
	let (round, attempt) = at(run);
	Act { run, round, attempt, phase: phase(run) }
}

fn approve(run: RunId) {
	Training::approve_run(RuntimeOrigin::root(), run).expect("an active run");
}

fn has_room(who: &AccountId, act: Act) -> bool {
	Training::has_room(who, &act).is_some()
}

#[test]
fn there_is_room_for_each_participant_once_a_phase_and_for_nobody_else() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		approve(run);
		let phases: [(Phase, Deed); 4] = [
			(Phase::Training, |who, run| commit(who, run).unwrap()),
			(Phase::Revealing, |who, run| reveal(who, run).unwrap()),
			(Phase::Availability, |who, run| vote(who, run, &[true, true]).unwrap()),
			(Phase::Checkpointing, |who, run| attest(who, run, 1, 2.0).unwrap()),
		];
		for (phase, perform) in phases {
			let due = act(run);
			assert_eq!((due.phase, Training::has_room(&workers[0], &due)), (phase, round(run).deadline));
			assert!(!has_room(&worker(3), due), "it has no place");
			for other in phases.map(|(other, _)| other).into_iter().filter(|other| *other != phase) {
				assert!(!has_room(&workers[0], Act { phase: other, ..due }));
			}
			for other in [Act { round: 1, ..due }, Act { attempt: 1, ..due }, Act { run: 7, ..due }] {
				assert!(!has_room(&workers[0], other));
			}
			perform(&workers[0], run);
			assert!(!has_room(&workers[0], due), "it has acted");
			assert!(has_room(&workers[1], due));
			perform(&workers[1], run);
		}
	});
}

#[test]
fn there_is_none_in_a_run_that_was_not_approved() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		assert!(!has_room(&workers[0], act(run)));
		approve(run);
		assert!(has_room(&workers[0], act(run)));
	});
}

#[test]
fn there_is_none_for_a_dropout_nor_for_who_has_lost_of_its_stake() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		approve(run);
		commit_all(run, &workers[..3]);
		run_to_deadline(run);
		assert!(!has_room(&workers[3], act(run)));
		assert!(has_room(&workers[0], act(run)));
		provider(&workers[0], |provider| provider.bond -= 1);
		assert!(!has_room(&workers[0], act(run)));
	});
}

#[test]
fn whoever_had_something_refused_has_none_until_the_next_phase_or_its_repeat() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		approve(run);
		let refuse = |who: &AccountId| {
			let deadline = Training::has_room(who, &act(run)).expect("room");
			Training::note_refused(who, act(run), deadline);
			assert!(!has_room(who, act(run)));
			Training::do_try_state().expect("a sound note");
		};
		refuse(&workers[0]);
		assert!(has_room(&workers[1], act(run)), "it is nobody else's fault");
		refuse(&workers[1]);
		commit_all(run, &workers);
		assert!(workers.iter().all(|who| has_room(who, act(run))));
		reveal_all(run, &workers);
		refuse(&workers[0]);
		// A vote that decides nothing.
		workers.iter().for_each(|who| vote(who, run, &[false; 3]).unwrap());
		skip(1);
		assert_eq!(phase(run), Phase::Availability);
		assert!(workers.iter().all(|who| has_room(who, act(run))));
		Training::stop_run(RuntimeOrigin::signed(SPONSOR), run).unwrap();
		assert_eq!(Refusals::<Test>::iter().count(), 0);
	});
}
