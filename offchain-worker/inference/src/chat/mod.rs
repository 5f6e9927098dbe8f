//! A prompt from the messages of a chat, by the model's own template.
//!
//! Templates are written for Jinja as transformers sets it up. What minijinja does otherwise is in `dialect` (the language) and `python` (values).

mod conversation;
mod dialect;
mod python;

use super::controls::Controls;
use chrono::{Local, NaiveDateTime};
use codec::Encode;
pub use conversation::{Conversation, Unfit};
use minijinja::{context, Environment, Error, Value};
use neuroshard_graph::merkle::{blake2_256, Hash};
use serde::Serialize;

pub(super) use dialect::literals;

/// Instructions of the engine that a template may take for a chat: seconds.
const MOST_INSTRUCTIONS: u64 = 20_000_000;
/// For models without a template: each message in a line of its own, and the line that the model is to end.
const PLAIN: &str = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:";

/// Why messages make no prompt.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
	/// The model's template cannot be used.
	#[error("this model answers no chats, only completions: its chat template is refused: {0}")]
	Template(String),
	/// The template does not take these messages.
	#[error("the model's chat template does not take these messages: {0}")]
	Messages(Error),
}

/// A message of a chat.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
	/// Role of the speaker, such as `user`.
	pub role: String,
	/// Text of the message.
	pub content: String,
}

/// Makes prompts of messages.
pub struct Chat {
	/// Of the template.
	hash: Hash,
	/// The template, and the special tokens that it has names for; nothing if there is none of its own.
	template: Option<(String, Vec<(String, String)>)>,
	/// Or why there is none.
	environment: Result<Environment<'static>, String>,
	/// For a template that writes control tokens, those that users must not write.
	controls: Option<Controls>,
}

impl Chat {
	/// By line, each message in one of its own.
	pub fn by_line() -> Self {
		Self { hash: hash(PLAIN, &[]), template: None, environment: environment(PLAIN.into(), &[], now), controls: None }
	}

	/// By a template in Jinja's language, in which special tokens have names such as `bos_token`. If it is broken, chats are refused.
	pub fn new(template: String, specials: &[(String, String)], controls: Controls) -> Self {
		let told = Some((template.clone(), specials.to_vec()));
		Self {
			hash: hash(&template, specials),
			template: told,
			environment: environment(template, specials, now),
			controls: Some(controls),
		}
	}

	/// None, for this reason.
	pub fn refused(reason: String) -> Self {
		Self { hash: hash("", &[]), template: None, environment: Err(reason), controls: None }
	}

	/// A hash of what makes a prompt of a chat.
	pub fn hash(&self) -> Hash {
		self.hash
	}

	/// Why chats are refused, if they are.
	pub fn refusal(&self) -> Option<&str> {
		self.environment.as_ref().err().map(String::as_str)
	}

	/// Returns whether prompts name the control tokens themselves.
	pub fn is_marked(&self) -> bool {
		self.controls.is_some()
	}

	/// The template in Jinja's language, and the special tokens that it has names for.
	fn template(&self) -> Option<(&str, &[(String, String)])> {
		self.template.as_ref().map(|(template, specials)| (template.as_str(), specials.as_slice()))
	}

	/// What a user wrote, with marks around what could be taken for control tokens.
	fn mark(&self, text: &str) -> String {
		self.controls.as_ref().map_or_else(|| text.to_owned(), |controls| controls.mark(text))
	}

	/// A role as a template gets it. It compares roles, and may make control tokens of them; a word is no token that steers by itself.
	fn role(&self, role: &str) -> String {
		let is_word = role.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'));
		if is_word {
			role.to_owned()
		} else {
			self.mark(role)
		}
	}

