//! A runtime of system, balances and this pallet.

use crate as pallet_neuro_dataset;
use frame_support::{derive_impl, traits::ConstU128, weights::constants::RocksDbWeight};
use neuroshard_types::{
	dataset::{DatasetShape, Manifest},
	AccountId, Balance, H256,
};
use sp_runtime::{traits::IdentityLookup, BuildStorage};

/// Existential deposit of the mock.
pub const ED: Balance = 10;
/// Deposit for a manifest of no bytes.
pub const DEPOSIT_BASE: Balance = 1_000;
/// Deposit for a byte.
pub const DEPOSIT_PER_BYTE: Balance = 7;
/// Free balance that [`ALICE`] and [`BOB`] start with.
pub const FUNDS: Balance = 1_000_000_000;

/// A funded account.
pub const ALICE: AccountId = AccountId::new([1; 32]);
/// Another funded account.
pub const BOB: AccountId = AccountId::new([2; 32]);
/// An account without funds.
pub const NOBODY: AccountId = AccountId::new([9; 32]);

#[frame_support::runtime]
mod runtime {
	#[runtime::runtime]
	#[runtime::derive(
		RuntimeCall,
		RuntimeEvent,
		RuntimeError,
		RuntimeOrigin,
		RuntimeFreezeReason,
		RuntimeHoldReason,
		RuntimeSlashReason,
		RuntimeLockId,
		RuntimeTask,
		RuntimeViewFunction
	)]
	pub struct Test;

	#[runtime::pallet_index(0)]
	pub type System = frame_system;

	#[runtime::pallet_index(1)]
	pub type Balances = pallet_balances;

	#[runtime::pallet_index(2)]
	pub type Dataset = pallet_neuro_dataset;
}

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
	type Block = frame_system::mocking::MockBlockU32<Test>;
	type AccountId = AccountId;
	type Lookup = IdentityLookup<AccountId>;
	type AccountData = pallet_balances::AccountData<Balance>;
	type DbWeight = RocksDbWeight;
}

#[derive_impl(pallet_balances::config_preludes::TestDefaultConfig)]
impl pallet_balances::Config for Test {
	type Balance = Balance;
	type ExistentialDeposit = ConstU128<ED>;
	type AccountStore = System;
}

impl pallet_neuro_dataset::Config for Test {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type DepositBase = ConstU128<DEPOSIT_BASE>;
	type DepositPerByte = ConstU128<DEPOSIT_PER_BYTE>;
	type WeightInfo = ();
}

/// The mock at block 1.
pub fn new_test_ext() -> sp_io::TestExternalities {
	let genesis = RuntimeGenesisConfig {
		balances: pallet_balances::GenesisConfig { balances: vec![(ALICE, FUNDS), (BOB, FUNDS)], ..Default::default() },
		..Default::default()
	};
	let mut ext = sp_io::TestExternalities::new(genesis.build_storage().expect("genesis of the mock builds"));
	ext.execute_with(|| System::set_block_number(1));
	ext
}

/// Runs `test` on the mock, then checks every invariant.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		Dataset::do_try_state().expect("invariants hold after the test");
	});
}

/// A valid manifest: 5 shards of 5,000 tokens (3 chunks), 2 of them held out.
pub fn manifest() -> Manifest {
	let text = |text: &str| text.as_bytes().to_vec();
	Manifest {
		name: text("tiny").try_into().expect("short enough"),
		licence: text("Apache-2.0 OR MIT").try_into().expect("short enough"),
		source: text("sources of crates").try_into().expect("short enough"),
		tokenizer_hash: H256::repeat_byte(7),
		vocab: 1_024,
		shape: DatasetShape { tokens_per_shard: 5_000, shard_count: 5, held_out: 2 },
		root: H256::repeat_byte(8),
		bytes: 100_000,
	}
}
