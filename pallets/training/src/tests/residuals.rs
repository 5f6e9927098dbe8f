//! Residuals that a delta begins with.

use super::{attest_all, full_round, skip, training_with, vote_all};
use crate::{expected, mock::*, Error, Event, Residuals};
use frame_support::assert_ok;
use neuroshard_types::{
	run::{RunConfig, Work},
	AccountId, Code, RunId, TrainConfig, H256,
};

/// A run whose deltas are sent as `code`, with two workers.
fn coded(code: Code) -> (RunId, Vec<AccountId>) {
	let train = TrainConfig { aggregator: sent_as(code), ..config().train };
	training_with(RunConfig { train, ..config() }, 2)
}

/// Work of `who` that begins with the residual `before` and leaves `after`.
fn work_with(who: &AccountId, run: RunId, before: H256, after: H256) -> Work {
	let mut work = work(who, run);
	let roots = work.state_roots.len();
	work.state_roots[roots - 2] = before;
	work.state_roots[roots - 1] = after;
	work
}

/// Tries to reveal `works`, one of each worker, after all have committed.
fn reveal_works(run: RunId, workers: &[AccountId], works: &[Work]) -> Vec<sp_runtime::DispatchResult> {
	workers.iter().zip(works).for_each(|(who, work)| commit_to(who, run, work).expect("a commitment"));
	workers.iter().zip(works).map(|(who, work)| reveal_work(who, run, work.clone())).collect()
}

/// A run after its first round, which has left worker 1 the residual 1, and worker 2 the residual 2.
fn after_a_round() -> (RunId, Vec<AccountId>) {
	let (run, workers) = coded(top_k());
	let works = [1, 2].map(|place| work_with(&workers[place - 1], run, zeros(), root(place as u8)));
	assert!(reveal_works(run, &workers, &works).iter().all(|result| result.is_ok()));
	vote_all(run, &workers);
	attest_all(run, &workers, 1);
	(run, workers)
}

fn zeros() -> H256 {
	expected::no_residual(&config().model, &config().train)
}

fn root(number: u8) -> H256 {
	H256::repeat_byte(number)
}

#[test]
fn a_delta_begins_with_what_the_last_one_left_or_with_nothing() {
	build_and_execute(|| {
		let (run, workers) = coded(top_k());
		let [one, other] = [&workers[0], &workers[1]];
		// Before the first round nothing is left.
		let works = [work_with(one, run, root(7), root(1)), work_with(other, run, zeros(), root(2))];
		let results = reveal_works(run, &workers, &works);
		assert_eq!(results, [Err(Error::<Test>::WrongResidual.into()), Ok(())]);
		run_to_deadline(run);
		vote_all(run, &workers[1..]);
		attest_all(run, &workers[1..], 1);
		assert_eq!([one, other].map(|who| Training::residual(run, who.clone())), [None, Some(root(2))]);

		// The one that revealed nothing has nothing; the other one's is its own.
		skip(1);
		assert_ok!(join(one, run));
		assert_eq!(Training::residual(run, other.clone()), Some(root(2)));
	});
}

#[test]
fn another_ones_residual_or_an_older_one_is_refused() {
	build_and_execute(|| {
		let (run, workers) = coded(top_k());
		let [one, other] = [&workers[0], &workers[1]];
		let round = |works: [Work; 2], root: u8| {
			assert!(reveal_works(run, &workers, &works).iter().all(|result| result.is_ok()));
			vote_all(run, &workers);
			attest_all(run, &workers, root);
		};
		round([work_with(one, run, zeros(), root(1)), work_with(other, run, zeros(), root(2))], 1);
		round([work_with(one, run, root(1), root(3)), work_with(other, run, zeros(), root(4))], 2);
		assert_eq!([one, other].map(|who| Training::residual(run, who.clone())), [Some(root(3)), Some(root(4))]);
		let works = [work_with(one, run, root(1), root(5)), work_with(other, run, root(3), root(6))];
		assert_eq!(reveal_works(run, &workers, &works), [Err(Error::<Test>::WrongResidual.into()); 2]);
	});
}

