//! Rounds that overlap: the next one is trained while this one is exchanged.

use super::*;
use crate::participant::decide::plan::is_drawn;
use neuroshard_types::run::AheadView;

const NEXT_SEED: H256 = H256::repeat_byte(0x77);

/// [`training`] of a run whose rounds overlap: inner steps of the round at hand start from an earlier checkpoint, which is in the store.
fn overlapping() -> (ChainView, LocalState) {
	let (mut chain, mut local) = training();
	run(&mut chain).view.config.overlaps = true;
	let places = [1, ME, 3].map(account).to_vec();
	round(&mut chain).ahead = Some(AheadView { round: 2, start: CHECKPOINT, seed: NEXT_SEED, places });
	round(&mut chain).start = EARLIER;
	local.stored = Some(EARLIER);
	(chain, local)
}

fn next(position: u32) -> Task {
	Task::Train { drawn: Drawn { round: 2, attempt: 0, seed: NEXT_SEED, start: CHECKPOINT, base: None, position } }
}

#[test]
fn the_round_at_hand_is_trained_first_and_from_where_it_starts() {
	let (chain, mut local) = overlapping();
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
	local.stored = None;
	assert_eq!(plan(&chain, &local), Some(Task::FetchStart { root: EARLIER }));
}

#[test]
fn the_next_round_is_trained_whenever_nothing_else_is_to_be_done() {
	let (mut chain, mut local) = overlapping();
	trained(&mut local);
	let barred = |done: &Task| plan_without(&chain, &local, |task| task == done);
	assert_eq!((plan(&chain, &local), barred(&Task::Commit)), (Some(Task::Commit), Some(next(1))));
	me(&mut chain).sealed = Some(SEAL);
	for phase in [Phase::Training, Phase::Revealing, Phase::Availability, Phase::Checkpointing] {
		round(&mut chain).phase = phase;
		assert_eq!(plan(&chain, &local), Some(next(1)), "{phase:?}");
	}
	local.pending = vec![PendingWork { run: 7, round: 2, seed: NEXT_SEED, seal: SEAL, bridged: None }];
	assert_eq!(plan(&chain, &local), None, "it is trained");
	(local.pending, local.diverged) = (Vec::new(), vec![NEXT_SEED]);
	assert_eq!(plan(&chain, &local), None, "it has no result");
}

#[test]
fn nobody_trains_a_round_without_a_place_a_membership_or_its_checkpoint() {
	let idle = |change: fn(&mut ChainView, &mut LocalState)| {
		let (mut chain, mut local) = overlapping();
		trained(&mut local);
		me(&mut chain).sealed = Some(SEAL);
		change(&mut chain, &mut local);
		assert!(!matches!(plan(&chain, &local), Some(Task::Train { .. })));
	};
	idle(|chain, _| round(chain).ahead.as_mut().unwrap().places = vec![account(1), account(3)]);
	idle(|chain, _| {
		let me = chain.me.clone();
		run(chain).members.retain(|one| *one != me);
	});
	idle(|_, local| local.leaving = true);
	idle(|_, local| local.mode = Mode::ServeOnly);
	idle(|_, local| local.checkpoint = Some(EARLIER));
	idle(|chain, _| chain.free = chain.reserve - 1);
}

#[test]
fn a_newcomer_trains_the_round_that_it_has_a_place_in_and_stays_out_of_the_one_at_hand() {
	let (mut chain, local) = overlapping();
	let me = chain.me.clone();
	round(&mut chain).participants.retain(|one| one.account != me);
	assert_eq!(plan(&chain, &local), Some(next(1)));
}

#[test]
fn training_goes_on_while_its_round_is_drawn_or_waits_for_it() {
	let (mut chain, _) = overlapping();
	assert!(is_drawn(&chain, SEED) && is_drawn(&chain, NEXT_SEED) && !is_drawn(&chain, H256::repeat_byte(0x5f)));
	me(&mut chain).sealed = Some(SEAL);
	assert!(!is_drawn(&chain, SEED) && is_drawn(&chain, NEXT_SEED));
	me(&mut chain).counted = false;
	assert!(is_drawn(&chain, NEXT_SEED), "it may be a member again");
	let who = chain.me.clone();
	run(&mut chain).members.retain(|one| *one != who);
	assert!(!is_drawn(&chain, NEXT_SEED));
	chain.run = None;
	assert!(!is_drawn(&chain, NEXT_SEED));
}

#[test]
fn work_of_both_rounds_is_at_hand_and_each_round_gets_its_own() {
	let (mut chain, mut local) = overlapping();
	trained(&mut local);
	local.pending.push(PendingWork { run: 7, round: 2, seed: NEXT_SEED, seal: H256::repeat_byte(0x5b), bridged: None });
	assert_eq!(plan(&chain, &local), Some(Task::Commit));
	me(&mut chain).sealed = Some(SEAL);
	round(&mut chain).phase = Phase::Revealing;
	run(&mut chain).finalized_seal = Some(SEAL);
	assert_eq!(plan(&chain, &local), Some(Task::Reveal));
	// A reorganisation takes the reveal back.
	me(&mut chain).work = Some(work(ME));
	assert_ne!(plan(&chain, &local), Some(Task::Reveal));
	me(&mut chain).work = None;
	assert_eq!(plan(&chain, &local), Some(Task::Reveal));
}

#[test]
fn deltas_are_checked_with_the_checkpoint_that_they_start_from() {
	let (mut chain, mut local) = overlapping();
	trained(&mut local);
	let other = round(&mut chain).participants.iter_mut().find(|one| one.account == account(3)).unwrap();
	other.work = Some(work(3));
	me(&mut chain).sealed = Some(SEAL);
	me(&mut chain).work = Some(work(ME));
	for phase in [Phase::Revealing, Phase::Availability] {
		round(&mut chain).phase = phase;
		local.stored = None;
		assert_eq!(plan(&chain, &local), Some(Task::FetchStart { root: EARLIER }), "{phase:?}");
		local.stored = Some(EARLIER);
		assert!(matches!(plan(&chain, &local), Some(Task::FetchDeltas { .. })), "{phase:?}");
	}
}
