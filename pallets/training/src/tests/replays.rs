//! Outer steps that are redone after a fraud: from where, with which deltas, and that no fraud stays in the model.

use super::*;
use crate::{replay::Span, Error, Event, Runs, Stage};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	dispute::{Claims, OuterJob},
	run::{Attestation, Phase},
	RoundIndex, H256,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Room for long histories.
fn long_memory() {
	RecordsKept::set(60);
	MaxReplay::set(50);
}

/// A full round that ends with checkpoint number `root`, and what was computed in its Checkpointing.
fn play(run: RunId, workers: &[AccountId], root: u8) -> OuterJob {
	to_checkpointing(run, workers);
	let job = Training::outer_job(run).expect("Checkpointing");
	attest_all(run, workers, root);
	job
}

/// Delta roots of these workers in an adopted round.
fn included(run: RunId, round: RoundIndex, workers: &[&AccountId]) -> Vec<H256> {
	let record = Training::record(run, round).expect("an adopted round");
	record.included.into_iter().filter(|(who, _)| workers.contains(&who)).map(|(_, root)| root).collect()
}

#[test]
fn without_a_fraud_there_is_one_step_and_only_in_checkpointing() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let job = play(run, &workers, 1);
		let all = included(run, 0, &[&workers[0], &workers[1]]);
		assert_eq!(job, OuterJob { first_round: 0, start: H256::repeat_byte(0xff), steps: vec![all], inner_steps: vec![] });
		assert_eq!((Training::outer_job(run), Training::outer_job(99)), (None, None));
	});
}

#[test]
fn a_false_delta_leaves_the_outer_steps_since_and_no_earlier_attestation_is_judged_without_it() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let before: Vec<_> = (1..=2).map(|root| play(run, &workers, root)).collect();
		condemn_work(run, 0, &workers[1]);
		let job = play(run, &[workers[0].clone(), workers[2].clone()], 3);
		let (honest, all) = ([&workers[0], &workers[2]], [&workers[0], &workers[1], &workers[2]]);
		let steps = vec![included(run, 0, &honest), included(run, 1, &all), included(run, 2, &honest)];
		assert_eq!(job, OuterJob { first_round: 0, start: H256::repeat_byte(0xff), steps, inner_steps: vec![] });
		assert_eq!(Training::record(run, 2).expect("adopted").first_round, 0);
		// What was included then is told as before.
		assert_eq!(Training::record(run, 0).expect("adopted").included.len(), 3);
		for (index, job) in (0..).zip(before.into_iter().chain([job])) {
			assert_eq!(Training::attestation(run, index, &workers[0]).map(|claim| claim.job), Some(job));
		}
		// It was redone: the next step is one again.
		assert_eq!(play(run, &[workers[0].clone(), workers[2].clone()], 4).first_round, 3);
	});
}

#[test]
fn a_step_of_which_every_delta_is_false_is_empty() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		play(run, &workers, 1);
		workers.iter().for_each(|who| condemn_work(run, 0, who));
		// Nobody is left in the round under way. Both come back with another stake.
		skip(1);
		workers.iter().for_each(|who| join(who, run).expect("a place"));
		skip(3);
		let job = play(run, &workers, 2);
		assert_eq!(job.steps, vec![vec![], included(run, 1, &[&workers[0], &workers[1]])]);
	});
}

#[test]
fn a_fraud_within_what_was_redone_starts_where_that_did_and_one_after_it_where_it_is() {
	build_and_execute(|| {
		long_memory();
		let (run, workers) = training(4);
		(1..=2).for_each(|root| full_round(run, &workers, root));
		condemn_work(run, 1, &workers[0]);
		let left = &workers[1..];
		assert_eq!(play(run, left, 3).first_round, 1);
		(4..=5).for_each(|root| full_round(run, left, root));
		assert_eq!(Runs::<Test>::get(run).expect("a run").spans.to_vec(), [Span { from: 1, until: 2 }]);

		let needed: Vec<_> = (0..6).map(|round| Training::redo_from(run, round)).collect();
		assert_eq!((needed, Training::redo_from(99, 0)), ([0, 1, 1, 3, 4, 5].map(Some).to_vec(), None));
		// Round 2 started from a checkpoint with the false delta of round 1.
		let mut after = Runs::<Test>::get(run).expect("a run");
		condemn_work(run, 3, &workers[1]);
		assert_eq!(Runs::<Test>::get(run).expect("a run").replay, Some(3));
		condemn_work(run, 2, &workers[1]);
		assert_eq!(Runs::<Test>::get(run).expect("a run").replay, Some(1));
		assert_eq!(Training::redo_from(run, 4), Some(1), "it is to be redone, however old it is by then");
		let job = play(run, &workers[2..], 6);
		let honest = [&workers[2], &workers[3]];
		assert_eq!((job.first_round, job.start), (1, H256::repeat_byte(1)));
		assert_eq!(job.steps[0], included(run, 1, &[&workers[1], &workers[2], &workers[3]]));
		assert_eq!(job.steps[1], included(run, 2, &honest));
		assert_eq!(job.steps[2], included(run, 3, &honest));
		after.spans = vec![Span { from: 1, until: 5 }].try_into().expect("few spans");
		assert_eq!(Runs::<Test>::get(run).expect("a run").spans, after.spans);
	});
}

