//! Games about samples, and about work that is audited.

use super::*;
use crate::Error;
use neuroshard_graph::game::Position;
use neuroshard_types::offence::Offence;
use sp_runtime::Perbill;

/// A game about the sample of `auditor`, who made this mistake or none.
fn game(challenger: &AccountId, auditor: &AccountId, right: bool) -> Match {
	assert_ok!(challenge_sample(challenger, auditor));
	let (mistake, opponent) = if right { (None, case::quibbler()) } else { (Some(case::EARLY_MISTAKE), case::checker()) };
	Match::new(&sample_of(auditor), challenger, case::claimant(mistake), opponent)
}

fn stake(who: &AccountId) -> Balance {
	Balances::free_balance(stake_of(who))
}

#[test]
fn a_false_sample_costs_its_auditor_the_stake_and_its_partner_is_paid() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [truth(), mistaken()]);
		let [right, wrong] = auditors;
		let issuance = Balances::total_issuance();
		let mut disputed = game(&ALICE, &wrong, false);
		let Some(started) = Disputes::game(sample_of(&wrong), ALICE) else { panic!("a game") };
		assert!(matches!(started.position, Position::Steps { first: 0, count: 3, .. }), "{:?}", started.position);
		disputed.finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(ALICE), REWARD + 1)]);
		assert_eq!((stake(&wrong), stake(&right), stake(&HONEST)), (0, STAKE, STAKE));
		assert_eq!(Balances::total_issuance(), issuance - REWARD - 1);
		assert_eq!(Condemned::get(), [sample_of(&wrong)]);
		assert_eq!(Punished::get(), [(wrong.clone(), Offence::Byzantine)]);
		assert!(!Disputes::verifiers().contains(&wrong));
		assert_noop!(challenge_sample(&BOB, &wrong), Error::<Test>::Condemned);
		run_to(31);
		assert_eq!(closed(), [(HONEST, vec![right.clone()], vec![])]);
		assert_eq!(credits(), [(right, UNITS)]);
	});
}

#[test]
fn a_right_sample_is_defended_and_both_are_paid() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [truth(), truth()]);
		game(&ALICE, &auditors[0], true).finish();
		let decided: Vec<Decision> = decisions().into_iter().map(|(_, decision, ..)| decision).collect();
		assert_eq!(decided, [Decision::Unfounded]);
		assert_eq!(stake(&auditors[0]), STAKE);
		run_to(31);
		assert_eq!(credits(), auditors.map(|who| (who, UNITS)));
	});
}

#[test]
fn a_sample_of_false_work_says_what_is_true_and_falls_to_nobody() {
	build_and_execute(|| {
		enrolled(3);
		let (claim, _, _) = false_work();
		let auditors = draw(&claim);
		// The claimant's mistake is behind the sampled step; the auditors' is not.
		report_both(&auditors, [truth(), mistaken()]);
		game(&ALICE, &auditors[0], true).finish();
		game(&BOB, &auditors[1], false).finish();
		let decided: Vec<_> = decisions().into_iter().map(|(who, decision, ..)| (who, decision)).collect();
		assert_eq!(decided, [(ALICE, Decision::Unfounded), (BOB, Decision::Fraud)]);
	});
}

#[test]
fn the_same_false_sample_twice_is_paid_to_nobody_once_it_fell() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [mistaken(), mistaken()]);
		game(&ALICE, &auditors[1], false).finish();
		run_to(31);
		assert_eq!((closed(), credits()), (vec![(HONEST, vec![], vec![])], vec![]));
	});
}

#[test]
fn only_samples_are_disputed_by_others_and_in_the_window() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		assert_noop!(challenge_sample(&ALICE, &auditors[0]), Error::<Test>::NoClaim);
		report_both(&auditors, [truth(), Report::Unavailable]);
		assert_noop!(challenge_sample(&ALICE, &auditors[1]), Error::<Test>::NoClaim);
		assert_noop!(challenge_sample(&ALICE, &HONEST), Error::<Test>::NoClaim);
		assert_noop!(challenge_sample(&auditors[0], &auditors[0]), Error::<Test>::OwnClaim);
		let judged = Disputes::audit_claim(0, case::ROUND, auditors[0].clone()).expect("a sample");
		assert_eq!((judged.step, Report::Sample(judged.sample)), (2, truth()));
		assert_eq!(Disputes::audit_claim(0, case::ROUND, auditors[1].clone()), None);
		run_to(31);
		assert_noop!(challenge_sample(&ALICE, &auditors[0]), Error::<Test>::WindowOver);
	});
}

#[test]
fn an_audit_waits_for_the_games_about_its_samples() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [truth(), truth()]);
		run_to(30);
		let mut disputed = game(&ALICE, &auditors[0], true);
		run_to(33);
		assert_eq!((closed(), OpenClaims::get()[&auditors[0]]), (vec![], 2));
		disputed.finish();
		assert_eq!((closed().len(), credits().len(), OpenClaims::get()[&auditors[0]]), (1, 2, 0));
		assert_forgotten();
	});
}

#[test]
fn an_audit_waits_for_a_sample_that_falls_late() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [mistaken(), truth()]);
		run_to(30);
		let mut first = game(&ALICE, &auditors[0], false);
		let _second = game(&BOB, &auditors[0], false);
		run_to(32);
		first.finish();
		// The other game is moot a block later.
		run_to(System::block_number() + 2);
		assert_eq!(closed(), [(HONEST, vec![auditors[1].clone()], vec![])]);
		assert_eq!((free(&BOB), Disputes::games(None)), (FUNDS, vec![]));
		assert_forgotten();
	});
}

