//! Weights of the calls, derived by hand.
//!
//! Each weight is the call's database accesses, counted in the code and priced by the runtime's `DbWeight`, plus a fixed
//! allowance for computation. A stored dataset has less than 1 KiB and no call loops.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet's calls.
pub trait WeightInfo {
	/// Weight of `propose`.
	fn propose() -> Weight;
	/// Weight of `activate`.
	fn activate() -> Weight;
	/// Weight of `retire`, with removal and return of the deposit.
	fn retire() -> Weight;
}

/// Computation of a call that decodes, checks and encodes one dataset: 50 microseconds.
const COMPUTE: Weight = Weight::from_parts(50_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn with(reads: u64, writes: u64) -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(reads, writes))
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads and writes: counter, next identifier, dataset, account, holds.
	fn propose() -> Weight {
		Self::with(5, 5)
	}
	/// Reads and writes: dataset.
	fn activate() -> Weight {
		Self::with(1, 1)
	}
	/// Reads and writes: dataset, counter, account, holds.
	fn retire() -> Weight {
		Self::with(4, 4)
	}
}

/// Computation alone, for tests.
impl WeightInfo for () {
	fn propose() -> Weight {
		COMPUTE
	}
	fn activate() -> Weight {
		COMPUTE
	}
	fn retire() -> Weight {
		COMPUTE
	}
}
