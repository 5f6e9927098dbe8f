//! Jinja's language where minijinja's differs: `{% generation %}` blocks, which mark what an assistant said, and `%` behind strings.

/// Name of the filter that what an assistant says goes through.
pub(super) const GENERATION: &str = "__generation";
/// Name of the function that `a % b` becomes, since minijinja divides numbers only.
pub(super) const PERCENT: &str = "__percent";
/// Words that no operand has.
const WORDS: [&str; 14] = ["if", "elif", "else", "for", "in", "not", "and", "or", "is", "set", "do", "call", "filter", "with"];
const OPENING: [&str; 3] = ["(", "[", "{"];
const CLOSING: [&str; 3] = [")", "]", "}"];

/// A part of a template.
#[derive(Clone, Copy)]
enum Part<'a> {
	/// Written as it is; a raw block with its tags.
	Data(&'a str),
	/// From `{#` to `#}`.
	Comment(&'a str),
	/// From `{{` or `{%` to its end.
	Code(&'a str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
	Blank,
	String,
	/// A name or a number.
	Word,
	Sign,
}

/// The template as minijinja understands it.
pub(super) fn translated(template: &str) -> String {
	let translated = parts(template).into_iter().map(|part| match part {
		Part::Data(text) | Part::Comment(text) => text.to_owned(),
		Part::Code(code) => translated_code(code),
	});
	translated.collect()
}

/// Returns whether a template marks what an assistant says.
pub(super) fn has_generation(template: &str) -> bool {
	parts(template).into_iter().any(|part| matches!(part, Part::Code(code) if tag(code) == Some("generation")))
}

/// The words that a template writes itself, what is outside of its code and the strings in that, apart from each other.
pub fn literals(template: &str) -> String {
	let mut words = Vec::new();
	for part in parts(template) {
		match part {
			Part::Data(text) => words.push(text),
			Part::Comment(_) => {}
			Part::Code(code) => words.extend(tokens(code).into_iter().filter(|(kind, _)| *kind == Kind::String).map(|(_, text)| text)),
		}
	}
	words.retain(|text| !text.is_empty());
	words.join("\0")
}

fn parts(template: &str) -> Vec<Part<'_>> {
	let (mut parts, mut rest) = (Vec::new(), template);
	while let Some(place) = ["{{", "{%", "{#"].into_iter().filter_map(|opening| rest.find(opening)).min() {
		let (data, behind) = rest.split_at(place);
		parts.push(Part::Data(data));
		let (part, behind) = if behind.starts_with("{#") {
			let (comment, behind) = behind.split_at(behind.find("#}").map_or(behind.len(), |end| end.saturating_add(2)));
			(Part::Comment(comment), behind)
		} else {
			let (code, after) = behind.split_at(code_end(behind));
			match tag(code) {
				Some("raw") => {
					let (raw, after) = behind.split_at(code.len().saturating_add(raw_end(after)));
					(Part::Data(raw), after)
				}
				_ => (Part::Code(code), after),
			}
		};
		parts.push(part);
		rest = behind;
	}
	parts.push(Part::Data(rest));
	parts
}

/// Returns the end of the code that begins `text`: behind the first `}}` or `%}` that is in no string or bracket.
fn code_end(text: &str) -> usize {
	let (mut end, mut depth) = (2usize, 0usize);
	let closing = if text.starts_with("{%") { "%}" } else { "}}" };
	while let Some(rest) = text.get(end..).filter(|rest| !rest.is_empty()) {
		if depth == 0 && rest.starts_with(closing) {
			return end.saturating_add(2);
		}
		let (_, token) = token(rest);
		depth = if OPENING.contains(&token) {
			depth.saturating_add(1)
		} else if CLOSING.contains(&token) {
			depth.saturating_sub(1)
		} else {
			depth
		};
		end = end.saturating_add(token.len());
	}
	text.len()
}

/// Bytes up to the end of a raw block whose first tag is before `text`.
fn raw_end(text: &str) -> usize {
	let mut from = 0;
	while let Some(place) = text.get(from..).and_then(|rest| rest.find("{%")) {
		let start = from.saturating_add(place);
		let code = text.get(start..).unwrap_or_default();
		let end = start.saturating_add(code_end(code));
		if tag(text.get(start..end).unwrap_or_default()) == Some("endraw") {
			return end;
		}
		from = start.saturating_add(2);
	}
	text.len()
}

/// The name of a block's tag.
fn tag(code: &str) -> Option<&str> {
	let inner = code.strip_prefix("{%")?.trim_start_matches(['-', '+']).trim_start();
	inner.split(|character: char| !character.is_alphanumeric() && character != '_').next()
}

/// The first token of a text that is not empty.
fn token(text: &str) -> (Kind, &str) {
	let mut characters = text.chars();
	let Some(first) = characters.next() else { return (Kind::Blank, text) };
	let upto = |end: Option<usize>| text.get(..end.unwrap_or(text.len())).unwrap_or(text);
	let is_word = |character: char| character.is_alphanumeric() || character == '_';
	if first.is_whitespace() {
		return (Kind::Blank, upto(text.find(|character: char| !character.is_whitespace())));
	}
	if first == '"' || first == '\'' {
		let mut escaped = false;
		let end = text.char_indices().skip(1).find(|(_, character)| {
			let ends = *character == first && !escaped;
			escaped = *character == '\\' && !escaped;
			ends
		});
		return (Kind::String, upto(end.map(|(place, _)| place.saturating_add(1))));
	}
	if first.is_ascii_digit() {
		// A point is of the number only with digits behind it.
		let end = text.find(|character: char| !is_word(character)).unwrap_or(text.len());
		let fraction =
			text.get(end..).and_then(|rest| rest.strip_prefix('.')).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
		let more = fraction.map_or(0, |rest| rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()).saturating_add(1));
		return (Kind::Word, upto(Some(end.saturating_add(more))));
	}
	if is_word(first) {
		return (Kind::Word, upto(text.find(|character: char| !is_word(character))));
	}
	let pair = ["**", "//", "==", "!=", "<=", ">="].into_iter().find(|pair| text.starts_with(pair));
	(Kind::Sign, upto(Some(pair.map_or(first.len_utf8(), str::len))))
}

