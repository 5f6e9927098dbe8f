//! A runtime of system, balances and this pallet.

use crate as pallet_neuro_staking;
use frame_support::{
	parameter_types,
	traits::{ConstU32, Randomness},
};
use frame_system::EnsureRoot;
use neuroshard_test_support::ext;
pub use neuroshard_test_support::ED;
use neuroshard_types::{
	provider::{HardwareProfile, ProviderInfo, Role, Roles, VerifierBonds},
	AccountId, Balance, BlockNumber, H256,
};
use sp_runtime::BuildStorage;

/// Smallest active bond of the mock.
pub const MIN_BOND: Balance = 1_000;
/// Cooldown of the mock, in blocks.
pub const COOLDOWN: BlockNumber = 50;
/// Free balance that [`ALICE`], [`BOB`] and [`CHARLIE`] start with.
pub const FUNDS: Balance = 100_000;

/// A funded account.
pub const ALICE: AccountId = AccountId::new([1; 32]);
/// Another funded account.
pub const BOB: AccountId = AccountId::new([2; 32]);
/// A third funded account.
pub const CHARLIE: AccountId = AccountId::new([3; 32]);
/// An account that does not exist at genesis.
pub const NOBODY: AccountId = AccountId::new([9; 32]);

neuroshard_test_support::runtime! {
	2: Staking = pallet_neuro_staking;
}

parameter_types! {
	/// Blocks for which claims can be disputed; tests change it.
	pub static DisputePeriod: BlockNumber = 20;
	/// Output of the mock's randomness; tests change it.
	pub static Random: H256 = H256::repeat_byte(0x5a);
}

/// [`Randomness`] of the mock: whatever tests set.
pub struct MockRandomness;

impl Randomness<H256, BlockNumber> for MockRandomness {
	fn random(_subject: &[u8]) -> (H256, BlockNumber) {
		(Random::get(), 0)
	}
}

/// Least bonds of verifiers in the mock: [`MIN_BOND`] up to two of them.
pub const VERIFIER_BONDS: VerifierBonds = VerifierBonds { steps: [(2, MIN_BOND), (3, 2_000), (4, 2_000), (5, 4_000)], above: 8_000 };
/// Blocks of a day in the mock.
pub const DAY: BlockNumber = 10;

impl pallet_neuro_staking::Config for Test {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type DisputePeriod = DisputePeriod;
	type Randomness = MockRandomness;
	type BlocksPerDay = ConstU32<DAY>;
	type SlashOrigin = EnsureRoot<AccountId>;
	type WeightInfo = ();
}

/// Genesis storage with these staking values.
pub fn storage(cooldown: BlockNumber, min_bond: Balance) -> sp_runtime::Storage {
	RuntimeGenesisConfig {
		balances: pallet_balances::GenesisConfig { balances: vec![(ALICE, FUNDS), (BOB, FUNDS), (CHARLIE, FUNDS)], ..Default::default() },
		staking: pallet_neuro_staking::GenesisConfig { cooldown, min_bond, verifier_bonds: VERIFIER_BONDS, ..Default::default() },
		..Default::default()
	}
	.build_storage()
	.expect("genesis of the mock builds")
}

/// The mock at block 1.
pub fn new_test_ext() -> sp_io::TestExternalities {
	ext::<Test>(storage(COOLDOWN, MIN_BOND), || ())
}

/// Runs `test` on the mock, then checks every invariant.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		Staking::do_try_state().expect("invariants hold after the test");
	});
}

/// Returns the registration of provider number `tag`: a worker with one address.
pub fn info(tag: u8) -> ProviderInfo {
	let mut ponw_key = [tag; 33];
	ponw_key[0] = 2;
	// An ed25519 key in a protobuf of 36 bytes, held by an identity multihash.
	let mut peer_id = vec![0x00, 36, 0x08, 0x01, 0x12, 0x20];
	peer_id.resize(38, tag);
	ProviderInfo {
		roles: Roles::only(Role::Worker),
		hardware: HardwareProfile { gflops: 200, memory_mib: 4_096, bandwidth_kib_s: 1_000 },
		ponw_key,
		peer_id: peer_id.try_into().expect("38 bytes fit"),
		addresses: vec![vec![4, 127, 0, 0, tag].try_into().expect("5 bytes fit")].try_into().expect("one address fits"),
	}
}
