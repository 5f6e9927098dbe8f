//! Shares of models: the tokens that wallets show, and what they earn.

use crate::{AccountId, Assets, Balance, Balances, Ownership, Runtime, RuntimeEvent, NEURO};
use frame_support::{
	parameter_types,
	traits::{AsEnsureOriginWithArg, ConstU128, ConstU32},
	PalletId,
};
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
	type CreateOrigin = AsEnsureOriginWithArg<EnsureNever<AccountId>>;
	// Not even governance takes shares away, or makes some that nobody worked for.
	type ForceOrigin = EnsureNever<()>;
	// Nobody pays it, since nobody creates classes.
	type AssetDeposit = ConstU128<{ 100 * NEURO }>;
	type AssetAccountDeposit = ConstU128<NEURO>;
	// Only the owner of a class sets its metadata, and that is `Ownership`.
	type MetadataDepositBase = ConstU128<0>;
	type MetadataDepositPerByte = ConstU128<0>;
	type ApprovalDeposit = ConstU128<NEURO>;
	type StringLimit = ConstU32<50>;
	type Freezer = Ownership;
	type Holder = ();
	type Extra = ();
	type CallbackHandle = ();
	type AssetIdAllocator = ();
	type WeightInfo = pallet_assets::weights::SubstrateWeight<Runtime>;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = ();
}

impl pallet_neuro_ownership::Config for Runtime {
	type Currency = Balances;
	type Shares = Assets;
	type PalletId = OwnershipPalletId;
	type WeightInfo = crate::weights::Ownership;
}
