//! A runtime of system, balances and this pallet, with bonds that tests set.

use crate as pallet_neuro_rewards;
use alloc::collections::BTreeMap;
use frame_support::{
	parameter_types,
	traits::{
		fungible::{Balanced, Credit},
		Hooks, OnUnbalanced,
	},
};
use frame_system::EnsureRoot;
use neuroshard_test_support::ext;
pub use neuroshard_test_support::ED;
use neuroshard_types::{
	offence::Offence,
	proof::ProofKind,
	provider::{HardwareProfile, PonwKey, Role},
	reward::EraIndex,
	traits::{Providers, SlashTo, WorkCredits},
	AccountId, Balance, BlockNumber, NEURO,
};
use sp_runtime::{BuildStorage, DispatchResult};

/// An account with money and a bond of 1,000 NEURO.
pub const ALICE: AccountId = AccountId::new([1; 32]);
/// Another one.
pub const BOB: AccountId = AccountId::new([2; 32]);
/// Account of the treasury, with [`FUNDS`].
pub const TREASURY: AccountId = AccountId::new([3; 32]);
/// Author of blocks, with [`FUNDS`].
pub const VALIDATOR: AccountId = AccountId::new([4; 32]);
/// An account that does not exist at genesis and has no bond.
pub const NOBODY: AccountId = AccountId::new([9; 32]);
/// Free balance that the others start with.
pub const FUNDS: Balance = 1_000;
/// Blocks of an era of the mock.
pub const ERA: BlockNumber = 10;
/// Eras that can be claimed.
pub const DEPTH: EraIndex = 3;
/// Budget of the first era of the mock.
pub const INITIAL: Balance = 1_000_000;

neuroshard_test_support::runtime! {
	2: Rewards = pallet_neuro_rewards;
}

/// Bond of a provider of the mock.
#[derive(Clone, Copy, Default)]
pub struct Bond {
	/// Active.
	pub active: Balance,
	/// On its way out.
	pub unbonding: Balance,
}

parameter_types! {
	/// Bonds of the providers.
	pub static Bonds: BTreeMap<AccountId, Bond> = BTreeMap::new();
	/// Reputations that are not 100.
	pub static Reputations: BTreeMap<AccountId, u32> = BTreeMap::new();
	/// Number of providers that offer each role.
	pub static Offered: BTreeMap<Role, u32> = BTreeMap::new();
	/// Author of the block, which gets the validators' share of fees, if there is one.
	pub static Author: Option<AccountId> = Some(VALIDATOR);
	/// The treasury's account.
	pub const Treasury: AccountId = TREASURY;
}

/// Pays the validators' share of fees to [`Author`]; without one it is burned.
pub struct ToAuthor;

impl OnUnbalanced<Credit<AccountId, Balances>> for ToAuthor {
	fn on_nonzero_unbalanced(credit: Credit<AccountId, Balances>) {
		if let Some(author) = Author::get() {
			drop(Balances::resolve(&author, credit));
		}
	}
}

/// Providers with the bonds of [`Bonds`], the reputations of [`Reputations`] and the roles of [`Offered`].
pub struct MockProviders;

impl MockProviders {
	fn of(who: &AccountId) -> Bond {
		Bonds::get().get(who).copied().unwrap_or_default()
	}
}

impl Providers<AccountId, Balance> for MockProviders {
	fn acts_for(signer: AccountId) -> AccountId {
		signer
	}
	fn is_active(_: &AccountId, _: Role) -> bool {
		true
	}
	fn active_count(role: Role) -> u32 {
		Offered::get().get(&role).copied().unwrap_or_default()
	}
	fn reputation(who: &AccountId) -> u32 {
		Reputations::get().get(who).copied().unwrap_or(100)
	}
	fn bond(who: &AccountId) -> Balance {
		Self::of(who).active
	}
	fn slashable(who: &AccountId) -> Balance {
		Self::of(who).active.saturating_add(Self::of(who).unbonding)
	}
	fn ponw_key(_: &AccountId) -> Option<PonwKey> {
		None
	}
	fn hardware(_: &AccountId) -> Option<HardwareProfile> {
		None
	}
	fn slash(_: &AccountId, _: Balance, _: SlashTo<'_, AccountId>) -> Balance {
		0
	}
	fn open_claim(_: &AccountId) -> DispatchResult {
		Ok(())
	}
	fn close_claim(_: &AccountId) {}
	fn note_disputable(_: &AccountId) {}
	fn note_success(_: &AccountId) {}
	fn note_uptime(_: &AccountId) {}
	fn note_failure(_: &AccountId, _: u32) {}
	fn note_audit_reported(_: &AccountId) {}
	fn note_audit_missed(_: &AccountId, _: BlockNumber) {}
	fn punish(_: &AccountId, _: Offence) -> Balance {
		0
	}
}

