//! States that earlier runtimes stored, and the blocks in which this one takes over.

use super::stored;
use codec::{Decode, Encode};
use frame_support::{
	assert_ok,
	storage::unhashed,
	traits::{
		fungible::{Inspect, InspectHold, Mutate, MutateHold},
		Get, GetStorageVersion, PalletsInfoAccess, StorageVersion, TryDecodeEntireStorage, TryState, TryStateSelect,
		UncheckedOnRuntimeUpgrade,
	},
};
use neuroshard_runtime::{
	holds::UnownedModels, invariants, migrations, AccountId, AllPalletsWithSystem, Balance, Balances, Dataset, Executive, Header,
	Ownership, Runtime, RuntimeCall, RuntimeGenesisConfig, RuntimeHoldReason, RuntimeOrigin, Session, Staking, System, Training,
	UncheckedExtrinsic, BLOCK_TIME_MS, NEURO, VERSION,
};
use neuroshard_types::{dataset::ShardRange, provider::ProviderStatus, H256};
use pallet_neuro_dataset::{Attestations, AttestedBy, Attesters, Challenges, Datasets, HoldReason as OfDataset};
use pallet_neuro_ownership::{Holding, Holdings, Model, Models, FRACTION_BITS};
use pallet_neuro_staking::{HoldReason as OfStaking, PeerIdOwner, PonwKeyOwner, Providers};
use pallet_neuro_training::{migrations::V2ToV3, HoldReason as OfTraining, Rounds, Runs};
use sp_consensus_babe::{
	digests::{PreDigest, SecondaryPlainPreDigest},
	BABE_ENGINE_ID,
};
use sp_core::U256;
use sp_io::{hashing::twox_128, TestExternalities};
use sp_keyring::Sr25519Keyring::{Alice, Bob, Charlie};
use sp_runtime::{traits::Header as _, BuildStorage, Digest, DigestItem};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// Genesis of the first chain with validators to elect: the oldest that can be upgraded.
const SPEC_2: &str = include_str!("fixtures/spec_2.json");
/// Genesis of the first chain with attestations of datasets.
const SPEC_3: &str = include_str!("fixtures/spec_3.json");
/// Genesis of the last chain before the pallets' storage had versions everywhere.
const SPEC_4: &str = include_str!("fixtures/spec_4.json");
/// Genesis of the last chain whose share holders paid no deposit.
const SPEC_5: &str = include_str!("fixtures/spec_5.json");
/// Blocks of three sessions.
const BLOCKS: u32 = 30;
/// Slot of the first block.
const FIRST_SLOT: u64 = 600_000_000;

/// A stored state.
fn state(json: &str) -> TestExternalities {
	let entries: BTreeMap<String, String> = serde_json::from_str(json).expect("keys and values");
	let bytes = |text: &str| sp_core::bytes::from_hex(text).expect("hexadecimal digits");
	let top = entries.iter().map(|(key, value)| (bytes(key), bytes(value))).collect();
	TestExternalities::new(sp_core::storage::Storage { top, children_default: Default::default() })
}

/// The release that the state is of, as the chain remembers it.
fn release() -> u32 {
	frame_system::LastRuntimeUpgrade::<Runtime>::get().expect("a runtime").spec_version.0
}

/// Makes these blocks as the node does, and checks every invariant after each. Returns the hash of the last.
fn blocks(mut parent: H256, numbers: RangeInclusive<u32>) -> H256 {
	for number in numbers {
		let slot = FIRST_SLOT + u64::from(number);
		let claim = PreDigest::SecondaryPlain(SecondaryPlainPreDigest { authority_index: number % 2, slot: slot.into() });
		let digest = Digest { logs: vec![DigestItem::PreRuntime(BABE_ENGINE_ID, claim.encode())] };
		Executive::initialize_block(&Header::new(number, Default::default(), Default::default(), parent, digest));
		let time = RuntimeCall::Timestamp(pallet_timestamp::Call::set { now: slot * BLOCK_TIME_MS });
		assert_ok!(Executive::apply_extrinsic(UncheckedExtrinsic::new_bare(time)).expect("an inherent"));
		parent = Executive::finalize_block().hash();
		assert_eq!(invariants::broken(), None, "after block {number}");
		assert_eq!(AllPalletsWithSystem::try_state(number, TryStateSelect::All), Ok(()), "the SDK's pallets after block {number}");
	}
	let unread = AllPalletsWithSystem::try_decode_entire_state().err().unwrap_or_default();
	assert!(unread.is_empty(), "{unread:?}");
	parent
}

