//! Headers of requests, and the signed words in them.

use codec::{DecodeAll, Encode};
use neuroshard_types::inference::{Ask, Voucher};
use sp_runtime::MultiSignature;

/// Header with the number of the session.
pub const SESSION: &str = "neuroshard-session";
/// Header with the last voucher and its signature.
pub const VOUCHER: &str = "neuroshard-voucher";
/// Header with the user's word that it asks, and its signature: vouchers alone become public when they are claimed.
pub const ASK: &str = "neuroshard-ask";

/// A voucher and its signature.
pub type Signed = (Voucher, MultiSignature);

/// A user's word that it asks, and its signature.
pub type SignedAsk = (Ask, MultiSignature);

/// Writes what is signed as headers, bodies and files have it: `0x`, and its SCALE encoding in hexadecimal digits.
pub fn written(signed: &impl Encode) -> String {
	format!("0x{}", hex::encode(signed.encode()))
}

/// Reads what [`written`] wrote; `None` for anything else.
pub fn read<T: DecodeAll>(text: &str) -> Option<T> {
	let bytes = hex::decode(text.strip_prefix("0x")?).ok()?;
	T::decode_all(&mut &bytes[..]).ok()
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{AccountId, H256};

	#[test]
	fn what_is_written_is_read_and_nothing_else_is() {
		let voucher = Voucher { session: 7, provider: AccountId::new([1; 32]), amount: 300, answers: 2, receipts: H256::repeat_byte(9) };
		let signed: Signed = (voucher, MultiSignature::Sr25519([5; 64].into()));
		let text = written(&signed);
		assert_eq!(read::<Signed>(&text), Some(signed));
		assert!(text.starts_with("0x07000000"), "{text}");
		for other in [&text[2..], &text[..text.len() - 2], &format!("{text}00"), "0x", "0xzz"] {
			assert_eq!(read::<Signed>(other), None, "{other}");
		}
	}
}
