//! Governance wired together: who decides what, and what nobody can stop.

mod accounts;
mod carriers;
mod datasets;
mod enactment;
mod motions;
mod origins;
mod safe_mode;
mod shares;
mod switch;

use crate::common::{dataset, provider};
use codec::Encode;
use frame_support::{assert_ok, traits::Hooks};
use neuroshard_runtime::{
	invariants, AccountId, Council, Dataset, Runtime, RuntimeCall, RuntimeEvent, RuntimeGenesisConfig, RuntimeOrigin, SafeMode, Scheduler,
	System, TechnicalCommittee, Training, NEURO,
};
use neuroshard_types::{
	dataset::Tokenizer,
	run::{PhaseDurations, RunConfig, RunStart},
	ModelConfig, TrainConfig, H256,
};
use sp_keyring::Sr25519Keyring::{self, Alice, Bob, Charlie, Dave, Eve, Ferdie};
use sp_runtime::{
	traits::{BlakeTwo256, Dispatchable, Hash},
	BuildStorage, DispatchError, DispatchResult,
};

/// Balance that everybody starts with.
const FUNDS: u128 = 1_000_000 * NEURO;
/// The dispatch error of a call that a filter refuses.
const FILTERED: DispatchError =
	DispatchError::Module(sp_runtime::ModuleError { index: 0, error: [5, 0, 0, 0], message: Some("CallFiltered") });

/// A chain with Alice, Bob and Charlie in the council, Charlie, Dave and Eve in the technical committee, and no sudo key.
fn execute(test: impl FnOnce()) {
	let accounts = |keys: [Sr25519Keyring; 3]| keys.map(account).to_vec();
	let mut genesis = RuntimeGenesisConfig::default();
	genesis.balances.balances = [Alice, Bob, Charlie, Dave, Eve, Ferdie].map(|key| (account(key), FUNDS)).to_vec();
	genesis.council.members = accounts([Alice, Bob, Charlie]);
	genesis.technical_committee.members = accounts([Charlie, Dave, Eve]);
	let storage = genesis.build_storage().expect("a genesis");
	sp_io::TestExternalities::new(storage).execute_with(|| {
		next_block();
		test();
		assert_eq!(invariants::broken(), None);
	});
}

fn next_block() {
	let number = System::block_number() + 1;
	System::set_block_number(number);
	SafeMode::on_initialize(number);
	Scheduler::on_initialize(number);
	pallet_timestamp::Now::<Runtime>::put(u64::from(number) * 3_000 + 1_700_000_000_000);
}

fn account(key: Sr25519Keyring) -> AccountId {
	key.to_account_id()
}

fn signed(key: Sr25519Keyring) -> RuntimeOrigin {
	RuntimeOrigin::signed(account(key))
}

fn dispatch(key: Sr25519Keyring, call: impl Into<RuntimeCall>) -> DispatchResult {
	call.into().dispatch(signed(key)).map(|_| ()).map_err(|error| error.error)
}

fn length(call: &RuntimeCall) -> u32 {
	call.encoded_size().try_into().expect("a short call")
}

/// Returns the result of a motion of two out of the three members of the council, by extrinsics as a wallet would send them.
fn council(call: impl Into<RuntimeCall>) -> DispatchResult {
	let call = call.into();
	let (hash, index) = (BlakeTwo256::hash_of(&call), pallet_collective::ProposalCount::<Runtime, pallet_collective::Instance1>::get());
	assert_ok!(Council::propose(signed(Alice), 2, Box::new(call.clone()), length(&call)));
	for member in [Alice, Bob] {
		assert_ok!(Council::vote(signed(member), hash, index, true));
	}
	assert_ok!(Council::close(signed(Ferdie), hash, index, weight(&call), length(&call)));
	let executed = |event| match event {
		RuntimeEvent::Council(pallet_collective::Event::Executed { proposal_hash, result }) if proposal_hash == hash => Some(result),
		_ => None,
	};
	last(executed)
}

/// Returns the result of a motion of two out of the three members of the technical committee.
fn committee(call: impl Into<RuntimeCall>) -> DispatchResult {
	let call = call.into();
	let (hash, index) = (BlakeTwo256::hash_of(&call), pallet_collective::ProposalCount::<Runtime, pallet_collective::Instance2>::get());
	assert_ok!(TechnicalCommittee::propose(signed(Dave), 2, Box::new(call.clone()), length(&call)));
	for member in [Dave, Eve] {
		assert_ok!(TechnicalCommittee::vote(signed(member), hash, index, true));
	}
	assert_ok!(TechnicalCommittee::close(signed(Ferdie), hash, index, weight(&call), length(&call)));
	let executed = |event| match event {
		RuntimeEvent::TechnicalCommittee(pallet_collective::Event::Executed { proposal_hash, result }) if proposal_hash == hash => {
			Some(result)
		}
		_ => None,
	};
	last(executed)
}

fn weight(call: &RuntimeCall) -> frame_support::weights::Weight {
	frame_support::dispatch::GetDispatchInfo::get_dispatch_info(call).call_weight
}

/// The last event that `wanted` knows.
fn last<R>(wanted: impl Fn(RuntimeEvent) -> Option<R>) -> R {
	System::events().into_iter().rev().find_map(|record| wanted(record.event)).expect("such an event")
}

fn transfer(to: Sr25519Keyring, amount: u128) -> RuntimeCall {
	pallet_balances::Call::transfer_allow_death { dest: account(to).into(), value: amount }.into()
}

/// Creates run 0, whose sponsor is Ferdie.
fn create_run() {
	assert_ok!(Dataset::propose(signed(Ferdie), dataset::manifest(4)));
	assert_ok!(Dataset::activate(signed(Ferdie), 0));
	let config = RunConfig {
		name: b"run".to_vec().try_into().expect("a short name"),
		dataset: 0,
		model: ModelConfig { vocab: 288, ..ModelConfig::tiny() },
		train: TrainConfig { validation_sequences: 2, ..TrainConfig::tiny() },
		genesis_root: H256([5; 32]),
		start: RunStart::Seed,
		min_participants: 1,
		max_participants: 4,
		min_bond: 100 * NEURO,
		rounds: Some(1),
		durations: PhaseDurations { joining: 2, training: 5, revealing: 5, availability: 5, checkpointing: 5 },
		tokenizer: Tokenizer::BYTES,
		overlaps: false,
		epochs: true,
	};
	assert_ok!(Training::create_run(signed(Ferdie), config));
}

fn is_active() -> bool {
	Training::run(0).is_some_and(|run| run.status == neuroshard_types::run::RunStatus::Active)
}
