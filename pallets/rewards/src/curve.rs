//! Issuance: a budget per era that falls geometrically towards a floor, until a cap is reached.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_types::{
	reward::{part_of, EraIndex},
	Balance,
};
use scale_info::TypeInfo;

/// A ratio of 1.
pub const WHOLE: u64 = 1_000_000_000_000_000_000;

/// Parameters of the issuance. The first `eras_per_step` eras get `initial` each, the next ones `ratio` times that, and so on, each step
/// rounded down to a planck, but never less than `floor`; and all budgets together never more than `cap`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Curve {
	/// Budget of the first era, in planck.
	pub initial: Balance,
	/// Smallest budget while the cap leaves room for it, in planck.
	pub floor: Balance,
	/// Part of the budget that a step leaves, in parts of [`WHOLE`].
	pub ratio: u64,
	/// Eras between two steps.
	pub eras_per_step: EraIndex,
	/// Most that all budgets together come to, in planck.
	pub cap: Balance,
}

impl Curve {
	/// Returns whether budgets never rise, steps are taken, the floor is not above the beginning, and the first budget not above the cap.
	pub fn is_valid(&self) -> bool {
		self.ratio <= WHOLE && self.eras_per_step > 0 && self.floor <= self.initial && self.initial <= self.cap
	}

	/// Budget of era `era`, where `previous` is that of the era before, and `spent` all budgets before this one.
	pub fn next(&self, era: EraIndex, previous: Balance, spent: Balance) -> Balance {
		let budget = match era.checked_rem(self.eras_per_step) {
			Some(0) => part_of(previous, self.ratio.into(), WHOLE.into()).max(self.floor),
			_ => previous,
		};
		budget.min(self.cap.saturating_sub(spent))
	}
}
