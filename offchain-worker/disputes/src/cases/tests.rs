//! Whole games between two cases, through what is posted on chain.

use super::{case::Case, claimed::Claimed, library::Shards, record::Record};
use neuroshard_chain_client::disputes::Act;
use neuroshard_compute::{exec::Exec, player::PlayError, trace::Mistake};
use neuroshard_data::loader::Loader;
use neuroshard_graph::game::{Doubt, Move, Outcome, Position, Ruling, Side};
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind},
	run::Work,
	AccountId, H256,
};
use std::sync::Arc;

impl Claimed {
	/// Returns the work that a participant with this mistake reveals.
	fn reveal(&self, mistake: Option<Mistake>) -> Work {
		let mut case = self.case(mistake);
		let (roots, delta) = case.reveal().unwrap().unwrap();
		Work {
			state_roots: roots.into_iter().map(H256).collect::<Vec<_>>().try_into().unwrap(),
			delta_root: H256(delta),
			delta_bytes: 0,
			tokens: 0,
		}
	}
}

const MISTAKE: Mistake = Mistake { step: 2, stage: 3, output: 0, element: 77, mask: 1 << 21 };

fn claim_id() -> ClaimId {
	ClaimId { run: 0, round: 0, kind: ClaimKind::Work, who: AccountId::new([1; 32]) }
}

#[test]
fn a_false_claim_falls_in_a_game_that_each_side_reads_off_the_chain() {
	let claimed = Claimed::new();
	let (id, challenger) = (claim_id(), AccountId::new([2; 32]));
	let work = claimed.reveal(Some(MISTAKE));
	let (mut defending, mut challenging) = (claimed.case(Some(MISTAKE)), claimed.case(None));
	let doubt = challenging.doubt(&work).unwrap().unwrap();
	let opening = Act::ChallengeWork { claim: id.clone(), work: work.clone(), doubt };
	// Others open games about the same claim in the same block, with another doubt, and with work that was not revealed.
	let elsewhere = if doubt == Doubt::Delta { Doubt::Interval(0) } else { Doubt::Delta };
	let other = Act::ChallengeWork { claim: id.clone(), work: work.clone(), doubt: elsewhere };
	let junk = Act::ChallengeWork { claim: id.clone(), work: claimed.reveal(None), doubt };
	let mut blocks = vec![vec![other, junk, opening]];
	let mut position = challenging.open(Some((&work, doubt))).unwrap();
	let ruling = loop {
		// Both sides begin anew with every move, as after a restart.
		let mut record = Record::new(id.clone(), challenger.clone());
		for block in &blocks {
			record.read(&challenging, block.clone());
		}
		assert!(record.is_at(&position));
		let case = match position.turn() {
			Side::Defender => &mut defending,
			Side::Challenger => &mut challenging,
		};
		let action = case.respond(position.turn(), &position, record.defence()).unwrap();
		let outcome = case.grounds().judge(|setting| position.play(setting, &action)).unwrap();
		let answers = H256(position.hash());
		let play = |challenger: &AccountId, position: H256, action: &Move| Act::Play {
			claim: id.clone(),
			challenger: challenger.clone(),
			position,
			action: action.clone(),
		};
		// A move in somebody else's game, one that the position does not allow, one for another position, and the same move again change nothing.
		blocks.push(vec![
			play(&AccountId::new([9; 32]), answers, &action),
			play(&challenger, answers, &Move::Vector(99)),
			play(&challenger, H256([7; 32]), &action),
			play(&challenger, answers, &action),
			play(&challenger, answers, &action),
		]);
		match outcome {
			Outcome::Next(next) => position = next,
			Outcome::Decided(ruling) => break ruling,
		}
	};
	assert_eq!(ruling, Ruling::Fraud);
}

#[test]
fn an_audit_takes_one_sample_whatever_was_revealed_and_finds_what_is_false() {
	let claimed = Claimed::new();
	let (honest, wrong) = (claimed.reveal(None), claimed.reveal(Some(MISTAKE)));
	let step = claimed.claim.config.train.inner_steps - 2;
	let (doubt, sample) = claimed.case(None).audit(Some(&honest), step).unwrap();
	assert!(doubt.is_none() && sample.is_some());
	let of_wrong = claimed.case(None).audit(Some(&wrong), step).unwrap();
	assert_eq!(of_wrong, (claimed.case(None).doubt(&wrong).unwrap(), sample));
	assert!(of_wrong.0.is_some());
	assert_eq!(claimed.case(None).audit(None, step).unwrap(), (None, sample), "without knowing what was revealed");
	assert_ne!(claimed.case(Some(MISTAKE)).audit(None, step).unwrap().1, sample);
}

