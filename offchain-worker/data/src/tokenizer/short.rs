//! Tokens of byte-level BPE on a short way: the same ones that the library makes, without what it keeps of where each came from.
//!
//! The text is split into words by the tokenizer's own pattern, and each word becomes tokens by the library, once: what it became is kept. The way is for
//! tokenizers whose parts are of the usual kinds and for texts that nothing but words is in; all others take the library's.

use super::bytes::byte_character;
use ahash::RandomState;
use regex_automata::{
	dfa::{dense, Automaton, StartKind},
	meta::Regex,
	nfa::thompson,
	util::{primitives::StateID, start},
	Anchored,
};
use regex_syntax::ast::{self, Ast};
use serde_json::Value;
use std::{
	collections::HashMap,
	sync::{Mutex, PoisonError},
};
use tokenizers::{Model, Tokenizer as Library};
use unicode_normalization::{is_nfc_quick, IsNormalized};

/// How the patterns end of all usual tokenizers: blanks before a word leave the last of them to it. It is the one part that takes more than a look at
/// the text from beginning to end, and is done here.
const BLANKS_BEFORE: &str = r"|\s+(?!\S)|\s+";
const BLANKS: &str = r"\s+";
/// The pattern of `ByteLevel` where none is in the file.
const GPT_2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+";
/// Words whose tokens are kept for each thread, and bytes of one.
const MOST_KEPT: usize = 1 << 17;
const LONGEST_KEPT: usize = 64;
/// Most bytes of a pattern, of the states that it is made into, of the table that words are found by, and of making that: several times what usual
/// patterns take. Whoever made a file may mean harm.
const MOST_PATTERN: usize = 2 << 10;
const MOST_STATES: usize = 1 << 20;
const MOST_TABLES: usize = 16 << 20;
const MOST_MAKING: usize = 4 << 20;
/// Most bytes of blanks in a row: the library leaves its usual way behind a million of them.
const MOST_BLANKS: usize = 900_000;

/// A tokenizer's short way.
pub(super) struct Short {
	/// Words, and blanks before one.
	words: Words,
	is_nfc: bool,
	/// Tokens that texts name, which are found before words are.
	named: Option<Regex>,
	/// Those that no thread uses.
	caches: Mutex<Vec<Kept>>,
}

/// Words and blanks, by a table: each byte leads from a state to the next one.
struct Words {
	table: dense::DFA<Vec<u32>>,
	start: StateID,
}

/// What is at a place of a text.
enum Found {
	/// A word, up to here.
	Word(usize),
	/// Blanks.
	Blanks(usize),
}

/// What a thread keeps.
#[derive(Default)]
struct Kept {
	/// Where the tokens of each word are.
	words: HashMap<Box<str>, (usize, usize), RandomState>,
	tokens: Vec<u32>,
	mapped: String,
}

impl Short {
	/// That of the tokenizer in `file`, if it has one. With `special`, special tokens that a text names are meant.
	pub(super) fn of(file: &Value, special: bool) -> Option<Self> {
		let is_nfc = match file.get("normalizer") {
			None | Some(Value::Null) => false,
			Some(part) if is(part, "NFC") => true,
			Some(_) => return None,
		};
		let words = Words::of(&pattern(file.get("pre_tokenizer")?)?)?;
		let model = file.get("model")?;
		if !is(model, "BPE") || !model.get("dropout").is_none_or(|dropout| dropout.is_null() || dropout.as_f64() == Some(0.0)) {
			return None;
		}
		let mut named = Vec::new();
		for token in file.get("added_tokens").and_then(Value::as_array).into_iter().flatten() {
			let is_special = token.get("special").and_then(Value::as_bool) == Some(true);
			if special || !is_special {
				let text = token.get("content").and_then(Value::as_str)?;
				// What another text becomes this one of is not looked for.
				if is_nfc && !text.is_ascii() {
					return None;
				}
				named.push(text.chars().map(|character| format!(r"\x{{{:x}}}", u32::from(character))).collect::<String>());
			}
		}
		let named = if named.is_empty() { None } else { Some(Regex::new_many(&named).ok()?) };
		Some(Self { words, is_nfc, named, caches: Mutex::default() })
	}

	/// Appends the tokens that `library` makes of `text`, if this is a text for it, and returns whether it is.
	///
	/// # Errors
	/// Those of the library.
	pub(super) fn encode(&self, library: &Library, text: &str, tokens: &mut Vec<u32>) -> Result<bool, tokenizers::Error> {
		if self.is_nfc && !is_nfc(text) || self.named.as_ref().is_some_and(|named| named.is_match(text)) {
			return Ok(false);
		}
		let mut kept = self.caches.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
		let start = tokens.len();
		let encoded = self.words(library, text, tokens, &mut kept);
		self.caches.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
		if !matches!(encoded, Ok(true)) {
			tokens.truncate(start);
		}
		encoded
	}

