//! Rounds whose inner steps begin while the round before is under way.

use super::{attest_all, commit_all, full_round, reveal_all, to_checkpointing, training_with};
use crate::{mock::*, Drawn, Error, Event, Starts};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	dispute::{ClaimKind, Claims as _},
	run::RunConfig,
	AccountId, Aggregator, Robust, Rule, RunId, TrainConfig, F32, H256,
};

fn overlapping() -> RunConfig {
	RunConfig { overlaps: true, ..config() }
}

/// Checkpoint that the chain is told of by this number; that of round 0 is 0xff.
fn checkpoint(number: u8) -> H256 {
	H256::repeat_byte(number)
}

/// A run whose rounds overlap, with so many workers, in Training of round 0.
fn started(count: u8) -> (RunId, Vec<AccountId>) {
	training_with(overlapping(), count)
}

#[test]
fn a_round_is_drawn_when_the_one_before_begins_and_starts_from_the_checkpoint_of_then() {
	build_and_execute(|| {
		let (run, workers) = started(3);
		let mut drawn = Vec::new();
		for (number, [outer, inner, ahead]) in [(1, [0xff; 3]), (2, [1, 0xff, 1]), (3, [2, 1, 2])] {
			let view = Training::round(run).expect("a round");
			assert_eq!([view.checkpoint, view.start], [outer, inner].map(checkpoint));
			assert!(drawn.last().is_none_or(|(seed, places)| (*seed, places) == (view.seed, &workers)), "it is the round that was drawn");
			let next = view.ahead.expect("the next round is drawn");
			assert_eq!((next.round, next.start, &next.places), (u32::from(number), checkpoint(ahead), &workers));
			assert_ne!(next.seed, view.seed);
			let event =
				Event::RoundDrawn { run, round: next.round, checkpoint: next.start, seed: next.seed, participants: workers.clone() };
			assert!(happened(event));
			drawn.push((next.seed, next.places));
			full_round(run, &workers, number);
		}
		let starts =
			[0, 1, 2].map(|round| Training::record(run, round).expect("a record")).map(|record| [record.start, record.inner_start]);
		assert_eq!(starts, [[0xff, 0xff], [1, 0xff], [2, 1]].map(|roots| roots.map(checkpoint)));
	});
}

#[test]
fn work_is_judged_from_where_it_started_and_outer_steps_from_the_checkpoint_before() {
	build_and_execute(|| {
		let (run, workers) = started(2);
		(1..=3).for_each(|number| full_round(run, &workers, number));
		let claims = [0, 1, 2].map(|round| Training::work(run, round, &workers[1]).expect("work"));
		assert_eq!(claims.clone().map(|claim| claim.start), [0xff, 0xff, 1].map(checkpoint));
		assert_eq!(claims.map(|claim| claim.start_round), [0, 0, 1]);
		let jobs = [0, 1, 2].map(|round| Training::attestation(run, round, &workers[0]).expect("an attestation").job);
		assert_eq!(jobs.map(|job| job.start), [0xff, 1, 2].map(checkpoint));
		// What work started from is needed as long as the work can be disputed.
		assert_eq!([0, 1, 2].map(|round| Training::redo_from(run, round)), [Some(0), Some(0), Some(1)]);
	});
}

#[test]
fn a_proof_counts_the_time_since_its_round_was_drawn() {
	build_and_execute(|| {
		let (run, workers) = started(2);
		skip(2);
		full_round(run, &workers, 1);
		let first = Claims::take();
		assert!(first.iter().all(|claim| claim.elapsed_ms == 2 * BLOCK_MS));
		skip(3);
		commit_all(run, &workers);
		reveal_all(run, &workers);
		// The two blocks of the round before, the one that adopted it, and three more.
		assert!(Claims::get().iter().all(|claim| claim.elapsed_ms == 6 * BLOCK_MS));
	});
}

#[test]
fn whoever_joins_has_a_place_in_the_next_round_that_is_drawn() {
	build_and_execute(|| {
		let (run, workers) = started(2);
		let newcomer = worker(3);
		assert_ok!(join(&newcomer, run));
		assert!(Training::round(run).unwrap().ahead.is_some_and(|ahead| ahead.places == workers));
		full_round(run, &workers, 1);
		let view = Training::round(run).unwrap();
		assert_eq!(view.participants.len(), 2);
		let all = [workers.clone(), vec![newcomer.clone()]].concat();
		assert_eq!(view.ahead.map(|ahead| ahead.places), Some(all.clone()));
		full_round(run, &workers, 2);
		full_round(run, &all, 3);
		assert_eq!(Training::record(run, 2).expect("a record").included.len(), 3);
	});
}

