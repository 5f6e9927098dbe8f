//! Receipts: a provider's signed statement about each answer, and how anybody checks it.
//!
//! - `issuer`: makes receipts, and signs them if it has a key.
//! - [`check`]: computes an answer anew, with one pass over prompt and answer instead of one for each token.

pub mod check;
mod issuer;

pub use issuer::Issuer;

use neuroshard_types::{
	inference::{Receipt, Tokens},
	proof::ProofSignature,
	provider::PonwKey,
	H256,
};
use serde::{Deserialize, Serialize};

/// A receipt with the tokens that it is about: all that somebody with the model needs to check it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Transcript {
	/// The receipt.
	pub receipt: Receipt,
	/// First block of the chain that the provider has its account on; zero without one.
	pub genesis: H256,
	/// The provider's key for proofs, compressed, in hexadecimal digits.
	#[serde(default, skip_serializing_if = "Option::is_none", with = "digits")]
	pub key: Option<PonwKey>,
	/// Signature of the receipt, (r, s, v), in hexadecimal digits.
	#[serde(default, skip_serializing_if = "Option::is_none", with = "digits")]
	pub signature: Option<ProofSignature>,
	/// Tokens of the prompt.
	pub prompt: Vec<u32>,
	/// Tokens of the answer.
	pub answer: Vec<u32>,
}

/// Error of a transcript that is wrong whatever the model says.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
	/// The tokens are not those of the receipt.
	#[error("the {0} is not the one that the receipt is about")]
	OtherTokens(&'static str),
	/// The signature is not by the key.
	#[error("the signature is not that of the key it names over this receipt")]
	Forged,
	/// A key without a signature, or a signature without a key.
	#[error("a key and a signature belong together, and one of them is missing")]
	Unsigned,
}

impl Transcript {
	/// Checks that receipt, tokens, key and signature belong together. Returns whether it is signed.
	///
	/// # Errors
	/// [`Malformed`].
	pub fn validate(&self) -> Result<bool, Malformed> {
		for (name, tokens, told) in [("prompt", &self.prompt, self.receipt.prompt), ("answer", &self.answer, self.receipt.answer)] {
			if Tokens::of(tokens) != told {
				return Err(Malformed::OtherTokens(name));
			}
		}
		match (self.key, self.signature) {
			(None, None) => Ok(false),
			(Some(key), Some(signature)) if self.receipt.is_signed(self.genesis, key, &signature) => Ok(true),
			(Some(_), Some(_)) => Err(Malformed::Forged),
			_ => Err(Malformed::Unsigned),
		}
	}
}

/// Bytes as hexadecimal digits.
mod digits {
	use serde::{de::Error, Deserialize, Deserializer, Serialize, Serializer};

	pub(super) fn serialize<S: Serializer, const N: usize>(bytes: &Option<[u8; N]>, to: S) -> Result<S::Ok, S::Error> {
		bytes.map(|bytes| format!("0x{}", hex::encode(bytes))).serialize(to)
	}

	pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(from: D) -> Result<Option<[u8; N]>, D::Error> {
		let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
		let mut bytes = [0; N];
		let digits = text.strip_prefix("0x").unwrap_or(&text);
		hex::decode_to_slice(digits, &mut bytes).map_err(|_| D::Error::custom(format!("{} hexadecimal digits are expected", 2 * N)))?;
		Ok(Some(bytes))
	}
}

#[cfg(test)]
mod tests {
	use super::{check::tests::answered, *};

	#[test]
	fn a_transcript_is_the_same_after_it_was_written_and_read() {
		let transcript = answered(true);
		let written = serde_json::to_string(&transcript).unwrap();
		assert_eq!(serde_json::from_str::<Transcript>(&written).unwrap(), transcript);
		let unsigned = Transcript { key: None, signature: None, ..transcript };
		let written = serde_json::to_string(&unsigned).unwrap();
		assert_eq!(serde_json::from_str::<Transcript>(&written).unwrap(), unsigned);
	}

	#[test]
	fn whatever_is_changed_in_a_transcript_is_noticed_without_the_model() {
		let transcript = answered(true);
		assert_eq!(transcript.validate(), Ok(true));
		assert_eq!(Transcript { key: None, signature: None, ..transcript.clone() }.validate(), Ok(false));
		assert_eq!(Transcript { signature: None, ..transcript.clone() }.validate(), Err(Malformed::Unsigned));
		let changed = |change: &dyn Fn(&mut Transcript)| {
			let mut changed = transcript.clone();
			change(&mut changed);
			changed.validate()
		};
		assert_eq!(changed(&|other| other.prompt[0] += 1), Err(Malformed::OtherTokens("prompt")));
		assert_eq!(changed(&|other| _ = other.answer.pop()), Err(Malformed::OtherTokens("answer")));
		assert_eq!(changed(&|other| other.receipt.price += 1), Err(Malformed::Forged));
		assert_eq!(changed(&|other| other.receipt.sampling.seed += 1), Err(Malformed::Forged));
		assert_eq!(changed(&|other| other.genesis = H256::repeat_byte(9)), Err(Malformed::Forged));
		assert_eq!(changed(&|other| other.signature = Some([7; 65])), Err(Malformed::Forged));
	}
}
