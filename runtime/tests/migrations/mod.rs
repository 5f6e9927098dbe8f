//! What an upgrade to this runtime does to a state of an earlier one.

use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, StorageVersion},
};
use neuroshard_runtime::{invariants, Executive, Runtime, RuntimeGenesisConfig, SessionKeys, Staking, Validators};
use neuroshard_types::{provider::ProviderStatus, AccountId, NEURO};
use pallet_neuro_staking::Providers;
use pallet_neuro_validators::{FirstSessions, Sets};
use sp_io::hashing::twox_128;
use sp_keyring::Sr25519Keyring::{Alice, Bob};
use sp_runtime::{traits::OpaqueKeys, BuildStorage};

mod old_states;
mod stored;

#[test]
fn an_upgrade_from_the_first_version_keeps_providers_and_counts_them() {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("the default genesis builds");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		let who = AccountId::new([7; 32]);
		StorageVersion::new(1).put::<Staking>();
		unhashed::put_raw(&Providers::<Runtime>::hashed_key_for(&who), &stored::provider_1(0));
		Executive::execute_on_runtime_upgrade();
		let view = Staking::provider(who).expect("a provider");
		assert_eq!((view.status, view.bonded, view.reputation), (ProviderStatus::Active, 1_000 * NEURO, 300));
		assert_eq!((view.locked_until, view.suspended_until), (0, 0));
		assert_eq!(Staking::active_counts(), [0, 1, 1, 0]);
		assert_eq!(Staking::on_chain_storage_version(), Staking::in_code_storage_version());
	});
}

#[test]
fn an_upgrade_forgets_the_roots_of_earlier_sets() {
	let storage = RuntimeGenesisConfig::default().build_storage().expect("the default genesis builds");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		let key = [&twox_128(b"Historical")[..], &twox_128(b"HistoricalSessions"), &[1; 12]].concat();
		unhashed::put_raw(&key, &[7; 36]);
		Executive::execute_on_runtime_upgrade();
		assert_eq!(unhashed::get_raw(&key), None);
	});
}

#[test]
fn an_upgrade_remembers_the_sets_of_the_running_session_and_of_the_next() {
	let mut genesis = RuntimeGenesisConfig::default();
	let keys = |seed| SessionKeys {
		babe: sp_core::sr25519::Public::from_raw([seed; 32]).into(),
		grandpa: sp_core::ed25519::Public::from_raw([seed; 32]).into(),
	};
	let validators = [(Alice.to_account_id(), keys(1)), (Bob.to_account_id(), keys(2))];
	genesis.balances.balances = validators.iter().map(|(who, _)| (who.clone(), 10_000 * NEURO)).collect();
	genesis.validators.candidates = validators.iter().map(|(who, _)| (who.clone(), 1_000 * NEURO)).collect();
	genesis.session.keys = validators.iter().map(|(who, keys)| (who.clone(), who.clone(), keys.clone())).collect();
	let storage = genesis.build_storage().expect("a genesis");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		let _ = FirstSessions::<Runtime>::clear(u32::MAX, None);
		let _ = Sets::<Runtime>::clear(u32::MAX, None);
		StorageVersion::new(1).put::<Validators>();
		Executive::execute_on_runtime_upgrade();
		for (who, keys) in validators {
			for id in SessionKeys::key_ids() {
				for session in [0, 1] {
					let owner = Validators::key_owner(session, *id, keys.get_raw(*id));
					assert_eq!(owner.map(|((owner, _), validators)| (owner, validators)), Some((who.clone(), 2)));
				}
			}
		}
		assert_eq!(Validators::on_chain_storage_version(), Validators::in_code_storage_version());
		assert_eq!(invariants::broken(), None);
	});
}
