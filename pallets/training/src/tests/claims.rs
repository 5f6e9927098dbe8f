//! Claims outlive their round: what they are judged by, and what a condemned one ends.

use super::*;
use crate::{expected, Event, Records};
use frame_support::assert_ok;
use neuroshard_types::{
	dispute::{ClaimKind, Claims, OuterJob},
	run::Phase,
	traits::Datasets,
	RoundIndex, H256,
};

const WORK: ClaimKind = ClaimKind::Work;
const ATTESTATION: ClaimKind = ClaimKind::Attestation;

/// Delta roots of `workers`, if they were to reveal now.
fn deltas(run: RunId, workers: &[AccountId]) -> Vec<H256> {
	workers.iter().map(|who| work(who, run).delta_root).collect()
}

fn fallen(run: RunId, round: RoundIndex) -> bool {
	Records::<Test>::get(run, round).expect("a record").fallen
}

#[test]
fn a_claim_tells_what_it_is_judged_by() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		full_round(run, &workers, 1);
		let (seed, expected_work, roots) = (round(run).seed, work(&workers[1], run), deltas(run, &workers));
		to_checkpointing(run, &workers);
		for (who, root) in workers.iter().zip([2, 2, 9]) {
			assert_ok!(attest(who, run, root, 2.5));
		}
		skip(1);

		let claim = Training::work(run, 1, &workers[1]).expect("it revealed");
		assert_eq!((claim.config, claim.start, claim.draw.seed, claim.position), (config(), H256::repeat_byte(1), seed, 1));
		assert_eq!(claim.work_hash, expected::work_hash(&expected_work));
		let known = MockDatasets::active(DATASET).expect("the dataset of the mock");
		assert_eq!((claim.shape, claim.dataset_root), (known.shape, known.root));
		let job = OuterJob { first_round: 1, start: H256::repeat_byte(1), steps: vec![roots], inner_steps: vec![] };
		// The root that was not adopted is a claim like any other.
		for (who, root) in workers.iter().zip([2, 2, 9]) {
			let claim = Training::attestation(run, 1, who).expect("it attested");
			assert_eq!((claim.config, &claim.job, claim.checkpoint), (config(), &job, H256::repeat_byte(root)));
		}
		assert_eq!(Training::adopted_at(run, 1), Some(System::block_number()));
		let record = Training::record(run, 1).expect("an adopted round");
		assert_eq!((record.start, record.first_round, record.excluded), (H256::repeat_byte(1), 1, vec![]));
		let attested = workers.iter().cloned().zip([2, 2, 9].map(H256::repeat_byte));
		assert_eq!(record.attested, attested.collect::<Vec<_>>());
	});
}

#[test]
fn who_revealed_or_attested_nothing_claims_nothing() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		commit_all(run, &workers);
		reveal_all(run, &workers[..3]);
		run_to_deadline(run);
		vote_all(run, &workers[..3]);
		attest_all(run, &workers[..2], 1);
		let works: Vec<_> = workers.iter().map(|who| Training::work(run, 0, who).is_some()).collect();
		let attestations: Vec<_> = workers.iter().map(|who| Training::attestation(run, 0, who).is_some()).collect();
		assert_eq!((works, attestations), (vec![true, true, true, false], vec![true, true, false, false]));
		let foreign = (Training::work(run, 0, &worker(9)), Training::attestation(run, 0, &worker(9)));
		assert_eq!((foreign, Training::adopted_at(run, 1), Training::work(9, 0, &workers[0])), ((None, None), None, None));

		// Condemning what nobody claimed does nothing.
		System::reset_events();
		condemn_work(run, 0, &workers[3]);
		condemn_attestation(run, 0, &workers[2]);
		condemn_work(run, 0, &worker(9));
		assert_eq!((System::events().len(), Condemned::get()), (0, vec![]));
	});
}

