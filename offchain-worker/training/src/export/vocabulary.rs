//! A tokenizer in the words of GGUF: byte-level BPE, whose way to split texts into words has a name in llama.cpp.

use super::{gguf::Value, ExportError};
use neuroshard_data::tokenizer::{bytes, Tokenizer};
use serde_json::Value as Json;

/// How words begin and end in Llama 3, and in Qwen; they differ in digits.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Kinds of tokens.
const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const UNUSED: i32 = 5;

/// What the head of a file says about the tokenizer of a model with so many `rows` of its embedding.
///
/// # Errors
/// [`ExportError::Gguf`] if its texts would become other tokens there; [`ExportError::Vocabulary`].
pub(super) fn of(tokenizer: &Tokenizer, rows: u32) -> Result<Vec<(String, Value)>, ExportError> {
	if rows < tokenizer.vocab() {
		return Err(ExportError::Vocabulary { model: rows, needed: tokenizer.vocab() });
	}
	let file: Json = serde_json::from_slice(tokenizer.json()).map_err(|error| ExportError::Gguf(error.to_string()))?;
	let words = words(&file)?;
	let (tokens, kinds) = tokens(&file, rows)?;
	let end = tokenizer.tokens().end;
	// As in training, where the end of a text begins the next one.
	let around = if tokenizer.is_bytes() { [&[bytes::END_OF_TEXT][..], &[]] } else { tokenizer.around() };
	let (begin, ends) = match around {
		[[], []] => (None, false),
		[[begin], []] => (Some(*begin), false),
		[[], [last]] if *last == end => (None, true),
		[[begin], [last]] if *last == end => (Some(*begin), true),
		_ => {
			return Err(ExportError::Gguf(
				"a tokenizer that puts several tokens around texts, or another one than their end behind them".into(),
			))
		}
	};
	let name = |name: &str| format!("tokenizer.ggml.{name}");
	Ok(vec![
		(name("model"), Value::Text("gpt2".into())),
		(name("pre"), Value::Text(words.into())),
		(name("tokens"), Value::Texts(tokens)),
		(name("token_type"), Value::Numbers(kinds)),
		(name("merges"), Value::Texts(merges(&file)?)),
		(name("bos_token_id"), Value::U32(begin.unwrap_or(end))),
		(name("eos_token_id"), Value::U32(end)),
		(name("add_bos_token"), Value::Flag(begin.is_some())),
		(name("add_eos_token"), Value::Flag(ends)),
	])
}

/// The name of the way in which a tokenizer makes words of texts.
fn words(file: &Json) -> Result<&'static str, ExportError> {
	let refuse = |words: &str| Err(ExportError::Gguf(words.into()));
	let model = &file["model"];
	let kind = model["type"].as_str().unwrap_or("BPE");
	let is = |value: &Json| value.as_bool() == Some(true);
	if kind != "BPE" || is(&model["byte_fallback"]) {
		return refuse(&format!("a tokenizer of type {kind} that is no byte-level BPE"));
	}
	let empty = |value: &Json| value.is_null() || value.as_str() == Some("");
	if !empty(&model["continuing_subword_prefix"]) || !empty(&model["end_of_word_suffix"]) {
		return refuse("a tokenizer that marks parts of words");
	}
	let part = |value: &Json, kind: &str| value["type"].as_str() == Some(kind);
	let bytes = |value: &Json, splits: bool| {
		part(value, "ByteLevel") && !is(&value["add_prefix_space"]) && value["use_regex"].as_bool().unwrap_or(true) == splits
	};
	let split = |value: &Json, pattern: &str| {
		let isolated = value["behavior"].as_str() == Some("Isolated") && !is(&value["invert"]);
		part(value, "Split") && isolated && value["pattern"]["Regex"].as_str() == Some(pattern)
	};
	let digits = |value: &Json| part(value, "Digits") && is(&value["individual_digits"]);
	let before = &file["pre_tokenizer"];
	let parts = match before["pretokenizers"].as_array() {
		Some(parts) if part(before, "Sequence") => &parts[..],
		_ => std::slice::from_ref(before),
	};
	let nothing_merges = model["merges"].as_array().is_none_or(Vec::is_empty) && !is(&model["ignore_merges"]);
	let name = match parts {
		[one] if bytes(one, true) => "gpt-2",
		// Each byte is a word, however texts are split.
		[one] if bytes(one, false) && nothing_merges => "gpt-2",
		[first, last] if split(first, LLAMA3) && bytes(last, false) => "llama-bpe",
		[first, last] if split(first, QWEN2) && bytes(last, false) => "qwen2",
		[first, last] if digits(first) && bytes(last, true) => "smollm",
		_ => return refuse("a tokenizer that splits texts into words in another way than GPT-2, Llama 3, Qwen and SmolLM"),
	};
	if is(&model["ignore_merges"]) != (name == "llama-bpe") {
		return refuse(&format!("a tokenizer that splits texts as {name} does, and finds whole words in another way"));
	}
	match &file["normalizer"] {
		Json::Null => Ok(name),
		// As its files have it: llama.cpp reads composed and decomposed characters as they are.
		normalizer if part(normalizer, "NFC") && name == "qwen2" => Ok(name),
		_ => refuse("a tokenizer that normalises texts"),
	}
}

