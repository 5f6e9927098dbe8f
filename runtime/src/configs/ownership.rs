//! Shares of models: the tokens that wallets show, and what they earn.

use crate::{fees, AccountId, Assets, Balance, Balances, Ownership, Runtime, RuntimeEvent, NEURO};
use frame_support::{
	parameter_types,
	traits::{AsEnsureOriginWithArg, ConstU128, ConstU32},
	PalletId,
};
#[cfg(not(feature = "runtime-benchmarks"))]
use frame_system::EnsureNever;
use neuroshard_types::RunId;

parameter_types! {
	pub const OwnershipPalletId: PalletId = PalletId(*b"ns/owner");
}

/// Tokens are shares of models and nothing else: classes are made by `Ownership`, whose account nobody has the key of.
impl pallet_assets::Config for Runtime {
	type RuntimeEvent = RuntimeEvent;
	type Balance = Balance;
	type RemoveItemsLimit = ConstU32<256>;
	type AssetId = RunId;
	type AssetIdParameter = codec::Compact<RunId>;
	type ReserveData = ();
	type Currency = Balances;
	#[cfg(not(feature = "runtime-benchmarks"))]
	type CreateOrigin = AsEnsureOriginWithArg<EnsureNever<AccountId>>;
	// Not even governance takes shares away, or makes some that nobody worked for.
	#[cfg(not(feature = "runtime-benchmarks"))]
	type ForceOrigin = EnsureNever<()>;
	// Somebody has to do what is measured.
	#[cfg(feature = "runtime-benchmarks")]
	type CreateOrigin = AsEnsureOriginWithArg<frame_system::EnsureSigned<AccountId>>;
	#[cfg(feature = "runtime-benchmarks")]
	type ForceOrigin = frame_system::EnsureRoot<AccountId>;
	// Nobody pays it, since nobody creates classes.
	type AssetDeposit = ConstU128<{ 100 * NEURO }>;
	// What a place among the holders of a model has in the state: its shares, and what they earn. Keys and values.
	type AssetAccountDeposit = ConstU128<{ fees::deposit(2, (68 + 66) + (60 + 80)) }>;
	// Only the owner of a class sets its metadata, and that is `Ownership`.
	type MetadataDepositBase = ConstU128<0>;
	type MetadataDepositPerByte = ConstU128<0>;
	type ApprovalDeposit = ConstU128<{ fees::deposit(1, 116 + 32) }>;
	type StringLimit = ConstU32<50>;
	type Freezer = Ownership;
	type Holder = ();
	type Extra = ();
	type CallbackHandle = ();
	type AssetIdAllocator = ();
	type WeightInfo = crate::weights::pallet_assets::WeightInfo<Runtime>;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = ();
}

impl pallet_neuro_ownership::Config for Runtime {
	type Currency = Balances;
	type Shares = Assets;
	type PalletId = OwnershipPalletId;
	type WeightInfo = crate::weights::Ownership;
}
