//! Sealing and reporting.

use super::*;
use crate::{Call, CheckTurn, Error, Refusal};
use frame_support::dispatch::{DispatchClass, DispatchInfo, GetDispatchInfo};
use neuroshard_types::traits::{Providers as _, SlashTo};
use sp_runtime::{
	traits::DispatchTransaction,
	transaction_validity::{InvalidTransaction, TransactionSource::External, TransactionValidityError},
};

/// Returns whether a pool takes a seal of `sealed`, and the report that a salt opens, from `who`.
fn admitted(who: &AccountId, sealed: H256, salt: u8, report: Report) -> [bool; 2] {
	let round = case::ROUND;
	let calls = [Call::seal_audit { run: 0, round, sealed }, Call::report_audit { run: 0, round, salt: [salt; 32], report }];
	calls.map(|call| {
		assert_eq!(call.get_dispatch_info().class, DispatchClass::Operational);
		let call = RuntimeCall::from(call);
		let valid = CheckTurn::<Test>::default().validate_only(signed(who), &call, &DispatchInfo::default(), 0, External, 0);
		let refused: TransactionValidityError = InvalidTransaction::Custom(Refusal::NotToReport.code()).into();
		valid.map(|_| ()).map_err(|error| assert_eq!(error, refused)).is_ok()
	})
}

#[test]
fn a_pool_takes_a_seal_and_a_report_only_once_and_from_whoever_has_it_to_make() {
	build_and_execute(|| {
		let (_, [first, second]) = drawn();
		let seals = |who: &AccountId| admitted(who, sealed(who, 1, truth()), 1, truth());
		assert_eq!(seals(&first), [true, false]);
		for other in [HONEST, NOBODY] {
			assert_eq!(seals(&other), [false, false]);
		}
		assert_ok!(seal(&first, 1, truth()));
		assert_eq!((seals(&first), seals(&second)), ([false, false], [true, false]));
		assert_ok!(seal(&second, 1, truth()));
		assert_eq!((seals(&first), seals(&second)), ([false, true], [false, true]));
		assert_eq!(admitted(&first, H256::zero(), 2, truth()), [false, false], "another salt does not open the seal");
		assert_eq!(admitted(&first, H256::zero(), 1, JUNK), [false, false], "another report does not either");
		assert_ok!(open(&first, 1, truth()));
		assert_eq!((seals(&first), seals(&second)), ([false, false], [false, true]));
		System::set_block_number(view(&second).deadline + 1);
		assert_eq!(seals(&second), [false, false], "it is too late");
	});
}

#[test]
fn both_seal_before_either_reports() {
	build_and_execute(|| {
		let (_, [first, second]) = drawn();
		assert_eq!((view(&first).phase, view(&first).deadline), (AuditPhase::Sealing, 7));
		assert_noop!(open(&first, 1, truth()), Error::<Test>::NothingSealed);
		assert_ok!(seal(&first, 1, truth()));
		assert_noop!(seal(&first, 2, JUNK), Error::<Test>::AlreadySealed);
		assert_noop!(open(&first, 1, truth()), Error::<Test>::StillSealing);
		next_block();
		assert_ok!(seal(&second, 2, truth()));
		// Nobody is waited for any more: there are three blocks from here.
		assert_eq!((view(&first).phase, view(&first).deadline), (AuditPhase::Reporting, 3 + REPORT_TIME));
		assert_ok!(open(&first, 1, truth()));
		assert_noop!(open(&first, 1, truth()), Error::<Test>::AlreadyReported);
		assert_noop!(seal(&first, 1, truth()), Error::<Test>::AlreadySealed);
		assert_eq!(view(&second).phase, AuditPhase::Reporting);
		assert_ok!(open(&second, 2, truth()));
		let shown = view(&second);
		assert_eq!((shown.phase, shown.deadline, shown.closes_at), (AuditPhase::Waiting, 31, 31));
		assert_eq!((shown.subject, shown.partner, shown.step), (HONEST, first, 2));
		assert_eq!((shown.sealed, shown.report), (Some(sealed(&second, 2, truth())), Some(truth())));
		assert_eq!((shown.partner_sealed, shown.partner_report), (true, Some(truth())));
	});
}

