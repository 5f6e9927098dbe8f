//! Soundness of a chain's state, as its runtime reports it to those who watch a network.

use alloc::string::String;
use codec::{Decode, Encode};
use core::fmt;
use scale_info::TypeInfo;

/// Answer of the runtime API `InvariantsApi_broken` about the state after a block.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub enum Soundness {
	/// Every invariant holds.
	Sound,
	/// The first invariant that does not hold, in words.
	Broken(String),
	/// The state has more entries than this many, so that it is not checked in one call.
	TooLarge {
		/// Most entries of a state that is.
		limit: u32,
	},
}

impl Soundness {
	/// Returns whether every invariant was checked and holds.
	pub fn is_sound(&self) -> bool {
		*self == Self::Sound
	}
}

impl fmt::Display for Soundness {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			Self::Sound => formatter.write_str("every invariant holds"),
			Self::Broken(words) => formatter.write_str(words),
			Self::TooLarge { limit } => write!(formatter, "the state has more than {limit} entries: too many to be checked in one call"),
		}
	}
}
