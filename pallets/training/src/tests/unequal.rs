//! Runs in which everybody takes as many inner steps as its machine does.

use super::{attest_all, training_with, vote_all};
use crate::{mock::*, Error, InnerSteps};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	dispute::{Claims as _, OuterJob},
	proof::WorkClaim,
	run::{RunConfig, Work},
	AccountId, Aggregator, Robust, Rule, RunId, TrainConfig, F32, H256,
};

/// Up to nine inner steps of 32 tokens, three at least, with a state every three.
pub(super) fn unequal(least_steps: u32) -> RunConfig {
	let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps } });
	RunConfig { train: TrainConfig { batch: 1, inner_steps: 9, commit_interval: 3, aggregator, ..config().train }, ..config() }
}

/// An approved run with so many workers, in Training.
fn started(count: u8) -> (RunId, Vec<AccountId>) {
	let (run, workers) = training_with(unequal(3), count);
	assert_ok!(Training::approve_run(RuntimeOrigin::root(), run));
	(run, workers)
}

/// Work of so many inner steps.
pub(super) fn work_of(who: &AccountId, run: RunId, steps: u32) -> Work {
	let mut work = work(who, run);
	work.state_roots.truncate(steps.div_ceil(3) as usize);
	work.tokens = 32 * u64::from(steps);
	work
}

/// A round up to Checkpointing in which the workers take so many steps, in their order.
pub(super) fn round_of(run: RunId, workers: &[AccountId], steps: &[u32]) {
	let works: Vec<_> = workers.iter().zip(steps).map(|(who, &steps)| work_of(who, run, steps)).collect();
	workers.iter().zip(&works).for_each(|(who, work)| commit_to(who, run, work).expect("a commitment"));
	workers.iter().zip(works).for_each(|(who, work)| reveal_work(who, run, work).expect("a reveal"));
	vote_all(run, workers);
}

fn delta(who: &AccountId, run: RunId) -> H256 {
	work(who, run).delta_root
}

#[test]
fn whoever_takes_fewer_steps_is_included_and_paid_by_them() {
	build_and_execute(|| {
		let (run, workers) = started(3);
		round_of(run, &workers, &[9, 3, 6]);
		let deltas: Vec<_> = workers.iter().map(|who| delta(who, run)).collect();
		let job = OuterJob { first_round: 0, start: H256::repeat_byte(0xff), steps: vec![deltas], inner_steps: vec![vec![9, 3, 6]] };
		assert_eq!(Training::outer_job(run), Some(job.clone()));
		attest_all(run, &workers, 1);
		let fates: Vec<_> = workers.iter().map(|who| fate(who, run, 0)).collect();
		assert_eq!(fates, [9 * 32, 3 * 32, 6 * 32].map(|units| Some(Fate::Confirmed(units))));
		let revealed: Vec<_> = workers.iter().cloned().zip([9, 3, 6]).collect();
		assert_eq!(Training::revealed(run, 0), revealed);
		for (who, steps) in revealed {
			assert_eq!(Training::work(run, 0, &who).expect("it revealed").steps, steps);
			assert_eq!(Training::attestation(run, 0, &who).expect("it attested").job, job);
		}
		assert_eq!(Training::audit_units(run, 3), 3 * 32);
	});
}

#[test]
fn a_claim_of_speed_is_judged_by_the_steps_that_were_taken() {
	build_and_execute(|| {
		let (run, workers) = started(2);
		round_of(run, &workers, &[9, 3]);
		let flops = |steps: u64| config().train.flops_of(&config().model, 32 * steps);
		assert_eq!(Claims::get(), [9, 3].map(|steps| WorkClaim { flops: flops(steps), elapsed_ms: 0 }));
	});
}