fn tokens(mut code: &str) -> Vec<(Kind, &str)> {
	let mut tokens = Vec::new();
	while !code.is_empty() {
		let (kind, text) = token(code);
		tokens.push((kind, text));
		code = code.get(text.len()..).unwrap_or_default();
	}
	tokens
}

fn translated_code(code: &str) -> String {
	// A scope of its own, whose text goes through a filter.
	let renamed = match tag(code) {
		Some("generation") => code.replacen("generation", &format!("with %}}{{% filter {GENERATION}"), 1),
		Some("endgeneration") => code.replacen("endgeneration", "endfilter %}{% endwith", 1),
		_ => code.to_owned(),
	};
	if matches!(tag(code), Some("generation" | "endgeneration")) {
		return renamed;
	}
	let (opening, closing) = if renamed.starts_with("{%") { ("{%", "%}") } else { ("{{", "}}") };
	let Some(inner) = renamed.strip_prefix(opening).and_then(|code| code.strip_suffix(closing)).filter(|inner| inner.contains('%')) else {
		return renamed;
	};
	let mut words: Vec<(Kind, String)> = tokens(inner).into_iter().map(|(kind, text)| (kind, text.to_owned())).collect();
	// From the left: each stands in brackets for those behind it.
	let mut place = 0;
	while place < words.len() {
		if let (Kind::Sign, "%") = as_str(&words, place) {
			if let (Some(first), Some(end)) = (left(&words, place), right(&words, place)) {
				words[place] = (Kind::Sign, ",".into());
				words.insert(end, (Kind::Sign, ")".into()));
				words.splice(first..first, [(Kind::Word, PERCENT.to_owned()), (Kind::Sign, "(".into())]);
				place = place.saturating_add(2);
			}
		}
		place = place.saturating_add(1);
	}
	let inner: String = words.into_iter().map(|(_, text)| text).collect();
	[opening, &inner, closing].concat()
}

fn as_str(words: &[(Kind, String)], place: usize) -> (Kind, &str) {
	words.get(place).map_or((Kind::Blank, ""), |(kind, text)| (*kind, text.as_str()))
}

/// Returns whether a token can be the last of an operand.
fn ends_operand(token: (Kind, &str)) -> bool {
	match token {
		(Kind::String, _) => true,
		(Kind::Word, word) => !WORDS.contains(&word),
		(Kind::Sign, sign) => CLOSING.contains(&sign),
		(Kind::Blank, _) => false,
	}
}

