//! The byte-level tokenizer.
//!
//! A token is a byte: id = byte value. Id 256 ends a document; 257 to 287 are reserved, so that the vocabulary is a
//! multiple of 32 as the graph asks. The same tokenizer is written as a Hugging Face `tokenizer.json` (ByteLevel BPE
//! without merges).

use neuroshard_types::dataset::{TextTokens, BYTE_VOCAB};

/// Rows of the embedding: 256 bytes, the document separator, 31 reserved ids.
pub const VOCAB: u32 = BYTE_VOCAB;
/// Ends a document and begins the next one.
pub const END_OF_TEXT: u32 = TextTokens::BYTES.end;
/// Text form of [`END_OF_TEXT`] in the Hugging Face files.
pub const END_OF_TEXT_TEXT: &str = "<|endoftext|>";

/// The tokens of `text`, one a byte, without a separator.
pub fn encode(text: &[u8]) -> impl Iterator<Item = u32> + '_ {
	text.iter().map(|byte| u32::from(*byte))
}

/// The text of `tokens`. Special and unknown ids are left out; bytes that are not UTF-8 become U+FFFD.
pub fn decode(tokens: impl IntoIterator<Item = u32>) -> String {
	let bytes: Vec<u8> = tokens.into_iter().filter_map(|token| u8::try_from(token).ok()).collect();
	String::from_utf8_lossy(&bytes).into_owned()
}

/// The character that stands for `byte` in a byte-level BPE vocabulary (GPT-2's table): printable Latin-1 characters
/// stand for themselves, all others for U+0100 onwards in ascending order.
pub(super) fn byte_character(byte: u8) -> char {
	let printable = |value: u8| matches!(value, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
	if printable(byte) {
		return char::from(byte);
	}
	let rank = (0..byte).filter(|value| !printable(*value)).count() as u32;
	char::from_u32(0x100 + rank).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn special_text(id: u32) -> String {
	match id == END_OF_TEXT {
		true => END_OF_TEXT_TEXT.into(),
		false => format!("<|reserved_{}|>", id - END_OF_TEXT),
	}
}

/// Returns whether this project's vocabulary has the token `text` at `id` for later use only: no text has it.
pub fn is_reserved(id: u32, text: &str) -> bool {
	id > END_OF_TEXT && id < VOCAB && text == special_text(id)
}

/// `text` as a JSON string literal. The texts here need no other escapes.
fn quoted(text: &str) -> String {
	format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The Hugging Face `tokenizer.json`, byte for byte the same on every machine: it is written as text, because the key
/// order of a JSON library may depend on how that library was built.
pub fn tokenizer_json() -> String {
	let specials = || END_OF_TEXT..VOCAB;
	let added: Vec<String> = specials()
		.map(|id| {
			format!(
				"    {{\"id\": {id}, \"content\": {}, \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true}}",
				quoted(&special_text(id))
			)
		})
		.collect();
	let bytes = (0..=255u8).map(|byte| (byte_character(byte).to_string(), u32::from(byte)));
	let vocab: Vec<String> =
		bytes.chain(specials().map(|id| (special_text(id), id))).map(|(text, id)| format!("      {}: {id}", quoted(&text))).collect();
	let byte_level = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}";
	format!(
		r#"{{
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": [
{added}
  ],
  "normalizer": null,
  "pre_tokenizer": {byte_level},
  "post_processor": null,
  "decoder": {byte_level},
  "model": {{
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": false,
    "vocab": {{
{vocab}
    }},
    "merges": []
  }}
}}
"#,
		added = added.join(",\n"),
		vocab = vocab.join(",\n"),
	)
}

