//! A quorum's round from files to files is that of one machine, whoever is lost meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;
mod seats;

use common::Stamp;
use neuroshard_compute::exec::Exec;
use neuroshard_graph::{config::Code, Aggregator, Compressed, Robust, Rule, TopK, F32};
use neuroshard_quorum::{Fault, Message, QuorumError, Seat, SeatError};
use neuroshard_training::files::{FileEngine, FilesError};
use seats::{assert_as_alone, attempt, copy, gone, honest, Alone, Attempt, Setting, Way, LEADER};
use std::{
	fs,
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc,
	},
};

fn coded(code: Code) -> Aggregator {
	Aggregator::Compressed(Compressed { code, robust: Robust { clip: F32::new(0.0), rule: Rule::Mean } })
}

/// Seats, first steps of the intervals that each has ended, and what became of its round.
type Parts = (Vec<Seat<Stamp>>, Vec<Vec<u32>>, Vec<Result<(), SeatError>>);

fn split(attempts: Vec<Attempt>) -> Parts {
	let mut parts = (Vec::new(), Vec::new(), Vec::new());
	for (seat, ended, placed) in attempts {
		parts.0.push(seat);
		parts.1.push(ended);
		parts.2.push(placed.map(drop));
	}
	parts
}

/// Two rounds, with the outer step between them and behind them on files.
fn rounds_are_those_of_one_machine(aggregator: Aggregator, adapted: bool) {
	let setting = Setting::new(aggregator, adapted);
	let mut alone = Alone::new(&setting);
	let files = FileEngine::new(&setting.model, &setting.train, 1, u64::MAX, setting.folder.path()).unwrap();
	let mut residual = None;
	for round in 0..2 {
		let expected = alone.round(&setting);
		let attempts = attempt(&setting, round, setting.seats(round, residual.as_ref()), &honest());
		assert!(attempts.iter().all(|(_, ended, _)| ended == &[0, 2, 4]));
		residual = assert_as_alone(&attempts, &expected);
		assert_eq!(residual.is_some(), setting.train.leaves_residual());
		let delta = attempts[LEADER].2.as_ref().unwrap().sent.as_ref().unwrap().delta.clone();
		let next = setting.path(&format!("checkpoint-{}", round + 1));
		let next = files.take_outer_step(&setting.checkpoint(round), &[delta], &[], &next).unwrap();
		assert_eq!(next.header, alone.checkpoint.header);
		// Of each interval there is what the leader posts, until it is told to forget it.
		let ledger = attempts[LEADER].0.ledger().unwrap();
		for (first, root) in [0, 2, 4].into_iter().zip(&expected.work.state_roots) {
			assert_eq!(ledger.kept(first).unwrap().unwrap().root, root.0);
		}
		ledger.forget(2).unwrap();
		assert_eq!((ledger.kept(2).unwrap(), ledger.kept(4).unwrap().is_some()), (None, true));
	}
}

#[test]
fn rounds_of_a_quorum_are_those_of_one_machine() {
	rounds_are_those_of_one_machine(Aggregator::Mean, false);
}

#[test]
fn rounds_of_an_adapter_are_those_of_one_machine() {
	rounds_are_those_of_one_machine(Aggregator::Mean, true);
}

#[test]
fn deltas_that_are_sent_as_a_code_are_those_of_one_machine_with_what_they_leave() {
	rounds_are_those_of_one_machine(coded(Code::Int8), false);
	rounds_are_those_of_one_machine(coded(Code::TopK(TopK { numbers: 8, decay: F32::new(0.9), cosine: false })), false);
}

/// A round in which `lost` is gone once it has sent so many messages, and who comes in its place has these files. Returns the first steps of the intervals that are
/// taken after that.
fn interrupted(setting: &Setting, (lost, after): (usize, usize), replaced: impl FnOnce() -> Seat<Stamp>) -> (Vec<u32>, Vec<Attempt>) {
	let (mut seats, _, failed) = split(attempt(setting, 0, setting.seats(0, None), &gone(lost, after)));
	for (member, failed) in failed.into_iter().enumerate().filter(|(member, _)| *member != lost) {
		// Who has waited for it names it; others may see first that somebody else has given up.
		let error = failed.unwrap_err();
		assert!(!error.members(member).contains(&member) && !error.is_divergence(), "{error}");
	}
	drop(seats.remove(lost));
	seats.insert(lost, replaced());
	let attempts = attempt(setting, 0, seats, &honest());
	(attempts[LEADER].1.clone(), attempts)
}

