//! 32 bytes as text: `0x` and 64 hexadecimal digits.

use alloc::string::String;
use core::fmt::Write;
use serde::{de::Error, Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
	let mut text = String::from("0x");
	for byte in bytes {
		// Text has room for more text.
		let _ = write!(text, "{byte:02x}");
	}
	serializer.serialize_str(&text)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
	let text = String::deserialize(deserializer)?;
	parse(&text).ok_or_else(|| D::Error::custom("expected 0x and 64 hexadecimal digits"))
}

fn parse(text: &str) -> Option<[u8; 32]> {
	let digits = text.strip_prefix("0x")?.as_bytes();
	let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
	let mut bytes = [0; 32];
	if digits.len() != 2 * bytes.len() {
		return None;
	}
	for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
		*byte = digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?;
	}
	Some(bytes)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn only_64_digits_after_0x_are_32_bytes() {
		let digits = "00ff10Ab".repeat(8);
		let bytes = parse(&format!("0x{digits}")).unwrap();
		assert_eq!(bytes[..5], [0x00, 0xff, 0x10, 0xab, 0x00]);
		for wrong in [digits.clone(), format!("0x{digits}0"), format!("0x{}", &digits[1..]), format!("0x{}+1", &digits[2..])] {
			assert_eq!(parse(&wrong), None, "{wrong}");
		}
	}
}
