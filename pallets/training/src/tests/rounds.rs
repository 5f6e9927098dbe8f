//! Rounds in which everybody does its part.

use super::*;
use crate::{expected, Event, Records};
use frame_support::{assert_ok, weights::Weight};
use neuroshard_types::{
	proof::WorkClaim,
	run::{vote_bitmap, Phase, RunStatus},
	F32, H256,
};

#[test]
fn a_round_moves_on_as_soon_as_everybody_acted() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let start = System::block_number();
		assert_eq!(start, 4);
		assert_eq!(round(run).deadline, Some(start + 10));
		let seed = expected::seed(H256::repeat_byte(0xff), H256::repeat_byte(0x11), run, 0, 0);
		assert!(happened(Event::RoundStarted {
			run,
			round: 0,
			attempt: 0,
			checkpoint: H256::repeat_byte(0xff),
			seed,
			participants: workers.clone(),
			deadline: start + 10,
		}));

		commit_all(run, &workers[..2]);
		assert_eq!(phase(run), Phase::Training);
		skip(1);
		commit_all(run, &workers[2..]);
		assert_eq!((phase(run), round(run).deadline), (Phase::Revealing, Some(start + 1 + 5)));

		reveal_all(run, &workers[..2]);
		assert_eq!(phase(run), Phase::Revealing);
		reveal_all(run, &workers[2..]);
		assert_eq!((phase(run), round(run).deadline), (Phase::Availability, Some(start + 1 + 6)));

		vote_all(run, &workers[..2]);
		assert_eq!(phase(run), Phase::Availability);
		vote_all(run, &workers[2..]);
		assert_eq!((phase(run), round(run).deadline), (Phase::Checkpointing, Some(start + 1 + 7)));
		assert!(happened(Event::DeltasIncluded { run, round: 0, included: workers.clone() }));

		// Two of three equal stakes are exactly two thirds; it is adopted when the next block begins.
		assert_ok!(attest(&workers[0], run, 9, 2.0));
		assert_ok!(attest(&workers[1], run, 9, 3.0));
		assert_eq!(phase(run), Phase::Checkpointing);
		skip(1);
		assert_eq!((phase(run), round(run).round, round(run).attempt), (Phase::Training, 1, 0));
		assert_eq!(round(run).deadline, Some(start + 2 + 10));
		let view = Training::run(run).unwrap();
		assert_eq!((view.rounds_adopted, view.checkpoint), (1, H256::repeat_byte(9)));
		// The third was not late: it is in the next round.
		assert_eq!(round(run).counted().count(), 3);
	});
}

#[test]
fn the_record_of_a_round_tells_windows_deltas_and_loss() {
	build_and_execute(|| {
		let (run, workers) = training(3);
		let (seed, roots) = (round(run).seed, workers.iter().map(|who| (who.clone(), work(who, run).delta_root)).collect::<Vec<_>>());
		commit_all(run, &workers);
		reveal_all(run, &workers);
		vote_all(run, &workers);
		for (who, loss) in workers.iter().zip([4.0, 2.0, 3.0]) {
			assert_ok!(attest(who, run, 9, loss));
		}
		skip(1);
		let record = Training::record(run, 0).unwrap();
		assert_eq!((record.seed, record.participants, record.included), (seed, workers, roots));
		assert_eq!((record.checkpoint, record.validation_loss), (H256::repeat_byte(9), F32::new(3.0)));
		assert_eq!(record.adopted_at, System::block_number());
		assert_eq!(Training::record(run, 1), None);
	});
}

#[test]
fn an_approved_run_pays_the_configured_tokens_and_no_other_run_pays() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		full_round(run, &workers, 1);
		assert_eq!(fate(&workers[0], run, 0), Some(Fate::Unpaid(256)));
		assert_ok!(Training::approve_run(RuntimeOrigin::root(), run));
		full_round(run, &workers, 2);
		// 4 steps of 2 sequences of 32 tokens.
		assert_eq!(fate(&workers[0], run, 1), Some(Fate::Confirmed(256)));
		let checkpoint = H256::repeat_byte(2);
		assert!(happened(Event::RoundAdopted { run, round: 1, checkpoint, validation_loss: F32::new(2.5), included: 2, units: 256 }));
		// Reputation rises when work is final, which is not this pallet's business.
		assert_eq!(notes(&workers[0]), (0, 0));
	});
}

#[test]
fn a_proof_is_judged_by_the_configuration_and_the_time_up_to_the_commitment() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		skip(4);
		commit_all(run, &workers);
		skip(2);
		reveal_all(run, &workers);
		let config = config();
		let flops = config.train.flops_per_round(&config.model);
		assert_eq!(Claims::get(), [WorkClaim { flops, elapsed_ms: 4 * BLOCK_MS }; 2]);
	});
}