/// The version of every pallet's storage, as it is stored.
fn versions() -> BTreeMap<&'static str, Option<StorageVersion>> {
	let stored = |name: &str| {
		let key = [twox_128(name.as_bytes()), twox_128(b":__STORAGE_VERSION__:")].concat();
		unhashed::get_raw(&key).map(|bytes| StorageVersion::decode(&mut &bytes[..]).expect("a version"))
	};
	AllPalletsWithSystem::infos().into_iter().map(|pallet| (pallet.name, stored(pallet.name))).collect()
}

/// Those with which a new chain begins.
fn newest_versions() -> BTreeMap<&'static str, Option<StorageVersion>> {
	TestExternalities::new(RuntimeGenesisConfig::default().build_storage().expect("a genesis")).execute_with(versions)
}

#[test]
fn states_of_all_releases_that_can_be_upgraded_go_on() {
	for (json, spec_version) in [(SPEC_2, 2), (SPEC_3, 3), (SPEC_4, 4), (SPEC_5, 5)] {
		state(json).execute_with(|| {
			assert_eq!(release(), spec_version);
			// The last releases store everything alike, but for a pallet that they did not have, configurations of runs, and bounds of what is registered.
			let changed = ["Inference", "Training", "Disputes", "Rewards", "Staking"];
			let known = |mut versions: BTreeMap<_, _>| changed.iter().all(|name| versions.remove(name).is_some()).then_some(versions);
			assert_eq!(known(versions()) == known(newest_versions()), spec_version >= 5);
			let issuance = Balances::total_issuance();
			assert!(issuance > 1_000_000 * NEURO, "it is all there");
			blocks(System::block_hash(0), 1..=BLOCKS);
			assert_eq!(release(), VERSION.spec_version);
			assert_eq!(versions(), newest_versions());
			assert_eq!(Session::current_index(), BLOCKS / 10 - 1);
			assert!(Balances::total_issuance() > issuance, "blocks are paid");
			assert_eq!(unhashed::get_raw(&[twox_128(b"Historical"), twox_128(b":__STORAGE_VERSION__:")].concat()), None);
		});
	}
}

/// Stores what the third release would have: a provider that attests datasets 0 and 1, of which the second is gone, with a challenge that could
/// not be answered; run 0 on the first dataset; and a deposit for the model of run 1, which is gone, without shares.
fn fill() {
	let [sponsor, challenger, who] = [Alice, Bob, Charlie].map(|key| key.to_account_id());
	unhashed::put_raw(&Providers::<Runtime>::hashed_key_for(&who), &stored::provider_2(2));
	let info = Providers::<Runtime>::get(&who).expect("a provider").info;
	PonwKeyOwner::<Runtime>::insert(info.ponw_key, &who);
	PeerIdOwner::<Runtime>::insert(info.peer_id, &who);
	put("Staking", "ActiveCounts", &[0u32, 1, 1, 0].map(u32::to_le_bytes).concat());

	unhashed::put_raw(&Datasets::<Runtime>::hashed_key_for(0), &stored::dataset(&sponsor, 1));
	put("Dataset", "CounterForDatasets", &1u32.to_le_bytes());
	put("Dataset", "NextId", &2u32.to_le_bytes());
	for (id, challenges) in [(0, 0), (1, 1)] {
		unhashed::put_raw(&Attestations::<Runtime>::hashed_key_for(id, &who), &stored::attestation(challenges));
		Attesters::<Runtime>::insert(id, 1);
	}
	unhashed::put_raw(&Challenges::<Runtime>::hashed_key_for((1, &who), &challenger), &stored::challenge());

	unhashed::put_raw(&Runs::<Runtime>::hashed_key_for(0), &stored::run(&sponsor));
	unhashed::put_raw(&Rounds::<Runtime>::hashed_key_for(0), &stored::round());
	// Run 0, and nothing is due.
	put("Training", "Active", &[4, 0, 0, 0, 0, 0]);
	put("Training", "NextRun", &2u32.to_le_bytes());

	hold(OfStaking::Bond, &who, 1_000 * NEURO);
	hold(OfDataset::Manifest, &sponsor, stored::DEPOSIT);
	hold(OfDataset::Attestation, &who, 2 * stored::DEPOSIT);
	hold(OfDataset::Challenge, &challenger, stored::BOND);
	hold(OfTraining::Run, &sponsor, stored::RUN_DEPOSIT);
	hold(OfTraining::Model, &sponsor, model_deposit());
}

fn put(pallet: &str, item: &str, value: &[u8]) {
	unhashed::put_raw(&[twox_128(pallet.as_bytes()), twox_128(item.as_bytes())].concat(), value);
}

fn hold(reason: impl Into<RuntimeHoldReason>, who: &AccountId, amount: Balance) {
	assert_ok!(Balances::hold(&reason.into(), who, amount));
}

fn held(reason: impl Into<RuntimeHoldReason>, who: &AccountId) -> Balance {
	Balances::balance_on_hold(&reason.into(), who)
}

