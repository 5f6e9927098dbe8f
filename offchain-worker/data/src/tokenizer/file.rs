//! `tokenizer.json`: read so that each added token has the number that the file gives it.
//!
//! The library numbers added tokens that its model does not know by their order. So they are put into the model's vocabulary first. No text is
//! made into them by that: nothing is merged into them.

use super::TokenizerError;
use neuroshard_support::json_file;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tokenizers::Tokenizer;

/// Names that the library gives to the parts of a file, and their names in it.
const PARTS: [(&str, &str); 5] = [
	("PreTokenizerWrapper", "pre_tokenizer"),
	("PostProcessorWrapper", "post_processor"),
	("NormalizerWrapper", "normalizer"),
	("DecoderWrapper", "decoder"),
	("ModelWrapper", "model"),
];

/// Bytes of all regular expressions of a file. Those of models have some hundreds, and what they are compiled to is thousands of times as large.
const LONGEST_PATTERNS: usize = 8 << 10;

/// Bytes of the regular expressions within `value`.
fn pattern_bytes(value: &Value) -> usize {
	match value {
		Value::Object(fields) => fields.iter().fold(0, |sum, (name, value)| match (name.as_str(), value) {
			("Regex", Value::String(pattern)) => pattern.len().saturating_add(sum),
			_ => pattern_bytes(value).saturating_add(sum),
		}),
		Value::Array(values) => values.iter().map(pattern_bytes).fold(0, usize::saturating_add),
		_ => 0,
	}
}

/// Returns the library's message, with the names that parts have in the file.
fn with_parts(words: String) -> String {
	PARTS.iter().fold(words, |words, (type_name, part)| words.replace(type_name, part))
}

/// The tokenizer in `json`, which neither cuts nor fills up prompts.
///
/// # Errors
/// [`TokenizerError::Json`], [`TokenizerError::Ids`] or [`TokenizerError::Tokenizer`].
pub fn read(json: &[u8]) -> Result<Tokenizer, TokenizerError> {
	let mut file: Value = json_file::parse(json).map_err(TokenizerError::Json)?;
	let parts = ["normalizer", "pre_tokenizer", "decoder"].into_iter().filter_map(|part| file.get(part));
	let patterns = parts.map(pattern_bytes).fold(0, usize::saturating_add);
	if patterns > LONGEST_PATTERNS {
		let words = format!("its regular expressions have {patterns} bytes, and {LONGEST_PATTERNS} at most are read");
		return Err(TokenizerError::Json(words));
	}
	let added = added(&file)?;
	if let Some(vocab) = file.pointer_mut("/model/vocab").and_then(Value::as_object_mut) {
		let others = vocab.iter().filter_map(|(text, id)| Some((u32::try_from(id.as_u64()?).ok()?, text)));
		if let Some((id, other)) = others.into_iter().find(|(id, text)| added.get(id).is_some_and(|own| own != *text)) {
			return Err(TokenizerError::Ids(format!("{id} is that of {other:?} and of {:?}", added[&id])));
		}
		for (id, text) in &added {
			vocab.entry(text.clone()).or_insert_with(|| (*id).into());
		}
	}
	if let Some(listed) = file.get_mut("added_tokens").and_then(Value::as_array_mut) {
		listed.sort_by_key(|token| token.get("id").and_then(Value::as_u64));
	}
	let mut tokenizer: Tokenizer = json_file::take(file).map_err(|words| TokenizerError::Json(with_parts(words)))?;
	for (id, text) in &added {
		let own = tokenizer.token_to_id(text);
		if own != Some(*id) {
			let own = own.map_or_else(|| "none".to_owned(), |own| own.to_string());
			return Err(TokenizerError::Ids(format!("{text:?} is listed as {id}, and becomes {own}")));
		}
	}
	tokenizer.with_padding(None);
	tokenizer.with_truncation(None).map_err(TokenizerError::Tokenizer)?;
	Ok(tokenizer)
}