#[test]
fn a_round_goes_on_from_the_last_state_that_all_have_when_a_member_is_lost_within_an_interval() {
	let counted = Setting::new(Aggregator::Mean, false);
	let expected = Alone::new(&counted).round(&counted);
	let mut begun = std::collections::BTreeSet::new();
	for lost in [1, LEADER] {
		for after in [0, 1, 7, 16, 22, 28, 33] {
			let setting = Setting::new(Aggregator::Mean, false);
			let own = format!("round-0-member-{lost}");
			let (taken, attempts) = interrupted(&setting, (lost, after), || setting.seat(lost, 0, &own, None));
			assert_as_alone(&attempts, &expected);
			begun.extend(taken.first().copied());
		}
	}
	// Somewhere in the first, the second and the third interval.
	assert_eq!(begun.into_iter().collect::<Vec<_>>(), [0, 2, 4]);
}

#[test]
fn who_comes_in_the_place_of_a_lost_member_and_has_the_checkpoint_only_makes_all_begin_again() {
	for adapted in [false, true] {
		let setting = Setting::new(Aggregator::Mean, adapted);
		let expected = Alone::new(&setting).round(&setting);
		let (taken, attempts) = interrupted(&setting, (2, 25), || setting.seat(2, 0, "elsewhere", None));
		assert_eq!(taken, [0, 2, 4]);
		assert_as_alone(&attempts, &expected);
	}
}

#[test]
fn a_round_of_which_one_member_after_the_other_is_lost_the_leader_with_its_records_among_them_is_that_of_one_machine() {
	let setting = Setting::new(coded(Code::Int8), false);
	let expected = Alone::new(&setting).round(&setting);
	let mut seats = setting.seats(0, None);
	let mut begun = Vec::new();
	for (lost, after, folder) in
		[(1, 16, "round-0-member-1"), (2, 9, "round-0-member-2"), (LEADER, 12, "new-leader"), (1, 3, "round-0-member-1")]
	{
		let (left, _, failed) = split(attempt(&setting, 0, seats, &gone(lost, after)));
		assert!(failed.iter().all(Result::is_err));
		seats = left;
		drop(seats.remove(lost));
		seats.insert(lost, setting.seat(lost, 0, folder, None));
		let states = seats.iter().map(|seat| seat.keep().unwrap().intervals().unwrap());
		begun.push(states.collect::<Vec<_>>());
	}
	// What members have kept is of no use to a leader that knows nothing of it.
	assert_eq!(begun[2], [vec![], vec![0, 2], vec![0, 2]]);
	let attempts = attempt(&setting, 0, seats, &honest());
	assert_eq!(attempts[LEADER].1, [0, 2, 4]);
	assert_as_alone(&attempts, &expected);
}

#[test]
fn a_kept_state_that_is_damaged_counts_for_none() {
	let setting = Setting::new(Aggregator::Mean, false);
	let expected = Alone::new(&setting).round(&setting);
	let (taken, attempts) = interrupted(&setting, (1, 28), || {
		let folder = setting.path("damaged");
		copy(&setting.path("round-0-member-1"), &folder);
		let start = folder.join("keep/interval-0000000004-0000000000/start-1");
		let mut bytes = fs::read(&start).unwrap();
		bytes[9] ^= 1;
		fs::write(&start, bytes).unwrap();
		setting.seat(1, 0, "damaged", None)
	});
	assert_eq!(taken, [2, 4]);
	assert_as_alone(&attempts, &expected);
}