	fn words(&self, library: &Library, text: &str, tokens: &mut Vec<u32>, kept: &mut Kept) -> Result<bool, tokenizers::Error> {
		let mut at = 0;
		while at < text.len() {
			let end = match self.words.at(text, at) {
				Some(Found::Word(end)) => end,
				Some(Found::Blanks(end)) if end.saturating_sub(at) > MOST_BLANKS => return Ok(false),
				Some(Found::Blanks(end)) => before_word(text, at, end),
				// What is no word is a piece up to the next one.
				None => {
					let rest = text.get(at..).unwrap_or_default().char_indices().skip(1);
					let mut places = rest.map(|(place, _)| at.saturating_add(place));
					places.find(|place| self.words.at(text, *place).is_some()).unwrap_or(text.len())
				}
			};
			match text.get(at..end).filter(|word| !word.is_empty()) {
				Some(word) => kept.word(library, word, tokens)?,
				None => return Ok(false),
			}
			at = end;
		}
		Ok(true)
	}
}

impl Words {
	/// Of this pattern, if it is one that a table of some size can be made of.
	fn of(pattern: &str) -> Option<Self> {
		if pattern.len() > MOST_PATTERN || gives_nothing_back(pattern)? {
			return None;
		}
		let limits = dense::Config::new().start_kind(StartKind::Anchored);
		let limits = limits.dfa_size_limit(Some(MOST_TABLES)).determinize_size_limit(Some(MOST_MAKING));
		let states = thompson::Config::new().nfa_size_limit(Some(MOST_STATES));
		let table = dense::Builder::new().configure(limits).thompson(states).build_many(&[pattern, BLANKS]).ok()?;
		// A pattern that asks for what is before a word begins in several states.
		let starting = |before: Option<u8>| table.start_state(&start::Config::new().anchored(Anchored::Yes).look_behind(before)).ok();
		let start = starting(None)?;
		let is_alone = (0..=u8::MAX).all(|before| starting(Some(before)) == Some(start));
		(is_alone && !table.has_empty()).then_some(Self { table, start })
	}

	/// What begins at a place.
	fn at(&self, text: &str, at: usize) -> Option<Found> {
		let table = &self.table;
		let (mut state, mut found) = (self.start, None);
		let of = |state, end| match table.match_pattern(state, 0).as_usize() {
			0 => Found::Word(end),
			_ => Found::Blanks(end),
		};
		let rest = text.as_bytes().get(at..)?;
		for (place, byte) in (at..).zip(rest) {
			state = table.next_state(state, *byte);
			if table.is_special_state(state) {
				// A match is known a byte behind its end.
				if table.is_match_state(state) {
					found = Some(of(state, place));
				} else if table.is_dead_state(state) {
					return found;
				} else if table.is_quit_state(state) {
					return None;
				}
			}
		}
		let end = table.next_eoi_state(state);
		if table.is_match_state(end) {
			found = Some(of(end, text.len()));
		}
		found
	}
}

impl Kept {
	/// Appends the tokens of a word.
	fn word(&mut self, library: &Library, word: &str, tokens: &mut Vec<u32>) -> Result<(), tokenizers::Error> {
		if let Some((start, end)) = self.words.get(word) {
			tokens.extend_from_slice(self.tokens.get(*start..*end).unwrap_or_default());
			return Ok(());
		}
		self.mapped.clear();
		self.mapped.extend(word.bytes().map(byte_character));
		let made = library.get_model().tokenize(&self.mapped)?;
		tokens.extend(made.iter().map(|token| token.id));
		if word.len() <= LONGEST_KEPT {
			if self.words.len() == MOST_KEPT {
				self.words.clear();
				self.tokens.clear();
			}
			let start = self.tokens.len();
			self.tokens.extend(made.iter().map(|token| token.id));
			self.words.insert(word.into(), (start, self.tokens.len()));
		}
		Ok(())
	}
}

/// Where blanks end that leave the last of them to the word behind them, if there is one.
fn before_word(text: &str, start: usize, end: usize) -> usize {
	let last = text.get(start..end).and_then(|blanks| blanks.chars().next_back()).map_or(0, char::len_utf8);
	let shorter = end.saturating_sub(last);
	if end < text.len() && shorter > start {
		shorter
	} else {
		end
	}
}