#[test]
fn sealing_and_reporting_end_with_their_deadlines() {
	build_and_execute(|| {
		let (_, [first, second]) = drawn();
		run_to(7);
		assert_ok!(seal(&first, 1, truth()));
		next_block();
		assert_noop!(seal(&second, 1, truth()), Error::<Test>::SealingOver);
		assert_noop!(open(&second, 1, truth()), Error::<Test>::NothingSealed);
		// The other one is waited for no longer.
		assert_eq!((view(&first).phase, view(&first).deadline), (AuditPhase::Reporting, 10));
		run_to(10);
		let storage = Audits::<Test>::iter().collect::<Vec<_>>();
		assert_ok!(open(&first, 1, truth()));
		// Had it come a block later:
		storage.into_iter().for_each(|(claim, audit)| Audits::<Test>::insert(claim, audit));
		OpenClaims::set(Default::default());
		System::set_block_number(11);
		assert_noop!(open(&first, 1, truth()), Error::<Test>::ReportingOver);
		assert_eq!(view(&first).phase, AuditPhase::Waiting);
	});
}

#[test]
fn an_audit_that_nobody_seals_just_waits_for_its_close() {
	build_and_execute(|| {
		let (_, [first, _]) = drawn();
		run_to(8);
		assert_eq!((view(&first).phase, view(&first).deadline), (AuditPhase::Waiting, 31));
	});
}

#[test]
fn a_seal_opens_with_its_own_salt_and_report_only() {
	build_and_execute(|| {
		let (_, [first, second]) = drawn();
		assert_ok!(seal(&first, 1, truth()));
		assert_ok!(seal(&second, 2, truth()));
		assert_noop!(open(&first, 2, truth()), Error::<Test>::SealBroken);
		assert_noop!(open(&first, 1, JUNK), Error::<Test>::SealBroken);
		assert_noop!(open(&first, 1, Report::Unavailable), Error::<Test>::SealBroken);
		assert_ok!(open(&first, 1, truth()));
	});
}

#[test]
fn a_copied_seal_opens_with_nothing() {
	build_and_execute(|| {
		let (_, [first, second]) = drawn();
		assert_ok!(seal(&first, 1, truth()));
		// The second auditor has not worked: it seals what the first one did, and then knows salt and sample.
		assert_ok!(Disputes::seal_audit(signed(&second), 0, case::ROUND, sealed(&first, 1, truth())));
		assert_ok!(open(&first, 1, truth()));
		assert_noop!(open(&second, 1, truth()), Error::<Test>::SealBroken);
	});
}

#[test]
fn only_who_was_drawn_seals_and_reports() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		let other = (0..3).map(verifier).find(|who| !auditors.contains(who)).expect("one of three");
		for who in [other, HONEST, NOBODY] {
			assert_noop!(seal(&who, 1, truth()), Error::<Test>::NotDrawn);
			assert_noop!(open(&who, 1, truth()), Error::<Test>::NotDrawn);
			assert_eq!(Disputes::audit(0, case::ROUND, who), None);
		}
		let other_round = Disputes::seal_audit(signed(&auditors[0]), 0, case::ROUND + 1, H256::zero());
		assert_eq!(other_round, Err(Error::<Test>::NotDrawn.into()));
	});
}

#[test]
fn a_sample_is_answered_for_with_a_stake_until_the_close() {
	build_and_execute(|| {
		let (_, [first, second]) = drawn();
		assert_ok!(seal(&first, 1, truth()));
		assert_ok!(seal(&second, 1, Report::Unavailable));
		assert_ok!(open(&first, 1, truth()));
		assert_ok!(open(&second, 1, Report::Unavailable));
		let answered = || [&first, &second].map(|who| OpenClaims::get().get(who).copied().unwrap_or_default());
		assert_eq!(answered(), [1, 0]);
		run_to(30);
		assert_eq!(answered(), [1, 0]);
		next_block();
		assert_eq!(answered(), [0, 0]);
	});
}

#[test]
fn who_was_demoted_or_suspended_since_it_was_drawn_seals_and_reports_all_the_same() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		Inactive::set(auditors.clone().into());
		report_both(&auditors, [truth(), truth()]);
		run_to(31);
		assert_eq!(closed(), [(HONEST, auditors.to_vec(), vec![])]);
	});
}

