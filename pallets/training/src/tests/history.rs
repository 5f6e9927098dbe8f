//! Records stay as long as a dispute may need them, however fast rounds are.

use super::*;
use crate::Records;
use frame_support::assert_ok;
use neuroshard_types::{dispute::Claims, run::Phase, BlockNumber, RoundIndex};
use proptest::prelude::*;
use sp_runtime::BuildStorage;
use std::collections::BTreeMap;

/// Disputes of ten blocks, and five records, of which three may be needed for one claim.
fn short_memory() {
	DisputePeriod::set(10);
	RecordsKept::set(5);
	MaxReplay::set(3);
}

/// Everybody in the round under way does at once what there is to do, until it is adopted.
fn rush(run: RunId) {
	let index = at(run).0;
	let places: Vec<_> = round(run).counted().map(|place| place.account.clone()).collect();
	to_checkpointing(run, &places);
	places.iter().for_each(|who| attest(who, run, u8::try_from(index).expect("few rounds"), 2.5).expect("an attestation"));
	while at(run).0 == index {
		skip(1);
	}
}

#[test]
fn a_round_that_is_decided_early_is_adopted_when_records_allow_it() {
	build_and_execute(|| {
		short_memory();
		let (run, workers) = training(3);
		let started = round(run).started_at.0;
		// ceil(10 / (5 - 3 + 1)).
		assert_eq!(round(run).adoptable_at, started + 4);
		to_checkpointing(run, &workers);
		workers[..2].iter().for_each(|who| attest(who, run, 1, 2.5).expect("an attestation"));
		run_to(started + 3);
		assert_eq!(phase(run), Phase::Checkpointing);
		// Who is not in time for the decision still is for the record.
		assert_ok!(attest(&workers[2], run, 1, 2.5));
		run_to(started + 4);
		assert_eq!((phase(run), Training::adopted_at(run, 0)), (Phase::Training, Some(started + 4)));
		assert_eq!(Training::record(run, 0).expect("a record").attested.len(), 3);
	});
}

#[test]
fn a_slow_round_waits_for_nothing() {
	build_and_execute(|| {
		short_memory();
		let (run, workers) = training(2);
		skip(5);
		full_round(run, &workers, 1);
		assert_eq!(Training::run(run).expect("a run").rounds_adopted, 1);
	});
}

#[test]
#[should_panic(expected = "the history of a run must stay for longer than its claims can be disputed")]
fn a_genesis_by_which_disputes_outlast_the_history_of_a_run_is_refused() {
	HistoryPeriod::set(30);
	DisputePeriod::set(30);
	let _ = RuntimeGenesisConfig::default().build_storage();
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

	#[test]
	fn every_claim_can_be_judged_until_disputes_about_it_are_over(
		(period, kept, replay) in (1u32..40, 3u32..9, 1u32..9),
		verdicts in prop::collection::vec(prop::option::weighted(0.4, (0u32..4, 1u8..4)), 5..25),
	) {
		new_test_ext().execute_with(|| {
			DisputePeriod::set(period);
			HistoryPeriod::set(period + 1);
			RecordsKept::set(kept);
			MaxReplay::set(replay.min(kept));
			let (run, workers) = training_with(RunConfig { min_participants: 1, ..config() }, 3);
			let mut adopted = BTreeMap::new();
			for verdict in verdicts {
				if let Some((ago, who)) = verdict {
					if let Some(index) = at(run).0.checked_sub(ago + 1) {
						condemn_work(run, index, &worker(who));
					}
				}
				workers.iter().for_each(|who| { let _ = join(who, run); });
				while round(run).counted().next().is_none() {
					skip(1);
				}
				let index = at(run).0;
				rush(run);
				adopted.insert(index, System::block_number());
				every_claim_can_be_judged(run, &adopted);
			}
			prop_assert!(Records::<Test>::iter_key_prefix(run).count() <= kept as usize);
			Ok(())
		})?;
	}
}

/// Checks that what was claimed in rounds that were `adopted` in these blocks, and can still be disputed, can be judged. Records go by adoptions
/// only.
fn every_claim_can_be_judged(run: RunId, adopted: &BTreeMap<RoundIndex, BlockNumber>) {
	let now = System::block_number();
	for (index, _) in adopted.iter().filter(|(_, adopted_at)| now < **adopted_at + DisputePeriod::get()) {
		let record = Records::<Test>::get(run, index).expect("the record of a round that is disputed");
		for place in &record.places {
			assert_eq!(Training::work(run, *index, &place.account).is_some(), place.revealed.is_some());
			assert_eq!(Training::attestation(run, *index, &place.account).is_some(), place.attested.is_some(), "records are gone");
		}
	}
}
