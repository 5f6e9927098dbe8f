//! NEURO for final work, for blocks and for the treasury: issuance per era from a capped curve, in parts that add up to it, and where the
//! fees of inference go.
//!
//! ```text
//! budget of an era   = training + inference + data + validation + treasury
//! points of a credit = units x base(kind) x role x scarcity x reputation x stake multiplier, at most the cap of a proof
//! claim              = min(part for training x points / total points, slashable bond), rounded down
//! ```
//!
//! An era ends after `era_length` blocks and freezes its budget and total points. Each (account, era) is minted once,
//! on `claim` or `claim_for`; nothing is minted for work before. Each block mints its share of the part for validation at once, the treasury
//! gets its part when the era ends, and no work earns the parts for inference and data yet. What an era does not mint is never minted: a part
//! that nobody works for is *not* carried into the next era, and neither are the remainders of rounding down, what the cap holds back, or what
//! nobody claims within the history depth. All of that is summed up in [`Unminted`], so that at any time
//!
//! ```text
//! budgets of all ended eras = minted for them + Unminted + sum over stored eras (what can still be claimed)
//! ```
//!
//! where claims, blocks and the treasury are minted for. The cap: an account gains no more from an era than the smallest slashable bond it
//! had at any of its credits in that era, so that misbehaving never gains more than it can cost.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod claims;
pub mod curve;
mod eras;
mod events;
pub mod factors;
pub mod fees;
mod genesis;
mod history;
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
use frame_support::pallet_macros::import_section;
pub use pallet::*;
pub use points::{AccountPoints, Rates, Standing};
pub use weights::WeightInfo;

/// Accounts of an expired era that are removed in one block.
pub const EXPIRED_PER_BLOCK: u32 = 32;
/// Most ended eras that can be kept for claims and history.
pub const MAX_HISTORY_DEPTH: u32 = 1_000;

#[import_section(events::events)]
#[import_section(genesis::genesis)]
#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
pub mod pallet {
	use crate::{AccountPoints, CurrentEra, Curve, EndedEra, Rates, WeightInfo, EXPIRED_PER_BLOCK, MAX_HISTORY_DEPTH};
	use alloc::vec::Vec;
	use frame_support::{
		pallet_prelude::*,
		traits::{fungible, OnUnbalanced},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		provider::Role,
		reward::{AccountEra, BudgetParts, BudgetShares, Earnings, EraIndex, EraRecord, EraView, FeeShares, IssuanceView},
		traits::Providers,
		work::OperationUnits,
		AccountId, Balance, BlockNumber, NEURO,
	};
	use sp_runtime::SaturatedConversion;

	/// Chains of version 1 need a new genesis: budgets have parts since version 2.
	const STORAGE_VERSION: StorageVersion = StorageVersion::new(3);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
		/// NEURO.
		type Currency: fungible::Mutate<AccountId, Balance = Balance> + fungible::Balanced<AccountId>;
		/// Bonds, reputations and roles: the active bond multiplies points, the slashable one caps the gain.
		type Providers: Providers<AccountId, Balance>;
		/// Origin that may change the shares of budgets; root among them.
		type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Account of the treasury.
		type Treasury: Get<AccountId>;
		/// Takes the validators' share of fees of inference.
		type ValidatorPool: OnUnbalanced<fungible::Credit<AccountId, Self::Currency>>;
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

	/// Ended eras that can still be claimed. Fixed at genesis, 1 to [`MAX_HISTORY_DEPTH`].
	#[pallet::storage]
	pub type HistoryDepth<T: Config> = StorageValue<_, EraIndex, ValueQuery>;

	/// Issuance. Fixed at genesis.
	#[pallet::storage]
	pub type Issuance<T: Config> = StorageValue<_, Curve, ValueQuery>;

	/// Split of the budget of the next era.
	#[pallet::storage]
	pub type Shares<T: Config> = StorageValue<_, BudgetShares, ValueQuery>;

	/// Weights of operations. Fixed at genesis.
	#[pallet::storage]
	pub type Operations<T: Config> = StorageValue<_, OperationUnits, ValueQuery>;

