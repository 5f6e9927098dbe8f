//! Control tokens, which steer a model: only a chat's template writes them. What users write is text, whatever it looks like.
//!
//! A template makes one string of its own words and of those of users. So control tokens that users wrote are put between marks before. The marks
//! are characters that no text should have (Unicode calls them noncharacters); those that users write are put between marks as well.

use std::{collections::BTreeSet, sync::Arc};
use tokenizers::{OffsetReferential, OffsetType, Tokenizer};

/// Before what is text.
const START: char = '\u{fdd0}';
/// Behind it.
const END: char = '\u{fdd1}';
/// Character between two texts that must not become a control token together.
const BREAK: char = '\u{fdd2}';
const MARKS: [char; 3] = [START, END, BREAK];

/// A part of a prompt that a template wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece<'a> {
	/// Control tokens in it are meant.
	Template(&'a str),
	/// It is text.
	Text(String),
}

/// The control tokens of a tokenizer. Clones share them.
#[derive(Clone, Debug)]
pub struct Controls {
	tokenizer: Arc<Tokenizer>,
	/// Their numbers, and how each is written.
	tokens: Arc<Vec<(u32, String)>>,
	ids: Arc<BTreeSet<u32>>,
}

impl Controls {
	/// The special tokens of `tokenizer`, and the added ones that `template`, the words of a chat's template, names. Blanks are never among
	/// them: any template has those.
	pub(super) fn new(tokenizer: Arc<Tokenizer>, template: &str) -> Self {
		let added = tokenizer.get_added_tokens_decoder();
		let tokens = added.into_iter().filter(|(_, token)| {
			let text = token.content.as_str();
			token.special || (!text.trim().is_empty() && template.contains(text))
		});
		let mut tokens: Vec<(u32, String)> = tokens.map(|(id, token)| (id, token.content)).collect();
		tokens.sort_unstable();
		let ids = tokens.iter().map(|(id, _)| *id).collect();
		Self { tokenizer, tokens: tokens.into(), ids: Arc::new(ids) }
	}

	/// Returns whether a token is one of them.
	pub(super) fn has(&self, id: u32) -> bool {
		self.ids.contains(&id)
	}

	/// Returns the text of each.
	pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
		self.tokens.iter().map(|(_, text)| text.as_str())
	}

	/// Returns the places where `text` names them, in bytes, without the blanks around them.
	pub(super) fn find(&self, text: &str) -> Vec<(usize, usize)> {
		let split = self.tokenizer.get_added_vocabulary().extract_and_normalize(self.tokenizer.get_normalizer(), text);
		let named = split.get_splits(OffsetReferential::Original, OffsetType::Byte).into_iter().filter_map(|(_, (start, end), tokens)| {
			let token = tokens.as_ref()?.first()?;
			let whole = text.get(start..end).filter(|_| self.has(token.id))?;
			let first = start.saturating_add(whole.len().saturating_sub(whole.trim_start().len()));
			Some((first, first.saturating_add(whole.trim().len())))
		});
		named.filter(|(start, end)| start < end).collect()
	}

	/// Returns the text of a user, with marks around what could be taken for a control token.
	pub(super) fn mark(&self, text: &str) -> String {
		let (mut marked, mut told) = (String::with_capacity(text.len()), 0);
		for (start, end) in self.find(text) {
			put(&mut marked, text.get(told..start).unwrap_or_default());
			marked.push(START);
			marked.push_str(text.get(start..end).unwrap_or_default());
			marked.push(END);
			told = end;
		}
		let rest = text.get(told..).unwrap_or_default();
		put(&mut marked, rest);
		if self.texts().any(|token| begins_at_the_end(rest, token)) {
			marked.push(BREAK);
		}
		marked
	}

	/// The parts of what a template made of marked texts. Marks that it tore apart are dropped; what they stood between does not become one either.
	pub(super) fn pieces<'a>(&self, written: &'a str) -> Vec<Piece<'a>> {
		let (mut pieces, mut rest) = (Vec::new(), written);
		while let Some((before, mark, behind)) = at_mark(rest) {
			if !before.is_empty() {
				pieces.push(Piece::Template(before));
			}
			rest = behind;
			if mark != START {
				continue;
			}
			let Some((text, behind)) = self.between(behind) else { continue };
			match pieces.last_mut() {
				// One behind the other is one text.
				Some(Piece::Text(last)) => last.push_str(text),
				_ => pieces.push(Piece::Text(text.to_owned())),
			}
			rest = behind;
		}
		if !rest.is_empty() {
			pieces.push(Piece::Template(rest));
		}
		pieces
	}

	/// The text up to the mark that ends it, if it is something that [`Self::mark`] marks, and what is behind the mark.
	fn between<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
		let first = text.chars().next()?;
		if MARKS.contains(&first) {
			let (mark, behind) = text.split_at_checked(first.len_utf8())?;
			return Some((mark, behind.strip_prefix(END)?));
		}
		let (inner, mark, behind) = at_mark(text)?;
		(mark == END && self.find(inner) == [(0, inner.len())]).then_some((inner, behind))
	}
}