#[test]
fn who_has_less_at_stake_than_a_provider_needs_neither_seals_nor_reports() {
	for left in [0, ED, LEAST_STAKE - 1] {
		build_and_execute(|| {
			let (_, [first, second]) = drawn();
			assert_ok!(seal(&first, 1, Report::Unavailable));
			for who in [&first, &second] {
				assert_eq!(MockProviders::slash(who, STAKE - left, SlashTo::Burn), STAKE - left);
			}
			assert_noop!(seal(&second, 1, Report::Unavailable), Error::<Test>::TooLittleAtStake);
			run_to(8);
			assert_noop!(open(&first, 1, Report::Unavailable), Error::<Test>::TooLittleAtStake);
		});
	}
}

#[test]
fn who_has_as_much_at_stake_as_a_provider_needs_seals_and_reports() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		for who in &auditors {
			MockProviders::slash(who, STAKE - LEAST_STAKE, SlashTo::Burn);
		}
		report_both(&auditors, [truth(), truth()]);
		run_to(31);
		assert_eq!(closed(), [(HONEST, auditors.to_vec(), vec![])]);
	});
}

#[test]
fn work_is_left_out_if_both_say_that_it_cannot_be_had() {
	build_and_execute(|| {
		let (claim, auditors) = drawn();
		for auditor in &auditors {
			assert_ok!(seal(auditor, 1, Report::Unavailable));
		}
		assert_ok!(open(&auditors[0], 1, Report::Unavailable));
		assert!(Excluded::get().is_empty());
		assert_ok!(open(&auditors[1], 1, Report::Unavailable));
		assert_eq!(Excluded::get(), [claim].into());
		run_to(31);
		// For nothing, and with no place on the list left for either; but both were there.
		assert_eq!((Missed::get().len(), Reported::get().len()), (0, 2));
		assert_eq!((closed(), credits()), (vec![(HONEST, vec![], auditors.to_vec())], vec![]));
	});
}

#[test]
fn whoever_is_too_slow_says_so_and_loses_its_place_and_nothing_else() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [Report::TooSlow, truth()]);
		let [slow, paid] = auditors;
		run_to(31);
		assert_eq!(closed(), [(HONEST, vec![paid.clone()], vec![])]);
		assert_eq!(credits(), [(paid.clone(), UNITS)]);
		// Neither a missed report nor one that was made.
		assert_eq!((Missed::get().len(), Reported::get()), (0, vec![paid.clone()]));
		assert!(!Disputes::verifiers().contains(&slow) && Disputes::verifiers().contains(&paid));
		assert!(Excluded::get().is_empty());
	});
}

#[test]
fn whoever_is_too_slow_leaves_the_list_at_once_and_the_close_takes_no_place_that_it_has_since() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [Report::TooSlow, truth()]);
		let [slow, paid] = auditors;
		assert!(!Disputes::verifiers().contains(&slow) && Disputes::verifiers().contains(&paid));
		// It comes back with a faster machine.
		Epoch::mutate(|epoch| *epoch += 2);
		assert_ok!(Disputes::enroll(signed(&slow)));
		run_to(31);
		assert_eq!((closed().len(), Disputes::verifiers().contains(&slow)), (1, true));
	});
}

#[test]
fn two_who_are_too_slow_leave_the_work_in_the_model() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [Report::TooSlow, Report::TooSlow]);
		run_to(31);
		assert_eq!((closed(), credits()), (vec![(HONEST, vec![], vec![])], vec![]));
		assert!(Excluded::get().is_empty() && auditors.iter().all(|auditor| !Disputes::verifiers().contains(auditor)));
	});
}

#[test]
fn work_stays_if_one_of_them_has_had_it() {
	build_and_execute(|| {
		let (_, auditors) = drawn();
		report_both(&auditors, [Report::Unavailable, truth()]);
		let [lazy, paid] = auditors;
		assert!(Excluded::get().is_empty());
		run_to(31);
		assert_eq!(closed(), [(HONEST, vec![paid.clone()], vec![lazy.clone()])]);
		assert_eq!(credits(), [(paid, UNITS)]);
		assert!(!Disputes::verifiers().contains(&lazy));
	});
}