#[test]
fn steps_after_which_no_round_ends_are_refused() {
	build_and_execute(|| {
		let (run, workers) = started(2);
		let [one, other] = [&workers[0], &workers[1]];
		let work = work_of(one, run, 6);
		let with = |tokens, roots| {
			let mut other = work.clone();
			other.tokens = tokens;
			other.state_roots.truncate(roots);
			other
		};
		// The seal is looked at first: each try is what was committed to.
		for (wrong, error) in [
			(with(0, 0), Error::<Test>::WrongTokens),
			(with(2 * 32, 1), Error::<Test>::WrongTokens),
			(with(4 * 32, 2), Error::<Test>::WrongTokens),
			(with(12 * 32, 2), Error::<Test>::WrongTokens),
			(with(6 * 32 + 1, 2), Error::<Test>::WrongTokens),
			(with(6 * 32, 1), Error::<Test>::WrongStateRoots),
			(with(9 * 32, 2), Error::<Test>::WrongStateRoots),
			(with(3 * 32, 2), Error::<Test>::WrongStateRoots),
		] {
			let _ = frame_support::storage::with_storage_layer(|| {
				commit_to(one, run, &wrong)?;
				commit_to(other, run, &work_of(other, run, 3))?;
				assert_noop!(reveal_work(one, run, wrong.clone()), error);
				Err::<(), _>(sp_runtime::DispatchError::Other("the next one is tried in its place"))
			});
		}
	});
}

#[test]
fn redone_outer_steps_weigh_by_the_steps_of_their_own_round() {
	build_and_execute(|| {
		let (run, workers) = started(3);
		let deltas: Vec<_> = workers.iter().map(|who| delta(who, run)).collect();
		round_of(run, &workers, &[9, 3, 6]);
		attest_all(run, &workers, 1);
		let later: Vec<_> = workers.iter().map(|who| delta(who, run)).collect();
		round_of(run, &workers, &[6, 6, 3]);
		condemn_work(run, 0, &workers[0]);
		let job = Training::outer_job(run).expect("Checkpointing");
		assert_eq!((job.first_round, job.steps[0].clone()), (0, deltas[1..].to_vec()));
		assert_eq!(job.inner_steps[0], [3, 6]);
		// Inclusion in the round under way was decided before.
		assert_eq!((job.steps[1].clone(), job.inner_steps[1].clone()), (later, vec![6, 6, 3]));
	});
}

#[test]
fn who_reveals_nothing_has_taken_no_steps() {
	build_and_execute(|| {
		let (run, workers) = started(3);
		let works: Vec<_> = workers.iter().zip([9, 3, 6]).map(|(who, steps)| work_of(who, run, steps)).collect();
		workers.iter().zip(&works).for_each(|(who, work)| commit_to(who, run, work).expect("a commitment"));
		workers[1..].iter().zip(&works[1..]).for_each(|(who, work)| reveal_work(who, run, work.clone()).expect("a reveal"));
		run_to_deadline(run);
		vote_all(run, &workers[1..]);
		attest_all(run, &workers[1..], 1);
		assert_eq!(InnerSteps::<Test>::get(run, 0).expect("it is kept").into_inner(), [0, 3, 6]);
		assert_eq!(Training::work(run, 0, &workers[0]), None);
	});
}

#[test]
fn a_run_whose_least_steps_nobody_can_take_is_refused() {
	build_and_execute(|| {
		for least in [0, 10] {
			assert_noop!(Training::create_run(RuntimeOrigin::signed(SPONSOR), unequal(least)), Error::<Test>::BadLeastSteps);
		}
	});
}

#[test]
fn a_run_with_more_places_than_its_rule_combines_deltas_is_refused() {
	build_and_execute(|| {
		let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::MixedKrum { liars: 1 } });
		let of = |max_participants| {
			let train = TrainConfig { batch: 1, inner_steps: 1, commit_interval: 1, aggregator, ..config().train };
			RunConfig { train, max_participants, ..config() }
		};
		assert_ok!(Training::create_run(RuntimeOrigin::signed(SPONSOR), of(64)));
		assert_noop!(Training::create_run(RuntimeOrigin::signed(SPONSOR), of(65)), Error::<Test>::BadParticipants);
	});
}

#[test]
fn the_steps_of_a_round_go_with_its_record() {
	build_and_execute(|| {
		let (run, workers) = training_with(RunConfig { rounds: Some(2), ..unequal(3) }, 2);
		for number in [1, 2] {
			round_of(run, &workers, &[9, 3]);
			attest_all(run, &workers, number);
		}
		assert_eq!([0, 1].map(|round| InnerSteps::<Test>::contains_key(run, round)), [true; 2]);
		skip(20);
		assert_ok!(Training::remove_run(RuntimeOrigin::signed(SPONSOR), run, 1));
		assert_ok!(Training::do_try_state());
		assert_ok!(Training::remove_run(RuntimeOrigin::signed(SPONSOR), run, 9));
		assert_eq!(InnerSteps::<Test>::iter_keys().count(), 0);
	});
}