#[test]
fn an_attempt_that_is_aborted_leaves_residuals_as_they_were() {
	build_and_execute(|| {
		let (run, workers) = after_a_round();
		// Nobody votes in the next round, until its attempt is over.
		let works = [1, 2].map(|place| work_with(&workers[place - 1], run, root(place as u8), root(9)));
		assert!(reveal_works(run, &workers, &works).iter().all(|result| result.is_ok()));
		while at(run) == (1, 0) {
			run_to_deadline(run);
		}
		assert_eq!(Training::residual(run, workers[0].clone()), Some(root(1)));
	});
}

#[test]
fn whose_work_is_condemned_begins_anew() {
	build_and_execute(|| {
		let (run, workers) = after_a_round();
		condemn_work(run, 0, &workers[0]);
		assert_eq!([0, 1].map(|who: usize| Training::residual(run, workers[who].clone())), [None, Some(root(2))]);
	});
}

#[test]
fn whose_delta_is_not_included_goes_on_with_what_it_began_with() {
	build_and_execute(|| {
		let (run, workers) = coded(top_k());
		let round = |before: [H256; 2], after: [u8; 2], votes: &[bool], number: u8| {
			let works = [0, 1].map(|who: usize| work_with(&workers[who], run, before[who], root(after[who])));
			assert!(reveal_works(run, &workers, &works).iter().all(|result| result.is_ok()));
			workers.iter().for_each(|who| vote(who, run, votes).expect("a vote"));
			attest_all(run, &workers, number);
		};
		round([zeros(); 2], [1, 2], &[true; 2], 1);
		round([root(1), root(2)], [3, 4], &[true, false], 2);
		assert_eq!([0, 1].map(|who: usize| Training::residual(run, workers[who].clone())), [Some(root(3)), Some(root(2))]);
	});
}

#[test]
fn work_that_is_left_out_leaves_no_residual_either_and_nothing_comes_back_of_what_was_condemned() {
	build_and_execute(|| {
		let (run, workers) = after_a_round();
		// In the middle of the next round, with the work for it revealed.
		let works = [1, 2].map(|place| work_with(&workers[place - 1], run, root(place as u8), root(place as u8 + 2)));
		assert!(reveal_works(run, &workers, &works).iter().all(|result| result.is_ok()));
		exclude_work(run, 0, &workers[1]);
		condemn_work(run, 0, &workers[0]);
		assert_eq!([0, 1].map(|who: usize| Training::residual(run, workers[who].clone())), [None, None]);
		vote(&workers[1], run, &[true; 2]).expect("a vote");
		attest_all(run, &workers[1..], 2);
		assert_eq!([0, 1].map(|who: usize| Training::residual(run, workers[who].clone())), [None, Some(root(4))]);
	});
}

#[test]
fn only_runs_whose_code_leaves_a_residual_keep_any_and_none_keeps_them_for_longer_than_it_runs() {
	build_and_execute(|| {
		let (run, workers) = coded(Code::Int8);
		full_round(run, &workers, 1);
		assert!(!Residuals::<Test>::contains_key(run));
	});
	build_and_execute(|| {
		let train = TrainConfig { aggregator: sent_as(top_k()), ..config().train };
		let (run, workers) = training_with(RunConfig { train, rounds: Some(2), ..config() }, 2);
		for number in 1..=2 {
			let works = [0, 1].map(|who: usize| work_with(&workers[who], run, zeros(), root(number)));
			assert!(reveal_works(run, &workers, &works).iter().all(|result| result.is_ok()));
			vote_all(run, &workers);
			assert_eq!(Residuals::<Test>::contains_key(run), number == 2);
			attest_all(run, &workers, number);
		}
		System::assert_has_event(Event::RunFinished { run, rounds: 2, checkpoint: H256::repeat_byte(2), stopped: false }.into());
		assert!(!Residuals::<Test>::contains_key(run));
	});
}
