//! What the runtime answers those who ask whether its state is sound.

use frame_support::traits::fungible::{Mutate, MutateHold};
use neuroshard_runtime::{
	invariants::{soundness, MAX_ENTRIES},
	AccountId, Balances, Runtime, RuntimeGenesisConfig, RuntimeHoldReason, NEURO,
};
use neuroshard_types::soundness::Soundness;
use sp_runtime::BuildStorage;

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
	let reasons: [RuntimeHoldReason; 9] = [
		pallet_neuro_staking::HoldReason::Bond.into(),
		pallet_neuro_validators::HoldReason::SelfBond.into(),
		pallet_neuro_validators::HoldReason::Nomination.into(),
		pallet_neuro_dataset::HoldReason::Manifest.into(),
		pallet_neuro_dataset::HoldReason::Attestation.into(),
		pallet_neuro_dataset::HoldReason::Challenge.into(),
		pallet_neuro_training::HoldReason::Run.into(),
		pallet_neuro_training::HoldReason::Model.into(),
		pallet_neuro_disputes::HoldReason::Challenge.into(),
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
