//! NEURO for final work: issuance per era from a curve, split by points, minted on claim.
//!
//! ```text
//! points of a credit = units x base(kind) x role multiplier x stake multiplier
//! claim              = min(budget x points / total points, slashable bond), rounded down
//! ```
//!
//! An era ends after `era_length` blocks and freezes its budget and total points. Each (account, era) is minted once,
//! on `claim` or `claim_for`; nothing is minted before. What an era does not mint is never minted: the budget of an era without any points
//! is *not* carried into the next one, and neither are the remainders of rounding down, what the cap holds back, or what nobody claims within
//! the history depth. All of that is summed up in [`Unminted`], so that at any time
//!
//! ```text
//! budgets of all ended eras = TotalClaimed + Unminted + sum over stored eras (budget - minted)
//! ```
//!
//! The cap: an account gains no more from an era than the smallest slashable bond it had at any of its credits in that
//! era, so that misbehaving never gains more than it can cost.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod claims;
pub mod curve;
mod eras;
#[cfg(test)]
mod mock;
pub mod multiplier;
pub mod points;
#[cfg(test)]
mod tests;
mod try_state;
pub mod weights;

pub use curve::Curve;
pub use eras::{CurrentEra, EndedEra};
pub use pallet::*;
pub use points::{AccountPoints, Rates};
pub use weights::WeightInfo;

/// Accounts of an expired era that are removed in one block.
pub const EXPIRED_PER_BLOCK: u32 = 32;