/// The added tokens by their numbers.
fn added(file: &Value) -> Result<BTreeMap<u32, String>, TokenizerError> {
	let (mut added, mut texts) = (BTreeMap::new(), BTreeSet::new());
	for token in file.get("added_tokens").and_then(Value::as_array).into_iter().flatten() {
		let id = token.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
		let text = token.get("content").and_then(Value::as_str).filter(|text| !text.is_empty());
		let (Some(id), Some(text)) = (id, text) else {
			return Err(TokenizerError::Ids(format!("an added token lacks a number or a text: {token}")));
		};
		if !texts.insert(text) || added.insert(id, text.to_owned()).is_some_and(|other| other != text) {
			return Err(TokenizerError::Ids(format!("{id}, {text:?}, is listed twice")));
		}
	}
	Ok(added)
}

#[cfg(test)]
mod tests {
	use super::*;
	use serde_json::json;

	/// Bytes `a` and `b`, and added tokens in this order; those of `known` are in the model's vocabulary, too.
	fn file(listed: &[(u32, &str)], known: &[(u32, &str)]) -> Vec<u8> {
		let vocab: BTreeMap<&str, u32> = [(0, "a"), (1, "b")].iter().chain(known).map(|(id, text)| (*text, *id)).collect();
		let token = |(id, text): &(u32, &str)| json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true });
		let model = json!({ "type": "BPE", "vocab": vocab, "merges": [] });
		json!({ "version": "1.0", "added_tokens": listed.iter().map(token).collect::<Vec<_>>(), "model": model }).to_string().into_bytes()
	}

	fn ids(file: &[u8], text: &str) -> Vec<u32> {
		read(file).unwrap().encode(text, false).unwrap().get_ids().to_vec()
	}

	#[test]
	fn added_tokens_have_the_numbers_of_the_file_in_any_order_and_with_holes() {
		assert_eq!(ids(&file(&[(3, "<y>"), (2, "<x>")], &[]), "a<x><y>"), [0, 2, 3]);
		assert_eq!(ids(&file(&[(9, "<y>"), (2, "<x>")], &[]), "a<x><y>"), [0, 2, 9]);
		assert_eq!(ids(&file(&[(9, "<y>"), (7, "<x>")], &[(9, "<y>")]), "a<x><y>b"), [0, 7, 9, 1]);
	}

	#[test]
	fn numbers_that_contradict_each_other_are_refused() {
		let refused = |listed, known| read(&file(listed, known)).unwrap_err().to_string();
		assert!(refused(&[(1, "<x>")], &[]).contains("\"b\""));
		assert!(refused(&[(3, "<x>")], &[(4, "<x>")]).contains("listed as 3, and becomes 4"));
		assert!(refused(&[(3, "<x>"), (3, "<y>")], &[]).contains("twice"));
		assert!(refused(&[(3, "<x>"), (4, "<x>")], &[]).contains("twice"));
	}

	#[test]
	fn regular_expressions_that_are_long_are_refused_before_they_are_compiled() {
		let with = |pattern: String| {
			let mut file: Value = serde_json::from_slice(&file(&[], &[])).unwrap();
			let split = json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false });
			file["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [split.clone(), split] });
			read(file.to_string().as_bytes())
		};
		assert!(with("x".repeat(4 << 10)).is_ok());
		assert!(with("x".repeat((4 << 10) + 1)).unwrap_err().to_string().contains("8194 bytes"));
	}

	#[test]
	fn a_vocabulary_that_is_a_list_has_no_holes() {
		let unigram = |id: u32| {
			let mut file: Value = serde_json::from_slice(&file(&[(id, "<x>")], &[])).unwrap();
			file["model"] = json!({ "type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0], ["b", 0.0]] });
			read(file.to_string().as_bytes()).map(|tokenizer| tokenizer.token_to_id("<x>"))
		};
		assert_eq!(unigram(2).unwrap(), Some(2));
		assert!(unigram(3).unwrap_err().to_string().contains("becomes 2"));
	}
}
