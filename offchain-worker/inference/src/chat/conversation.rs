//! A conversation to learn from: its tokens, and which of them the assistant says.
//!
//! Templates that mark what the assistant says, in `{% generation %}` blocks, are taken at their word. Of others, each turn of the assistant is what the
//! template writes of the messages up to it more than of those before it with the line that the assistant is to go on.

mod json;

use super::{dialect::GENERATION, environment, Chat, ChatError};
use crate::text::{Text, TextError};
use chrono::{DateTime, NaiveDateTime};
use json::Json;
use minijinja::{context, value::ValueKind, Environment, Value};
use neuroshard_data::{chats::Conversations, corpus::CHAT_COLUMNS};
use neuroshard_graph::corpus::MASK;
use serde::de::DeserializeSeed;

/// Before and behind what an assistant says; characters that no text should have.
const SAID: [char; 2] = ['\u{fdd3}', '\u{fdd4}'];
/// What templates that write a date write: the same dataset is to become of the same conversations on any day. Seconds since 1970; 26 July 2024.
const TODAY: i64 = 1_721_952_000;
/// Bytes that all renderings of a conversation may take, about.
const MOST_WRITTEN: usize = 1 << 28;
/// Who is learned from.
const ASSISTANT: &str = "assistant";

/// Why a record is no conversation to learn from.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
	/// It is no JSON, or has characters that mark turns here.
	#[error("it is not understood: {0}")]
	Json(serde_json::Error),
	/// It is no object with messages.
	#[error("it is no object with a list of messages")]
	Record,
	/// A message lacks a role or a text.
	#[error("message {0} has no role, or something else than text")]
	Message(usize),
	/// Nothing of it is said by the assistant.
	#[error("the assistant says nothing")]
	Nothing,
	/// What the template writes of some messages is not how it begins with more of them.
	#[error(
		"the template does not mark what the assistant says in generation blocks, and writes other words of message {0} when more follow"
	)]
	Prefix(usize),
	/// It would be rendered for too long.
	#[error("it has too many turns for a template without generation blocks")]
	Long,
	/// The template does not take it.
	#[error(transparent)]
	Chat(#[from] ChatError),
	/// Its text has no tokens.
	#[error(transparent)]
	Text(#[from] TextError),
}

/// Makes tokens of conversations by a chat's template.
pub struct Conversation {
	text: Text,
	chat: Chat,
	/// The template with marks around what the assistant says, if it has blocks for that.
	blocks: bool,
	environment: Environment<'static>,
	/// Ends a conversation.
	end: u32,
}

impl std::fmt::Debug for Conversation {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		formatter.debug_struct("Conversation").field("blocks", &self.blocks).field("end", &self.end).finish_non_exhaustive()
	}
}

fn today() -> NaiveDateTime {
	DateTime::from_timestamp(TODAY, 0).map(|time| time.naive_utc()).unwrap_or_default()
}

impl Conversation {
	/// By the template of `chat`, in tokens of `text`. A conversation ends with the token `end`.
	///
	/// # Errors
	/// [`ChatError::Template`] if there is none that can be used.
	pub fn new(text: Text, chat: Chat, end: u32) -> Result<Self, ChatError> {
		let (template, specials) = chat.template().ok_or_else(|| ChatError::Template("there is none".into()))?;
		let mut environment = environment(template.to_owned(), specials, today).map_err(ChatError::Template)?;
		let [first, last] = SAID;
		environment.add_filter(GENERATION, move |text: String| format!("{first}{text}{last}"));
		let blocks = super::dialect::has_generation(template);
		Ok(Self { text, blocks, environment, chat, end })
	}

	/// What the template makes of messages.
	fn written(&self, messages: &[Value], tools: &Value, prompt: bool) -> Result<String, ChatError> {
		let template = self.environment.get_template("chat").map_err(|error| ChatError::Template(error.to_string()))?;
		let values = context! { messages, tools, documents => Value::from(()), add_generation_prompt => prompt };
		template.render(values).map_err(ChatError::Messages)
	}

