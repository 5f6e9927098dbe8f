//! Tests of when rounds are drawn, and when they are not.

use super::*;
use crate::{AuditShare, Undrawn};
use neuroshard_types::TrainConfig;
use sp_runtime::Permill;

/// `who` revealed the work of a round of run 0, which is adopted now.
fn adopted(round: RoundIndex, who: &[AccountId]) {
	for who in who {
		let id = case::reveal(who, &case::work(None));
		let judged = Works::get()[&(0, id.round, who.clone())].clone();
		<MockHelper as crate::BenchmarkHelper>::work(&ClaimId { round, ..id }, judged);
	}
	<Disputes as OnAdopted>::adopted(0, round);
}

/// Rounds and subjects that were drawn.
fn draws() -> Vec<(RoundIndex, AccountId)> {
	let drawn = |event| match event {
		Event::AuditDrawn { round, subject, .. } => Some((round, subject)),
		_ => None,
	};
	events().into_iter().filter_map(drawn).collect()
}

fn skipped() -> Vec<RoundIndex> {
	let skipped = |event| match event {
		Event::AuditsSkipped { round, .. } => Some(round),
		_ => None,
	};
	events().into_iter().filter_map(skipped).collect()
}

#[test]
fn a_round_is_drawn_two_epochs_after_its_adoption_and_not_before() {
	build_and_execute(|| {
		enrolled(4);
		AuditUnits::set(UNITS);
		adopted(7, &[HONEST]);
		let adopted_in = Epoch::get();
		for epoch in [adopted_in, adopted_in + 1] {
			Epoch::set(epoch);
			next_block();
			assert_eq!((draws(), Undrawn::<Test>::iter().count()), (vec![], 1));
		}
		Epoch::set(adopted_in + 2);
		next_block();
		assert_eq!((draws(), Undrawn::<Test>::iter().count()), (vec![(7, HONEST)], 0));
		// Adopted in block 1, drawn in block 4, and open as long as the work can be disputed.
		let audit = audit(&claim(ClaimKind::Work, 7, &HONEST)).expect("an audit");
		assert_eq!((audit.drawn_at, audit.seal_by, audit.report_by, audit.closes_at), (4, 9, 12, 31));
		// Of five steps, states are committed after the second, the fourth and the last.
		assert_eq!((audit.step, audit.units), (2, UNITS));
	});
}

#[test]
fn one_round_is_drawn_in_a_block_the_oldest_first() {
	build_and_execute(|| {
		enrolled(4);
		AuditUnits::set(UNITS);
		[7, 8, 9].into_iter().for_each(|round| adopted(round, &[HONEST, LIAR]));
		Epoch::mutate(|epoch| *epoch += 3);
		let rounds: Vec<Vec<RoundIndex>> =
			(0..4).map(|_| (next_block(), draws().into_iter().map(|(round, _)| round).collect()).1).collect();
		assert_eq!(rounds, [vec![7, 7], vec![7, 7, 8, 8], vec![7, 7, 8, 8, 9, 9], vec![7, 7, 8, 8, 9, 9]]);
	});
}

#[test]
fn nobody_is_drawn_for_its_own_work_or_twice_in_a_round() {
	build_and_execute(|| {
		// Claimants verify as well.
		let all: Vec<AccountId> = (50..58).map(account).collect();
		for who in &all {
			assert_ok!(Disputes::enroll(signed(who)));
		}
		Epoch::mutate(|epoch| *epoch += 2);
		AuditUnits::set(UNITS);
		for round in 10..15 {
			EpochSeed::set(H256::from_low_u64_be(round.into()));
			adopted(round, &all[..4]);
			Epoch::mutate(|epoch| *epoch += 2);
			next_block();
			let audits = Audits::<Test>::iter().filter(|(claim, _)| claim.round == round);
			let mut auditors: Vec<AccountId> = audits.flat_map(|(_, audit)| audit.parts.map(|part| part.auditor)).collect();
			// Eight for four claims, unless what was left last was one whose work it was.
			assert!(matches!(auditors.len(), 6 | 8), "{}", auditors.len());
			auditors.sort();
			auditors.dedup();
			assert!(matches!(auditors.len(), 6 | 8), "{}", auditors.len());
			for who in auditors {
				assert_ne!(view_in(round, &who).subject, who);
			}
		}
		assert_eq!(
			Disputes::audits_of(account(57), None).len(),
			Audits::<Test>::iter().filter(|(_, audit)| audit.part(&account(57)).is_some()).count()
		);
	});
}