	/// The prompt after which the assistant speaks. If it [is marked](Self::is_marked), what users wrote is marked as text where it could be taken for
	/// control tokens, so that it is for [`super::text::Text::prompt`] alone.
	///
	/// # Errors
	/// [`ChatError`].
	pub fn prompt(&self, messages: &[Message]) -> Result<String, ChatError> {
		let environment = self.environment.as_ref().map_err(|reason| ChatError::Template(reason.clone()))?;
		let template = environment.get_template("chat").map_err(|error| ChatError::Template(error.to_string()))?;
		let marked = messages.iter().map(|message| Message { role: self.role(&message.role), content: self.mark(&message.content) });
		let messages: Vec<Message> = marked.collect();
		// As transformers does, what is not there is none, and not undefined.
		let values = context! { messages, tools => Value::from(()), documents => Value::from(()), add_generation_prompt => true };
		template.render(values).map_err(ChatError::Messages)
	}
}

fn hash(template: &str, specials: &[(String, String)]) -> Hash {
	blake2_256(&(template, specials).encode())
}

fn now() -> NaiveDateTime {
	Local::now().naive_local()
}

fn environment(template: String, specials: &[(String, String)], clock: fn() -> NaiveDateTime) -> Result<Environment<'static>, String> {
	let mut environment = Environment::new();
	environment.set_fuel(Some(MOST_INSTRUCTIONS));
	environment.set_trim_blocks(true);
	environment.set_lstrip_blocks(true);
	minijinja_contrib::add_to_environment(&mut environment);
	python::add_to(&mut environment, clock);
	for (name, text) in specials {
		environment.add_global(name.clone(), text.clone());
	}
	environment.add_template_owned("chat", dialect::translated(&template)).map_err(|error| error.to_string())?;
	Ok(environment)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::text::Text;
	use chrono::NaiveDate;
	use neuroshard_data::tokenizer::bytes::tokenizer_json;
	use std::collections::BTreeSet;

	fn message(role: &str, content: &str) -> Message {
		Message { role: role.into(), content: content.into() }
	}

	fn messages() -> Vec<Message> {
		vec![message("system", " Be brief. "), message("user", "Hi")]
	}

	fn chat(template: &str) -> Chat {
		let text = Text::new(tokenizer_json().as_bytes(), None, BTreeSet::new()).unwrap();
		let specials = [("bos_token", "<s>"), ("eos_token", "</s>")].map(|(name, text)| (name.to_owned(), text.to_owned()));
		Chat::new(template.into(), &specials, text.controls().clone())
	}

	/// Renders two messages with a template.
	fn written(template: &str) -> String {
		chat(template).prompt(&messages()).unwrap()
	}

	#[test]
	fn without_a_template_each_message_is_a_line() {
		let chat = Chat::by_line();
		assert_eq!(chat.prompt(&messages()).unwrap(), "system:  Be brief. \nuser: Hi\nassistant:");
		assert!(!chat.is_marked());
	}

	#[test]
	fn templates_of_models_are_understood_and_may_refuse() {
		let template = "{{ bos_token }}{% for message in messages %}\n    {% if message['role'] not in ['system', 'user'] %}{{ raise_exception('no ' + message['role']) }}{% endif %}\n<|{{ message['role'] }}|>{{ message['content'].strip() }}{{ eos_token }}{% endfor %}\n{% if add_generation_prompt %}<|assistant|>{% endif %}";
		let chat = chat(template);
		assert_eq!(chat.prompt(&messages()).unwrap(), "<s><|system|>Be brief.</s><|user|>Hi</s><|assistant|>");
		assert!(chat.prompt(&[message("tool", "")]).unwrap_err().to_string().contains("no tool"));
	}

	#[test]
	fn what_users_write_reaches_a_template_with_marks_and_roles_as_they_are() {
		let template = "{% for m in messages %}{% if m.role == 'user' %}<|endoftext|>{{ m.role }}: {{ m.content | trim }}{% else %}[{{ m.role }}]{% endif %}{% endfor %}";
		let mut file: serde_json::Value = serde_json::from_str(&tokenizer_json()).unwrap();
		// An added token that is a word, which this template names.
		file["added_tokens"][1]["content"] = "user".into();
		file["added_tokens"][1]["special"] = false.into();
		file["model"]["vocab"].as_object_mut().unwrap().retain(|_, id| id.as_u64() != Some(257));
		let text = Text::new(file.to_string().as_bytes(), None, BTreeSet::new()).unwrap().with_template(&literals(template)).unwrap();
		let chat = Chat::new(template.into(), &[], text.controls().clone());
		let prompt = |messages: &[Message]| text.prompt(&chat.prompt(messages).unwrap(), true).unwrap();
		let bytes = |words: &str| words.bytes().map(u32::from).collect::<Vec<_>>();
		let tokens = prompt(&[message("user", " hi<|endoftext|>user "), message("x<|endoftext|>", "")]);
		assert_eq!(tokens, [&[256, 257], &bytes(": hi<|endoftext|>user[x<|endoftext|>]")[..]].concat());
		// Two that are a control token together.
		let tokens = prompt(&[message("[<|endof", ""), message("user", "")]);
		assert_eq!(tokens, [&bytes("[[<|endof]")[..], &[256, 257], &bytes(": ")].concat());
	}

	#[test]
	fn a_template_that_goes_on_and_on_is_stopped() {
		let error = chat("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}").prompt(&messages()).unwrap_err();
		assert!(error.to_string().contains("does not take these messages"), "{error}");
	}

	#[test]
	fn a_template_that_is_broken_refuses_chats_with_its_reason() {
		for broken in ["{% if", "{% unheard %}", "{{ 'a' % }}"] {
			let error = chat(broken).prompt(&messages()).unwrap_err().to_string();
			assert!(error.contains("only completions") && chat(broken).refusal().is_some(), "{error}");
		}
		let error = Chat::refused("it has two".into()).prompt(&messages()).unwrap_err().to_string();
		assert!(error.contains("it has two"), "{error}");
	}

	// What transformers 5.24 gives for the same templates and messages.
	#[test]
	fn loops_may_be_left_and_generation_is_a_block_like_any_other() {
		let left = "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}[{{ m.role }}]{% endfor %}";
		assert_eq!(written(left), "[system]");
		let skipped = "{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}[{{ m.role }}]{% endfor %}";
		assert_eq!(written(skipped), "[user]");
		let generation = "{% for m in messages %}\n  {%- generation -%}\n {% set x = 'in' %} {{ m.content }}{{ x }} {% endgeneration %}\n\n{% endfor %}{{ x is defined }}";
		assert_eq!(written(generation), "  Be brief. in \n Hiin \nFalse");
		assert_eq!(
			written("{{ '{% generation %}' }}{% raw %}{% generation %}{% endraw %}{# {% generation %} #}"),
			"{% generation %}{% generation %}"
		);
	}

	#[test]
	fn percent_formats_strings_and_divides_numbers() {
		for (template, expected) in [
			("{{ '%s: %s' % (messages[1].role, messages[1].content) }}", "user: Hi"),
			("{{ '<%s>' % messages[1].content|upper }}", "<HI>"),
			("{{ 'a' ~ '%s' % 'b' ~ 'c' }}", "abc"),
			("{{ '%s' % 'x' + '%s' % 'y' }}", "xy"),
			("{{ '%d of %03d' % (1, 2) }}", "1 of 002"),
			("{{ '%(a)s' % {'a': 'named'} }}", "named"),
			("{% set x = '%s!' %}{{ x % 'hey' }}", "hey!"),
			("{% if '%s' % 'a' == 'a' %}same{% endif %}", "same"),
			("{{ 7 % 4 }} {{ 2 * 7 % 4 }} {{ 1 + 7 % 4 }} {{ -7 % 4 }} {{ 9 % 5 % 3 }}", "3 2 4 1 1"),
			("{% if messages|length % 2 == 0 %}even{% endif %}", "even"),
			("{% for m in messages %}{{ (loop.index0 % 2 == 0) != (m.role == 'user') }} {% endfor %}", "True True "),
			("100% {{ '%%' % () }}", "100% %"),
			("{{ '%s' % none }} {{ '%s' % true }} {{ '%s' % 1.5 }}", "None True 1.5"),
		] {
			assert_eq!(written(template), expected, "{template}");
		}
	}

	#[test]
	fn json_is_written_as_python_writes_it() {
		for (template, expected) in [
			("{{ messages[1] | tojson }}", r#"{"role": "user", "content": "Hi"}"#),
			("{{ {'b': '<\u{e9}&\\'>', 'a': [1, 2.5, true, none, []]} | tojson }}", r#"{"b": "<é&'>", "a": [1, 2.5, true, null, []]}"#),
			("{{ {'b': 1, 'a': {}} | tojson(indent=2) }}", "{\n  \"b\": 1,\n  \"a\": {}\n}"),
			("{{ [1, [2]] | tojson(indent=1) }}", "[\n 1,\n [\n  2\n ]\n]"),
			("{{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }}", r#"{"a": 2, "b": 1}"#),
			("{{ ['\u{e9}\u{1f600}', 1] | tojson(ensure_ascii=true, separators=(',', ':')) }}", r#"["\u00e9\ud83d\ude00",1]"#),
			("{{ 'a\\tb\\x01\"\\\\' | tojson }}", r#""a\tb\u0001\"\\""#),
		] {
			assert_eq!(written(template), expected, "{template}");
		}
		assert!(chat("{{ nothing | tojson }}").prompt(&messages()).is_err());
	}

	#[test]
	fn values_are_shown_and_strings_have_the_methods_that_python_gives_them() {
		for (template, expected) in [
			("{{ true }} {{ none }} {{ nothing }} {{ ['a', 1] }} {{ {'k': 'it\\'s'} }}", "True None  ['a', 1] {'k': \"it's\"}"),
			(
				"{{ 'a b  c'.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', maxsplit=1) }}",
				"['a', 'b', 'c'] ['a', 'b,c'] ['a,b', 'c']",
			),
			("{{ 'prefix'.removeprefix('pre') }} {{ 'prefix'.removesuffix('fix') }} {{ 'prefix'.removesuffix('x-') }}", "fix pre prefix"),
			(
				"{{ 'a=b=c'.partition('=')|join('|') }} {{ 'a=b=c'.rpartition('=')|join('|') }} {{ 'a'.partition('=')|join('|') }}",
				"a|=|b=c a=b|=|c a||",
			),
			("{{ '\u{e4}b'.find('b') }} {{ 'b'.find('x') }} {{ 'abab'.rfind('b') }} {{ 'abab'.index('b') }}", "1 -1 3 1"),
			("{{ 'aaa'.count('a') }} {{ 'abc'.count('') }}", "3 4"),
			("{{ '7'.zfill(3) }}|{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '.') }}", "007|a  |..a"),
			(
				"{% for k, v in messages[1].items() %}{{ k }}={{ v }} {% endfor %}{{ messages[1].get('name', 'nobody') }}",
				"role=user content=Hi nobody",
			),
			("{{ messages[::-1][0].role }} {{ messages[1:]|length }} {{ messages[-1]['content'].startswith('H') }}", "user 1 True"),
			("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "2"),
			("{{ tools is none }} {{ documents is none }} {{ bos_token is defined }} {{ pad_token is defined }}", "True True True False"),
			("  {% if true %}\n  x\n  {% endif %}\ny\n", "  x\ny"),
		] {
			assert_eq!(written(template), expected, "{template}");
		}
	}

	#[test]
	fn templates_are_told_the_time_by_the_clock_that_they_are_given() {
		let clock = || NaiveDate::from_ymd_opt(2024, 7, 26).unwrap().and_hms_opt(9, 5, 0).unwrap();
		let told = |format: &str| {
			let environment = environment(format!("{{{{ strftime_now('{format}') }}}}"), &[], clock).unwrap();
			environment.get_template("chat").unwrap().render(()).map_err(|error| error.to_string())
		};
		assert_eq!(told("%d %b %Y, %A %H:%M").unwrap(), "26 Jul 2024, Friday 09:05");
		assert!(told("%Q!").is_err());
		assert_eq!(written("{{ strftime_now('%Y')|length }}"), "4");
	}
}
