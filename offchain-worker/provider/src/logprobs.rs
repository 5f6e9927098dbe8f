//! Probabilities of tokens, as clients of the OpenAI API read them.

use neuroshard_inference::batcher::Token;
use neuroshard_inference::{escaped, text::Text, Offsets};
use serde_json::{json, Map, Value};

/// Told for the logarithm of nothing, which JSON has no number for.
const LEAST: f32 = -9_999.0;

/// A token of an answer, or of a prompt that is told back.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Told {
	/// Characters of the answer before the one that it begins in.
	pub(super) offset: usize,
	id: u32,
	/// Natural logarithm of its probability; none for the first one of a prompt.
	log: Option<f32>,
	/// The alternatives, the likeliest first.
	top: Vec<(u32, f32)>,
}

impl Told {
	/// The next token.
	pub(super) fn new(token: Token, text: &Text, offsets: &mut Offsets) -> Self {
		let log = token.log.map(|log| log.max(LEAST));
		let top = token.top.into_iter().map(|(id, log)| (id, log.max(LEAST))).collect();
		let offset = offsets.push(&text.bytes(token.id).unwrap_or_default());
		Self { offset, id: token.id, log, top }
	}

	/// The tokens of a prompt that is shown as `shown`: some tokenizers do not show the blank that they put before it.
	pub(super) fn of_prompt(tokens: Vec<Token>, text: &Text, shown: &str) -> Vec<Self> {
		let bytes: Vec<u8> = tokens.iter().flat_map(|token| text.bytes(token.id).unwrap_or_default()).collect();
		let hidden = String::from_utf8_lossy(&bytes).chars().count().saturating_sub(shown.chars().count());
		let mut offsets = Offsets::default();
		let told = tokens.into_iter().map(|token| Self::new(token, text, &mut offsets));
		told.map(|told| Self { offset: told.offset.saturating_sub(hidden), ..told }).collect()
	}
}

/// A token as text: bytes that are no character by themselves are escaped, behind `mark`.
fn shown(text: &Text, id: u32, mark: &str) -> String {
	match text.bytes(id) {
		None => text.token(id),
		Some(bytes) => String::from_utf8(bytes).unwrap_or_else(|error| format!("{mark}{}", escaped(error.as_bytes()))),
	}
}

/// Probabilities as chats tell them. The bytes of an answer's tokens are together those of its text; special tokens, which it leaves out, have none.
pub(super) fn of_chat(text: &Text, tokens: &[Told]) -> Value {
	let entry = |id: u32, log: Option<f32>| json!({ "token": shown(text, id, ""), "logprob": log, "bytes": text.bytes(id) });
	let content = tokens.iter().map(|token| {
		let mut of = entry(token.id, token.log);
		of["top_logprobs"] = token.top.iter().map(|(id, log)| entry(*id, Some(*log))).collect();
		of
	});
	json!({ "content": content.collect::<Vec<_>>(), "refusal": null })
}

