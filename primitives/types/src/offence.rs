//! Offences of compute providers, and what each of them costs.

use crate::{Balance, BlockNumber, NEURO};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;
use sp_runtime::Permill;

/// What a provider is punished for.
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

/// What an offence costs.
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
	/// What is burned of so much that can be slashed, in planck.
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

	/// What `offence` costs.
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
	fn a_sybil_loses_everything_for_good_whatever_the_others_cost() {
		let penalty = Penalties::default().of(Offence::Sybil);
		assert_eq!((penalty.burned(Balance::MAX), penalty.until(7)), (Balance::MAX, BlockNumber::MAX));
	}
}
