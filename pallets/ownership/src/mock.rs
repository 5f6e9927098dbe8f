//! A runtime of system, balances, assets and this pallet.

use crate as pallet_neuro_ownership;
use frame_support::{
	derive_impl, parameter_types,
	traits::{AsEnsureOriginWithArg, ConstU128},
	PalletId,
};
use frame_system::EnsureNever;
use neuroshard_types::{AccountId, Balance, RunId};
use sp_runtime::{traits::Dispatchable, traits::IdentityLookup, BuildStorage, DispatchResult};

/// An account with money.
pub const ALICE: AccountId = AccountId::new([1; 32]);
/// Another one.
pub const BOB: AccountId = AccountId::new([2; 32]);
/// A third one.
pub const CAROL: AccountId = AccountId::new([3; 32]);
/// An account with much money, and without shares.
pub const PAYER: AccountId = AccountId::new([4; 32]);
/// An account that does not exist at genesis.
pub const NOBODY: AccountId = AccountId::new([9; 32]);
/// Existential deposit of the mock.
pub const ED: Balance = 10;
/// Free balance that [`ALICE`], [`BOB`] and [`CAROL`] start with.
pub const FUNDS: Balance = 1_000;
/// Free balance that [`PAYER`] starts with.
pub const WEALTH: Balance = 1 << 100;
/// Deposit for a place among the holders of a model.
pub const DEPOSIT: Balance = 20;
/// A model.
pub const MODEL: RunId = 7;

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
	pub type Assets = pallet_assets;

	#[runtime::pallet_index(3)]
	pub type Ownership = pallet_neuro_ownership;
}

#[derive_impl(frame_system::config_preludes::TestDefaultConfig)]
impl frame_system::Config for Test {
	type BaseCallFilter = Ownership;
	type Block = frame_system::mocking::MockBlockU32<Test>;
	type AccountId = AccountId;
	type Lookup = IdentityLookup<AccountId>;
	type AccountData = pallet_balances::AccountData<Balance>;
}

#[derive_impl(pallet_balances::config_preludes::TestDefaultConfig)]
impl pallet_balances::Config for Test {
	type Balance = Balance;
	type ExistentialDeposit = ConstU128<ED>;
	type AccountStore = System;
}

#[derive_impl(pallet_assets::config_preludes::TestDefaultConfig)]
impl pallet_assets::Config for Test {
	type Balance = u128;
	type Currency = Balances;
	type CreateOrigin = AsEnsureOriginWithArg<EnsureNever<AccountId>>;
	type ForceOrigin = EnsureNever<()>;
	type AssetAccountDeposit = ConstU128<DEPOSIT>;
	type MetadataDepositBase = ConstU128<0>;
	type MetadataDepositPerByte = ConstU128<0>;
	type Freezer = Ownership;
}

parameter_types! {
	pub const OwnershipPalletId: PalletId = PalletId(*b"ns/owner");
}

impl pallet_neuro_ownership::Config for Test {
	type Currency = Balances;
	type Shares = Assets;
	type PalletId = OwnershipPalletId;
	type WeightInfo = ();
}

/// The mock at block 1.
pub fn new_test_ext() -> sp_io::TestExternalities {
	let balances = vec![(ALICE, FUNDS), (BOB, FUNDS), (CAROL, FUNDS), (PAYER, WEALTH)];
	let genesis =
		RuntimeGenesisConfig { balances: pallet_balances::GenesisConfig { balances, ..Default::default() }, ..Default::default() };
	let mut ext = sp_io::TestExternalities::new(genesis.build_storage().expect("genesis of the mock builds"));
	ext.execute_with(|| System::set_block_number(1));
	ext
}

/// Runs `test` on the mock, then checks every invariant.
pub fn build_and_execute(test: impl FnOnce()) {
	new_test_ext().execute_with(|| {
		test();
		Ownership::do_try_state().expect("invariants hold after the test");
	});
}

/// Dispatches a call as an extrinsic of `who` would.
pub fn send(who: &AccountId, call: impl Into<RuntimeCall>) -> DispatchResult {
	let call: RuntimeCall = call.into();
	call.dispatch(RuntimeOrigin::signed(who.clone())).map(|_| ()).map_err(|failed| failed.error)
}

/// Has [`PAYER`] deposit revenue of [`MODEL`].
pub fn earn(amount: Balance) -> DispatchResult {
	send(&PAYER, crate::Call::deposit_revenue { model: MODEL, amount })
}

/// The call with which a wallet sends shares of [`MODEL`].
pub fn wallet_sends(target: &AccountId, amount: u128) -> pallet_assets::Call<Test> {
	pallet_assets::Call::transfer { id: MODEL, target: target.clone(), amount }
}

/// Has `payer` make a place for `who` among the holders of [`MODEL`].
pub fn make_place(payer: &AccountId, who: &AccountId) -> DispatchResult {
	send(payer, pallet_assets::Call::touch_other { id: MODEL, who: who.clone() })
}

/// Earning and free shares of [`MODEL`], and what can be claimed.
pub fn has(who: &AccountId) -> (u128, u128, Balance) {
	let shares = Ownership::shares(who.clone(), MODEL);
	(shares.earning, shares.free, shares.claimable)
}
