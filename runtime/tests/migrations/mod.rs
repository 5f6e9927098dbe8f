//! Tests of what an upgrade to this runtime does to a state of the release before.

mod stored;

use codec::{Decode, Encode};
use frame_support::{
	assert_ok,
	storage::unhashed,
	traits::{
		fungible::{InspectHold, MutateHold},
		Get, OnRuntimeUpgrade, PalletsInfoAccess, TryDecodeEntireStorage, TryState, TryStateSelect,
	},
};
use neuroshard_runtime::{
	invariants, migrations, AccountId, AllPalletsWithSystem, Balance, Balances, Dataset, Executive, Header, Runtime, RuntimeCall,
	RuntimeGenesisConfig, RuntimeHoldReason, RuntimeOrigin, Session, Staking, System, Training, UncheckedExtrinsic, BLOCK_TIME_MS, NEURO,
	VERSION,
};
use neuroshard_types::{dataset::ShardRange, provider::ProviderStatus, H256};
use pallet_neuro_dataset::{Attestations, AttestedBy, Attesters, Challenges, Datasets, HoldReason as OfDataset};
use pallet_neuro_staking::{HoldReason as OfStaking, PeerIdOwner, PonwKeyOwner, Providers};
use pallet_neuro_training::{HoldReason as OfTraining, Rounds, Runs};
use sp_consensus_babe::{
	digests::{PreDigest, SecondaryPlainPreDigest},
	BABE_ENGINE_ID,
};
use sp_io::{hashing::twox_128, TestExternalities};
use sp_keyring::Sr25519Keyring::{Alice, Bob, Charlie};
use sp_runtime::{traits::Header as _, BuildStorage, Digest, DigestItem, TryRuntimeError};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// Genesis of the release before.
const BEFORE: &str = include_str!("fixtures/spec_18.json");
/// Its `spec_version`.
const SPEC_VERSION_BEFORE: u32 = 18;
/// Names of our own pallets, as keys of the state begin with them.
const OUR_PALLETS: [&str; 11] =
	["Parameters", "Validators", "Enactment", "Ponw", "Disputes", "Staking", "Dataset", "Training", "Rewards", "Ownership", "Inference"];
/// Blocks of three sessions.
const BLOCKS: u32 = 30;
/// Slot of the first block.
const FIRST_SLOT: u64 = 600_000_000;

/// The state of the release before.
fn before() -> TestExternalities {
	let entries: BTreeMap<String, String> = serde_json::from_str(BEFORE).expect("keys and values");
	let bytes = |text: &str| sp_core::bytes::from_hex(text).expect("hexadecimal digits");
	let top = entries.iter().map(|(key, value)| (bytes(key), bytes(value))).collect();
	TestExternalities::new(sp_core::storage::Storage { top, children_default: Default::default() })
}

/// A chain that begins with this runtime.
fn new_chain() -> TestExternalities {
	TestExternalities::new(RuntimeGenesisConfig::default().build_storage().expect("a genesis"))
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

/// Key of the version of a pallet's storage.
fn version_key(pallet: &str) -> Vec<u8> {
	[twox_128(pallet.as_bytes()), twox_128(b":__STORAGE_VERSION__:")].concat()
}

/// The version of every pallet's storage, as it is stored.
fn versions() -> BTreeMap<&'static str, Option<u16>> {
	let stored = |name| unhashed::get_raw(&version_key(name)).map(|bytes| u16::decode(&mut &bytes[..]).expect("a version"));
	AllPalletsWithSystem::infos().into_iter().map(|pallet| (pallet.name, stored(pallet.name))).collect()
}

/// What tools that try an upgrade find out about the pallets when all migrations are through.
fn migrated() -> Result<(), TryRuntimeError> {
	AllPalletsWithSystem::try_on_runtime_upgrade(true).map(|_| ())
}

#[test]
fn storage_of_another_version_than_the_code_is_refused_where_an_upgrade_is_tried() {
	new_chain().execute_with(|| {
		assert_eq!(migrated(), Ok(()), "a new chain begins with the versions of the code");
		let versions = versions();
		for pallet in OUR_PALLETS {
			let version = versions[pallet].expect("a version");
			assert!(version > 0, "{pallet}");
			for other in [version - 1, version + 1] {
				unhashed::put(&version_key(pallet), &other);
				assert!(migrated().is_err(), "{pallet}");
			}
			unhashed::put(&version_key(pallet), &version);
			assert_eq!(migrated(), Ok(()), "{pallet}");
		}
	});
}

#[test]
fn a_state_of_the_release_before_goes_on() {
	let newest = new_chain().execute_with(versions);
	before().execute_with(|| {
		assert_eq!(release(), SPEC_VERSION_BEFORE);
		let issuance = Balances::total_issuance();
		assert!(issuance > 1_000_000 * NEURO, "it is all there");
		blocks(System::block_hash(0), 1..=BLOCKS);
		assert_eq!(release(), VERSION.spec_version);
		assert_eq!(versions(), newest);
		assert_eq!(Session::current_index(), BLOCKS / 10 - 1);
		assert!(Balances::total_issuance() > issuance, "blocks are paid");
	});
}