	/// Rates of kinds of work and of roles. Fixed at genesis.
	#[pallet::storage]
	pub type WorkRates<T: Config> = StorageValue<_, Rates, ValueQuery>;

	/// The era that credits go to now.
	#[pallet::storage]
	pub type Current<T: Config> = StorageValue<_, CurrentEra, ValueQuery>;

	/// Points of all accounts in the current era, in units of 2^-32.
	#[pallet::storage]
	pub type CurrentTotal<T: Config> = StorageValue<_, u128, ValueQuery>;

	/// Points of accounts and what they claimed, until their era expires.
	#[pallet::storage]
	pub type Points<T: Config> = StorageDoubleMap<_, Twox64Concat, EraIndex, Blake2_128Concat, AccountId, AccountPoints>;

	/// Ended eras, until they expire.
	#[pallet::storage]
	pub type Eras<T: Config> = StorageMap<_, Twox64Concat, EraIndex, EndedEra>;

	/// The oldest era that may still be stored: all before it are removed.
	#[pallet::storage]
	pub type OldestEra<T: Config> = StorageValue<_, EraIndex, ValueQuery>;

	/// Amounts that accounts have claimed, in planck.
	#[pallet::storage]
	pub type Claimed<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Balance, ValueQuery>;

	/// Everything that claims ever minted, in planck.
	#[pallet::storage]
	pub type TotalClaimed<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Everything that was ever minted for blocks, in planck, those of the current era among them.
	#[pallet::storage]
	pub type TotalToValidators<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Everything that was ever minted for the treasury, in planck.
	#[pallet::storage]
	pub type TotalToTreasury<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Everything that fees of inference ever burned, in planck.
	#[pallet::storage]
	pub type TotalBurned<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Budgets of all ended eras, in planck.
	#[pallet::storage]
	pub type TotalBudget<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Parts of budgets that can never be minted any more, in planck: what nobody worked for, and what expired eras left over.
	#[pallet::storage]
	pub type Unminted<T: Config> = StorageValue<_, Balance, ValueQuery>;

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
		/// Every [`Error`] about eras and claims; and those of the currency, if the amount alone is too small for an account to exist.
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
		#[pallet::weight(T::WeightInfo::claim_for())]
		pub fn claim_for(origin: OriginFor<T>, who: AccountId, era: EraIndex) -> DispatchResult {
			ensure_signed(origin)?;
			Self::do_claim(who, era)
		}

		/// Splits budgets by `shares` from the next era on. Takes [`Config::AdminOrigin`].
		///
		/// # Errors
		/// [`Error::SharesNotWhole`].
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::set_shares())]
		pub fn set_shares(origin: OriginFor<T>, shares: BudgetShares) -> DispatchResult {
			T::AdminOrigin::ensure_origin(origin)?;
			ensure!(shares.is_valid(), Error::<T>::SharesNotWhole);
			Shares::<T>::put(shares);
			Self::deposit_event(Event::SharesSet { shares });
			Ok(())
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
			Self::current_era()
		}

		/// Up to `count` ended eras from `from` on, ascending, of those that have not expired.
		pub fn era_history(from: EraIndex, count: u32) -> Vec<EraRecord> {
			Self::ended_eras(from, count)
		}

		/// What `who` earned in the current era and in every ended one that has not expired, ascending.
		pub fn account_history(who: AccountId) -> Vec<AccountEra> {
			Self::eras_of(&who)
		}

		/// What an account with an active bond of `stake` planck and a reputation of 0 to 1,000 would get for the current era, in planck, if it
		/// was credited `units_per_era` work units of training in `role` now and the era ended then. One credit's cap is not applied, since the
		/// units of an era come from many proofs.
		pub fn estimate(stake: Balance, role: Role, reputation: u32, units_per_era: u128) -> Balance {
			Self::estimate_of(stake, role, reputation, units_per_era)
		}

		/// Everything that was minted, burned by fees of inference, or can never be minted, and the cap.
		pub fn issuance() -> IssuanceView {
			Self::sums()
		}

		/// How the budget of the next era is split.
		pub fn shares() -> BudgetShares {
			Shares::<T>::get()
		}

		/// What operations count for work units.
		pub fn operation_units() -> OperationUnits {
			Operations::<T>::get()
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
