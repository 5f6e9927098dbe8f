//! A prompt from the messages of a chat, by the model's own template.

use minijinja::{context, Environment, Error, ErrorKind};
use serde::Serialize;

/// For models without a template: each message in a line of its own, and the line that the model is to end.
const PLAIN: &str = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:";

/// Why messages make no prompt.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
	/// The model's template is broken.
	#[error("the model's chat template is refused: {0}")]
	Template(Error),
	/// The template does not take these messages.
	#[error("the model's chat template does not take these messages: {0}")]
	Messages(Error),
}

/// A message of a chat.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
	/// Who says it, such as `user`.
	pub role: String,
	/// What.
	pub content: String,
}

/// Makes prompts of messages.
pub struct Chat {
	environment: Environment<'static>,
	marked: bool,
}

impl Chat {
	/// By a template in Jinja's language, in which `bos_token` and `eos_token` are these; without one, by line.
	///
	/// # Errors
	/// [`ChatError::Template`].
	pub fn new(template: Option<String>, begin: String, end: String) -> Result<Self, ChatError> {
		let mut environment = Environment::new();
		environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
		environment.set_trim_blocks(true);
		environment.set_lstrip_blocks(true);
		environment.add_global("bos_token", begin);
		environment.add_global("eos_token", end);
		environment.add_function("raise_exception", |words: String| Err::<String, _>(Error::new(ErrorKind::InvalidOperation, words)));
		let marked = template.is_some();
		environment.add_template_owned("chat", template.unwrap_or_else(|| PLAIN.into())).map_err(ChatError::Template)?;
		Ok(Self { environment, marked })
	}

	/// Whether prompts name the special tokens themselves.
	pub fn is_marked(&self) -> bool {
		self.marked
	}

	/// The prompt after which the assistant speaks.
	///
	/// # Errors
	/// [`ChatError::Messages`].
	pub fn prompt(&self, messages: &[Message]) -> Result<String, ChatError> {
		let template = self.environment.get_template("chat").map_err(ChatError::Template)?;
		template.render(context! { messages, add_generation_prompt => true }).map_err(ChatError::Messages)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn messages() -> Vec<Message> {
		let message = |role: &str, content: &str| Message { role: role.into(), content: content.into() };
		vec![message("system", " Be brief. "), message("user", "Hi")]
	}

	#[test]
	fn without_a_template_each_message_is_a_line() {
		let chat = Chat::new(None, String::new(), String::new()).unwrap();
		assert_eq!(chat.prompt(&messages()).unwrap(), "system:  Be brief. \nuser: Hi\nassistant:");
		assert!(!chat.is_marked());
	}

	#[test]
	fn templates_of_models_are_understood_and_may_refuse() {
		let template = "{{ bos_token }}{% for message in messages %}\n    {% if message['role'] not in ['system', 'user'] %}{{ raise_exception('no ' + message['role']) }}{% endif %}\n<|{{ message['role'] }}|>{{ message['content'].strip() }}{{ eos_token }}{% endfor %}\n{% if add_generation_prompt %}<|assistant|>{% endif %}";
		let chat = Chat::new(Some(template.into()), "<s>".into(), "</s>".into()).unwrap();
		assert_eq!(chat.prompt(&messages()).unwrap(), "<s><|system|>Be brief.</s><|user|>Hi</s><|assistant|>");
		let other = [Message { role: "tool".into(), content: String::new() }];
		assert!(chat.prompt(&other).unwrap_err().to_string().contains("no tool"));
		assert!(Chat::new(Some("{% if".into()), String::new(), String::new()).is_err());
	}
}
