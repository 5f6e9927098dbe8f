//! A runtime of system, time, balances, this pallet, and sessions that end when a test says so.

use crate as pallet_neuro_validators;
use frame_support::{
	parameter_types,
	traits::{fungible::Mutate, ConstU128, ConstU32},
	weights::Weight,
	PalletId,
};
use frame_system::EnsureRoot;
use neuroshard_test_support::ext;
pub use neuroshard_test_support::ED;
use neuroshard_types::{traits::BlockRewards, AccountId, Balance, BlockNumber};
use sp_runtime::{testing::UintAuthorityId, traits::ConvertInto, BuildStorage};

/// Smallest active self-bond of the mock.
pub const MIN_BOND: Balance = 1_000;
/// Smallest active nomination of the mock.
pub const MIN_NOMINATION: Balance = 100;
/// Cooldown of the mock, in blocks.
pub const COOLDOWN: BlockNumber = 50;
/// Blocks for which offenders of the mock are barred.
pub const BAR: BlockNumber = 80;
/// Sessions before the running one that can be reported about in the mock.
pub const KEPT: u32 = 2;
/// Blocks of a session of the mock.
pub const SESSION: BlockNumber = 10;
/// Free balance that [`account`]s below [`ACCOUNTS`] start with, before bonds.
pub const FUNDS: Balance = 1_000_000;
/// Number of accounts that exist at genesis.
pub const ACCOUNTS: u8 = 100;

/// The account number `tag`.
pub const fn account(tag: u8) -> AccountId {
	AccountId::new([tag; 32])
}

sp_runtime::impl_opaque_keys! {
	/// Session keys that nothing signs with.
	#[derive(codec::MaxEncodedLen)]
	pub struct Keys {
		/// Their only key.
		pub dummy: UintAuthorityId,
	}
}

neuroshard_test_support::runtime! {
	2: Validators = pallet_neuro_validators, 3: Session = pallet_session;
}

/// Sessions of the mock end in blocks whose number is a multiple of [`SESSION`]; most tests end them themselves, and begin no blocks.
pub struct EverySoOften;

impl pallet_session::ShouldEndSession<BlockNumber> for EverySoOften {
	fn should_end_session(now: BlockNumber) -> bool {
		now.is_multiple_of(SESSION)
	}
}

impl pallet_session::Config for Test {
	type RuntimeEvent = RuntimeEvent;
	type ValidatorId = AccountId;
	type ValidatorIdOf = ConvertInto;
	type ShouldEndSession = pallet_neuro_validators::EndedHere;
	type NextSessionRotation = ();
	type SessionManager = Validators;
	type SessionHandler = pallet_session::TestSessionHandler;
	type Keys = Keys;
	type DisablingStrategy = ();
	type WeightInfo = ();
	type Currency = Balances;
	type KeyDeposit = ConstU128<0>;
}

parameter_types! {
	/// Blocks for which offences can be reported; tests change it.
	pub static ReportPeriod: BlockNumber = 20;
	/// Reward of a block; tests change it.
	pub static BlockReward: Balance = 0;
	/// Weight of what consensus does at the end of a session.
	pub const ConsensusWeight: Weight = Weight::from_parts(7, 0);
	/// The pot.
	pub const PotId: PalletId = PalletId(*b"n/valida");
}

/// Issuance of the mock: [`BlockReward`] for every block.
pub struct Issuance;

impl BlockRewards<AccountId, Balance> for Issuance {
	fn pay_block(pot: &AccountId) -> Balance {
		Balances::mint_into(pot, BlockReward::get()).unwrap_or(0)
	}
}

impl pallet_neuro_validators::Config for Test {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type BlockRewards = Issuance;
	type Sessions = Session;
	type SessionEnd = EverySoOften;
	type ConsensusWeight = ConsensusWeight;
	type AdminOrigin = EnsureRoot<AccountId>;
	type ReportPeriod = ReportPeriod;
	type SessionsKept = ConstU32<KEPT>;
	type PotId = PotId;
	type MaxValidators = ConstU32<32>;
	type MaxCandidates = ConstU32<12>;
	type WeightInfo = ();
}

/// Genesis of the mock: two validators, candidates 1 and 2 with the minimum and session keys.
pub fn genesis() -> pallet_neuro_validators::GenesisConfig<Test> {
	pallet_neuro_validators::GenesisConfig {
		candidates: vec![(account(1), MIN_BOND), (account(2), MIN_BOND)],
		validator_count: 2,
		min_self_bond: MIN_BOND,
		min_nomination: MIN_NOMINATION,
		cooldown: COOLDOWN,
		bar_period: BAR,
		..Default::default()
	}
}

/// Session keys of an account.
pub fn keys(tag: u8) -> Keys {
	Keys { dummy: UintAuthorityId(tag.into()) }
}

/// Genesis storage with these values; the candidates of it have session keys.
pub fn storage(validators: pallet_neuro_validators::GenesisConfig<Test>) -> sp_runtime::Storage {
	let key = |who: &AccountId| (who.clone(), who.clone(), keys(AsRef::<[u8; 32]>::as_ref(who)[0]));
	let keys = validators.candidates.iter().map(|(who, _)| key(who)).collect();
	RuntimeGenesisConfig {
		balances: pallet_balances::GenesisConfig {
			balances: (1..ACCOUNTS).map(|tag| (account(tag), FUNDS)).collect(),
			..Default::default()
		},
		validators,
		session: pallet_session::GenesisConfig { keys, ..Default::default() },
		..Default::default()
	}
	.build_storage()
	.expect("genesis of the mock builds")
}

/// The mock at block 1.
pub fn new_test_ext() -> sp_io::TestExternalities {
	ext::<Test>(storage(genesis()), || ())
}

/// Runs `test` on the mock, then checks every invariant.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		Validators::do_try_state().expect("invariants hold after the test");
	});
}