#[test]
fn a_member_that_hands_over_other_parameters_than_its_state_has_is_named_before_anything_is_revealed() {
	let setting = Setting::new(Aggregator::Mean, false);
	let expected = Alone::new(&setting).round(&setting);
	let told = Arc::new(AtomicBool::new(false));
	let tells = told.clone();
	let false_tiles: Way = Arc::new(move |from, _, message| match message {
		Message::Tiles(mut handed) if from == 1 => {
			handed.tiles[1_000] ^= 1;
			Some(Message::Tiles(handed))
		}
		message => {
			tells.fetch_or(matches!(message, Message::Done(_)), Ordering::SeqCst);
			Some(message)
		}
	});
	let (seats, ended, failed) = split(attempt(&setting, 0, setting.seats(0, None), &false_tiles));
	assert!(!told.load(Ordering::SeqCst));
	assert!(ended.iter().all(|ended| ended == &[0, 2, 4]));
	let error = failed.into_iter().nth(LEADER).unwrap().unwrap_err();
	let what = "handed over other parameters than those of the state that it has signed";
	assert!(matches!(&error, SeatError::Quorum(QuorumError::Fault(Fault::Member { member: 1, what: found })) if *found == what), "{error}");
	assert_eq!(error.members(LEADER), [1]);

	// No interval is taken again for that.
	let attempts = attempt(&setting, 0, seats, &honest());
	assert!(attempts.iter().all(|(_, ended, _)| ended.is_empty()));
	assert_as_alone(&attempts, &expected);
}

#[test]
fn tiles_that_nobody_asked_for_or_that_are_missing_name_their_sender() {
	let changed = |change: fn(Message) -> Option<Message>| {
		let setting = Setting::new(Aggregator::Mean, false);
		let way: Way = Arc::new(move |from, _, message| if from == 2 { change(message) } else { Some(message) });
		let (_, _, failed) = split(attempt(&setting, 0, setting.seats(0, None), &way));
		let error = failed.into_iter().nth(LEADER).unwrap().unwrap_err();
		assert_eq!(error.members(LEADER), [2], "{error}");
		error.to_string()
	};
	let later = changed(|message| match message {
		Message::Tiles(mut handed) => {
			handed.first += 1;
			Some(Message::Tiles(handed))
		}
		message => Some(message),
	});
	assert_eq!(later, "member 2 handed over other tiles than are next, or more than it holds");
	let none = changed(|message| (!matches!(message, Message::Tiles(_))).then_some(message));
	assert!(none.starts_with("the link to member 2 has ended"), "{none}");
	let early = changed(|message| match message {
		Message::Record(_) => Some(Message::Tiles(neuroshard_quorum::Handed { first: 0, tiles: vec![0; 4_096] })),
		message => Some(message),
	});
	assert_eq!(early, "member 2 sent something that no step has");
	let many = changed(|message| match message {
		Message::Have(have) => Some(Message::Have(have.repeat(9))),
		message => Some(message),
	});
	assert_eq!(many, "member 2 sent something else than the states that it has, or too many of them");
}

#[test]
fn a_seat_refuses_a_checkpoint_of_another_round_and_an_adapter_without_its_model() {
	let setting = Setting::new(Aggregator::Mean, true);
	let exec = || Arc::new(Exec::new(1).unwrap());
	let sources = || setting.sources(setting.path("own"), 0);
	let seat = |place, sources| Seat::new(place, LEADER, Stamp(1), exec(), sources).err().unwrap();
	let bridge = seat(setting.place(1, 1), sources());
	assert!(matches!(bridge, SeatError::Elsewhere { expected: 1, found: 0 }), "{bridge}");
	let lacking = seat(setting.place(1, 0), neuroshard_quorum::Sources { base: None, ..sources() });
	assert!(matches!(lacking, SeatError::Files(FilesError::NoModel)), "{lacking}");
	let mut place = setting.place(1, 0);
	place.train.adapter.as_mut().unwrap().base[0] ^= 1;
	let other = seat(place, sources());
	assert!(matches!(other, SeatError::Files(FilesError::Root { .. })), "{other}");
	assert!(matches!(seat(setting.place(3, 0), sources()), SeatError::Join(_)));
}