fn view_in(round: RoundIndex, auditor: &AccountId) -> AuditView {
	Disputes::audit(0, round, auditor.clone()).expect("an audit")
}

#[test]
fn nothing_is_noted_that_would_not_be_drawn_or_paid() {
	build_and_execute(|| {
		enrolled(4);
		adopted(7, &[HONEST]);
		AuditUnits::set(UNITS);
		AuditShare::<Test>::put(Permill::zero());
		adopted(8, &[HONEST]);
		assert_eq!(Undrawn::<Test>::iter().count(), 0);
	});
}

#[test]
fn a_round_is_skipped_if_nothing_can_be_drawn_of_it() {
	build_and_execute(|| {
		enrolled(4);
		AuditUnits::set(UNITS);
		// The record is gone.
		adopted(7, &[HONEST]);
		Adopted::mutate(|adopted| adopted.remove(&(0, 7)));
		adopted(8, &[HONEST]);
		// The epoch comes too late: sealing, reporting and a challenge take 13 blocks of 30.
		adopted(9, &[HONEST]);
		// All states are committed.
		Works::mutate(|works| works.values_mut().for_each(|work| work.config.train.commit_interval = 1));
		Epoch::mutate(|epoch| *epoch += 2);
		next_block();
		next_block();
		System::set_block_number(18);
		next_block();
		assert_eq!((draws(), skipped()), (vec![], vec![7, 8, 9]));
		// And nobody is there who could.
		AuditUnits::set(UNITS);
		Epoch::set(0);
		adopted(10, &[HONEST]);
		crate::Verifiers::<Test>::kill();
		Epoch::set(2);
		next_block();
		assert_eq!((draws(), Undrawn::<Test>::iter().count()), (vec![], 0));
	});
}

#[test]
fn what_has_no_state_to_sample_cannot_be_audited_where_anything_is() {
	build_and_execute(|| {
		let every = TrainConfig { commit_interval: 1, ..TrainConfig::tiny() };
		assert!(<Disputes as OnAdopted>::can_audit(&TrainConfig { commit_interval: 2, ..every.clone() }));
		assert!(!<Disputes as OnAdopted>::can_audit(&every));
		assert!(!<Disputes as OnAdopted>::can_audit(&TrainConfig { inner_steps: 1, commit_interval: 2, ..every.clone() }));
		AuditShare::<Test>::put(Permill::zero());
		assert!(<Disputes as OnAdopted>::can_audit(&every));
	});
}

#[test]
fn terms_are_those_of_the_genesis() {
	build_and_execute(|| {
		let terms = Disputes::audit_terms();
		assert_eq!((terms.share, terms.seal_time, terms.report_time), (1_000_000, SEAL_TIME, REPORT_TIME));
	});
}

/// Builds a genesis in which auditors have these times, beside three epochs of 4 slots and a window of 30 blocks.
fn genesis(seal_time: u32, report_time: u32) {
	use sp_runtime::BuildStorage;
	ChallengeWindow::set(WINDOW);
	let disputes = crate::GenesisConfig { audit_share: Permill::from_parts(1), seal_time, report_time, ..Default::default() };
	let _ = RuntimeGenesisConfig { disputes, ..Default::default() }.build_storage();
}

#[test]
fn a_challenge_window_has_room_for_epochs_reports_and_challenges() {
	genesis(7, 4);
}

#[test]
#[should_panic(expected = "the challenge window is too short for audits")]
fn a_challenge_window_without_room_for_audits_is_no_genesis() {
	genesis(7, 5);
}

#[test]
#[should_panic(expected = "auditors need time for their reports")]
fn auditors_without_time_are_no_genesis() {
	genesis(7, 0);
}
