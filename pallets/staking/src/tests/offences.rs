//! Punishments: money, reputation, suspension.

use super::*;
use crate::{
	mock::{build_and_execute, Balances, ALICE, BOB, COOLDOWN, FUNDS, MIN_BOND, NOBODY},
	Error, OffencePenalties,
};
use frame_support::{assert_noop, traits::fungible::Inspect};
use neuroshard_types::{
	offence::{Offence, Penalties},
	provider::Role,
	traits::{Providers, SlashTo},
	BlockNumber, NEURO,
};
use sp_runtime::DispatchError;

type View = Pallet<Test>;

#[test]
fn what_offences_cost_is_what_the_documents_say() {
	build_and_execute(|| {
		// Offence, burned of 10,000 NEURO, of 1,000 NEURO, points, blocks.
		let table = [
			(Offence::InvalidProof, 0, 0, 100, 1_200),
			(Offence::RepeatedFailure, 500, 100, 50, 7_200),
			(Offence::Byzantine, 0, 0, 200, 28_800),
			(Offence::Sybil, 10_000, 1_000, u32::MAX, BlockNumber::MAX),
		];
		for (offence, of_many, of_few, points, blocks) in table {
			let penalty = View::penalty(offence);
			assert_eq!(
				[10_000, 1_000].map(|neuro| penalty.burned(neuro * NEURO)),
				[of_many, of_few].map(|neuro| neuro * NEURO),
				"{offence:?}"
			);
			assert_eq!((penalty.reputation, penalty.suspension), (points, blocks), "{offence:?}");
		}
	});
}

#[test]
fn a_lost_dispute_leaves_a_provider_that_may_come_back_with_a_new_bond_after_its_suspension() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		(0..50).for_each(|_| Staking::note_success(&ALICE));
		// The dispute takes the money, before.
		assert_eq!(Staking::slash(&ALICE, 2_000, SlashTo::Burn), 2_000);
		assert_eq!(Staking::punish(&ALICE, Offence::InvalidProof), 0);
		assert_eq!((view(&ALICE).status, view(&ALICE).reputation, view(&ALICE).suspended_until), (ProviderStatus::Chilled, 50, 1_201));
		let punished = Event::Punished { who: ALICE, offence: Offence::InvalidProof, burned: 0, reputation: 50, suspended_until: 1_201 };
		assert_eq!(events().last(), Some(&punished));

		assert_ok!(Staking::bond_extra(signed(ALICE), MIN_BOND));
		System::set_block_number(1_200);
		assert_noop!(Staking::activate(signed(ALICE)), Error::<Test>::Suspended);
		System::set_block_number(1_201);
		assert_ok!(Staking::activate(signed(ALICE)));
		assert!(Staking::is_active(&ALICE, Role::Worker));
	});
}

#[test]
fn nobody_ends_a_suspension_by_leaving_and_coming_back() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		Staking::slash(&ALICE, 2_000, SlashTo::Burn);
		Staking::punish(&ALICE, Offence::InvalidProof);
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::Suspended);
		System::set_block_number(1_201);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!(View::provider(ALICE), None);
	});
}

#[test]
fn a_suspension_keeps_no_money_back() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_eq!(Staking::punish(&ALICE, Offence::RepeatedFailure), 200);
		assert_eq!((view(&ALICE).status, view(&ALICE).bonded), (ProviderStatus::Chilled, 1_800));
		assert_ok!(Staking::deregister(signed(ALICE)));
		System::set_block_number(1 + COOLDOWN);
		assert_ok!(Staking::withdraw_unbonded(signed(ALICE)));
		assert_eq!(Balances::balance(&ALICE), FUNDS - 200);
		// The registration, with what is known of it, stays until the suspension is over.
		assert_eq!((view(&ALICE).bonded, view(&ALICE).reputation), (0, 50));
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::Suspended);
		System::set_block_number(7_201);
		assert_ok!(Staking::deregister(signed(ALICE)));
		assert_eq!(View::provider(ALICE), None);
	});
}

#[test]
fn a_second_offence_never_shortens_a_suspension() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		Staking::punish(&ALICE, Offence::Byzantine);
		assert_eq!((view(&ALICE).suspended_until, view(&ALICE).reputation), (28_801, 0));
		System::set_block_number(100);
		Staking::punish(&ALICE, Offence::InvalidProof);
		assert_eq!(view(&ALICE).suspended_until, 28_801);
		System::set_block_number(28_000);
		Staking::punish(&ALICE, Offence::InvalidProof);
		assert_eq!(view(&ALICE).suspended_until, 29_200);
	});
}

#[test]
fn penalties_follow_genesis() {
	build_and_execute(|| {
		let mut penalties = Penalties::default();
		(penalties.byzantine.at_most, penalties.byzantine.share) = (300, sp_runtime::Permill::from_percent(50));
		OffencePenalties::<Test>::put(penalties);
		register(&ALICE, 2_000);
		assert_eq!(Staking::punish(&ALICE, Offence::Byzantine), 300);
		assert_eq!(Staking::punish(&NOBODY, Offence::Byzantine), 0);
		assert_eq!(Balances::total_issuance(), 3 * FUNDS - 300);
	});
}