#[test]
fn the_last_round_ends_the_run() {
	build_and_execute(|| {
		let (run, workers) = training_with(RunConfig { rounds: Some(2), ..config() }, 2);
		full_round(run, &workers, 1);
		full_round(run, &workers, 2);
		let view = Training::run(run).unwrap();
		assert_eq!((view.status, view.rounds_adopted), (RunStatus::Finished, 2));
		assert!(happened(Event::RunFinished { run, rounds: 2, checkpoint: H256::repeat_byte(2), stopped: false }));
		assert_eq!((Training::round(run), Training::members(run)), (None, vec![]));
		assert_eq!((Sets::get()[&DATASET].2, FinishedRuns::get()), (0, vec![run]));
		assert_eq!((Submitted::get(), Settled::get()), (4, 4));
		assert!(Training::record(run, 1).is_some());
	});
}

#[test]
fn only_the_newest_records_stay() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		(1..=5).for_each(|root| full_round(run, &workers, root));
		let mut kept: Vec<_> = Records::<Test>::iter_key_prefix(run).collect();
		kept.sort_unstable();
		assert_eq!(kept, [2, 3, 4]);
	});
}

#[test]
fn seeds_depend_on_checkpoint_randomness_run_round_and_attempt() {
	let (a, b) = (H256::repeat_byte(1), H256::repeat_byte(2));
	let seeds = [
		expected::seed(a, a, 1, 1, 1),
		expected::seed(b, a, 1, 1, 1),
		expected::seed(a, b, 1, 1, 1),
		expected::seed(a, a, 2, 1, 1),
		expected::seed(a, a, 1, 2, 1),
		expected::seed(a, a, 1, 1, 2),
	];
	let distinct: std::collections::BTreeSet<_> = seeds.into_iter().collect();
	assert_eq!(distinct.len(), 6);
}

#[test]
fn the_view_of_a_round_shows_what_everybody_did() {
	build_and_execute(|| {
		let (run, workers) = checkpointing(2);
		assert_ok!(attest(&workers[0], run, 9, 2.0));
		let view = Training::round(run).unwrap();
		assert_eq!((view.phase, view.round, view.attempt), (Phase::Checkpointing, 0, 0));
		assert_eq!((view.checkpoint, view.seed), (H256::repeat_byte(0xff), round(run).seed));
		assert_eq!(view.started_at, (4, 4 * BLOCK_MS));
		let [first, second] = &view.participants[..] else { panic!("two participants") };
		assert_eq!((&first.account, &first.work), (&workers[0], &Some(work(&workers[0], run))));
		assert!(first.sealed.is_some() && first.included && first.counted);
		assert_eq!(first.vote, vote_bitmap([true, true]));
		assert_eq!(first.attestation.map(|word| word.checkpoint), Some(H256::repeat_byte(9)));
		assert_eq!(second.attestation, None);
	});
}

#[test]
fn runs_go_on_side_by_side() {
	build_and_execute(|| {
		let (first, second) = (create(config()), create(config()));
		let (left, right) = ([worker(1), worker(2)], [worker(3), worker(4)]);
		left.iter().for_each(|who| join(who, first).unwrap());
		right.iter().for_each(|who| join(who, second).unwrap());
		// One worker in two runs.
		join(&worker(1), second).unwrap();
		skip(3);
		commit_all(first, &left);
		assert_eq!((phase(first), phase(second)), (Phase::Revealing, Phase::Training));
		full_round(second, &[worker(1), worker(3), worker(4)], 7);
		reveal_all(first, &left);
		vote_all(first, &left);
		attest_all(first, &left, 8);
		assert_eq!(Training::run(first).unwrap().checkpoint, H256::repeat_byte(8));
		assert_eq!(Training::run(second).unwrap().checkpoint, H256::repeat_byte(7));
	});
}

#[test]
fn a_block_without_room_moves_one_run_and_leaves_the_others_to_the_next() {
	build_and_execute(|| {
		let (first, second) = (create(config()), create(config()));
		for run in [second, first] {
			[worker(1), worker(2)].iter().for_each(|who| join(who, run).unwrap());
		}
		System::set_block_number(4);
		Training::advance_due(Weight::zero());
		assert_eq!((phase(first), phase(second)), (Phase::Training, Phase::Joining));
		System::set_block_number(5);
		Training::advance_due(Weight::zero());
		assert_eq!((phase(first), phase(second)), (Phase::Training, Phase::Training));
	});
}
