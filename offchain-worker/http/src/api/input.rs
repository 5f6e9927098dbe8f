//! Input of a request: prompts, or the messages of a chat.

use super::{
	fault::{short, Fault},
	fields::{MESSAGE, PART},
	json::{Entry, Members, Type},
};
use neuroshard_inference::Message;

/// Prompts of one request, or texts of one for embeddings.
pub(super) const MOST_PROMPTS: usize = 64;
/// Messages of a chat.
const MOST_MESSAGES: usize = 4_096;
/// Bytes of the name of who says a message.
const MOST_ROLE: usize = 64;

/// A prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Prompt {
	/// As text.
	Text(String),
	/// As tokens.
	Tokens(Vec<u32>),
}

/// Input that is continued.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
	/// Each of these prompts.
	Prompts(Vec<Prompt>),
	/// This chat.
	Chat(Vec<Message>),
}

/// The prompts of the field `name`: a text or tokens, or several of one of both.
pub(super) fn prompts(members: &Members, name: &'static str) -> Result<Vec<Prompt>, Fault> {
	let what = "a string, a list of tokens, or a list of one of both";
	let field = members.get(name).ok_or_else(|| Fault::missing(name, &format!("it is {what}")))?;
	match field.kind() {
		Type::Text => return Ok(vec![Prompt::Text(field.text(what)?)]),
		Type::List => {}
		_ => return Err(field.wrong(what)),
	}
	let (mut prompts, mut tokens, mut first) = (Vec::new(), Vec::new(), None);
	field.each(what, |entry| {
		let kind = *first.get_or_insert(entry.kind());
		match kind {
			Type::Number => {
				tokens.push(token(entry)?);
				return Ok(());
			}
			_ if prompts.len() == MOST_PROMPTS => {
				return Err(Fault::value(field.path, format!("{name} has more than {MOST_PROMPTS} elements")))
			}
			Type::Text => prompts.push(Prompt::Text(entry.text("a string, as the first one is")?)),
			Type::List => {
				let mut tokens = Vec::new();
				entry.each("a list of tokens", |entry| {
					tokens.push(token(entry)?);
					Ok(())
				})?;
				prompts.push(Prompt::Tokens(tokens));
			}
			_ => return Err(entry.wrong("a string, a token, or a list of tokens")),
		}
		Ok(())
	})?;
	match first {
		None => Err(Fault::value(field.path, format!("{name} is an empty list: it is {what}"))),
		Some(Type::Number) => Ok(vec![Prompt::Tokens(tokens)]),
		Some(_) => Ok(prompts),
	}
}

fn token(entry: Entry) -> Result<u32, Fault> {
	let number = entry.whole(0..=u32::MAX.into())?;
	u32::try_from(number).map_err(|_| entry.wrong("a token"))
}

/// The messages of a chat.
pub(super) fn messages(members: &Members) -> Result<Vec<Message>, Fault> {
	let (name, what) = ("messages", "a list of messages, each with role and content");
	let field = members.get(name).ok_or_else(|| Fault::missing(name, &format!("it is {what}")))?;
	let mut messages = Vec::new();
	field.each(what, |entry| {
		if messages.len() == MOST_MESSAGES {
			return Err(Fault::value(field.path, format!("{name} has more than {MOST_MESSAGES} elements")));
		}
		messages.push(message(entry)?);
		Ok(())
	})?;
	if messages.is_empty() {
		return Err(Fault::value(field.path, "messages is empty: there must be a message"));
	}
	Ok(messages)
}

fn message(entry: Entry) -> Result<Message, Fault> {
	let members = entry.members("an object with role and content")?;
	MESSAGE.check(&members, Some(&entry.path))?;
	let (expected, missing) = ("a string, such as user", format!("{}.role", entry.path));
	let role = members.within(&entry.path, "role").ok_or_else(|| Fault::missing(&missing, "it says who speaks, such as user"))?;
	let name = role.text(expected)?;
	let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
	if name.is_empty() || name.len() > MOST_ROLE || !name.bytes().all(is_word) {
		return Err(Fault::value(
			role.path,
			format!("{} must be a word such as system, user or assistant, not {:?}", role.path, short(&name)),
		));
	}
	let content = members.within(&entry.path, "content").map(|content| text_of(&content)).transpose()?;
	Ok(Message { role: name, content: content.unwrap_or_default() })
}

/// The text of a message: one string, or that of all parts.
fn text_of(content: &Entry) -> Result<String, Fault> {
	let expected = "a string, or a list of parts of text";
	if content.kind() != Type::List {
		return content.text(expected);
	}
	let mut all = String::new();
	content.each(expected, |entry| {
		let part = entry.members("a part, such as {\"type\": \"text\", \"text\": \"Hi\"}")?;
		if let Some(kind) = part.within(&entry.path, "type") {
			let name = kind.text("a string: text")?;
			if name != "text" {
				return Err(Fault::unsupported(
					kind.path,
					&format!("parts of type {:?} are not read here, only those of type \"text\"", short(&name)),
				));
			}
		}
		PART.check(&part, Some(&entry.path))?;
		let missing = format!("{}.text", entry.path);
		let text = part.within(&entry.path, "text").ok_or_else(|| Fault::missing(&missing, "it is the text of a part"))?;
		all.push_str(&text.text("a string")?);
		Ok(())
	})?;
	Ok(all)
}
