//! Weights of the calls and of minting, derived by hand.
//!
//! Each weight is the database accesses, counted in the code and priced by the runtime's `DbWeight`, plus an allowance for computation.
//! Those of `pallet-assets` and of the currency are counted too.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet.
pub trait WeightInfo {
	/// Weight of `deposit_revenue`, and of `ModelRevenue::deposit` for whoever calls it.
	fn deposit_revenue() -> Weight;
	/// Weight of `claim`.
	fn claim() -> Weight;
	/// Weight of `claim_for`.
	fn claim_for() -> Weight;
	/// Weight of `enrol`.
	fn enrol() -> Weight;
	/// Weight of `release`.
	fn release() -> Weight;
	/// Weight of `transfer`.
	fn transfer() -> Weight;
	/// Weight of `FinalWork::final_work` for whoever calls it, if it makes the class of shares.
	fn final_work() -> Weight;
}

/// Arithmetic of 256 bits, and coding of small entries: 30 microseconds.
const COMPUTE: Weight = Weight::from_parts(30_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn with(reads: u64, writes: u64) -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(reads, writes))
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads and writes: model, payer, pot.
	fn deposit_revenue() -> Weight {
		Self::with(3, 3)
	}
	/// Reads and writes: model, holding, pot, holder.
	fn claim() -> Weight {
		Self::with(4, 4)
	}
	/// As `claim`.
	fn claim_for() -> Weight {
		Self::claim()
	}
	/// Reads: model, holding, the holder's shares. Writes: the first two.
	fn enrol() -> Weight {
		Self::with(3, 2)
	}
	/// As `claim`, which it does for the last shares.
	fn release() -> Weight {
		Self::claim()
	}
	/// Reads and writes: model, class of shares; holding and shares of both sides; account of the sender; pot.
	fn transfer() -> Weight {
		Self::with(8, 8)
	}
	/// Reads and writes: class of shares and its metadata; model, holding, shares and account of the provider. Reads: number of the next
	/// class, which is not used.
	fn final_work() -> Weight {
		Self::with(7, 6)
	}
}

/// Computation alone, for tests.
impl WeightInfo for () {
	fn deposit_revenue() -> Weight {
		COMPUTE
	}
	fn claim() -> Weight {
		COMPUTE
	}
	fn claim_for() -> Weight {
		COMPUTE
	}
	fn enrol() -> Weight {
		COMPUTE
	}
	fn release() -> Weight {
		COMPUTE
	}
	fn transfer() -> Weight {
		COMPUTE
	}
	fn final_work() -> Weight {
		COMPUTE
	}
}
