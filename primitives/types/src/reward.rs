//! NEURO rewards.

use crate::{Balance, BlockNumber};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, Rounding};

/// Number of an era, counted from 0.
pub type EraIndex = u32;

/// Earnings of an account, as the view function `Rewards::earnings` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Earnings {
	/// Claimed and minted so far, in planck.
	pub claimed: Balance,
	/// Of ended eras, ready to claim, in planck.
	pub claimable: Balance,
	/// Estimate for the current era if it ended now, in planck.
	pub current_era_estimate: Balance,
}

/// Parts of an era's budget, in parts of [`BudgetShares::WHOLE`]; they add up to exactly that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct BudgetShares {
	/// Training, and audits of it.
	pub training: u32,
	/// Validators: those who author blocks.
	pub validation: u32,
	/// Treasury.
	pub treasury: u32,
}

impl BudgetShares {
	/// All of a budget.
	pub const WHOLE: u32 = 1_000_000;

	/// Returns whether the shares add up to exactly [`Self::WHOLE`].
	pub fn is_valid(&self) -> bool {
		let sum = [self.training, self.validation, self.treasury].map(u64::from).iter().sum::<u64>();
		sum == u64::from(Self::WHOLE)
	}

	/// Splits `budget`, in planck: each part rounded down, and the treasury gets what is left, so that the parts add up to the budget.
	/// Shares that are not valid never give out more than the budget.
	pub fn split(&self, budget: Balance) -> BudgetParts {
		let mut rest = budget;
		let mut take = |share: u32| {
			let part = part_of(budget, share.into(), Self::WHOLE.into()).min(rest);
			rest = rest.saturating_sub(part);
			part
		};
		let [training, validation] = [self.training, self.validation].map(&mut take);
		BudgetParts { training, validation, treasury: rest }
	}
}

/// A budget in its parts, in planck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct BudgetParts {
	/// Training, and audits of it.
	pub training: Balance,
	/// Validators: those who author blocks.
	pub validation: Balance,
	/// Treasury.
	pub treasury: Balance,
}

impl BudgetParts {
	/// The budget. Saturates.
	pub fn total(&self) -> Balance {
		[self.training, self.validation, self.treasury].into_iter().fold(0, Balance::saturating_add)
	}
}

/// Split of the fee of an inference, in planck; the parts add up to the fee.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct FeeShares {
	/// Burned.
	pub burn: Balance,
	/// Driver of the session.
	pub driver: Balance,
	/// Those who computed layers, together.
	pub workers: Balance,
	/// Validators.
	pub validators: Balance,
	/// Treasury.
	pub treasury: Balance,
}

/// `floor(amount * numerator / denominator)`; all of `amount` if that is more than it, nothing for a denominator of 0.
pub fn part_of(amount: Balance, numerator: u128, denominator: u128) -> Balance {
	if denominator == 0 {
		return 0;
	}
	multiply_by_rational_with_rounding(amount, numerator.min(denominator), denominator, Rounding::Down).unwrap_or(amount)
}

/// The current era, as the view function `Rewards::era` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct EraView {
	/// Its number.
	pub index: EraIndex,
	/// First block of the era.
	pub starts_at: BlockNumber,
	/// First block of the next era.
	pub ends_at: BlockNumber,
	/// Most that this era mints, in planck.
	pub budget: Balance,
	/// Parts of the budget by purpose; work of training is paid the first part.
	pub parts: BudgetParts,
	/// Points of all accounts so far, in units of 2^-32.
	pub total_points: u128,
}

/// An ended era, as the view function `Rewards::era_history` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct EraRecord {
	/// Its number.
	pub index: EraIndex,
	/// Its budget, in parts.
	pub parts: BudgetParts,
	/// Points of all accounts, in units of 2^-32.
	pub total_points: u128,
	/// Minted by claims so far, in planck: some of the part for training.
	pub claimed: Balance,
	/// Minted for blocks, in planck: some of the part for validation.
	pub to_validators: Balance,
	/// Minted for the treasury, in planck.
	pub to_treasury: Balance,
}

/// Reward of an account for one era, as the view function `Rewards::account_history` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct AccountEra {
	/// Number of the era.
	pub index: EraIndex,
	/// Points of training, in units of 2^-32.
	pub training: u128,
	/// Points of audits, in units of 2^-32.
	pub audits: u128,
	/// Amount that was claimed; before the claim, amount that it would bring, and in the current era, that it would bring if the era ended now. In
	/// planck.
	pub amount: Balance,
	/// True if it was claimed.
	pub claimed: bool,
}

/// All money that came from issuance or was burned by fees, as the view function `Rewards::issuance` shows it, in planck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct IssuanceView {
	/// Most that all budgets together ever come to.
	pub cap: Balance,
	/// Budgets of all ended eras.
	pub budgets: Balance,
	/// Minted by claims.
	pub claimed: Balance,
	/// Minted for blocks.
	pub to_validators: Balance,
	/// Minted for the treasury.
	pub to_treasury: Balance,
	/// Of ended eras' budgets, what can never be minted any more.
	pub unminted: Balance,
	/// Burned of fees of inference.
	pub burned: Balance,
}

impl IssuanceView {
	/// Everything that was minted, in planck. Saturates.
	pub fn minted(&self) -> Balance {
		self.claimed.saturating_add(self.to_validators).saturating_add(self.to_treasury)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const SHARES: BudgetShares = BudgetShares { training: 800_000, validation: 150_000, treasury: 50_000 };

	fn parts([training, validation, treasury]: [Balance; 3]) -> BudgetParts {
		BudgetParts { training, validation, treasury }
	}

	#[test]
	fn a_budget_is_split_to_the_planck_with_the_remainder_for_the_treasury() {
		// By Python's integers.
		let most = [
			272_225_893_536_750_770_770_699_685_945_414_569_164,
			51_042_355_038_140_769_519_506_191_114_765_231_718,
			17_014_118_346_046_923_173_168_730_371_588_410_573,
		];
		let table =
			[(0, [0; 3]), (1, [0, 0, 1]), (19, [15, 2, 2]), (100, [80, 15, 5]), (999_999, [799_999, 149_999, 50_001]), (u128::MAX, most)];
		for (budget, expected) in table {
			assert_eq!(SHARES.split(budget), parts(expected), "{budget}");
			assert_eq!(SHARES.split(budget).total(), budget);
		}
	}

	#[test]
	fn shares_add_up_to_the_whole_or_are_invalid() {
		assert!(SHARES.is_valid());
		assert!(BudgetShares { training: 1_000_000, ..Default::default() }.is_valid());
		assert!(!BudgetShares::default().is_valid());
		assert!(!BudgetShares { training: 800_001, ..SHARES }.is_valid());
		assert!(!BudgetShares { treasury: 49_999, ..SHARES }.is_valid());
		// Adds up to 1,000,000 in 32 bits.
		assert!(!BudgetShares { training: u32::MAX, validation: 1_000_001, ..Default::default() }.is_valid());
	}

	#[test]
	fn parts_of_an_amount_never_exceed_it() {
		assert_eq!(part_of(10, 1, 3), 3);
		assert_eq!(part_of(u128::MAX, u128::MAX - 1, u128::MAX), u128::MAX - 1);
		assert_eq!(part_of(10, 7, 3), 10);
		assert_eq!(part_of(10, 7, 0), 0);
		assert_eq!(part_of(0, 1, 1), 0);
	}
}