#[test]
fn whatever_was_revealed_keeps_its_stake_from_the_adoption_on_included_or_not() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		commit_all(run, &workers);
		reveal_all(run, &workers[..3]);
		run_to_deadline(run);
		workers[..3].iter().for_each(|who| vote(who, run, &[true, true, false]).expect("a vote"));
		assert_eq!(Disputable::get().len(), 0, "until then the open claim of the proof does");
		attest_all(run, &workers[..2], 1);
		let now = System::block_number();
		assert_eq!((fate(&workers[2], run, 0), Training::adopted_at(run, 0)), (Some(Fate::Void), Some(now)));
		// The fourth revealed nothing.
		assert_eq!(Disputable::get(), workers[..3].iter().map(|who| (who.clone(), now)).collect());
	});
}

#[test]
fn disputes_hold_the_proofs_of_the_account() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		full_round(run, &workers, 1);
		<Training as neuroshard_types::dispute::Claims>::hold(&workers[0]);
		assert_eq!(Held::get().into_iter().collect::<Vec<_>>(), workers[..1]);
		<Training as neuroshard_types::dispute::Claims>::release(&workers[0]);
		assert!(Held::get().is_empty());
	});
}

#[test]
fn a_condemned_claim_costs_proofs_and_membership_once() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		full_round(run, &workers, 1);
		let liar = &workers[2];
		assert!(!Training::is_condemned(&claim(run, 0, WORK, liar)));
		condemn_work(run, 0, liar);
		assert!(Training::is_condemned(&claim(run, 0, WORK, liar)) && !Training::is_condemned(&claim(run, 0, ATTESTATION, liar)));
		assert!(happened(Event::ClaimCondemned { claim: claim(run, 0, WORK, liar), replay: Some(0) }));
		assert_eq!((fate(liar, run, 0), Condemned::get()), (Some(Fate::Void), vec![liar.clone()]));
		assert_eq!(Training::members(run), workers[..2]);
		assert_eq!(fate(&workers[0], run, 0), Some(Fate::Unpaid(256)));
		// Another dispute about it ends the same way.
		System::reset_events();
		condemn_work(run, 0, liar);
		assert_eq!((System::events().len(), Condemned::get().len()), (0, 1));
		// It has no part in the round under way any more, nor in the next one.
		full_round(run, &workers[..2], 2);
		assert_eq!(notes(liar).1, 0, "it is no dropout");
		assert_eq!(round(run).participants.iter().map(|place| place.account.clone()).collect::<Vec<_>>(), workers[..2]);
		assert_eq!(Training::record(run, 0).expect("a record").excluded, workers[2..]);
	});
}

#[test]
fn work_that_is_excluded_is_left_out_unpaid_and_may_still_be_condemned() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let kept = deltas(run, &workers[..2]);
		full_round(run, &workers, 1);
		let (who, work) = (&workers[2], claim(run, 0, WORK, &workers[2]));
		Training::exclude(&claim(run, 0, ATTESTATION, who));
		assert_eq!(fate(who, run, 0), Some(Fate::Unpaid(256)));
		Training::exclude(&work);
		assert!(happened(Event::WorkExcluded { claim: work.clone(), replay: Some(0) }));
		assert_eq!((fate(who, run, 0), Condemned::get(), notes(who).1), (Some(Fate::Void), vec![], 0));
		assert_eq!((Training::members(run), Training::is_condemned(&work)), (workers.clone(), false));
		System::reset_events();
		Training::exclude(&work);
		assert_eq!(System::events().len(), 0);
		let next = deltas(run, &workers);
		to_checkpointing(run, &workers);
		assert_eq!(Training::outer_job(run).expect("Checkpointing").steps, [kept, next]);
		// It was false, too: the account is punished, and the step is not redone twice.
		attest_all(run, &workers, 2);
		Training::condemn(&work, &work.who);
		assert!(happened(Event::ClaimCondemned { claim: work.clone(), replay: None }));
		assert!(Training::is_condemned(&work) && Condemned::get().contains(who));
		Training::exclude(&work);
		assert_eq!(Training::members(run), workers[..2]);
	});
}