/// As [`tokenizer_json`], with [`END_OF_TEXT`] before each text that is encoded with special tokens, as in training. Datasets have the other one, whose
/// hash is theirs.
pub fn exported_tokenizer_json() -> String {
	let special = |kind: u32| format!("{{\"SpecialToken\": {{\"id\": \"{END_OF_TEXT_TEXT}\", \"type_id\": {kind}}}}}");
	let text = |name: &str, kind: u32| format!("{{\"Sequence\": {{\"id\": \"{name}\", \"type_id\": {kind}}}}}");
	let (single, second) = ([special(0), text("A", 0)].join(", "), [special(1), text("B", 1)].join(", "));
	let processor = format!(
		r#"{{
    "type": "TemplateProcessing",
    "single": [{single}],
    "pair": [{single}, {second}],
    "special_tokens": {{"{END_OF_TEXT_TEXT}": {{"id": "{END_OF_TEXT_TEXT}", "ids": [{END_OF_TEXT}], "tokens": ["{END_OF_TEXT_TEXT}"]}}}}
  }}"#
	);
	tokenizer_json().replace("\"post_processor\": null", &format!("\"post_processor\": {processor}"))
}

#[cfg(test)]
mod tests {
	use super::*;
	use serde_json::Value;
	use std::collections::BTreeSet;

	#[test]
	fn text_survives_encoding_and_decoding() {
		let text = "fn main() { println!(\"Grüße, 世界\"); }\n";
		let tokens = encode(text.as_bytes());
		assert_eq!(decode(tokens), text);
	}

	#[test]
	fn decoding_skips_specials_and_marks_broken_utf8() {
		assert_eq!(decode([104, 256, 105, 287, 0xff, 33]), "hi\u{fffd}!");
	}

	#[test]
	fn byte_characters_follow_the_published_table() {
		// Known entries of GPT-2's vocabulary: space is Ġ, newline Ċ, tab ĉ, NUL Ā, soft hyphen the last of the 68 (Ń).
		assert_eq!(byte_character(b' '), 'Ġ');
		assert_eq!(byte_character(b'\n'), 'Ċ');
		assert_eq!(byte_character(b'\t'), 'ĉ');
		assert_eq!(byte_character(0), 'Ā');
		assert_eq!(byte_character(0xad), 'Ń');
		assert_eq!(byte_character(b'A'), 'A');
		let all: BTreeSet<char> = (0..=255).map(byte_character).collect();
		assert_eq!(all.len(), 256);
	}

	#[test]
	fn the_tokenizer_file_numbers_every_id_once() {
		let document: Value = serde_json::from_str(&tokenizer_json()).unwrap();
		let vocab = document["model"]["vocab"].as_object().unwrap();
		let ids: BTreeSet<u64> = vocab.values().map(|id| id.as_u64().unwrap()).collect();
		assert_eq!(ids, (0..u64::from(VOCAB)).collect());
		assert_eq!(vocab["Ġ"], 32);
		assert_eq!(vocab[END_OF_TEXT_TEXT], 256);
	}

	#[test]
	fn the_exported_tokenizer_begins_texts_by_itself_and_is_else_the_same() {
		let tokenizer: tokenizers::Tokenizer = exported_tokenizer_json().parse().unwrap();
		let ids = |special| tokenizer.encode("hi", special).unwrap().get_ids().to_vec();
		assert_eq!((ids(true), ids(false)), (vec![256, 104, 105], vec![104, 105]));
		let [mut exported, own] = [exported_tokenizer_json(), tokenizer_json()].map(|text| serde_json::from_str::<Value>(&text).unwrap());
		exported["post_processor"] = Value::Null;
		assert_eq!(exported, own);
	}

	#[test]
	fn only_tokens_of_this_vocabulary_are_reserved() {
		assert!(is_reserved(257, "<|reserved_1|>") && is_reserved(287, "<|reserved_31|>"));
		let others = [(256, END_OF_TEXT_TEXT), (288, "<|reserved_32|>"), (257, "<|reserved_2|>"), (260, "<|reserved_special_token_4|>")];
		assert!(!others.into_iter().any(|(id, text)| is_reserved(id, text)));
	}
}
