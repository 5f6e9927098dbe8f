//! Rewards of one candidate, shared by stake without a loop: each planck of stake has earned what the pool says per planck.

use crate::Position;
use codec::{Decode, Encode, MaxEncodedLen};
use neuroshard_types::Balance;
use scale_info::TypeInfo;
use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, Rounding};

/// One planck per planck of stake, in units of [`Pool::per_planck`].
pub const ONE: u128 = 1 << 64;

/// Rewards that are shared by stake.
///
/// Every sum is rounded so that the pool never owes more than it has: what all positions are due never exceeds `unsettled`, and is less by
/// less than a planck for each of `roundings` and of the positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Pool {
	/// Reward of one planck of stake since the candidacy began, in units of 2^-64 planck.
	pub per_planck: u128,
	/// Rewards that were spread and are not settled yet, in planck.
	pub unsettled: Balance,
	/// Number of times that a sum was rounded: at most once whenever something is spread or settled.
	pub roundings: u64,
}

impl Pool {
	/// Spreads `amount` over all positions, whose active stakes add up to `stake`. Returns what cannot be spread evenly: less than
	/// `stake / 2^64 + 1` planck, or everything if there is no stake.
	#[must_use]
	pub fn spread(&mut self, amount: Balance, stake: Balance) -> Balance {
		if stake == 0 {
			return amount;
		}
		let step = multiply_by_rational_with_rounding(amount, ONE, stake, Rounding::Down);
		let Some((step, per_planck)) = step.and_then(|step| Some((step, self.per_planck.checked_add(step)?))) else { return amount };
		if step == 0 {
			return amount;
		}
		// What the step is worth; rounded up it is still at most the amount.
		let spread = multiply_by_rational_with_rounding(step, stake, ONE, Rounding::Up).unwrap_or(amount).min(amount);
		self.per_planck = per_planck;
		self.unsettled = self.unsettled.saturating_add(spread);
		self.roundings = self.roundings.saturating_add(1);
		amount.saturating_sub(spread)
	}

	/// Returns the reward of `position` since it was settled, rounded down to a planck.
	pub fn due(&self, position: &Position) -> Balance {
		let earned = self.per_planck.saturating_sub(position.settled_at);
		multiply_by_rational_with_rounding(position.stake.active, earned, ONE, Rounding::Down).unwrap_or(0)
	}

	/// Takes what `position` is due out of the pool. To be called before its stake changes.
	#[must_use]
	pub fn settle(&mut self, position: &mut Position) -> Balance {
		let due = self.due(position);
		if position.settled_at != self.per_planck && position.stake.active > 0 {
			self.roundings = self.roundings.saturating_add(1);
		}
		position.settled_at = self.per_planck;
		self.unsettled = self.unsettled.saturating_sub(due);
		due
	}
}