/// Stores what the release before would have: a provider that attests dataset 0, with a challenge that can be answered until block 30, and run 0 on that
/// dataset.
fn fill() {
	let [sponsor, challenger, who] = [Alice, Bob, Charlie].map(|key| key.to_account_id());
	unhashed::put_raw(&Providers::<Runtime>::hashed_key_for(&who), &stored::provider(1));
	let info = Providers::<Runtime>::get(&who).expect("a provider").info;
	PonwKeyOwner::<Runtime>::insert(info.ponw_key, &who);
	PeerIdOwner::<Runtime>::insert(info.peer_id, &who);
	put("Staking", "ActiveCounts", &[0u32, 1, 1, 0].map(u32::to_le_bytes).concat());

	unhashed::put_raw(&Datasets::<Runtime>::hashed_key_for(0), &stored::dataset(&sponsor, 1));
	put("Dataset", "CounterForDatasets", &1u32.to_le_bytes());
	put("Dataset", "NextId", &1u32.to_le_bytes());
	unhashed::put_raw(&Attestations::<Runtime>::hashed_key_for(0, &who), &stored::attestation(1));
	// One dataset, the first one.
	unhashed::put_raw(&AttestedBy::<Runtime>::hashed_key_for(&who), &[4, 0, 0, 0, 0]);
	Attesters::<Runtime>::insert(0, 1);
	unhashed::put_raw(&Challenges::<Runtime>::hashed_key_for((0, &who), &challenger), &stored::challenge());

	unhashed::put_raw(&Runs::<Runtime>::hashed_key_for(0), &stored::run(&sponsor));
	unhashed::put_raw(&Rounds::<Runtime>::hashed_key_for(0), &stored::round());
	// Run 0, and nothing is due.
	put("Training", "Active", &[4, 0, 0, 0, 0, 0]);
	put("Training", "NextRun", &1u32.to_le_bytes());

	hold(OfStaking::Bond, &who, 1_000 * NEURO);
	hold(OfDataset::Manifest, &sponsor, stored::DEPOSIT);
	hold(OfDataset::Attestation, &who, stored::DEPOSIT);
	hold(OfDataset::Challenge, &challenger, stored::BOND);
	hold(OfTraining::Run, &sponsor, stored::RUN_DEPOSIT);
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

#[test]
fn what_the_release_before_stored_is_worked_with_after_the_upgrade() {
	before().execute_with(|| {
		fill();
		let [sponsor, challenger, who] = [Alice, Bob, Charlie].map(|key| key.to_account_id());
		let last = blocks(System::block_hash(0), 1..=BLOCKS);
		let provider = Staking::provider(who.clone()).expect("a provider");
		assert_eq!((provider.status, provider.bonded, provider.open_claims), (ProviderStatus::Active, 1_000 * NEURO, 1));
		assert_eq!(Dataset::holders(0, 4), std::slice::from_ref(&who));
		assert_eq!((held(OfDataset::Attestation, &who), held(OfDataset::Challenge, &challenger)), (stored::DEPOSIT, stored::BOND));
		assert_eq!(held(OfTraining::Run, &sponsor), stored::RUN_DEPOSIT);

		let signed = RuntimeOrigin::signed;
		assert_ok!(Dataset::attest(signed(who.clone()), 0, ShardRange { first: 0, count: 5 }));
		assert_ok!(Training::join(signed(who.clone()), 0));
		assert_ok!(Training::stop_run(signed(sponsor.clone()), 0));
		assert_ok!(Dataset::retire(signed(sponsor), 0));
		let last = blocks(last, BLOCKS + 1..=BLOCKS + 10);
		assert_eq!(Dataset::dataset(0).expect("it stays a while").users, 0);
		assert_ok!(Dataset::conclude_challenge(signed(challenger.clone()), 0, who.clone(), challenger.clone()));
		assert_eq!((held(OfDataset::Attestation, &who), held(OfDataset::Challenge, &challenger)), (0, 0));
		// A missed challenge costs 100 NEURO at least.
		assert!(Staking::provider(who).expect("a provider").bonded <= 900 * NEURO);
		blocks(last, BLOCKS + 11..=BLOCKS + 12);
	});
}

#[test]
fn an_upgrade_has_to_keep_the_arithmetic_of_runs_until_nothing_of_them_can_be_disputed() {
	before().execute_with(|| {
		fill();
		// It is asked when runs are as this runtime stores them.
		migrations::SingleBlock::on_runtime_upgrade();
		assert_ok!(migrations::keeps_arithmetic());
		let change = |finished_at| {
			Runs::<Runtime>::mutate(0, |run| {
				let run = run.as_mut().expect("a run");
				run.config.train.arithmetic_version = 3;
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
