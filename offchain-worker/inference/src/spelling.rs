//! The bytes of tokens: many are parts of characters, and no text by themselves.

use super::text::Text;

impl Text {
	/// The bytes that a token writes behind other text; `None` for one that writes nothing: a special one, or one that the tokenizer does not know.
	pub fn bytes(&self, token: u32) -> Option<Vec<u8>> {
		let text = Some(self.written(token)).filter(|text| !text.is_empty())?;
		if !text.contains(char::REPLACEMENT_CHARACTER) {
			return Some(text.into_bytes());
		}
		let piece = self.piece(token)?;
		let byte = piece.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>')).and_then(|digits| u8::from_str_radix(digits, 16).ok());
		let bytes = byte.map(|byte| vec![byte]).or_else(|| piece.chars().map(shown_byte).collect());
		Some(bytes.unwrap_or_else(|| text.into_bytes()))
	}
}

/// The byte that byte-level tokenizers write as this character. Those that are shown stand for themselves, the others for what comes behind all bytes.
fn shown_byte(character: char) -> Option<u8> {
	let is_shown = |byte: &u8| matches!(byte, 33..=126 | 161..=172 | 174..);
	match u32::from(character).checked_sub(256) {
		None => u8::try_from(character).ok().filter(is_shown),
		Some(place) => (0..=255).filter(|byte| !is_shown(byte)).nth(usize::try_from(place).ok()?),
	}
}

/// Bytes as text, in which those that are no characters stand as `\x` and two digits.
pub fn escaped(bytes: &[u8]) -> String {
	let mut text = String::new();
	for chunk in bytes.utf8_chunks() {
		text.push_str(chunk.valid());
		chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
	}
	text
}

/// Counts the characters of a text whose bytes come in pieces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Offsets {
	/// Characters that are complete.
	complete: usize,
	/// Bytes of one that is not.
	begun: Vec<u8>,
}

impl Offsets {
	/// Behind so many characters.
	pub fn behind(characters: usize) -> Self {
		Self { complete: characters, begun: Vec::new() }
	}

	/// Characters before the one that these bytes begin with, which are the next ones of the text.
	pub fn push(&mut self, bytes: &[u8]) -> usize {
		let from = self.begun.len();
		let all = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
		let (mut end, mut found) = (0usize, None);
		for chunk in all.utf8_chunks() {
			let wrong = chunk.invalid();
			// Each run of wrong bytes is shown as one character.
			let shown = Some(wrong.len()).filter(|length| *length > 0);
			for length in chunk.valid().chars().map(char::len_utf8).chain(shown) {
				end = end.saturating_add(length);
				if end > from {
					found = found.or(Some(self.complete));
				}
				self.complete = self.complete.saturating_add(1);
			}
			let may_go_on = std::str::from_utf8(wrong).is_err_and(|error| error.error_len().is_none());
			if may_go_on && end == all.len() {
				self.complete = self.complete.saturating_sub(1);
				self.begun = wrong.to_vec();
			}
		}
		found.unwrap_or(self.complete)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;
	use std::collections::BTreeSet;

	/// A tokenizer of bytes as Llama 2 has one: those without a token of their own are written `<0x00>`.
	fn fallback() -> Text {
		let mut vocab: Vec<String> = vec!["<unk>".into(), "</s>".into()];
		vocab.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
		vocab.extend(["▁".into(), "▁say".into(), "a".into()]);
		let vocab: Vec<_> = vocab.into_iter().map(|piece| serde_json::json!([piece, -1.0])).collect();
		let special = |id: u32, content: &str| serde_json::json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true });
		let json = serde_json::json!({
			"version": "1.0", "truncation": null, "padding": null, "added_tokens": [special(0, "<unk>"), special(1, "</s>")],
			"normalizer": { "type": "Sequence", "normalizers": [
				{ "type": "Prepend", "prepend": "▁" }, { "type": "Replace", "pattern": { "String": " " }, "content": "▁" }] },
			"pre_tokenizer": null, "post_processor": null,
			"decoder": { "type": "Sequence", "decoders": [{ "type": "Replace", "pattern": { "String": "▁" }, "content": " " },
				{ "type": "ByteFallback" }, { "type": "Fuse" }, { "type": "Strip", "content": " ", "start": 1, "stop": 0 }] },
			"model": { "type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": vocab },
		});
		Text::new(json.to_string().as_bytes(), None, BTreeSet::from([1])).unwrap()
	}

	#[test]
	fn parts_of_characters_have_bytes_and_special_tokens_have_none() {
		let text = Text::new(neuroshard_data::tokenizer::bytes::tokenizer_json().as_bytes(), None, BTreeSet::new()).unwrap();
		for byte in 0..=255u8 {
			assert_eq!(text.bytes(byte.into()), Some(vec![byte]));
		}
		assert_eq!([text.bytes(256), text.bytes(9_999)], [None, None]);
		let text = fallback();
		for byte in 0..=255u8 {
			assert_eq!(text.bytes(2 + u32::from(byte)), Some(vec![byte]), "{byte}");
		}
		assert_eq!([text.bytes(1), text.bytes(258), text.bytes(259)], [None, Some(b" ".into()), Some(b" say".into())]);
	}

	#[test]
	fn bytes_that_are_no_characters_are_escaped() {
		assert_eq!(escaped("aß😀".as_bytes()), "aß😀");
		assert_eq!(escaped(b" \xf0\x9fz\xff"), r" \xf0\x9fz\xff");
	}

	#[test]
	fn a_token_begins_at_the_character_that_has_its_first_byte() {
		let mut offsets = Offsets::default();
		assert_eq!([&b"\xf0"[..], b"\x9f", b"\x98", b"\x80", b"a", b"b"].map(|bytes| offsets.push(bytes)), [0, 0, 0, 0, 1, 2]);
		// What was begun and is not continued is one character; a token can end one and begin the next.
		let mut offsets = Offsets::default();
		assert_eq!(
			[&b"\xf0\x9f"[..], b"a", b"\xc3", b"\x9f\xc3", b"\x9f", b"", b"c"].map(|bytes| offsets.push(bytes)),
			[0, 1, 2, 2, 3, 4, 4]
		);
	}

	proptest! {
		#[test]
		fn offsets_are_those_of_the_whole_text(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select("😀ßa".as_bytes().to_vec())], 0..24), cut in 1usize..4) {
			let mut offsets = Offsets::default();
			let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().count();
			for place in (0..bytes.len()).step_by(cut) {
				let end = bytes.len().min(place + cut);
				let found = offsets.push(&bytes[place..end]);
				// The character of the whole text with this byte: as many end before it as a text has that is cut behind it, but for that one.
				let mut ends = 0;
				let expected = bytes.utf8_chunks().flat_map(|chunk| {
					let wrong = (!chunk.invalid().is_empty()).then_some(chunk.invalid().len());
					chunk.valid().chars().map(char::len_utf8).chain(wrong).collect::<Vec<_>>()
				}).take_while(|length| { ends += length; ends <= place }).count();
				prop_assert_eq!(found, expected);
			}
			prop_assert!(shown(&bytes) >= offsets.push(b""));
		}
	}
}
