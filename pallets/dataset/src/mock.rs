//! A runtime of system, balances and this pallet, with providers that tests set.

use crate as pallet_neuro_dataset;
use frame_support::{
	parameter_types,
	traits::{
		fungible::{Inspect, Mutate},
		tokens::{Fortitude, Precision, Preservation},
		ConstU128,
	},
};
use frame_system::EnsureRoot;
use neuroshard_test_support::ext;
use neuroshard_types::{
	dataset::{DatasetShape, Manifest, TextTokens, Tokenizer},
	offence::Offence,
	provider::{HardwareProfile, PonwKey, Role},
	traits::{Providers, SlashTo},
	AccountId, Balance, BlockNumber, H256,
};
use sp_runtime::DispatchResult;
use std::collections::{BTreeMap, BTreeSet};

/// Deposit for a manifest of no bytes.
pub const DEPOSIT_BASE: Balance = 1_000;
/// Deposit for a byte.
pub const DEPOSIT_PER_BYTE: Balance = 7;
/// Deposit for an attestation.
pub const ATTESTATION_DEPOSIT: Balance = 500;
/// Bond of a challenge: odd, so that its halves differ.
pub const BOND: Balance = 2_001;
/// Penalty of an attester that does not answer.
pub const PENALTY: Balance = 10_001;
/// Stake of each provider.
pub const STAKE: Balance = 50_000;
/// Blocks for which an attestation holds.
pub const PERIOD: BlockNumber = 40;
/// Blocks for an answer.
pub const ANSWER_TIME: BlockNumber = 5;
/// Free balance that [`ALICE`], [`BOB`] and others with money start with.
pub const FUNDS: Balance = 1_000_000_000;

/// A funded account.
pub const ALICE: AccountId = AccountId::new([1; 32]);
/// Another funded account.
pub const BOB: AccountId = AccountId::new([2; 32]);
/// A funded account that is an active provider.
pub const HOLDER: AccountId = AccountId::new([5; 32]);
/// Another one.
pub const OTHER: AccountId = AccountId::new([6; 32]);
/// An account without funds.
pub const NOBODY: AccountId = AccountId::new([9; 32]);

neuroshard_test_support::runtime! {
	2: Dataset = pallet_neuro_dataset;
}

parameter_types! {
	/// Whom operators act for.
	pub static Owners: BTreeMap<AccountId, AccountId> = BTreeMap::new();
	/// Providers that are registered and not active.
	pub static Inactive: BTreeSet<AccountId> = BTreeSet::new();
	/// Claims that stakes answer for.
	pub static OpenClaims: BTreeMap<AccountId, u32> = BTreeMap::new();
	/// Accounts that were punished, with their offences.
	pub static Punished: Vec<(AccountId, Offence)> = Vec::new();
}

/// Returns the account that the stake of `who` lies on: the stake of a provider is the balance of another account.
pub fn stake_of(who: &AccountId) -> AccountId {
	let mut bytes: [u8; 32] = who.clone().into();
	bytes[31] = 0xff;
	AccountId::new(bytes)
}

/// [`Providers`] of the mock: whoever has a stake is one.
pub struct MockProviders;