#[test]
fn a_run_that_waits_for_members_waits_on_if_too_few_are_left() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		full_round(run, &workers, 1);
		// Nobody commits, and both join again.
		run_to_deadline(run);
		workers.iter().for_each(|who| join(who, run).expect("a place"));
		assert!(round(run).deadline.is_some());
		condemn_work(run, 0, &workers[0]);
		assert_eq!((phase(run), round(run).deadline), (Phase::Joining, None));
	});
}

#[test]
fn a_checkpoint_stands_while_its_other_attesters_have_two_thirds_of_the_others() {
	build_and_execute(|| {
		let (run, workers) = training(4);
		to_checkpointing(run, &workers);
		for (who, root) in workers.iter().zip([1, 1, 1, 9]) {
			assert_ok!(attest(who, run, root, 2.5));
		}
		skip(1);
		// A saboteur attested the right root and defended it badly: two of three are left.
		condemn_attestation(run, 0, &workers[0]);
		assert!(happened(Event::ClaimCondemned { claim: claim(run, 0, ATTESTATION, &workers[0]), replay: None }));
		assert!(!fallen(run, 0));
		to_checkpointing(run, &workers[1..]);
		assert_eq!(Training::outer_job(run).expect("Checkpointing").first_round, 1);
		// The wrong root goes too: its stake is no part of the denominator either.
		condemn_attestation(run, 0, &workers[3]);
		condemn_attestation(run, 0, &workers[1]);
		assert!(!fallen(run, 0));
		// Nothing has two thirds of nothing.
		condemn_attestation(run, 0, &workers[2]);
		assert!(fallen(run, 0));
	});
}

#[test]
fn a_checkpoint_that_loses_its_two_thirds_falls_and_its_outer_step_is_redone_once() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let roots = deltas(run, &workers);
		to_checkpointing(run, &workers);
		for (who, root) in workers.iter().zip([1, 1, 9]) {
			assert_ok!(attest(who, run, root, 2.5));
		}
		skip(1);
		condemn_attestation(run, 0, &workers[0]);
		assert!(fallen(run, 0));
		let next = deltas(run, &workers[1..]);
		to_checkpointing(run, &workers[1..]);
		let job = OuterJob { first_round: 0, start: H256::repeat_byte(0xff), steps: vec![roots, next], inner_steps: vec![] };
		assert_eq!(Training::outer_job(run), Some(job.clone()));
		// The other attestation would give the root its two thirds back. It stays fallen.
		attest_all(run, &workers[1..], 2);
		condemn_attestation(run, 0, &workers[2]);
		condemn_attestation(run, 0, &workers[1]);
		assert!(fallen(run, 0));
		assert_eq!(Training::attestation(run, 1, &workers[1]).expect("it attested").job, job);
		assert_eq!(crate::Runs::<Test>::get(run).expect("a run").replay, None);
	});
}

#[test]
fn what_a_finished_run_ended_with_stays() {
	build_and_execute(|| {
		let (run, workers) = training_with(RunConfig { rounds: Some(1), ..config() }, 2);
		full_round(run, &workers, 1);
		condemn_work(run, 0, &workers[0]);
		condemn_attestation(run, 0, &workers[1]);
		for (kind, who) in [(WORK, &workers[0]), (ATTESTATION, &workers[1])] {
			assert!(happened(Event::ClaimCondemned { claim: claim(run, 0, kind, who), replay: None }));
			assert_eq!(fate(who, run, 0), Some(Fate::Void));
		}
		assert_eq!(Training::run(run).expect("a run").checkpoint, H256::repeat_byte(1));
		assert_eq!(Training::outer_job(run), None);
	});
}

#[test]
fn a_claim_whose_record_is_gone_is_punished_all_the_same() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		(1..=4).for_each(|root| full_round(run, &workers, root));
		assert_eq!((Training::work(run, 0, &workers[0]), Training::adopted_at(run, 0)), (None, None));
		condemn_work(run, 0, &workers[0]);
		assert!(happened(Event::ClaimCondemned { claim: claim(run, 0, WORK, &workers[0]), replay: None }));
		assert_eq!((fate(&workers[0], run, 0), Training::members(run)), (Some(Fate::Void), workers[1..].to_vec()));
	});
}
