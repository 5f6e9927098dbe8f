//! Tests of what audits need: who revealed, what a round is worth, a notice of every adoption, and a verdict about an auditor.

use super::*;
use crate::{Error, Event, Members};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::dispute::{ClaimKind, Claims};

#[test]
fn whoever_is_told_of_an_adoption_can_read_its_claims() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		commit_all(run, &workers);
		reveal_all(run, &workers[1..]);
		run_to_deadline(run);
		vote_all(run, &workers[1..]);
		assert_eq!((Told::get(), Training::revealed(run, 0)), (vec![], vec![]));
		attest_all(run, &workers[1..], 1);
		// In the order of their accounts, at the time of the call already.
		assert_eq!(Told::get(), [(run, 0, workers[1..].to_vec())]);
		let steps = config().train.inner_steps;
		assert_eq!(Training::revealed(run, 0), workers[1..].iter().map(|who| (who.clone(), steps)).collect::<Vec<_>>());
		assert_eq!((Training::revealed(run, 1), Training::revealed(9, 0)), (vec![], vec![]));
	});
}

#[test]
fn an_audit_is_worth_a_round_of_an_approved_run() {
	build_and_execute(|| {
		let (run, _) = training(3);
		assert_eq!((Training::audit_units(run, 4), Training::audit_units(9, 4)), (0, 0));
		Training::approve_run(RuntimeOrigin::root(), run).expect("root approves");
		assert_eq!(Training::audit_units(run, config().train.inner_steps), u128::from(config().train.tokens_per_round()));
		assert_eq!(Training::audit_units(run, 1), u128::from(config().train.tokens_per_step()));
	});
}

#[test]
fn a_run_that_cannot_be_audited_draws_no_issuance() {
	build_and_execute(|| {
		let run = create(config());
		CanAudit::set(false);
		assert_noop!(Training::approve_run(RuntimeOrigin::root(), run), Error::<Test>::NotAuditable);
		CanAudit::set(true);
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), run));
	});
}

#[test]
fn an_auditor_whose_sample_fell_loses_its_proofs_and_its_place_but_no_work_of_its_own() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		full_round(run, &workers, 1);
		let before = (Training::record(run, 0), Training::run(run).expect("a run").checkpoint);
		let sample = claim(run, 0, ClaimKind::Audit, &workers[0]);
		assert!(!Training::is_condemned(&sample));
		Training::condemn(&sample, &sample.who);
		// The record of the round says nothing about audits.
		assert_eq!((Training::record(run, 0), Training::run(run).expect("a run").checkpoint), before);
		assert!(Condemned::get().contains(&workers[0]));
		assert!(!Members::<Test>::get(run).contains(&workers[0]));
		assert!(happened(Event::ClaimCondemned { claim: sample, replay: None }));
		// Also if it took no part in the run at all.
		Training::condemn(&claim(run, 0, ClaimKind::Audit, &worker(9)), &worker(9));
		assert!(Condemned::get().contains(&worker(9)));
		assert_eq!(Members::<Test>::get(run).len(), 2);
	});
}