impl pallet_neuro_rewards::Config for Test {
	type Currency = Balances;
	type Providers = MockProviders;
	type AdminOrigin = EnsureRoot<AccountId>;
	type Treasury = Treasury;
	type ValidatorPool = ToAuthor;
	type WeightInfo = ();
}

/// Sets the bond of `who`.
pub fn bond(who: &AccountId, active: Balance, unbonding: Balance) {
	Bonds::mutate(|bonds| bonds.insert(who.clone(), Bond { active, unbonding }));
}

/// Genesis values of the mock: eras of 10 blocks, 3 of them kept, budgets 1,000,000, 900,000, 810,000 ... not below 500,000, all of them for
/// training.
pub fn genesis() -> pallet_neuro_rewards::GenesisConfig<Test> {
	pallet_neuro_rewards::GenesisConfig {
		era_length: ERA,
		history_depth: DEPTH,
		initial_budget: INITIAL,
		budget_floor: INITIAL / 2,
		decay_ratio: 900_000_000_000_000_000,
		eras_per_step: 1,
		budget_shares: [1_000_000, 0, 0],
		..Default::default()
	}
}

/// [`genesis`] with budgets of which 80% are for training, 15% for validation and 5% for the treasury.
pub fn with_shares() -> pallet_neuro_rewards::GenesisConfig<Test> {
	pallet_neuro_rewards::GenesisConfig { budget_shares: [800_000, 150_000, 50_000], ..genesis() }
}

/// Genesis storage of the mock with these reward values.
pub fn storage(rewards: pallet_neuro_rewards::GenesisConfig<Test>) -> sp_runtime::Storage {
	RuntimeGenesisConfig {
		balances: pallet_balances::GenesisConfig {
			balances: [ALICE, BOB, TREASURY, VALIDATOR].map(|who| (who, FUNDS)).into(),
			..Default::default()
		},
		rewards,
		..Default::default()
	}
	.build_storage()
	.expect("genesis of the mock builds")
}

/// The mock at block 1.
pub fn new_test_ext() -> sp_io::TestExternalities {
	ext_with(genesis())
}

/// The mock at block 1 with these genesis values.
pub fn ext_with(rewards: pallet_neuro_rewards::GenesisConfig<Test>) -> sp_io::TestExternalities {
	ext::<Test>(storage(rewards), || {
		Bonds::set(BTreeMap::new());
		Reputations::set(BTreeMap::new());
		Offered::set(BTreeMap::new());
		Author::set(Some(VALIDATOR));
		bond(&ALICE, 1_000 * NEURO, 0);
		bond(&BOB, 1_000 * NEURO, 0);
	})
}

/// Runs `test` on the mock, then checks every invariant, and that issuance grew by exactly what was minted, less what was burned.
pub fn build_and_execute(test: impl FnOnce()) {
	execute_with(genesis(), test);
}

/// As [`build_and_execute`], with these genesis values.
pub fn execute_with(rewards: pallet_neuro_rewards::GenesisConfig<Test>, test: impl FnOnce()) {
	ext_with(rewards).execute_with(|| {
		let before = Balances::total_issuance();
		test();
		check_invariants(before);
	});
}

/// The pallet's invariants, and issuance grown from `before` by exactly what was minted, less what was burned.
pub fn check_invariants(before: Balance) {
	Rewards::do_try_state().expect("invariants hold");
	let sums = Rewards::issuance();
	assert_eq!(Balances::total_issuance() + sums.burned, before + sums.claimed + sums.to_validators + sums.to_treasury);
}

/// Goes to block `to`, with hooks.
pub fn run_to(to: BlockNumber) {
	while System::block_number() < to {
		let next = System::block_number() + 1;
		System::set_block_number(next);
		Rewards::on_initialize(next);
		Rewards::do_try_state().expect("invariants hold after every block");
	}
}

/// Goes to the first block of era `era`.
pub fn run_to_era(era: EraIndex) {
	run_to(era * ERA);
}

/// Credits `units` of training done as a worker.
pub fn work(who: &AccountId, units: u128) {
	Rewards::credit(who, ProofKind::Training, Role::Worker, units);
}