impl Providers<AccountId, Balance> for MockProviders {
	fn acts_for(signer: AccountId) -> AccountId {
		Owners::get().remove(&signer).unwrap_or(signer)
	}
	fn is_active(who: &AccountId, role: Role) -> bool {
		role == Role::Worker && Self::slashable(who) > 0 && !Inactive::get().contains(who)
	}
	fn active_count(_: Role) -> u32 {
		0
	}
	fn reputation(_: &AccountId) -> u32 {
		0
	}
	fn bond(who: &AccountId) -> Balance {
		Self::slashable(who)
	}
	fn slashable(who: &AccountId) -> Balance {
		Balances::balance(&stake_of(who))
	}
	fn ponw_key(_: &AccountId) -> Option<PonwKey> {
		None
	}
	fn hardware(_: &AccountId) -> Option<HardwareProfile> {
		None
	}
	fn slash(who: &AccountId, amount: Balance, to: SlashTo<'_, AccountId>) -> Balance {
		let (from, amount) = (stake_of(who), amount.min(Self::slashable(who)));
		let taken = match to {
			SlashTo::Account(to) => Balances::transfer(&from, to, amount, Preservation::Expendable),
			SlashTo::Burn => Balances::burn_from(&from, amount, Preservation::Expendable, Precision::Exact, Fortitude::Force),
		};
		taken.expect("stakes can be slashed")
	}
	fn open_claim(who: &AccountId) -> DispatchResult {
		OpenClaims::mutate(|open| *open.entry(who.clone()).or_default() += 1);
		Ok(())
	}
	fn close_claim(who: &AccountId) {
		OpenClaims::mutate(|open| *open.get_mut(who).expect("a claim is open") -= 1);
	}
	fn note_disputable(_: &AccountId) {}
	fn note_success(_: &AccountId) {}
	fn note_uptime(_: &AccountId) {}
	fn note_failure(_: &AccountId, _: u32) {}
	fn note_audit_reported(_: &AccountId) {}
	fn note_audit_missed(_: &AccountId, _: BlockNumber) {}
	fn punish(who: &AccountId, offence: Offence) -> Balance {
		Inactive::mutate(|inactive| inactive.insert(who.clone()));
		Punished::mutate(|punished| punished.push((who.clone(), offence)));
		0
	}
}

/// Makes providers for the benchmarks.
pub struct MockHelper;

impl crate::BenchmarkHelper<RuntimeOrigin> for MockHelper {
	fn provider(who: &AccountId) {
		Balances::set_balance(who, FUNDS);
		Balances::set_balance(&stake_of(who), PENALTY * Balance::from(crate::MAX_ATTESTED));
	}
	fn retirer() -> RuntimeOrigin {
		RuntimeOrigin::root()
	}
}

impl pallet_neuro_dataset::Config for Test {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type DepositBase = ConstU128<DEPOSIT_BASE>;
	type DepositPerByte = ConstU128<DEPOSIT_PER_BYTE>;
	type Providers = MockProviders;
	type RetireOrigin = EnsureRoot<AccountId>;
	type AttestationDeposit = ConstU128<ATTESTATION_DEPOSIT>;
	type ChallengeBond = ConstU128<BOND>;
	type FailurePenalty = ConstU128<PENALTY>;
	type WeightInfo = ();
	type BenchmarkHelper = MockHelper;
}

/// The mock at block 1.
pub fn new_test_ext() -> sp_io::TestExternalities {
	let holders = [HOLDER, OTHER];
	let stakes = holders.iter().map(|holder| (stake_of(holder), STAKE));
	let balances = [ALICE, BOB].into_iter().chain(holders.clone()).map(|who| (who, FUNDS)).chain(stakes).collect();
	let genesis = RuntimeGenesisConfig {
		balances: pallet_balances::GenesisConfig { balances, ..Default::default() },
		dataset: pallet_neuro_dataset::GenesisConfig { attestation_period: PERIOD, answer_time: ANSWER_TIME, ..Default::default() },
		..Default::default()
	};
	ext::<Test>(genesis, || {
		Owners::set(BTreeMap::new());
		Inactive::set(BTreeSet::new());
		OpenClaims::set(BTreeMap::new());
		Punished::set(Vec::new());
	})
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
		tokenizer: Tokenizer { root: H256::repeat_byte(7), bytes: 10_000, tokens: TextTokens { usable: 1_000, end: 999 } },
		vocab: 1_024,
		masked: false,
		shape: DatasetShape { tokens_per_shard: 5_000, shard_count: 5, held_out: 2 },
		root: H256::repeat_byte(8),
		bytes: 100_000,
	}
}