/// A game of `challenger` about a sample, as both sides read it off the chain; `None` if the challenger has nothing to say.
fn dispute_a_sample(defending: &mut Case, challenging: &mut Case) -> Option<Ruling> {
	let (id, challenger) = (ClaimId { kind: ClaimKind::Audit, ..claim_id() }, AccountId::new([2; 32]));
	let mut record = Record::new(id.clone(), challenger.clone());
	record.read(challenging, vec![Act::ChallengeAudit(id.clone())]);
	let mut position = challenging.open(None).unwrap();
	loop {
		assert!(record.is_at(&position));
		let case = match position.turn() {
			Side::Defender => &mut *defending,
			Side::Challenger => &mut *challenging,
		};
		let action = match case.respond(position.turn(), &position, record.defence()) {
			Err(super::case::CaseError::Play(PlayError::Nothing)) => return None,
			action => action.unwrap(),
		};
		let outcome = case.grounds().judge(|setting| position.play(setting, &action)).unwrap();
		let answers = H256(position.hash());
		let act = Act::Play { claim: id.clone(), challenger: challenger.clone(), position: answers, action };
		record.read(challenging, vec![act]);
		match outcome {
			Outcome::Next(next) => position = next,
			Outcome::Decided(ruling) => return Some(ruling),
		}
	}
}

#[test]
fn a_false_sample_falls_and_a_right_one_stands() {
	let claimed = Claimed::new();
	let step = claimed.claim.config.train.inner_steps - 2;
	let sample = |mistake| claimed.case(mistake).audit(None, step).unwrap().1.unwrap();
	let case = |mistake, sample| claimed.case(mistake).with_sample(step, sample);
	let wrong = sample(Some(MISTAKE));
	let ruling = dispute_a_sample(&mut case(Some(MISTAKE), wrong), &mut case(None, wrong));
	assert_eq!(ruling, Some(Ruling::Fraud));
	let right = sample(None);
	assert_eq!(dispute_a_sample(&mut case(None, right), &mut case(None, right)), None);
	assert_eq!(dispute_a_sample(&mut case(None, right), &mut case(Some(MISTAKE), right)), Some(Ruling::Unfounded));
}

#[test]
fn nothing_is_wrong_with_honest_work() {
	let claimed = Claimed::new();
	let work = claimed.reveal(None);
	assert_eq!(claimed.case(None).doubt(&work).unwrap(), None);
	// A challenger without a case has no move to make.
	let mut case = claimed.case(None);
	let doubt = Doubt::Interval(0);
	let first = case.open(Some((&work, doubt))).unwrap();
	let answer = case.respond(Side::Defender, &first, &[]).unwrap();
	let Outcome::Next(next) = case.grounds().judge(|setting| first.play(setting, &answer)).unwrap() else { panic!("a game") };
	let error = case.respond(Side::Challenger, &next, &[answer]).unwrap_err();
	assert!(matches!(error, super::case::CaseError::Play(PlayError::Nothing)), "{error}");
	assert!(matches!(next, Position::PickStep { .. }));
}

#[test]
fn a_check_can_be_put_off() {
	let claimed = Claimed::new();
	let work = claimed.reveal(None);
	let cancel = Arc::new(std::sync::atomic::AtomicBool::new(true));
	let loader = Loader::new(claimed.folder.path(), claimed.claim.shape, claimed.claim.corpus().width).unwrap();
	let shards = Shards::new(claimed.folder.path().to_path_buf(), claimed.claim.corpus(), claimed.roots.clone());
	let start = (claimed.theta.clone(), claimed.momentum);
	let exec = Arc::new(Exec::new(1).unwrap());
	let mut case = Case::work(exec, 0, claimed.claim.clone(), claimed.claim.windows(), start, (loader, shards), cancel).unwrap();
	assert!(case.doubt(&work).unwrap_err().is_cancelled());
}