#[frame_support::pallet]
pub mod pallet {
	use crate::{AccountPoints, CurrentEra, Curve, EndedEra, Rates, WeightInfo, EXPIRED_PER_BLOCK};
	use alloc::vec::Vec;
	use frame_support::{pallet_prelude::*, traits::fungible};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		reward::{Earnings, EraIndex, EraView},
		traits::Providers,
		AccountId, Balance, BlockNumber,
	};
	use sp_runtime::SaturatedConversion;

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// What the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
		/// NEURO.
		type Currency: fungible::Mutate<AccountId, Balance = Balance>;
		/// Bonds: the active one multiplies points, the slashable one caps the gain.
		type Providers: Providers<AccountId, Balance>;
		/// Weights of calls and hooks.
		type WeightInfo: WeightInfo;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Blocks of an era. Fixed at genesis, at least 1.
	#[pallet::storage]
	pub type EraLength<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Ended eras that can still be claimed. Fixed at genesis, at least 1.
	#[pallet::storage]
	pub type HistoryDepth<T: Config> = StorageValue<_, EraIndex, ValueQuery>;

	/// Issuance. Fixed at genesis.
	#[pallet::storage]
	pub type Issuance<T: Config> = StorageValue<_, Curve, ValueQuery>;

	/// What kinds of work and roles are worth. Fixed at genesis.
	#[pallet::storage]
	pub type WorkRates<T: Config> = StorageValue<_, Rates, ValueQuery>;

	/// The era that credits go to now.
	#[pallet::storage]
	pub type Current<T: Config> = StorageValue<_, CurrentEra, ValueQuery>;

	/// Points of all accounts in the current era, in units of 2^-32.
	#[pallet::storage]
	pub type CurrentTotal<T: Config> = StorageValue<_, u128, ValueQuery>;

	/// Points of accounts, until claimed or expired.
	#[pallet::storage]
	pub type Points<T: Config> = StorageDoubleMap<_, Twox64Concat, EraIndex, Blake2_128Concat, AccountId, AccountPoints>;

	/// Ended eras with points.
	#[pallet::storage]
	pub type Eras<T: Config> = StorageMap<_, Twox64Concat, EraIndex, EndedEra>;

	/// The oldest era that may still be stored: all before it are removed.
	#[pallet::storage]
	pub type OldestEra<T: Config> = StorageValue<_, EraIndex, ValueQuery>;

	/// What each account has claimed, in planck.
	#[pallet::storage]
	pub type Claimed<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Balance, ValueQuery>;

	/// Everything this pallet ever minted, in planck.
	#[pallet::storage]
	pub type TotalClaimed<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Budgets of all ended eras, in planck.
	#[pallet::storage]
	pub type TotalBudget<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Parts of budgets that can never be minted any more, in planck: eras without points, and what expired eras left over.
	#[pallet::storage]
	pub type Unminted<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Values of the chain's first block.
	#[pallet::genesis_config]
	pub struct GenesisConfig<T: Config> {
		/// Blocks of an era.
		pub era_length: BlockNumber,
		/// Ended eras that can still be claimed.
		pub history_depth: EraIndex,
		/// Budget of the first era, in planck.
		pub initial_budget: Balance,
		/// Smallest budget of an era, in planck.
		pub budget_floor: Balance,
		/// What is left of the budget after each decay step, in parts of 10^18; at most 10^18.
		pub decay_ratio: u64,
		/// Eras between two decay steps.
		pub eras_per_step: EraIndex,
		/// Base rate of training, in thousandths of a point per unit.
		pub training_rate: u32,
		/// Role multipliers in thousandths: driver, worker, verifier, predictor.
		pub role_rates: [u32; 4],
		/// Type marker.
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	/// Eras of a day at 3 s a block, kept for 84 of them; 10,000 NEURO a day at first, half of it after a year, never below 100; all work alike.
	impl<T: Config> Default for GenesisConfig<T> {
		fn default() -> Self {
			Self {
				era_length: 28_800,
				history_depth: 84,
				initial_budget: 10_000 * neuroshard_types::NEURO,
				budget_floor: 100 * neuroshard_types::NEURO,
				// 2^(-1/365)
				decay_ratio: 998_102_768_651_594_634,
				eras_per_step: 1,
				training_rate: 1_000,
				role_rates: [1_000; 4],
				_config: PhantomData,
			}
		}
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			let curve = Curve {
				initial: self.initial_budget,
				floor: self.budget_floor,
				ratio: self.decay_ratio,
				eras_per_step: self.eras_per_step,
			};
			let rates = Rates { training: self.training_rate, roles: self.role_rates };
			assert!(self.era_length > 0, "an era has at least one block");
			assert!(self.history_depth > 0, "an ended era can be claimed for at least one era");
			assert!(curve.is_valid(), "the issuance curve falls, takes steps, and has its floor below its beginning");
			assert!(rates.is_valid(), "rates are at most a thousand-fold");
			EraLength::<T>::put(self.era_length);
			HistoryDepth::<T>::put(self.history_depth);
			Issuance::<T>::put(curve);
			WorkRates::<T>::put(rates);
			Current::<T>::put(CurrentEra { index: 0, starts_at: 0, budget: curve.initial });
		}
	}

	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// Final work earned points.
		Credited {
			/// Provider.
			who: AccountId,
			/// Era.
			era: EraIndex,
			/// Points in units of 2^-32.
			points: u128,
		},
		/// An era ended.
		EraEnded {
			/// Its number.
			era: EraIndex,
			/// Its budget in planck.
			budget: Balance,
			/// Its points in units of 2^-32; without any, nothing of the budget is minted.
			total_points: u128,
		},
		/// An account was paid for an era.
		Claimed {
			/// Provider.
			who: AccountId,
			/// Era.
			era: EraIndex,
			/// Planck minted to it.
			amount: Balance,
		},
		/// An era can no longer be claimed and was removed.
		EraExpired {
			/// Its number.
			era: EraIndex,
			/// Planck of its budget that were never minted.
			unminted: Balance,
		},
	}

	/// Why a claim is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// The era has not ended. The view function `era` says at which block it does.
		EraNotEnded,
		/// The era is older than the history depth. The view function `claimable_eras` lists what is left.
		EraExpired,
		/// The account has no points in this era, or claimed it before.
		NothingToClaim,
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		fn on_initialize(_: BlockNumberFor<T>) -> Weight {
			Self::end_era_if_over();
			T::WeightInfo::rotate(Self::expire(EXPIRED_PER_BLOCK))
		}

		#[cfg(feature = "try-runtime")]
		fn try_state(_: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Mints the caller's reward of an ended era to its free balance.
		///
		/// # Errors
		/// Every [`Error`]; and those of the currency, if the amount alone is too small for an account to exist.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::claim())]
		pub fn claim(origin: OriginFor<T>, era: EraIndex) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_claim(who, era)
		}

		/// Mints the reward of `who` for an ended era to the free balance of `who`. Anybody may trigger it and pays the fee.
		///
		/// # Errors
		/// As for [`Pallet::claim`].
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::claim())]
		pub fn claim_for(origin: OriginFor<T>, who: AccountId, era: EraIndex) -> DispatchResult {
			ensure_signed(origin)?;
			Self::do_claim(who, era)
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// What `who` claimed, can claim, and would get if the current era ended now.
		pub fn earnings(who: AccountId) -> Earnings {
			Self::earnings_of(&who)
		}

		/// Ended eras in which there is something for `who` to claim, ascending, with the amounts in planck.
		pub fn claimable_eras(who: AccountId) -> Vec<(EraIndex, Balance)> {
			Self::claimable_eras_of(&who)
		}

		/// The current era.
		pub fn era() -> EraView {
			let CurrentEra { index, starts_at, budget } = Current::<T>::get();
			EraView { index, starts_at, ends_at: starts_at.saturating_add(EraLength::<T>::get()), budget }
		}

		/// Stake multiplier of an active bond of `stake` planck, in units of 2^-32.
		pub fn multiplier(stake: Balance) -> u64 {
			crate::multiplier::stake_multiplier(stake)
		}
	}

	impl<T: Config> Pallet<T> {
		/// Height of the current block.
		pub(crate) fn now() -> BlockNumber {
			frame_system::Pallet::<T>::block_number().saturated_into()
		}
	}
}