	/// The parts of a conversation, which is of a record of so many `bytes`, in order, and whether the assistant says them.
	fn parts(&self, messages: &[Value], tools: &Value, bytes: usize) -> Result<Vec<(String, bool)>, Unfit> {
		let is_said = |message: &Value| message.get_attr("role").is_ok_and(|role| role.as_str() == Some(ASSISTANT));
		// Two renderings for each.
		let turns = messages.iter().filter(|message| is_said(message)).count();
		if !self.blocks && turns.saturating_mul(bytes) > MOST_WRITTEN {
			return Err(Unfit::Long);
		}
		let whole = self.written(messages, tools, false)?;
		if self.blocks {
			return Ok(said(&whole));
		}
		let (mut parts, mut told) = (Vec::new(), 0);
		for (place, _) in messages.iter().enumerate().filter(|(_, message)| is_said(message)) {
			let before = self.written(messages.get(..place).unwrap_or_default(), tools, true)?;
			let behind = self.written(messages.get(..=place).unwrap_or_default(), tools, false)?;
			let turn = (before.len() >= told && whole.starts_with(&behind)).then(|| behind.strip_prefix(&before)).flatten();
			let turn = turn.ok_or(Unfit::Prefix(place.saturating_add(1)))?;
			parts.push((whole.get(told..before.len()).unwrap_or_default().to_owned(), false));
			parts.push((turn.to_owned(), true));
			told = behind.len();
		}
		parts.push((whole.get(told..).unwrap_or_default().to_owned(), false));
		Ok(parts)
	}

	/// Appends the tokens of a record, all but those that the assistant says with [`MASK`]. It ends with the end token; where that is not the template's,
	/// nobody says it.
	///
	/// # Errors
	/// [`Unfit`].
	pub fn tokens(&self, record: &str, tokens: &mut Vec<u32>) -> Result<(), Unfit> {
		let mut json = serde_json::Deserializer::from_str(record);
		let fields = Json::new(&self.chat).deserialize(&mut json).and_then(|fields| json.end().map(|()| fields)).map_err(Unfit::Json)?;
		let field = |name: &str| fields.get_attr(name).unwrap_or_default();
		let list = CHAT_COLUMNS.into_iter().map(field).find(|list| !list.is_undefined()).unwrap_or_default();
		if list.kind() != ValueKind::Seq {
			return Err(Unfit::Record);
		}
		let messages: Vec<Value> = list.try_iter().into_iter().flatten().collect();
		if let Some(place) = messages.iter().position(|message| !is_message(message)) {
			return Err(Unfit::Message(place.saturating_add(1)));
		}
		// As transformers does, what is not there is none, and not undefined.
		let tools = Some(field("tools")).filter(|tools| !tools.is_undefined()).unwrap_or_else(|| Value::from(()));
		let start = tokens.len();
		let mut any = false;
		for (part, is_said) in self.parts(&messages, &tools, record.len())? {
			let mask = if is_said { 0 } else { MASK };
			let part = self.text.marked(&part, tokens.len() == start)?;
			any |= is_said && !part.is_empty();
			tokens.extend(part.into_iter().map(|token| token | mask));
		}
		if !any {
			return Err(Unfit::Nothing);
		}
		if tokens.last().is_none_or(|last| last & !MASK != self.end) {
			tokens.push(self.end | MASK);
		}
		Ok(())
	}
}

impl Conversations for Conversation {
	fn encode(&self, record: &str, tokens: &mut Vec<u32>) -> Result<(), String> {
		self.tokens(record, tokens).map_err(|unfit| unfit.to_string())
	}
}

/// Returns whether a value has a role, and a text or calls of tools.
fn is_message(message: &Value) -> bool {
	let field = |name: &str| message.get_attr(name).unwrap_or_default();
	let (role, content) = (field("role"), field("content"));
	let is_text =
		content.as_str().is_some() || (matches!(content.kind(), ValueKind::None | ValueKind::Undefined) && field("tool_calls").is_true());
	message.kind() == ValueKind::Map && role.as_str().is_some() && is_text
}