/// All tokens by number and their kinds, filled up to the rows of the embedding.
fn tokens(file: &Json, rows: u32) -> Result<(Vec<String>, Vec<i32>), ExportError> {
	let number = |value: &Json| value.as_u64().and_then(|id| usize::try_from(id).ok());
	let mut tokens: Vec<(String, i32)> = (0..rows).map(|id| (format!("[PAD{id}]"), UNUSED)).collect();
	let mut put = |id: Option<usize>, text: &str, kind| {
		if let Some(token) = id.and_then(|id| tokens.get_mut(id)) {
			*token = (text.to_owned(), kind);
		}
	};
	for (text, id) in file["model"]["vocab"].as_object().into_iter().flatten() {
		put(number(id), text, NORMAL);
	}
	for token in file["added_tokens"].as_array().into_iter().flatten() {
		let text = token["content"].as_str().unwrap_or_default();
		let is = |name: &str| token[name].as_bool() == Some(true);
		if is("lstrip") || is("rstrip") || is("single_word") {
			return Err(ExportError::Gguf(format!("a tokenizer whose added token {text:?} takes blanks beside it, or only whole words")));
		}
		put(number(&token["id"]), text, if is("special") { CONTROL } else { USER_DEFINED });
	}
	Ok(tokens.into_iter().unzip())
}

/// What becomes one token, the first merges first.
fn merges(file: &Json) -> Result<Vec<String>, ExportError> {
	let pair = |merge: &Json| match merge {
		Json::String(pair) => Some(pair.clone()),
		pair => Some(format!("{} {}", pair[0].as_str()?, pair[1].as_str()?)),
	};
	let all = file["model"]["merges"].as_array().into_iter().flatten().map(pair).collect::<Option<Vec<_>>>();
	all.ok_or_else(|| ExportError::Gguf("a tokenizer whose merges are no pairs".into()))
}

#[cfg(test)]
mod tests {
	use super::*;
	use serde_json::json;

	fn file(pre_tokenizer: Json) -> Json {
		let token = |id: u32, text: &str, special: bool| json!({ "id": id, "content": text, "special": special });
		json!({
			"normalizer": null,
			"pre_tokenizer": pre_tokenizer,
			"model": { "type": "BPE", "vocab": { "a": 0, "b": 1, "ab": 2 }, "merges": [["a", "b"]] },
			"added_tokens": [token(3, "<end>", true), token(4, "<tool>", false)],
		})
	}

	fn bytes(splits: bool) -> Json {
		json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": splits })
	}

	fn split(pattern: &str) -> Json {
		let split = json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false });
		json!({ "type": "Sequence", "pretokenizers": [split, bytes(false)] })
	}

	#[test]
	fn ways_to_split_have_the_names_of_llama_cpp_and_others_are_refused_by_name() {
		assert_eq!(words(&file(bytes(true))).unwrap(), "gpt-2");
		assert_eq!(words(&file(split(QWEN2))).unwrap(), "qwen2");
		let digits = json!({ "type": "Sequence", "pretokenizers": [{ "type": "Digits", "individual_digits": true }, bytes(true)] });
		assert_eq!(words(&file(digits)).unwrap(), "smollm");
		let mut llama = file(split(LLAMA3));
		llama["model"]["ignore_merges"] = true.into();
		assert_eq!(words(&llama).unwrap(), "llama-bpe");
		let refused = |file: &Json| words(file).unwrap_err().to_string();
		llama["model"]["ignore_merges"] = false.into();
		assert!(refused(&llama).contains("splits texts as llama-bpe does, and finds whole words in another way"));
		assert!(refused(&file(bytes(false))).contains("in another way than GPT-2"));
		assert!(refused(&file(split(r"\w+"))).contains("in another way than GPT-2"));
		let with = |name: &str, value: Json| {
			let mut file = file(bytes(true));
			file[name] = value;
			refused(&file)
		};
		assert!(with("normalizer", json!({ "type": "NFKC" })).contains("normalises texts"));
		assert!(with("model", json!({ "type": "Unigram", "vocab": [] })).contains("a tokenizer of type Unigram"));
		assert!(with("model", json!({ "type": "BPE", "byte_fallback": true })).contains("no byte-level BPE"));
	}

	#[test]
	fn every_row_of_the_embedding_has_a_token_and_its_kind() {
		let (texts, kinds) = tokens(&file(bytes(true)), 6).unwrap();
		assert_eq!(texts, ["a", "b", "ab", "<end>", "<tool>", "[PAD5]"]);
		assert_eq!(kinds, [1, 1, 1, 3, 4, 5]);
		let mut file = file(bytes(true));
		assert_eq!(merges(&file).unwrap(), ["a b"]);
		file["model"]["merges"] = json!(["a b"]);
		assert_eq!(merges(&file).unwrap(), ["a b"]);
		file["added_tokens"][0]["lstrip"] = true.into();
		assert!(tokens(&file, 6).unwrap_err().to_string().contains("\"<end>\" takes blanks"));
	}
}
