//! Events and errors of the pallet.

use frame_support::pallet_macros::pallet_section;

/// Imported into [`crate::pallet`].
#[pallet_section]
mod events {
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
			/// Its budget in planck, in parts.
			parts: BudgetParts,
			/// Its points in units of 2^-32; without any, nothing of the part for training is minted.
			total_points: u128,
			/// Planck minted for its blocks.
			to_validators: Balance,
			/// Planck minted for the treasury.
			to_treasury: Balance,
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
			/// Planck of its part for training that were never minted.
			unminted: Balance,
		},
		/// Budgets are split by other shares from the next era on.
		SharesSet {
			/// The shares.
			shares: BudgetShares,
		},
		/// The fee of an inference was paid.
		FeePaid {
			/// Who paid.
			from: AccountId,
			/// The fee in planck.
			amount: Balance,
			/// Where it went.
			shares: FeeShares,
		},
	}

	/// Why a call is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// The era has not ended. The view function `era` says at which block it does.
		EraNotEnded,
		/// The era is older than the history depth. The view function `claimable_eras` lists what is left.
		EraExpired,
		/// The account has no points in this era, or claimed it before. The view function `account_history` shows which.
		NothingToClaim,
		/// The five shares of a budget do not add up to 1,000,000 parts per million. Give shares that do.
		SharesNotWhole,
	}
}
