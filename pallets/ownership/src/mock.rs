//! A runtime of system, balances, assets and this pallet.

use crate as pallet_neuro_ownership;
use frame_support::{
	parameter_types,
	traits::{AsEnsureOriginWithArg, ConstU128},
	PalletId,
};
use frame_system::EnsureNever;
use neuroshard_test_support::ext;
pub use neuroshard_test_support::ED;
use neuroshard_types::{AccountId, Balance, RunId};
use sp_runtime::{traits::Dispatchable, DispatchResult};

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
/// Free balance that [`ALICE`], [`BOB`] and [`CAROL`] start with.
pub const FUNDS: Balance = 1_000;
/// Free balance that [`PAYER`] starts with.
pub const WEALTH: Balance = 1 << 100;
/// Deposit for a place among the holders of a model.
pub const DEPOSIT: Balance = 20;
/// A model.
pub const MODEL: RunId = 7;

neuroshard_test_support::runtime! {
	2: Assets = pallet_assets, 3: Ownership = pallet_neuro_ownership;
	type BaseCallFilter = Ownership;
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
	ext::<Test>(genesis, || ())
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
