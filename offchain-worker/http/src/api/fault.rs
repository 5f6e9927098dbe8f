//! Errors of requests.

/// Characters of what a client sent that are told back to it.
const MOST_TOLD: usize = 64;

/// Error of a request, as clients of the OpenAI API read it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
	/// The field, such as `messages[0].content`, if it is one field's.
	pub param: Option<String>,
	/// Code for programs, if there is one.
	pub code: Option<&'static str>,
	/// For people.
	pub message: String,
}

impl Fault {
	/// The whole request is wrong.
	pub(super) fn whole(message: impl Into<String>) -> Self {
		Self { param: None, code: None, message: message.into() }
	}

	/// One field is.
	pub(super) fn field(param: impl ToString, code: &'static str, message: impl Into<String>) -> Self {
		Self { param: Some(short(&param.to_string())), code: Some(code), message: message.into() }
	}

	/// A field is not there.
	pub(super) fn missing(param: &str, what: &str) -> Self {
		Self::field(param, "missing_required_parameter", format!("{param} is missing: {what}"))
	}

	/// A field's value is none of those that it may have.
	pub(super) fn value(param: impl ToString, message: impl Into<String>) -> Self {
		Self::field(param, "invalid_value", message)
	}

	/// A field that others know is not supported here.
	pub(super) fn unsupported(param: impl ToString, why: &str) -> Self {
		let name = short(&param.to_string());
		Self::field(&name, "unsupported_parameter", format!("{name} is not supported: {why}"))
	}
}

/// Returns the text that a client sent, as far as it is told back.
pub(super) fn short(text: &str) -> String {
	let mut characters = text.chars();
	let told: String = characters.by_ref().take(MOST_TOLD).collect();
	if characters.next().is_some() {
		format!("{told}...")
	} else {
		told
	}
}
