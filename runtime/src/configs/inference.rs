//! Paid inference: what it costs to offer, and who is paid.

use crate::{fees, Balance, Balances, Disputes, Ownership, Rewards, Runtime, RuntimeHoldReason, Staking, Training, NEURO};
use frame_support::{
	parameter_types,
	traits::{ConstU128, ConstU32},
};
use sp_runtime::Perbill;

parameter_types! {
	/// A tenth of every payment is for those who made the model.
	pub const OwnersShare: Perbill = Perbill::from_percent(10);
}

/// An offer without what is counted byte by byte: its driver, hashed, and its hash, number of consents, sessions and deposit. Keys and values.
const OFFER: Balance = fees::deposit(1, 48 + (32 + 1 + 4 + 16));

impl pallet_neuro_inference::Config for Runtime {
	type Currency = Balances;
	type RuntimeHoldReason = RuntimeHoldReason;
	type Providers = Staking;
	type Models = Training;
	type Revenue = Ownership;
	type Fees = Rewards;
	type OnPaid = Disputes;
	type OwnersShare = OwnersShare;
	// While there is a session, this much was put aside for it, or was spent.
	type MinEscrow = ConstU128<NEURO>;
	type MaxSessions = ConstU32<64>;
	type MaxPayees = ConstU32<16>;
	type DepositBase = ConstU128<OFFER>;
	type DepositPerByte = ConstU128<{ fees::DEPOSIT_PER_BYTE }>;
	type WeightInfo = crate::weights::Inference;
	#[cfg(feature = "runtime-benchmarks")]
	type BenchmarkHelper = crate::benchmarks::Helper;
}