#[test]
fn who_was_drawn_to_audit_a_claim_disputes_it_however_many_games_are_open_against_the_account() {
	build_and_execute(|| {
		enrolled(4);
		let (claim, work, doubt) = false_work();
		let [auditor, partner] = draw(&claim);
		report_both(&[auditor.clone(), partner.clone()], [mistaken(), truth()]);
		for who in [&auditor, &partner] {
			<MockHelper as crate::BenchmarkHelper>::fund(who, FUNDS);
		}
		MaxGames::set(1);
		// An accomplice of each fills the limit, about something that is right.
		assert_ok!(challenge(&ALICE, &claim, &work, Doubt::Interval(0)));
		assert_ok!(challenge_sample(&ALICE, &auditor));
		let others = (0..4).map(verifier).filter(|who| ![&auditor, &partner].contains(&who));
		for other in others.chain([BOB]) {
			<MockHelper as crate::BenchmarkHelper>::fund(&other, FUNDS);
			assert_eq!(Disputes::bond_against(claim.clone(), other.clone()), None);
			assert_noop!(challenge(&other, &claim, &work, doubt), Error::<Test>::TooManyGames);
			assert_noop!(challenge_sample(&other, &auditor), Error::<Test>::TooManyGames);
		}
		assert_eq!(Disputes::bond_against(claim.clone(), auditor.clone()), Some(BOND));
		assert_ok!(challenge(&auditor, &claim, &work, doubt));
		// The claim of its partner is one that it was drawn for as well. What else the same account claims is not.
		assert_ok!(challenge_sample(&partner, &auditor));
		let (attestation, ..) = case::attest(&LIAR, case::WRONG_RATE, case::RIGHT_RATE);
		assert_noop!(challenge_checkpoint(&partner, &attestation), Error::<Test>::TooManyGames);
		Match::new(&claim, &auditor, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		assert_eq!(decisions()[0].1, Decision::Fraud);
	});
}

#[test]
fn who_was_drawn_to_audit_a_claim_can_pay_for_disputing_it_however_much_the_account_has_at_stake() {
	build_and_execute(|| {
		enrolled(4);
		let (claim, work, doubt) = false_work();
		let [auditor, partner] = draw(&claim);
		report_both(&[auditor.clone(), partner.clone()], [mistaken(), truth()]);
		for who in [&auditor, &partner] {
			<MockHelper as crate::BenchmarkHelper>::fund(who, FUNDS);
		}
		// Half of 50,001, rounded up: more than anybody has.
		BondShare::set(Perbill::from_percent(50));
		assert_eq!(Disputes::bond_against(claim.clone(), ALICE), Some(25_001));
		assert_noop!(challenge(&ALICE, &claim, &work, doubt), sp_runtime::TokenError::FundsUnavailable);
		assert_eq!(Disputes::bond_against(claim.clone(), auditor.clone()), Some(BOND));
		assert_ok!(challenge(&auditor, &claim, &work, doubt));
		assert_ok!(challenge_sample(&partner, &auditor));
		// What they hold fills no limit: there is room as long as so many challenges of others would hold more.
		MaxGames::set(1);
		assert_eq!(Disputes::bond_against(claim.clone(), ALICE), Some(25_001));
		Match::new(&claim, &auditor, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		assert_eq!(decisions()[0], (auditor.clone(), Decision::Fraud, REWARD, Some(auditor), REWARD + 1));
	});
}

#[test]
fn whoever_copies_the_challenge_of_a_sample_does_not_get_the_reward_of_the_other_auditor() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [truth(), mistaken()]);
		let [right, wrong] = auditors;
		<MockHelper as crate::BenchmarkHelper>::fund(&right, FUNDS);
		let mut copied = game(&ALICE, &wrong, false);
		next_block();
		assert_ok!(challenge_sample(&right, &wrong));
		copied.finish();
		assert_eq!(decisions()[0], (ALICE, Decision::Fraud, REWARD, Some(right), REWARD + 1));
	});
}

#[test]
fn an_auditor_of_false_work_is_rewarded_before_whoever_opened_earlier() {
	build_and_execute(|| {
		enrolled(3);
		let (claim, work, doubt) = false_work();
		let [auditor, _] = draw(&claim);
		<MockHelper as crate::BenchmarkHelper>::fund(&auditor, FUNDS);
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		next_block();
		assert_ok!(challenge(&auditor, &claim, &work, doubt));
		Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		assert_eq!(decisions(), [(ALICE, Decision::Fraud, REWARD, Some(auditor), REWARD + 1)]);
	});
}

#[test]
fn of_two_auditors_the_earlier_opener_is_rewarded() {
	build_and_execute(|| {
		enrolled(3);
		let (claim, work, doubt) = false_work();
		let auditors = draw(&claim);
		for auditor in auditors.iter().rev() {
			<MockHelper as crate::BenchmarkHelper>::fund(auditor, FUNDS);
			assert_ok!(challenge(auditor, &claim, &work, doubt));
			next_block();
		}
		Match::new(&claim, &auditors[0], case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		let receivers: Vec<_> = decisions().into_iter().map(|(.., receiver, _)| receiver).collect();
		assert_eq!(receivers, [Some(auditors[1].clone())]);
	});
}

#[test]
fn who_was_to_audit_work_that_fell_loses_nothing_without_a_report() {
	build_and_execute(|| {
		enrolled(3);
		let (claim, work, doubt) = false_work();
		draw(&claim);
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		run_to(31);
		assert_eq!(closed(), [(LIAR, vec![], vec![])]);
		assert_eq!((Failures::get(), Disputes::verifiers().len()), (Default::default(), 3));
	});
}