/// Place of the first token of what is divided at `place`: all before it that binds as much, or more.
fn left(words: &[(Kind, String)], place: usize) -> Option<usize> {
	let (mut first, mut depth) = (None, 0usize);
	for at in (0..place).rev() {
		let (kind, text) = as_str(words, at);
		if kind == Kind::Blank {
			continue;
		}
		if kind == Kind::Sign && CLOSING.contains(&text) {
			depth = depth.saturating_add(1);
		} else if kind == Kind::Sign && OPENING.contains(&text) {
			let Some(less) = depth.checked_sub(1) else { break };
			depth = less;
		} else if depth == 0 {
			let before = (0..at).rev().map(|at| as_str(words, at)).find(|(kind, _)| *kind != Kind::Blank);
			let ends = match (kind, text) {
				// Between two operands; else, it is of the one behind it.
				(Kind::Sign, "-" | "+") => before.is_some_and(ends_operand),
				(Kind::Sign, "." | "|" | "*" | "/" | "//" | "**" | "%") => false,
				(Kind::Sign, _) => true,
				(Kind::Word, word) => WORDS.contains(&word),
				_ => false,
			};
			if ends {
				break;
			}
		}
		first = Some(at);
	}
	first
}

/// Place behind the last token of what is divided by at `place`.
fn right(words: &[(Kind, String)], place: usize) -> Option<usize> {
	let mut at = place.saturating_add(1);
	let (mut end, mut depth, mut operand) = (None, 0usize, false);
	while let Some((kind, text)) = words.get(at).map(|(kind, text)| (*kind, text.as_str())) {
		at = at.saturating_add(1);
		if kind == Kind::Blank {
			continue;
		}
		if kind == Kind::Sign && OPENING.contains(&text) {
			depth = depth.saturating_add(1);
		} else if kind == Kind::Sign && CLOSING.contains(&text) {
			let Some(less) = depth.checked_sub(1) else { break };
			(depth, operand) = (less, true);
		} else if depth == 0 {
			match (kind, text) {
				(Kind::Sign, "-" | "+") if !operand => continue,
				// What is behind it belongs to the operand.
				(Kind::Sign, "." | "|" | "**") if operand => operand = false,
				(Kind::String, _) => operand = true,
				(Kind::Word, word) if !operand && !WORDS.contains(&word) => operand = true,
				_ => break,
			}
		}
		if depth == 0 && operand {
			end = Some(at);
		}
	}
	end
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_minijinja_understands_stays_as_it_is() {
		for template in [
			"",
			"plain 100% {% if a %}b{% endif %}",
			"{{ '%' }} {{ \"a % b\" }} {# a % b #} {% raw %}{{ a % b }}{% generation %}{% endraw %}",
			"{{ {'a': {'b': '}}'}} }}",
			"{% set generation = 1 %}{{ generation }}",
			"{{ unfinished",
			"{% raw %} {{ a % b }}",
		] {
			assert_eq!(translated(template), template);
		}
	}

	#[test]
	fn operands_of_percent_are_all_that_binds_more_and_what_is_before_it() {
		for (template, expected) in [
			("{{ a % b }}", "{{ __percent(a , b) }}"),
			("{{ '%s' % a.b[0](1)|upper ~ c }}", "{{ __percent('%s' , a.b[0](1)|upper) ~ c }}"),
			("{{ x - -a * b ** 2 % -c }}", "{{ x - __percent(-a * b ** 2 , -c) }}"),
			("{{ a % b % c }}", "{{ __percent(__percent(a , b) , c) }}"),
			("{{ f(a % 2, [b % 3]) }}", "{{ f(__percent(a , 2), [__percent(b , 3)]) }}"),
			("{%- if not a % 2 == 0 and b -%}", "{%- if not __percent(a , 2) == 0 and b -%}"),
			("{% for x in '%s' % a if x %}", "{% for x in __percent('%s' , a) if x %}"),
			("{{ 1.5 % x.y }}{{ 'it\\'s %s' % \"}}\" }}", "{{ __percent(1.5 , x.y) }}{{ __percent('it\\'s %s' , \"}}\") }}"),
		] {
			assert_eq!(translated(template), expected);
		}
	}

	#[test]
	fn blocks_that_mark_what_assistants_say_become_scopes() {
		assert_eq!(
			translated("{%- generation -%}a{%+ endgeneration %}"),
			"{%- with %}{% filter __generation -%}a{%+ endfilter %}{% endwith %}"
		);
	}

	#[test]
	fn the_words_of_a_template_are_its_text_and_its_strings() {
		assert_eq!(literals("<a>{{ '<b>' ~ c }}{# <d> #}{% if \"<e>\" in f %}"), "<a>\0'<b>'\0\"<e>\"");
	}
}
