//! Tests of how audits end, and who is paid.

use super::*;
use crate::MISSED_POINTS;
use neuroshard_types::traits::{Providers, SlashTo};

#[test]
fn equal_samples_are_paid_when_nobody_can_dispute_them_any_more() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [truth(), truth()]);
		run_to(30);
		assert_eq!((closed(), credits()), (vec![], vec![]));
		next_block();
		assert_eq!(closed(), [(HONEST, auditors.to_vec(), vec![])]);
		assert_eq!(credits(), auditors.clone().map(|who| (who, UNITS)));
		assert_eq!(auditors.map(|who| Successes::get()[&who]), [1, 1]);
		assert_eq!(Disputes::verifiers().len(), 3);
		assert_forgotten();
	});
}

#[test]
fn who_was_condemned_meanwhile_is_not_paid_though_it_has_bonded_a_little_since() {
	for bonded in [0, ED, LEAST_STAKE - 1] {
		build_and_execute(|| {
			let (_, auditors) = drawn();
			report_both(&auditors, [truth(), truth()]);
			let [fallen, standing] = auditors;
			MockProviders::slash(&fallen, STAKE - bonded, SlashTo::Burn);
			assert_eq!(MockProviders::slashable(&fallen), bonded);
			run_to(31);
			assert_eq!(closed(), [(HONEST, vec![standing.clone()], vec![])]);
			assert_eq!(credits(), [(standing, UNITS)]);
			assert_forgotten();
		});
	}
}

#[test]
fn a_lone_sample_is_paid_and_who_missed_it_leaves_the_list() {
	build_and_execute(|| {
		let (_, [worked, late]) = drawn();
		let drawn_at = System::block_number();
		assert_ok!(seal(&worked, 1, truth()));
		run_to(8);
		assert_ok!(open(&worked, 1, truth()));
		run_to(31);
		assert_eq!(closed(), [(HONEST, vec![worked.clone()], vec![late.clone()])]);
		assert_eq!(credits(), [(worked.clone(), UNITS)]);
		assert_eq!(Failures::get(), [(late.clone(), MISSED_POINTS)].into());
		assert_eq!((Missed::get(), Reported::get()), (vec![(late.clone(), drawn_at)], vec![worked]));
		assert!(!Disputes::verifiers().contains(&late));
		assert!(events().contains(&Event::VerifierDropped { who: late }));
		assert_forgotten();
	});
}

#[test]
fn a_seal_that_is_never_opened_is_no_report() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		for auditor in &auditors {
			assert_ok!(seal(auditor, 1, truth()));
		}
		run_to(31);
		assert_eq!((closed(), credits()), (vec![(HONEST, vec![], auditors.to_vec())], vec![]));
		assert_eq!(Disputes::verifiers().len(), 1);
	});
}

#[test]
fn samples_that_differ_are_not_paid_unless_one_of_them_falls() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [truth(), JUNK]);
		run_to(31);
		assert_eq!((closed(), credits()), (vec![(HONEST, vec![], vec![])], vec![]));
		assert_eq!((Disputes::verifiers().len(), Failures::get()), (3, Default::default()));
		assert_forgotten();
	});
}

#[test]
fn who_resigns_does_what_it_was_drawn_for_and_is_paid() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		assert_ok!(Disputes::resign(signed(&auditors[0])));
		report_both(&auditors, [truth(), truth()]);
		run_to(31);
		assert_eq!(closed(), [(HONEST, auditors.to_vec(), vec![])]);
	});
}

#[test]
fn many_audits_close_over_several_blocks() {
	build_and_execute(|| {
		for tag in 100..140 {
			assert_ok!(Disputes::enroll(signed(&account(tag))));
		}
		Epoch::mutate(|epoch| *epoch += 2);
		let work = case::work(None);
		let claims: Vec<ClaimId> = (200..220).map(|tag| case::reveal(&account(tag), &work)).collect();
		draw(&claims[0]);
		assert_eq!(Audits::<Test>::iter().count(), 20);
		run_to(30);
		let left: Vec<_> = (0..3).map(|_| (next_block(), Audits::<Test>::iter().count()).1).collect();
		assert_eq!(left, [4, 0, 0]);
		assert_eq!(closed().len(), 20);
		assert_forgotten();
	});
}