#[test]
fn a_fraud_proven_in_checkpointing_begins_it_anew() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		full_round(run, &workers, 1);
		to_checkpointing(run, &workers);
		// A first vote without a result, so that there is a number of repeats to keep.
		for (who, root) in workers.iter().zip([7, 8, 9]) {
			assert_ok!(attest(who, run, root, 2.5));
		}
		skip(3);
		workers[..2].iter().for_each(|who| attest(who, run, 2, 2.5).expect("an attestation"));
		// Decided, but not adopted before the next block.
		condemn_work(run, 0, &workers[2]);
		let (restarted, now) = (round(run), System::block_number());
		assert!(restarted.participants.iter().all(|place| place.attestation.is_none()));
		assert_eq!(restarted.participants.iter().map(|place| place.counted).collect::<Vec<_>>(), [true, true, false]);
		assert!(matches!(restarted.stage, Stage::Checkpointing { repeats: 1, .. }));
		assert_eq!(restarted.deadline, Some(now + 7));
		let (phase, deadline) = (Phase::Checkpointing, restarted.deadline);
		assert!(happened(Event::PhaseStarted { run, round: 1, attempt: 1, phase, deadline }));
		// Signed before the verdict, in a block after it.
		let stale = Attestation { checkpoint: H256::repeat_byte(2), validation_loss: Default::default() };
		assert_noop!(Training::attest(RuntimeOrigin::signed(workers[0].clone()), run, 1, 0, stale), Error::<Test>::WrongAttempt);
		skip(1);
		assert_eq!(Training::run(run).expect("a run").rounds_adopted, 1);
		let job = Training::outer_job(run).expect("Checkpointing");
		assert_eq!((job.first_round, job.steps[0].len(), job.steps[1].len()), (0, 2, 3));
		attest_all(run, &workers[..2], 3);
		assert_eq!(Training::attestation(run, 1, &workers[0]).map(|claim| claim.job), Some(job));
	});
}

#[test]
fn a_verdict_that_changes_no_step_leaves_checkpointing_alone() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		commit_all(run, &workers);
		reveal_all(run, &workers);
		workers.iter().for_each(|who| vote(who, run, &[true, true, true, false]).expect("a vote"));
		attest_all(run, &workers, 1);
		to_checkpointing(run, &workers);
		assert_ok!(attest(&workers[0], run, 2, 2.5));
		let before = round(run);
		// A delta that was not included, and one of four attestations. Only those who lost them have no part in it any more.
		condemn_work(run, 0, &workers[3]);
		condemn_attestation(run, 0, &workers[2]);
		let after = round(run);
		assert_eq!((after.stage, after.attempt, after.deadline), (before.stage, before.attempt, before.deadline));
		assert_eq!(after.participants[..2], before.participants[..2]);
		assert_eq!(Training::outer_job(run).expect("Checkpointing").first_round, 1);
	});
}

#[test]
fn what_an_aborted_attempt_did_not_redo_the_next_one_does() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		full_round(run, &workers, 1);
		condemn_work(run, 0, &workers[2]);
		to_checkpointing(run, &workers[..2]);
		run_to_deadline(run);
		assert_eq!((phase(run), at(run)), (Phase::Joining, (1, 1)));
		workers[..2].iter().for_each(|who| join(who, run).expect("a place"));
		skip(3);
		assert_eq!(play(run, &workers[..2], 2).first_round, 0);
	});
}

#[test]
fn what_would_take_too_many_outer_steps_stays() {
	build_and_execute(|| {
		RecordsKept::set(9);
		let (run, workers) = training(4);
		(1..=3).for_each(|root| full_round(run, &workers, root));
		let replay = || Runs::<Test>::get(run).expect("a run").replay;
		// In round 3, three steps are those of rounds 1 to 3.
		condemn_work(run, 0, &workers[0]);
		assert_eq!(replay(), None);
		condemn_work(run, 1, &workers[1]);
		assert_eq!(replay(), Some(1));
		// Voided, and told, all the same.
		assert_eq!((fate(&workers[0], run, 0), Condemned::get().len()), (Some(Fate::Void), 2));
		assert_eq!(Training::record(run, 0).expect("a record").excluded, workers[..1]);
	});
}