/// Returns whether a text is normalized, and that can be told fast.
fn is_nfc(text: &str) -> bool {
	// Nothing below U+0300 is ever changed, and what begins with these bytes is below it.
	text.bytes().all(|byte| byte < 0xcc) || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

/// Returns whether a part of a pattern gives nothing back, such as `x++`: the table would take that for a repetition of a repetition.
fn gives_nothing_back(pattern: &str) -> Option<bool> {
	struct Look;
	impl ast::Visitor for Look {
		type Output = ();
		type Err = ();
		fn finish(self) -> Result<(), ()> {
			Ok(())
		}
		fn visit_pre(&mut self, part: &Ast) -> Result<(), ()> {
			match part {
				Ast::Repetition(outer) if matches!(*outer.ast, Ast::Repetition(_)) => Err(()),
				_ => Ok(()),
			}
		}
	}
	let parsed = ast::parse::Parser::new().parse(pattern).ok()?;
	Some(ast::visit(&parsed, Look).is_err())
}

/// The pattern that words are split by, but for blanks, if it is a usual one.
fn pattern(part: &Value) -> Option<String> {
	let is_off = |part: &Value, name: &str| part.get(name).and_then(Value::as_bool) == Some(false);
	let of_bytes = |part: &Value| is(part, "ByteLevel") && is_off(part, "add_prefix_space");
	if of_bytes(part) {
		return Some(GPT_2.to_owned()).filter(|_| part.get("use_regex").and_then(Value::as_bool) != Some(false));
	}
	let parts = part.get("pretokenizers").and_then(Value::as_array).filter(|_| is(part, "Sequence"))?;
	let [split, bytes] = parts.as_slice() else { return None };
	let is_split = is(split, "Split") && split.get("behavior").and_then(Value::as_str) == Some("Isolated") && is_off(split, "invert");
	if !is_split || !of_bytes(bytes) || !is_off(bytes, "use_regex") {
		return None;
	}
	split.pointer("/pattern/Regex")?.as_str()?.strip_suffix(BLANKS_BEFORE).map(str::to_owned)
}

fn is(part: &Value, kind: &str) -> bool {
	part.get("type").and_then(Value::as_str) == Some(kind)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::tokenizer::{file, train::train};
	use proptest::prelude::*;
	use serde_json::json;

	const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
	const LLAMA: &str =
		r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

	const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+";
	/// That of nanochat, whose parts give nothing back.
	const NANOCHAT: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";

	/// The file of a tokenizer with this pattern, or that of `train`.
	fn tokenizer(pattern: Option<&str>, nfc: bool) -> Value {
		let texts = ["the cat's mat  and\n\n the DOG'S log 1234\t\tx", "Gr\u{f6}\u{df}e \u{4e16}\u{754c} \u{1f600}\u{1f600} don't  don't"];
		let mut file: Value = serde_json::from_slice(&train(texts.into_iter(), 320).unwrap()).unwrap();
		if let Some(pattern) = pattern {
			let split = json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false });
			let bytes = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false });
			file["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [split, bytes] });
		}
		if nfc {
			file["normalizer"] = json!({ "type": "NFC" });
		}
		let id = file["added_tokens"][0]["id"].as_u64().unwrap() + 1;
		let mut token = file["added_tokens"][0].clone();
		token["id"] = id.into();
		token["content"] = "<tool>".into();
		token["special"] = false.into();
		file["added_tokens"].as_array_mut().unwrap().push(token);
		file
	}

	/// Tokens of the short way, if the text takes it, and those of the library.
	fn both(file: &Value, text: &str, special: bool) -> (Option<Vec<u32>>, Vec<u32>) {
		let mut library = file::read(file.to_string().as_bytes()).unwrap();
		library.set_encode_special_tokens(!special);
		let mut tokens = vec![7];
		let is_short = Short::of(file, special).unwrap().encode(&library, text, &mut tokens).unwrap();
		let expected = library.encode_fast(text, false).unwrap().get_ids().to_vec();
		assert!(is_short || tokens == [7]);
		(is_short.then(|| tokens[1..].to_vec()), expected)
	}

	#[test]
	fn words_and_blanks_are_split_as_the_library_does() {
		let texts = [
			"",
			" ",
			"  ",
			"the  cat",
			"the   cat's\u{a0}\u{a0}mat ",
			"a\n\n  b\r\n\r\nc \n d\t\t\te\u{3000}\u{3000}f",
			"12345 6789'LL '\u{17f}x don'T",
			"\u{4e16}\u{754c}  \u{1f600}!?\n\n\n",
			"x\0\u{7f}\u{85}\u{85}y",
			"!!!\r\n\r\n   ",
		];
		for file in [tokenizer(None, false), tokenizer(Some(QWEN), true), tokenizer(Some(LLAMA), false)] {
			for text in texts {
				let (short, library) = both(&file, text, false);
				assert_eq!(short.as_ref(), Some(&library), "{text:?}");
			}
			assert!(!both(&file, texts[4], false).1.is_empty());
		}
	}

	#[test]
	fn texts_that_are_not_normalized_or_name_tokens_take_the_long_way() {
		let file = tokenizer(Some(QWEN), true);
		for text in ["e\u{301}", "a <tool> b", "\u{1100}\u{1161}"] {
			assert_eq!(both(&file, text, false).0, None, "{text}");
		}
		for text in ["\u{e9}", "\u{ac00}", "a <too> b"] {
			let (short, library) = both(&file, text, false);
			assert_eq!(short, Some(library), "{text}");
		}
		// A special token is text unless it is meant.
		let special = file["added_tokens"][0]["content"].as_str().unwrap();
		let id = u32::try_from(file["added_tokens"][0]["id"].as_u64().unwrap()).unwrap();
		let (short, library) = both(&file, special, false);
		assert!(library.len() > 1 && short == Some(library));
		assert_eq!(both(&file, special, true), (None, vec![id]));
	}

	#[test]
	fn tokenizers_of_other_parts_have_no_short_way() {
		let file = tokenizer(Some(QWEN), false);
		assert!(Short::of(&file, false).is_some());
		for (place, value) in [
			("/normalizer", json!({ "type": "NFKC" })),
			("/pre_tokenizer", json!({ "type": "Whitespace" })),
			("/pre_tokenizer/pretokenizers/0/behavior", json!("Removed")),
			("/pre_tokenizer/pretokenizers/0/invert", json!(true)),
			("/pre_tokenizer/pretokenizers/0/pattern/Regex", json!(r"\p{L}+|\s+")),
			("/pre_tokenizer/pretokenizers/0/pattern/Regex", json!(r"(?=a)b|\s+(?!\S)|\s+")),
			("/pre_tokenizer/pretokenizers/0/pattern/Regex", json!(NANOCHAT)),
			("/pre_tokenizer/pretokenizers/0/pattern/Regex", json!(r"x{1}+|\s+(?!\S)|\s+")),
			("/pre_tokenizer/pretokenizers/0/pattern", json!({ "String": "a" })),
			("/pre_tokenizer/pretokenizers/1/add_prefix_space", json!(true)),
			("/pre_tokenizer/pretokenizers/1/use_regex", json!(true)),
			("/model/type", json!("WordPiece")),
			("/model/dropout", json!(0.1)),
		] {
			let mut other = file.clone();
			*other.pointer_mut(place).unwrap() = value;
			assert!(Short::of(&other, false).is_none(), "{place}");
		}
	}

	#[test]
	fn what_is_no_word_is_a_piece_and_words_that_may_be_empty_have_no_short_way() {
		let mut file = tokenizer(Some(QWEN), false);
		let mut with = |pattern: &str| {
			file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = json!(format!(r"{pattern}|\s+(?!\S)|\s+"));
			file.clone()
		};
		let numbers = with(r"[0-9]{2}");
		for text in ["the cat 12 the \u{4e16}3456the", "x1y22z333", "12", "\u{1f600}", " 1 22 "] {
			let (short, library) = both(&numbers, text, false);
			assert_eq!(short, Some(library), "{text}");
		}
		for pattern in ["x*", r"\bx", "(?m)^x"] {
			assert!(Short::of(&with(pattern), false).is_none(), "{pattern}");
		}
	}

	#[test]
	fn patterns_that_would_become_large_have_no_short_way() {
		for pattern in [
			r"(?:\p{L}{1000}){1000}",
			r"(?:(?:\p{L}+){100}){100}",
			r"\p{L}*a\p{L}{14}",
			r"(?:(?:(?:(?:a{100}){100}){100}){100}){100}",
			&"x".repeat(MOST_PATTERN + 1),
		] {
			assert!(Words::of(pattern).is_none(), "{pattern:.40}");
		}
		let usual = [GPT_2, QWEN.strip_suffix(BLANKS_BEFORE).unwrap(), O200K];
		assert!(usual.into_iter().all(|pattern| Words::of(pattern).is_some()));
	}

	#[test]
	fn more_blanks_than_the_library_reads_in_its_usual_way_take_the_long_one() {
		let file = tokenizer(Some(QWEN), false);
		for (blanks, is_short) in [(MOST_BLANKS, true), (MOST_BLANKS + 1, false), (1_000_100, false)] {
			let (short, library) = both(&file, &format!("a{}b", " ".repeat(blanks)), false);
			assert_eq!(short.is_some(), is_short);
			assert!(short.is_none_or(|short| short == library), "{blanks}");
		}
	}

	proptest! {
		#![proptest_config(ProptestConfig::with_cases(64))]
		#[test]
		fn any_text_has_the_tokens_of_the_library(text in "([a-zA-Z']{0,3}[ \\n\\r\\t\u{a0}\u{2003}]{0,3}[0-9.!<>]{0,3}\\PC{0,3}){0,12}") {
			for file in [tokenizer(None, false), tokenizer(Some(QWEN), true), tokenizer(Some(LLAMA), false)] {
				let (short, library) = both(&file, &text, false);
				prop_assert!(short.is_none_or(|short| short == library));
			}
		}
	}
}