fn model_deposit() -> Balance {
	<Runtime as pallet_neuro_training::Config>::ModelDeposit::get()
}

#[test]
fn what_the_third_release_stored_is_worked_with_after_the_upgrade() {
	state(SPEC_3).execute_with(|| {
		fill();
		let [sponsor, challenger, who] = [Alice, Bob, Charlie].map(|key| key.to_account_id());
		let stakes = Balances::total_balance(&who);
		assert_eq!(Dataset::on_chain_storage_version(), 1);
		assert!(invariants::broken().is_some(), "nothing lists what is attested");
		let last = blocks(System::block_hash(0), 1..=BLOCKS);
		assert_eq!(versions(), newest_versions());

		let provider = Staking::provider(who.clone()).expect("a provider");
		assert_eq!((provider.status, provider.bonded, provider.open_claims), (ProviderStatus::Active, 1_000 * NEURO, 1));
		assert_eq!(AttestedBy::<Runtime>::get(&who).into_inner(), [0]);
		assert_eq!(Dataset::holders(0, 4), std::slice::from_ref(&who));
		assert_eq!((Dataset::attestation(1, who.clone()), Challenges::<Runtime>::iter().count()), (None, 0));
		assert_eq!((held(OfDataset::Attestation, &who), held(OfDataset::Challenge, &challenger)), (stored::DEPOSIT, 0));
		assert_eq!(Balances::total_balance(&who), stakes, "it is not slashed");
		assert_eq!((held(OfTraining::Model, &sponsor), held(OfTraining::Run, &sponsor)), (0, stored::RUN_DEPOSIT));

		let signed = RuntimeOrigin::signed;
		assert_ok!(Dataset::attest(signed(who.clone()), 0, ShardRange { first: 0, count: 5 }));
		assert_ok!(Training::join(signed(who), 0));
		assert_ok!(Training::stop_run(signed(sponsor.clone()), 0));
		assert_ok!(Dataset::retire(signed(sponsor), 0));
		blocks(last, BLOCKS + 1..=BLOCKS + 10);
		assert_eq!(Dataset::dataset(0).expect("it stays a while").users, 0);
	});
}

#[test]
fn deposits_of_models_stay_where_all_have_shares() {
	state(SPEC_3).execute_with(|| {
		hold(OfTraining::Model, &Alice.to_account_id(), 2 * model_deposit());
		unhashed::put_raw(&Models::<Runtime>::hashed_key_for(0), &[]);
		assert_eq!(UnownedModels::get(), (holders(), vec![Alice.to_account_id()]));
		unhashed::put_raw(&Models::<Runtime>::hashed_key_for(1), &[]);
		assert_eq!(UnownedModels::get(), (holders(), vec![]));
	});
}

#[test]
fn who_had_left_a_model_and_not_claimed_can_claim_after_the_upgrade() {
	state(SPEC_5).execute_with(|| {
		let who = Charlie.to_account_id();
		let owed = U256::from(7 * NEURO) << FRACTION_BITS;
		Models::<Runtime>::insert(0, Model { revenue: 7 * NEURO, ..Default::default() });
		Holdings::<Runtime>::insert(&who, 0, Holding { owed, ..Default::default() });
		assert_ok!(Balances::mint_into(&Ownership::pot(), 7 * NEURO));
		let last = blocks(System::block_hash(0), 1..=2);
		let before = Balances::balance(&who);
		assert_ok!(Ownership::claim(RuntimeOrigin::signed(who.clone()), 0));
		assert_eq!(Balances::balance(&who) - before, 7 * NEURO);
		assert_eq!(Holdings::<Runtime>::iter().count(), 0);
		blocks(last, 3..=4);
	});
}

/// Accounts with something on hold.
fn holders() -> u64 {
	u64::try_from(pallet_balances::Holds::<Runtime>::iter_keys().count()).expect("few accounts")
}

#[test]
fn an_upgrade_has_to_keep_the_arithmetic_of_runs_until_nothing_of_them_can_be_disputed() {
	state(SPEC_3).execute_with(|| {
		fill();
		// It is asked when runs are as this runtime stores them.
		V2ToV3::<Runtime>::on_runtime_upgrade();
		assert_ok!(migrations::keeps_arithmetic());
		let change = |finished_at| {
			Runs::<Runtime>::mutate(0, |run| {
				let run = run.as_mut().expect("a run");
				run.config.train.arithmetic_version = 2;
				run.finished_at = finished_at;
			});
		};
		change(None);
		assert!(migrations::keeps_arithmetic().is_err());
		let history: u32 = <Runtime as pallet_neuro_training::Config>::HistoryPeriod::get();
		change(Some(5));
		System::set_block_number(4 + history);
		assert!(migrations::keeps_arithmetic().is_err());
		System::set_block_number(5 + history);
		assert_ok!(migrations::keeps_arithmetic());
	});
}