/// Adds text, with marks around characters that are marks.
fn put(marked: &mut String, text: &str) {
	for character in text.chars() {
		match MARKS.contains(&character) {
			true => marked.extend([START, character, END]),
			false => marked.push(character),
		}
	}
}

/// Splits `text` at its first mark: what is before it, the mark, and what is behind it.
fn at_mark(text: &str) -> Option<(&str, char, &str)> {
	let place = text.find(MARKS)?;
	let (before, behind) = text.split_at_checked(place)?;
	let mark = behind.chars().next()?;
	Some((before, mark, behind.get(mark.len_utf8()..)?))
}

/// Returns whether `text` ends with a beginning of `token`.
fn begins_at_the_end(text: &str, token: &str) -> bool {
	token.char_indices().skip(1).any(|(end, _)| token.get(..end).is_some_and(|beginning| text.ends_with(beginning)))
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_data::tokenizer::bytes::tokenizer_json;

	fn controls() -> Controls {
		Controls::new(Arc::new(tokenizer_json().parse().unwrap()), "")
	}

	fn text(words: &str) -> Piece<'static> {
		Piece::Text(words.into())
	}

	#[test]
	fn what_is_no_control_token_has_no_marks() {
		for plain in ["", "Hello, <b>you</b>", "a < b |> c", "<|endoftext|", "Größe"] {
			assert_eq!(controls().mark(plain).trim_end_matches(BREAK), plain);
		}
		assert_eq!(controls().pieces("[Hello]"), [Piece::Template("[Hello]")]);
	}

	#[test]
	fn what_users_write_and_what_a_template_writes_are_told_apart() {
		let controls = controls();
		let written = format!("<|endoftext|>{}<|endoftext|>", controls.mark("a<|endoftext|><|endoftext|> b"));
		let expected = [Piece::Template("<|endoftext|>a"), text("<|endoftext|><|endoftext|>"), Piece::Template(" b<|endoftext|>")];
		assert_eq!(controls.pieces(&written), expected);
	}

	#[test]
	fn marks_that_users_write_are_text() {
		let controls = controls();
		for forged in ["\u{fdd1}", "\u{fdd0}x\u{fdd1}", "\u{fdd0}<|endoftext|>\u{fdd1}", "\u{fdd2}\u{fdd0}"] {
			let marked = controls.mark(forged);
			let pieces = controls.pieces(&marked);
			let whole: String = pieces
				.iter()
				.map(|piece| match piece {
					Piece::Template(words) => words.to_string(),
					Piece::Text(words) => words.clone(),
				})
				.collect();
			assert_eq!(whole, forged);
			let meant = pieces.iter().any(|piece| matches!(piece, Piece::Template(words) if !controls.find(words).is_empty()));
			assert!(!meant, "{forged:?}: {pieces:?}");
		}
	}

	#[test]
	fn torn_marks_and_texts_that_meet_make_no_control_token() {
		let controls = controls();
		let marked = controls.mark("<|endoftext|>");
		let (first, second) = marked.split_once("of").unwrap();
		let pieces = controls.pieces(first);
		assert_eq!(pieces, [Piece::Template("<|end")]);
		assert_eq!(controls.pieces(&format!("{first}<|endoftext|>{second}")), [Piece::Template("<|end<|endoftext|>text|>")]);
		let met = [controls.mark("<|endof"), controls.mark("text|>")].concat();
		assert_eq!(controls.pieces(&met), [Piece::Template("<|endof"), Piece::Template("text|>")]);
	}
}
