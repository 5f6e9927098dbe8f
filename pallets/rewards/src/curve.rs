//! Issuance: a budget per era that falls geometrically towards a floor.

use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_types::{reward::EraIndex, Balance};
use scale_info::TypeInfo;
use sp_runtime::{helpers_128bit::multiply_by_rational_with_rounding, Rounding};

/// A ratio of 1.
pub const WHOLE: u64 = 1_000_000_000_000_000_000;

/// Parameters of the issuance. The first `eras_per_step` eras get `initial` each, the next ones `ratio` times that, and so on, each step
/// rounded down to a planck, but never less than `floor`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Curve {
	/// Budget of the first era, in planck.
	pub initial: Balance,
	/// Smallest budget, in planck.
	pub floor: Balance,
	/// What a step leaves of the budget, in parts of [`WHOLE`].
	pub ratio: u64,
	/// Eras between two steps.
	pub eras_per_step: EraIndex,
}

impl Curve {
	/// Whether budgets never rise, steps are taken, and the floor is not above the beginning.
	pub fn is_valid(&self) -> bool {
		self.ratio <= WHOLE && self.eras_per_step > 0 && self.floor <= self.initial
	}

	/// Budget of era `era`, where `previous` is that of the era before.
	pub fn next(&self, era: EraIndex, previous: Balance) -> Balance {
		if era.checked_rem(self.eras_per_step) != Some(0) {
			return previous;
		}
		// A ratio of at most 1 cannot overflow.
		multiply_by_rational_with_rounding(previous, self.ratio.into(), WHOLE.into(), Rounding::Down).unwrap_or(previous).max(self.floor)
	}
}
