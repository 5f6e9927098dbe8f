//! The arithmetic that an answer is computed in.

use crate::graph::Product;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// How a model multiplies by its weights when it answers. All else is exact f32 in every class, and the checkpoint is the same one.
///
/// The classes give different answers, each with the same bits on every machine: `docs/spec/arithmetic.md` specifies both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Class {
	/// In f32, as in training unless [`crate::Products`] say otherwise.
	#[default]
	ExactF32,
	/// In 8 bits: weights and activations are quantized in groups of 32 along each chain.
	ExactInt8,
}

impl Class {
	/// The product of activations with a weight.
	pub(crate) const fn product(self) -> Product {
		match self {
			Self::ExactF32 => Product::Nt,
			Self::ExactInt8 => Product::Int8,
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn classes_keep_their_numbers() {
		assert_eq!([Class::ExactF32, Class::ExactInt8].map(|class| class.encode()), [[0], [1]]);
		assert_eq!(Class::default(), Class::ExactF32);
	}
}