/// Probabilities as completions tell them.
pub(super) fn of_completion(text: &Text, tokens: &[Told]) -> Value {
	let name = |id| shown(text, id, "bytes:");
	// A map has one place for each name: tokens that are written like the chosen one, or a likelier one, are named by their numbers.
	let top = |token: &Told| {
		if token.log.is_none() {
			return Value::Null;
		}
		let chosen = name(token.id);
		let mut map = Map::new();
		for (id, log) in &token.top {
			let plain = name(*id);
			let is_taken = map.contains_key(&plain) || (plain == chosen && *id != token.id);
			map.insert(if is_taken { format!("token_id:{id}") } else { plain }, (*log).into());
		}
		Value::Object(map)
	};
	json!({
		"text_offset": tokens.iter().map(|token| token.offset).collect::<Vec<_>>(),
		"tokens": tokens.iter().map(|token| name(token.id)).collect::<Vec<_>>(),
		"token_logprobs": tokens.iter().map(|token| token.log).collect::<Vec<_>>(),
		"top_logprobs": tokens.iter().map(top).collect::<Vec<_>>(),
	})
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_data::tokenizer::bytes::tokenizer_json;
	use std::collections::BTreeSet;

	/// Tokens of the byte-level tokenizer, the first with these alternatives.
	fn told(text: &Text, bytes: &[u8], top: &[(u32, f32)]) -> Vec<Told> {
		let mut offsets = Offsets::default();
		let tokens = bytes.iter().enumerate().map(|(place, byte)| {
			let top = if place == 0 { top.to_vec() } else { Vec::new() };
			Token { id: (*byte).into(), log: Some(-0.25), top }
		});
		tokens.map(|token| Told::new(token, text, &mut offsets)).collect()
	}

	#[test]
	fn parts_of_characters_have_their_bytes_their_places_and_alternatives_that_differ() {
		let text = Text::new(tokenizer_json().as_bytes(), None, BTreeSet::new()).unwrap();
		let tokens = told(&text, "😀ab".as_bytes(), &[(0xf0, -0.25), (0xe4, -1.5), (97, -2.0), (256, f32::NEG_INFINITY)]);
		let chat = of_chat(&text, &tokens);
		let bytes: Vec<u8> = chat["content"]
			.as_array()
			.unwrap()
			.iter()
			.flat_map(|token| serde_json::from_value::<Vec<u8>>(token["bytes"].clone()).unwrap())
			.collect();
		assert_eq!(bytes, "😀ab".as_bytes());
		assert_eq!(chat["content"][0]["token"], r"\xf0");
		let top = json!([
			{ "token": r"\xf0", "logprob": -0.25, "bytes": [0xf0] },
			{ "token": r"\xe4", "logprob": -1.5, "bytes": [0xe4] },
			{ "token": "a", "logprob": -2.0, "bytes": [97] },
			{ "token": "<|endoftext|>", "logprob": -9999.0, "bytes": null },
		]);
		assert_eq!(chat["content"][0]["top_logprobs"], top);
		let completion = of_completion(&text, &tokens);
		assert_eq!(completion["text_offset"], json!([0, 0, 0, 0, 1, 2]));
		assert_eq!(completion["tokens"], json!([r"bytes:\xf0", r"bytes:\x9f", r"bytes:\x98", r"bytes:\x80", "a", "b"]));
		assert_eq!(
			completion["top_logprobs"][0],
			json!({ r"bytes:\xf0": -0.25, r"bytes:\xe4": -1.5, "a": -2.0, "<|endoftext|>": -9999.0 })
		);
		assert_eq!(completion["top_logprobs"][1], json!({}));
	}

	#[test]
	fn alternatives_that_are_written_alike_keep_their_own_values() {
		let text = Text::new(tokenizer_json().as_bytes(), None, BTreeSet::new()).unwrap();
		// Beyond the vocabulary, all tokens are written as nothing.
		let chosen = |id| Told { offset: 0, id, log: Some(-3.0), top: vec![(301, -1.0), (302, -2.0), (303, -3.0)] };
		let map = |id| of_completion(&text, &[chosen(id)])["top_logprobs"][0].clone();
		assert_eq!(map(303), json!({ "token_id:301": -1.0, "token_id:302": -2.0, "": -3.0 }));
		assert_eq!(map(97), json!({ "": -1.0, "token_id:302": -2.0, "token_id:303": -3.0 }));
	}

	#[test]
	fn the_first_token_of_a_prompt_has_no_probability_and_offsets_are_those_of_the_text_that_is_shown() {
		let text = Text::new(tokenizer_json().as_bytes(), None, BTreeSet::new()).unwrap();
		let prompt = |bytes: &[u8], shown: &str| {
			let log = |place: usize| (place > 0).then_some(-0.5);
			let tokens = bytes.iter().enumerate().map(|(place, byte)| Token { id: (*byte).into(), log: log(place), top: Vec::new() });
			of_completion(&text, &Told::of_prompt(tokens.collect(), &text, shown))
		};
		let told = prompt("ßa".as_bytes(), "ßa");
		assert_eq!((&told["token_logprobs"], &told["top_logprobs"]), (&json!([null, -0.5, -0.5]), &json!([null, {}, {}])));
		assert_eq!(told["text_offset"], json!([0, 0, 1]));
		// A blank that is not shown.
		assert_eq!(prompt(b" ab", "ab")["text_offset"], json!([0, 0, 1]));
	}
}
