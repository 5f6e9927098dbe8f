//! Offences of compute providers, and what each of them costs.

use crate::{Balance, BlockNumber, NEURO};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use sp_runtime::Permill;

/// Offence that a provider is punished for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Offence {
	/// Work that it claimed was proven false, or not defended; or it did not open a chunk of a dataset that it attests.
	InvalidProof,
	/// It did not report several audits in a row that it was drawn for.
	RepeatedFailure,
	/// It vouched for something false: a checkpoint that it attested, or the sample of an audit, was proven false, or not defended.
	Byzantine,
	/// It is one of many accounts that pretend to be independent of each other.
	Sybil,
}

/// Penalty of an offence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
// Genesis is read by the runtime itself, without the standard library.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Penalty {
	/// Share of all that can be slashed which is burned.
	pub share: Permill,
	/// Most that is burned, in planck.
	pub at_most: Balance,
	/// Points of reputation that are lost.
	pub reputation: u32,
	/// Blocks during which the provider takes no part; [`BlockNumber::MAX`] is for good.
	pub suspension: BlockNumber,
}

impl Penalty {
	/// Returns the amount that is burned of `slashable`, in planck.
	pub fn burned(&self, slashable: Balance) -> Balance {
		self.share.mul_floor(slashable).min(self.at_most)
	}

	/// First block in which a provider may take part again that is punished in block `now`.
	pub const fn until(&self, now: BlockNumber) -> BlockNumber {
		now.saturating_add(self.suspension)
	}
}

/// Penalties of all offences but [`Offence::Sybil`], which always costs everything, for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
// Genesis is read by the runtime itself, without the standard library.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Penalties {
	/// Of [`Offence::InvalidProof`].
	pub invalid_proof: Penalty,
	/// Of [`Offence::RepeatedFailure`].
	pub repeated_failure: Penalty,
	/// Of [`Offence::Byzantine`].
	pub byzantine: Penalty,
}

impl Penalties {
	/// Everything, for good.
	const SYBIL: Penalty = Penalty { share: Permill::one(), at_most: Balance::MAX, reputation: u32::MAX, suspension: BlockNumber::MAX };

	/// Returns the penalty of `offence`.
	pub const fn of(&self, offence: Offence) -> Penalty {
		match offence {
			Offence::InvalidProof => self.invalid_proof,
			Offence::RepeatedFailure => self.repeated_failure,
			Offence::Byzantine => self.byzantine,
			Offence::Sybil => Self::SYBIL,
		}
	}
}

impl Default for Penalties {
	/// An hour, six hours and a day of 3-second blocks. Nothing is burned of who lost a dispute: that has taken everything already. Of who does
	/// not do audits, a tenth, at most 500 NEURO.
	fn default() -> Self {
		let none = Permill::zero();
		Self {
			invalid_proof: Penalty { share: none, at_most: 0, reputation: 100, suspension: 1_200 },
			repeated_failure: Penalty { share: Permill::from_percent(10), at_most: 500 * NEURO, reputation: 50, suspension: 7_200 },
			byzantine: Penalty { share: none, at_most: 0, reputation: 200, suspension: 28_800 },
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn repeated_failure_burns_a_tenth_and_at_most_500_neuro() {
		let penalty = Penalties::default().of(Offence::RepeatedFailure);
		let table = [(0, 0), (9, 0), (10, 1), (100 * NEURO, 10 * NEURO), (5_000 * NEURO, 500 * NEURO), (5_010 * NEURO, 500 * NEURO)];
		for (slashable, burned) in table.into_iter().chain([(Balance::MAX, 500 * NEURO)]) {
			assert_eq!(penalty.burned(slashable), burned, "of {slashable}");
		}
	}

	#[test]
	fn what_an_offence_burns_equals_an_independent_table_where_nothing_bounds_it() {
		// Share in millionths, what can be slashed, floor(share * slashable / 10^6).
		let table = [
			(1, 0, 0),
			(1, 9, 0),
			(1, 10, 0),
			(1, 999_999, 0),
			(1, 5_010_000_000_000_007, 5_010_000_000),
			(1, 170_141_183_460_469_231_731_687_303_715_884_105_729, 170_141_183_460_469_231_731_687_303_715_884),
			(1, Balance::MAX, 340_282_366_920_938_463_463_374_607_431_768),
			(100_000, 0, 0),
			(100_000, 9, 0),
			(100_000, 10, 1),
			(100_000, 999_999, 99_999),
			(100_000, 5_010_000_000_000_007, 501_000_000_000_000),
			(100_000, 170_141_183_460_469_231_731_687_303_715_884_105_729, 17_014_118_346_046_923_173_168_730_371_588_410_572),
			(100_000, Balance::MAX, 34_028_236_692_093_846_346_337_460_743_176_821_145),
			(333_333, 0, 0),
			(333_333, 9, 2),
			(333_333, 10, 3),
			(333_333, 999_999, 333_332),
			(333_333, 5_010_000_000_000_007, 1_669_998_330_000_002),
			(333_333, 170_141_183_460_469_231_731_687_303_715_884_105_729, 56_713_671_106_428_590_420_818_524_009_526_796_614),
			(333_333, Balance::MAX, 113_427_342_212_857_180_841_637_048_019_053_593_228),
			(999_999, 0, 0),
			(999_999, 9, 8),
			(999_999, 10, 9),
			(999_999, 999_999, 999_998),
			(999_999, 5_010_000_000_000_007, 5_009_994_990_000_006),
			(999_999, 170_141_183_460_469_231_731_687_303_715_884_105_729, 170_141_013_319_285_771_262_455_572_028_580_389_844),
			(999_999, Balance::MAX, 340_282_026_638_571_542_524_911_144_057_160_779_686),
			(1_000_000, 0, 0),
			(1_000_000, 9, 9),
			(1_000_000, 10, 10),
			(1_000_000, 999_999, 999_999),
			(1_000_000, 5_010_000_000_000_007, 5_010_000_000_000_007),
			(1_000_000, 170_141_183_460_469_231_731_687_303_715_884_105_729, 170_141_183_460_469_231_731_687_303_715_884_105_729),
			(1_000_000, Balance::MAX, Balance::MAX),
		];
		for (share, slashable, burned) in table {
			let unbounded = Penalty { share: Permill::from_parts(share), at_most: Balance::MAX, reputation: 0, suspension: 0 };
			assert_eq!(unbounded.burned(slashable), burned, "{share} of {slashable}");
			let bounded = Penalty { at_most: 7, ..unbounded };
			assert_eq!(bounded.burned(slashable), burned.min(7), "{share} of {slashable}, at most 7");
		}
	}

	#[test]
	fn a_sybil_loses_everything_for_good_whatever_the_others_cost() {
		let penalty = Penalties::default().of(Offence::Sybil);
		assert_eq!((penalty.burned(Balance::MAX), penalty.until(7)), (Balance::MAX, BlockNumber::MAX));
	}
}