#[test]
fn a_place_whose_holder_has_left_stays_and_does_not_count() {
	build_and_execute(|| {
		let (run, workers) = started(3);
		assert_ok!(leave(&workers[1], run));
		full_round(run, &workers, 1);
		let counted = round(run).participants.iter().map(|one| one.counted).collect::<Vec<_>>();
		assert_eq!(counted, [true, false, true], "windows stay where they were drawn");
		full_round(run, &[workers[0].clone(), workers[2].clone()], 2);
	});
}

#[test]
fn an_attempt_after_an_aborted_one_starts_from_the_newest_checkpoint() {
	build_and_execute(|| {
		let (run, workers) = started(2);
		full_round(run, &workers, 1);
		let before = Training::round(run).unwrap();
		assert_eq!(before.start, checkpoint(0xff));
		commit_all(run, &workers[..1]);
		// Nobody reveals.
		run_to_deadline(run);
		run_to_deadline(run);
		assert_eq!(phase(run), neuroshard_types::run::Phase::Joining, "nobody is left");
		assert_eq!((Training::round(run).unwrap().ahead, Starts::<Test>::contains_key(run, 1)), (None, false));
		skip(30);
		workers.iter().for_each(|who| join(who, run).expect("a free place"));
		skip(4);
		let after = Training::round(run).unwrap();
		assert_eq!([after.checkpoint, after.start], [checkpoint(1); 2]);
		let (seeds, ahead) = ([before.seed, before.ahead.expect("drawn").seed], after.ahead.expect("drawn"));
		assert!(!seeds.contains(&after.seed) && !seeds.contains(&ahead.seed) && after.seed != ahead.seed);
		assert_eq!(ahead.start, checkpoint(1));
		full_round(run, &workers, 2);
		assert_eq!(Training::round(run).unwrap().start, checkpoint(1));
	});
}

#[test]
fn a_fraud_is_left_out_of_the_model_and_the_round_that_is_drawn_stays() {
	build_and_execute(|| {
		let (run, workers) = started(3);
		full_round(run, &workers, 1);
		to_checkpointing(run, &workers);
		let drawn = Training::round(run).unwrap().ahead;
		condemn_work(run, 0, &workers[0]);
		let job = Training::outer_job(run).expect("Checkpointing");
		assert_eq!((job.first_round, job.start, job.steps.len()), (0, checkpoint(0xff), 2));
		assert_eq!(Training::round(run).unwrap().ahead, drawn);
		attest_all(run, &workers[1..], 9);
		let view = Training::round(run).unwrap();
		assert_eq!([view.checkpoint, view.start], [9, 1].map(checkpoint));
		assert!(Training::is_condemned(&claim(run, 0, ClaimKind::Work, &workers[0])));
	});
}

#[test]
fn a_run_whose_inner_steps_depend_on_the_round_before_cannot_overlap() {
	build_and_execute(|| {
		let unequal = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps: 1 } });
		for aggregator in [unequal, sent_as(top_k())] {
			let config = RunConfig { train: TrainConfig { aggregator, ..config().train }, ..overlapping() };
			assert_noop!(Training::create_run(RuntimeOrigin::signed(SPONSOR), config.clone()), Error::<Test>::BadOverlap);
			create(RunConfig { overlaps: false, ..config });
		}
	});
}

#[test]
fn what_rounds_started_from_goes_with_their_records() {
	build_and_execute(|| {
		let (run, workers) = training_with(RunConfig { rounds: Some(2), ..overlapping() }, 2);
		full_round(run, &workers, 1);
		assert_eq!(Starts::<Test>::iter_key_prefix(run).count(), 2);
		assert_eq!(Training::round(run).unwrap().ahead, None, "no round comes after the last one");
		full_round(run, &workers, 2);
		assert_eq!((Starts::<Test>::iter_key_prefix(run).count(), Drawn::<Test>::contains_key(run)), (2, false));
		skip(20);
		assert_ok!(Training::remove_run(RuntimeOrigin::signed(SPONSOR), run, 9));
		assert_eq!(Starts::<Test>::iter_keys().count(), 0);
	});
}

#[test]
fn a_run_that_is_stopped_leaves_nothing_of_the_round_under_way() {
	build_and_execute(|| {
		let (run, workers) = started(2);
		full_round(run, &workers, 1);
		assert_ok!(Training::stop_run(RuntimeOrigin::signed(SPONSOR), run));
		assert_eq!(Starts::<Test>::iter_key_prefix(run).collect::<Vec<_>>(), [0]);
		assert!(!Drawn::<Test>::contains_key(run));
	});
}