#[test]
fn three_missed_audits_in_a_row_are_repeated_failure() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		for (block, drawn_at, missed) in [(10, 5, 1), (20, 10, 2)] {
			System::set_block_number(block);
			Staking::note_audit_missed(&ALICE, drawn_at);
			assert_eq!((view(&ALICE).missed_audits, view(&ALICE).bonded), (missed, 2_000));
		}
		System::set_block_number(30);
		Staking::note_audit_missed(&ALICE, 25);
		let now = view(&ALICE);
		assert_eq!((now.missed_audits, now.bonded, now.suspended_until, now.status), (0, 1_800, 7_230, ProviderStatus::Chilled));
		// What was drawn before belongs to the row that was punished.
		System::set_block_number(31);
		Staking::note_audit_missed(&ALICE, 29);
		assert_eq!(view(&ALICE).missed_audits, 0);
	});
}

#[test]
fn all_audits_that_one_outage_misses_are_one() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		System::set_block_number(100);
		(1..=50).for_each(|drawn_at| Staking::note_audit_missed(&ALICE, drawn_at));
		System::set_block_number(150);
		(50..=99).for_each(|drawn_at| Staking::note_audit_missed(&ALICE, drawn_at));
		assert_eq!((view(&ALICE).missed_audits, view(&ALICE).status, view(&ALICE).bonded), (1, ProviderStatus::Active, 2_000));
	});
}

#[test]
fn a_report_ends_a_row() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		for block in [10, 20, 30, 40] {
			System::set_block_number(block);
			Staking::note_audit_missed(&ALICE, block);
			if block == 20 {
				Staking::note_audit_reported(&ALICE);
				assert_eq!(view(&ALICE).missed_audits, 0);
			}
		}
		assert_eq!((view(&ALICE).missed_audits, view(&ALICE).bonded), (2, 2_000));
	});
}

#[test]
fn a_sybil_loses_everything_and_is_banned_with_its_key_and_peer_id() {
	build_and_execute(|| {
		register(&ALICE, 2_000);
		assert_ok!(Staking::unbond(signed(ALICE), 500));
		assert_noop!(Staking::report_sybil(signed(BOB), ALICE), DispatchError::BadOrigin);
		assert_noop!(Staking::report_sybil(RuntimeOrigin::root(), BOB), Error::<Test>::NotRegistered);
		assert_ok!(Staking::report_sybil(RuntimeOrigin::root(), ALICE));
		assert_eq!(Balances::total_issuance(), 3 * FUNDS - 2_000);
		let ban = Event::Punished { who: ALICE, offence: Offence::Sybil, burned: 2_000, reputation: 0, suspended_until: BlockNumber::MAX };
		assert_eq!(events().last(), Some(&ban));
		assert_noop!(Staking::report_sybil(RuntimeOrigin::root(), ALICE), Error::<Test>::Banned);

		System::set_block_number(BlockNumber::MAX - 1);
		assert_noop!(Staking::bond_extra(signed(ALICE), MIN_BOND), Error::<Test>::Banned);
		assert_noop!(Staking::activate(signed(ALICE)), Error::<Test>::Banned);
		assert_noop!(Staking::deregister(signed(ALICE)), Error::<Test>::Banned);
		assert_noop!(Staking::update_info(signed(ALICE), info(2)), Error::<Test>::Banned);
		assert_noop!(Staking::register(signed(ALICE), info(2), MIN_BOND), Error::<Test>::AlreadyRegistered);
		assert_noop!(Staking::register(signed(BOB), info(1), MIN_BOND), Error::<Test>::PonwKeyTaken);
		let same_peer = neuroshard_types::provider::ProviderInfo { ponw_key: info(2).ponw_key, ..info(1) };
		assert_noop!(Staking::register(signed(BOB), same_peer, MIN_BOND), Error::<Test>::PeerIdTaken);
	});
}

#[test]
fn who_was_not_tested_yet_and_is_punished_waits_as_well() {
	build_and_execute(|| {
		register_unproven(&ALICE, 2_000);
		Staking::punish(&ALICE, Offence::InvalidProof);
		let answer = answer(challenge(&ALICE));
		assert_noop!(Staking::prove_arithmetic(signed(ALICE), answer), Error::<Test>::Suspended);
		System::set_block_number(1_201);
		assert_ok!(Staking::prove_arithmetic(signed(ALICE), answer));
	});
}

#[test]
fn uptime_mends_a_reputation_and_only_work_raises_it_above_that_of_a_new_provider() {
	build_and_execute(|| {
		register(&ALICE, MIN_BOND);
		Staking::note_uptime(&ALICE);
		assert_eq!(view(&ALICE).reputation, 100);
		Staking::note_failure(&ALICE, 2);
		(0..3).for_each(|_| Staking::note_uptime(&ALICE));
		assert_eq!(view(&ALICE).reputation, 100);
		Staking::note_success(&ALICE);
		Staking::note_uptime(&ALICE);
		assert_eq!(view(&ALICE).reputation, 101);
	});
}