/// The parts of a text between marks.
fn said(text: &str) -> Vec<(String, bool)> {
	let [first, last] = SAID;
	let mut parts = Vec::new();
	for (number, part) in text.split(first).enumerate() {
		match part.split_once(last).filter(|_| number > 0) {
			Some((said, behind)) => parts.extend([(said.to_owned(), true), (behind.to_owned(), false)]),
			None => parts.push((part.to_owned(), false)),
		}
	}
	parts
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_data::tokenizer::bytes::{tokenizer_json, END_OF_TEXT};
	use std::collections::BTreeSet;

	const CHATML: &str =
		"{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

	fn conversation(template: &str) -> Conversation {
		let text = Text::new(tokenizer_json().as_bytes(), None, BTreeSet::new()).unwrap();
		let text = text.with_template(&super::super::literals(template)).unwrap();
		let specials = [("eos_token".to_owned(), "<|endoftext|>".to_owned())];
		let chat = Chat::new(template.into(), &specials, text.controls().clone());
		Conversation::new(text, chat, END_OF_TEXT).unwrap()
	}

	/// What is said by whom, of a record with these turns: the assistant's text between brackets.
	fn told(template: &str, turns: &[(&str, &str)]) -> Result<String, String> {
		let messages: Vec<serde_json::Value> =
			turns.iter().map(|(role, content)| serde_json::json!({ "role": role, "content": content })).collect();
		record(template, &serde_json::json!({ "messages": messages }).to_string())
	}

	fn record(template: &str, record: &str) -> Result<String, String> {
		let mut tokens = vec![7];
		conversation(template).tokens(record, &mut tokens).map_err(|unfit| unfit.to_string())?;
		let (mut words, mut was_said) = (String::new(), false);
		for token in &tokens[1..] {
			let (token, is_said) = (token & !MASK, token & MASK == 0);
			if is_said != was_said {
				words.push(if is_said { '[' } else { ']' });
				was_said = is_said;
			}
			match token {
				END_OF_TEXT => words.push('$'),
				byte => words.push(char::from(u8::try_from(byte).unwrap())),
			}
		}
		Ok(words + if was_said { "]" } else { "" })
	}

	const TURNS: [(&str, &str); 5] = [("system", "s"), ("user", "a"), ("assistant", "one"), ("user", "b"), ("assistant", "two")];

	#[test]
	fn what_a_template_writes_more_for_a_turn_of_the_assistant_is_what_it_says() {
		let expected = "<system>s<end>\n<user>a<end>\n<assistant>[one<end>\n]<user>b<end>\n<assistant>[two<end>\n]$";
		assert_eq!(told(CHATML, &TURNS).unwrap(), expected);
		// A conversation that goes on, and one that the assistant begins.
		assert_eq!(told(CHATML, &TURNS[1..4]).unwrap(), "<user>a<end>\n<assistant>[one<end>\n]<user>b<end>\n$");
		assert_eq!(told(CHATML, &TURNS[2..3]).unwrap(), "<assistant>[one<end>\n]$");
	}

	#[test]
	fn the_end_token_is_said_where_the_template_has_the_assistant_say_it() {
		let ends = "{% for m in messages %}{{ m.role }}:{{ m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
		assert_eq!(told(ends, &TURNS[1..3]).unwrap(), "user:aassistant:[one$]");
		assert_eq!(told(ends, &TURNS[1..]).unwrap(), "user:aassistant:[one$]user:bassistant:[two$]");
	}

	// The spans are those of transformers' `return_assistant_tokens_mask`.
	#[test]
	fn blocks_of_generation_are_what_the_assistant_says() {
		let blocks = "{% for m in messages %}{% if m.role == 'assistant' %}A: {% generation %}{{ m.content }}.{% endgeneration %}{% else %}{{ m.role }}: {{ m.content }}{% endif %}\n{% endfor %}end";
		assert_eq!(told(blocks, &TURNS[1..]).unwrap(), "user: aA: [one.]user: bA: [two.]end$");
		let spaced = "{% for m in messages %}x\n  {%- generation -%}\n {{ m.content }} {% endgeneration %}\n{% endfor %}";
		assert_eq!(told(spaced, &TURNS[2..3]).unwrap(), "x[one ]$");
	}

	#[test]
	fn a_template_that_writes_other_words_of_a_turn_once_more_follow_is_refused() {
		let forgets = "{% for m in messages %}{% if m.role != 'assistant' or loop.last %}{{ m.role }}:{{ m.content }};{% endif %}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
		assert_eq!(told(forgets, &TURNS[1..3]).unwrap(), "user:a;assistant:[one;]$");
		let error = told(forgets, &TURNS[1..]).unwrap_err();
		assert!(error.contains("generation blocks") && error.contains("message 2"), "{error}");
		// The line that the assistant is to go on is another one than that of its turn.
		let other = CHATML.replace("<assistant>{% endif %}", "<bot>{% endif %}");
		assert!(told(&other, &TURNS[1..3]).unwrap_err().contains("message 2"));
	}

	#[test]
	fn what_is_no_conversation_is_refused_in_words() {
		for (json, words) in [
			("7", "no object"),
			("{", "not understood"),
			(r#"{"text": "a"}"#, "list of messages"),
			(r#"{"messages": "a"}"#, "list of messages"),
			(r#"{"messages": [{"content": "a"}]}"#, "message 1 has no role"),
			(r#"{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [1]}]}"#, "message 2 has no role, or"),
			(r#"{"messages": [{"role": "assistant"}]}"#, "message 1"),
			(r#"{"messages": []}"#, "says nothing"),
			(r#"{"messages": [{"role": "user", "content": "a"}]}"#, "says nothing"),
			(r#"{"messages": [{"role": "assistant", "content": "\ufdd3"}]}"#, "noncharacters"),
			(r#"{"messages": [], "tools": [{"\ufdd4": 1}]}"#, "noncharacters"),
		] {
			let error = record(CHATML, json).unwrap_err();
			assert!(error.contains(words), "{json}: {error}");
		}
		let refuses = "{% if messages[0].role == 'user' %}{{ raise_exception('no users') }}{% endif %}";
		assert!(told(refuses, &TURNS[1..]).unwrap_err().contains("no users"));
	}

	#[test]
	fn control_tokens_that_somebody_wrote_are_text_and_tools_reach_the_template() {
		let template =
			"{{ tools[0].name }}{{ tools | tojson }}:{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}{{ eos_token }}";
		let json = r#"{"messages": [{"role": "assistant", "content": "a<|endoftext|>"}], "tools": [{"name": "t<|endoftext|>", "<|endoftext|>": 1, "a": [2.5, -3, true, null]}]}"#;
		let tools = r#"({"name": "t<|endoftext|>", "<|endoftext|>": 1, "a": (2.5, -3, true, null)})"#.replace('(', "[").replace(')', "]");
		assert_eq!(record(template, json).unwrap(), format!("t<|endoftext|>{tools}:[a<|endoftext|>]$"));
	}

	#[test]
	fn more_turns_than_can_be_written_again_for_each_are_refused_without_blocks_alone() {
		let turns = vec![("assistant", "a"); 3_000];
		assert!(told(CHATML, &turns).unwrap_err().contains("too many turns"));
		let blocks = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
		assert_eq!(told(blocks, &turns).unwrap(), format!("[{}]$", "a".repeat(3_000)));
	}

	#[test]
	fn a_template_that_tells_the_time_tells_the_same_on_any_day() {
		let dated = "{{ strftime_now('%d %b %Y') }}{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
		assert_eq!(told(dated, &TURNS[2..3]).unwrap(), "26 Jul 2024[one]$");
	}
}
