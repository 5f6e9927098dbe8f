//! Tests of what the runtime answers those who ask whether its state is sound.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use frame_support::{
	assert_ok,
	traits::{
		fungible::{InspectHold, Mutate, MutateHold},
		tokens::Precision,
	},
};
use neuroshard_runtime::{
	invariants::{soundness, MAX_ENTRIES},
	AccountId, Balances, Council, Preimage, Runtime, RuntimeCall, RuntimeGenesisConfig, RuntimeHoldReason, RuntimeOrigin, NEURO,
};
use neuroshard_types::soundness::Soundness;
use sp_runtime::{
	traits::{BlakeTwo256, Hash},
	BuildStorage,
};

fn execute(test: impl FnOnce()) {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("the default genesis builds");
	sp_io::TestExternalities::new(storage).execute_with(test);
}

/// Entries of the state.
fn entries() -> u32 {
	let mut key = Vec::new();
	let mut count = 0;
	while let Some(next) = sp_io::storage::next_key(&key) {
		(key, count) = (next, count + 1);
	}
	count
}

/// An entry of nobody's.
fn litter(number: u32) {
	sp_io::storage::set(&[&b"litter"[..], &number.to_be_bytes()].concat(), &[]);
}

#[test]
fn a_sound_state_is_sound_and_a_broken_invariant_is_named() {
	execute(|| {
		assert_eq!(soundness(), Soundness::Sound);
		pallet_balances::TotalIssuance::<Runtime>::put(1);
		let Soundness::Broken(words) = soundness() else { panic!("money that nobody has") };
		assert_eq!(words, "balances: what the accounts have is not what was issued");
	});
}

#[test]
fn what_is_on_hold_of_somebody_no_pallet_knows_is_noticed() {
	let reasons: [RuntimeHoldReason; 15] = [
		pallet_neuro_staking::HoldReason::Bond.into(),
		pallet_neuro_validators::HoldReason::SelfBond.into(),
		pallet_neuro_validators::HoldReason::Nomination.into(),
		pallet_neuro_dataset::HoldReason::Manifest.into(),
		pallet_neuro_dataset::HoldReason::Attestation.into(),
		pallet_neuro_dataset::HoldReason::Challenge.into(),
		pallet_neuro_training::HoldReason::Run.into(),
		pallet_neuro_training::HoldReason::Model.into(),
		pallet_neuro_disputes::HoldReason::Challenge.into(),
		pallet_neuro_disputes::HoldReason::Demand.into(),
		pallet_neuro_inference::HoldReason::Offer.into(),
		pallet_neuro_inference::HoldReason::Escrow.into(),
		pallet_preimage::HoldReason::Preimage.into(),
		pallet_safe_mode::HoldReason::EnterOrExtend.into(),
		pallet_session::HoldReason::Keys.into(),
	];
	for reason in reasons {
		execute(|| {
			let who = AccountId::new([7; 32]);
			Balances::mint_into(&who, 2 * NEURO).expect("an account");
			assert_eq!(soundness(), Soundness::Sound);
			Balances::hold(&reason, &who, NEURO).expect("it has that");
			let Soundness::Broken(words) = soundness() else { panic!("a hold that nobody knows: {reason:?}") };
			assert!(words.starts_with("holds: more"), "{words}");
		});
	}
}

/// An account with money.
fn rich() -> AccountId {
	let who = AccountId::new([7; 32]);
	Balances::mint_into(&who, 10 * NEURO).expect("an account");
	who
}

fn signed(who: &AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who.clone())
}

#[test]
fn a_preimage_whose_deposit_is_gone_is_noticed_and_one_with_its_deposit_is_sound() {
	execute(|| {
		let who = rich();
		assert_ok!(Preimage::note_preimage(signed(&who), vec![7; 50]));
		let reason = pallet_preimage::HoldReason::Preimage.into();
		// 0.1 NEURO, and 0.01 for each byte.
		assert_eq!(Balances::balance_on_hold(&reason, &who), 6 * NEURO / 10);
		assert_eq!(soundness(), Soundness::Sound);
		// Requested, it still has its deposit.
		assert_ok!(Preimage::request_preimage(RuntimeOrigin::root(), BlakeTwo256::hash(&[7; 50])));
		assert_eq!(soundness(), Soundness::Sound);
		assert_ok!(Balances::release(&reason, &who, 1, Precision::Exact));
		let Soundness::Broken(words) = soundness() else { panic!("a deposit that is gone") };
		assert_eq!(words, "holds: more or less is on hold than deposits, bonds and stakes add up to");
	});
}

#[test]
fn a_motion_proposed_anew_keeps_its_first_deposit_and_one_without_any_is_noticed() {
	execute(|| {
		let who = rich();
		assert_ok!(Council::set_members(RuntimeOrigin::root(), vec![who.clone()], None, 0));
		let motion: RuntimeCall = frame_system::Call::remark { remark: vec![7] }.into();
		let hash = BlakeTwo256::hash_of(&motion);
		let propose = || Council::propose(signed(&who), 2, Box::new(motion.clone()), 100);
		let reason = RuntimeHoldReason::Council(pallet_collective::HoldReason::ProposalSubmission);
		let held = || Balances::balance_on_hold(&reason, &who);
		assert_ok!(propose());
		assert_ok!(Council::disapprove_proposal(RuntimeOrigin::root(), hash));
		assert_ok!(propose());
		assert_eq!((held(), soundness()), (2 * NEURO, Soundness::Sound));
		assert_ok!(Council::disapprove_proposal(RuntimeOrigin::root(), hash));
		assert_ok!(Council::release_proposal_cost(signed(&who), hash));
		assert_eq!((held(), soundness()), (NEURO, Soundness::Sound));

		assert_ok!(propose());
		assert_ok!(Balances::release(&reason, &who, NEURO + 1, Precision::Exact));
		let Soundness::Broken(words) = soundness() else { panic!("a deposit that is gone") };
		assert_eq!(words, "holds: less is on hold for motions than their deposits");
	});
}

#[test]
fn a_state_is_checked_up_to_the_limit_and_not_beyond_it() {
	execute(|| {
		// Found broken if it were looked at.
		pallet_balances::TotalIssuance::<Runtime>::put(1);
		(entries()..MAX_ENTRIES).for_each(litter);
		assert_eq!(entries(), MAX_ENTRIES);
		assert!(matches!(soundness(), Soundness::Broken(_)));
		litter(MAX_ENTRIES);
		assert_eq!(soundness(), Soundness::TooLarge { limit: MAX_ENTRIES });
		assert_eq!(soundness().to_string(), format!("the state has more than {MAX_ENTRIES} entries: too many to be checked in one call"));
	});
}