/// Something in a checkpoint: a delta of an account, or the attestations of those who adopted it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
	Delta(RoundIndex, H256),
	Checkpoint(RoundIndex),
}

/// Content of every checkpoint, by what was computed and not by what the pallet remembers, and what of that is known to be false.
#[derive(Default)]
struct Model {
	/// Content of the checkpoint that each round started from.
	contents: BTreeMap<RoundIndex, BTreeSet<Part>>,
	honest: BTreeSet<Part>,
	jobs: Vec<OuterJob>,
}

impl Model {
	/// Plays a round to Checkpointing, with `interlude` in it, and adopts what is to be computed then.
	fn play(&mut self, run: RunId, interlude: impl FnOnce(&mut Self)) {
		let index = at(run).0;
		let places: Vec<_> = round(run).counted().map(|place| place.account.clone()).collect();
		to_checkpointing(run, &places);
		interlude(self);
		let job = Training::outer_job(run).expect("Checkpointing");
		let places: Vec<_> = round(run).counted().map(|place| place.account.clone()).collect();
		if places.is_empty() {
			// Everybody was struck out: the attempt is aborted.
			skip(1);
			return;
		}
		let mut content = self.contents.get(&job.first_round).cloned().unwrap_or_default();
		for (round, step) in (job.first_round..).zip(&job.steps) {
			content.extend(step.iter().map(|root| Part::Delta(round, *root)));
		}
		let own = job.steps.last().expect("its own step").iter().map(|root| Part::Delta(index, *root));
		self.honest.extend(own);
		let word = Part::Checkpoint(index);
		self.honest.insert(word);
		// Exactly what is not known to be false: of deltas all, of words those that it was computed from.
		assert!(content.iter().all(|part| self.honest.contains(part)), "a fraud is in checkpoint {}", index + 1);
		let delta = |part: &&Part| matches!(part, Part::Delta(..));
		assert_eq!(content.iter().filter(delta).count(), self.honest.iter().filter(delta).count(), "an honest delta is missing");
		content.insert(word);
		self.contents.insert(index + 1, content);
		self.jobs.push(job);
		attest_all(run, &places, u8::try_from(index + 1).expect("few rounds"));
		assert_eq!(at(run).0, index + 1);
	}

	/// Condemns a claim of an adopted round by number.
	fn condemn(&mut self, run: RunId, (round, who, work): (RoundIndex, usize, bool)) {
		let adopted = at(run).0;
		if adopted == 0 {
			return;
		}
		let round = round % adopted;
		let record = Training::record(run, round).expect("all records are kept");
		if work {
			let (who, delta) = &record.included[who % record.included.len()];
			self.honest.remove(&Part::Delta(round, *delta));
			condemn_work(run, round, who);
		} else {
			let (who, _) = &record.attested[who % record.attested.len()];
			condemn_attestation(run, round, who);
			if crate::Records::<Test>::get(run, round).expect("a record").fallen {
				self.honest.remove(&Part::Checkpoint(round));
			}
		}
		Training::do_try_state().expect("invariants hold after a verdict");
	}
}

type Verdict = (RoundIndex, usize, bool);

fn verdicts() -> impl Strategy<Value = Vec<Verdict>> {
	let verdict = (any::<RoundIndex>(), any::<usize>(), prop::bool::weighted(0.6));
	prop_oneof![2 => Just(vec![]), 2 => prop::collection::vec(verdict, 1..3)]
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

	#[test]
	fn every_checkpoint_holds_all_deltas_that_are_not_condemned_and_no_other(rounds in prop::collection::vec((verdicts(), verdicts()), 2..14)) {
		new_test_ext().execute_with(|| {
			long_memory();
			let (run, workers) = training_with(RunConfig { min_participants: 1, ..config() }, 4);
			let mut model = Model::default();
			for (while_training, while_checkpointing) in rounds {
				while_training.into_iter().for_each(|verdict| model.condemn(run, verdict));
				// They come back, so that there are always four.
				workers.iter().for_each(|who| { let _ = join(who, run); });
				if round(run).counted().next().is_none() {
					// An attempt in which nobody is left ends, and the next one begins with those who came back.
					skip(4);
				}
				model.play(run, |model| while_checkpointing.into_iter().for_each(|verdict| model.condemn(run, verdict)));
			}
			// Whatever was condemned later, every attestation is judged by what there was to compute then.
			for (index, job) in (0..).zip(&model.jobs) {
				let record = Training::record(run, index).expect("all records are kept");
				for (who, _) in &record.attested {
					let claim = Training::attestation(run, index, who).expect("it attested");
					prop_assert_eq!(&claim.job, job, "the job of round {}", index);
				}
			}
			Ok(())
		})?;
	}
}
