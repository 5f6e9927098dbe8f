//! Benchmarks of every call and of minting in their most expensive case.

use crate::{Call, Config, Holdings, Models, Pallet};
use frame_benchmarking::v2::*;
use frame_support::traits::{
	fungible::{Inspect as _, Mutate as _},
	fungibles::Inspect as _,
};
use frame_system::RawOrigin;
use neuroshard_types::{
	traits::{FinalWork, ModelRevenue},
	AccountId, Balance, RunId, NEURO,
};

/// The model of the benchmarks.
const MODEL: RunId = 7;
/// Shares of each of its two holders.
const SHARES: u128 = 1_000_003;
/// Its revenue: neither holder's part is a whole number of planck.
const REVENUE: Balance = NEURO + 1;

/// Another holder.
fn other() -> AccountId {
	account("other", 0, 0)
}

/// Money for a deposit.
fn funded<T: Config>() -> AccountId {
	let who = whitelisted_caller();
	T::Currency::set_balance(&who, T::Currency::minimum_balance().saturating_add(NEURO.saturating_mul(10)));
	who
}

/// The caller and another holder, both with shares that earn and something to claim.
fn holder<T: Config>() -> Result<AccountId, BenchmarkError> {
	let who = funded::<T>();
	T::Currency::set_balance(&Pallet::<T>::pot(), T::Currency::minimum_balance());
	Pallet::<T>::final_work(&who, MODEL, SHARES);
	Pallet::<T>::final_work(&other(), MODEL, SHARES);
	Pallet::<T>::deposit(&who, MODEL, REVENUE)?;
	Ok(who)
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn deposit_revenue() -> Result<(), BenchmarkError> {
		let who = holder::<T>()?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), MODEL, REVENUE);

		assert_eq!(Models::<T>::get(MODEL).map(|model| model.revenue), Some(2 * REVENUE));
		Ok(())
	}

	#[benchmark]
	fn claim() -> Result<(), BenchmarkError> {
		let who = holder::<T>()?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), MODEL);

		assert_eq!(Models::<T>::get(MODEL).map(|model| model.paid), Some(REVENUE / 2));
		Ok(())
	}

	#[benchmark]
	fn claim_for() -> Result<(), BenchmarkError> {
		let who = holder::<T>()?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), other(), MODEL);

		assert_eq!(T::Currency::balance(&other()), REVENUE / 2);
		Ok(())
	}

	/// All that it has, after it has left.
	#[benchmark]
	fn enrol() -> Result<(), BenchmarkError> {
		let who = holder::<T>()?;
		Pallet::<T>::claim(RawOrigin::Signed(who.clone()).into(), MODEL)?;
		Pallet::<T>::release(RawOrigin::Signed(who.clone()).into(), MODEL, SHARES)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), MODEL, SHARES);

		assert_eq!(Models::<T>::get(MODEL).map(|model| model.earning), Some(2 * SHARES));
		Ok(())
	}

	/// All that it has, for which it is paid.
	#[benchmark]
	fn release() -> Result<(), BenchmarkError> {
		let who = holder::<T>()?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), MODEL, SHARES);

		assert_eq!(Models::<T>::get(MODEL).map(|model| (model.earning, model.paid)), Some((SHARES, REVENUE / 2)));
		Ok(())
	}

	/// All that it has, for which it is paid.
	#[benchmark]
	fn transfer() -> Result<(), BenchmarkError> {
		let who = holder::<T>()?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), MODEL, other(), SHARES);

		assert_eq!(T::Shares::balance(MODEL, &other()), 2 * SHARES);
		assert_eq!(Models::<T>::get(MODEL).map(|model| model.paid), Some(REVENUE / 2));
		Ok(())
	}

	/// The first shares of a model.
	#[benchmark]
	fn final_work() {
		let who: AccountId = whitelisted_caller();

		#[block]
		{
			Pallet::<T>::final_work(&who, MODEL, SHARES);
		}

		assert_eq!(Holdings::<T>::get(&who, MODEL).map(|holding| holding.earning), Some(SHARES));
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
