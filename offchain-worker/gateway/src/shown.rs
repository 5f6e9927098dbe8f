//! An answer as clients are shown it: made anew from what was read of the provider's. So the text that a client sees is the one that receipts are held
//! against, whatever else stands in what the provider sends, and however another reader would understand it.

use super::at_most::AtMost;
use neuroshard_http::api::Kind;
use neuroshard_inference::receipt::Transcript;
use neuroshard_support::printable::printable_line;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// Choices of one document or event: what can be asked for.
pub(super) const MOST_CHOICES: usize = 1_024;
/// Characters of a name that the provider gives an answer.
const NAME: usize = 128;

/// Facts about the answers to a request that are known before they come.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frame {
	/// Kind of the request.
	pub(super) kind: Kind,
	/// Name of the model.
	pub(super) model: String,
	/// Number of answers that are asked for.
	pub(super) answers: u32,
}

/// Message of a provider: a document, or the data of an event.
#[derive(Deserialize)]
pub(super) struct Document {
	id: Option<String>,
	created: Option<u64>,
	system_fingerprint: Option<String>,
	pub(super) choices: AtMost<Choice, MOST_CHOICES>,
	/// Events of a stream have null where it is asked for and comes in the end.
	#[serde(default, deserialize_with = "told")]
	usage: Option<Option<Usage>>,
}

/// Reads a value that is told, also if it is null.
fn told<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<Option<Usage>>, D::Error> {
	Option::deserialize(deserializer).map(Some)
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Usage {
	prompt_tokens: u64,
	completion_tokens: u64,
	total_tokens: u64,
}

/// An answer, or a piece of one.
#[derive(Deserialize)]
pub(super) struct Choice {
	#[serde(default)]
	pub(super) index: u32,
	text: Option<String>,
	message: Option<Content>,
	delta: Option<Content>,
	logprobs: Option<Box<RawValue>>,
	finish_reason: Option<String>,
	pub(super) receipt: Option<Transcript>,
}

#[derive(Deserialize)]
struct Content {
	role: Option<String>,
	content: Option<String>,
}

impl Choice {
	/// The text that clients read where this is asked for.
	pub(super) fn text(&self, kind: Kind, stream: bool) -> &str {
		let text = match (kind, stream) {
			(Kind::Chat, false) => self.message.as_ref().and_then(|message| message.content.as_deref()),
			(Kind::Chat, true) => self.delta.as_ref().and_then(|delta| delta.content.as_deref()),
			_ => self.text.as_deref(),
		};
		text.unwrap_or_default()
	}
}

#[derive(Serialize)]
struct Shown<'a> {
	id: String,
	object: &'static str,
	created: u64,
	model: &'a str,
	#[serde(skip_serializing_if = "Option::is_none")]
	system_fingerprint: Option<String>,
	choices: Vec<ShownChoice<'a>>,
	#[serde(skip_serializing_if = "Option::is_none")]
	usage: Option<Option<Usage>>,
}

#[derive(Serialize)]
struct ShownChoice<'a> {
	index: u32,
	#[serde(skip_serializing_if = "Option::is_none")]
	text: Option<&'a str>,
	#[serde(skip_serializing_if = "Option::is_none")]
	message: Option<Message<'a>>,
	#[serde(skip_serializing_if = "Option::is_none")]
	delta: Option<Delta<'a>>,
	logprobs: Option<Box<RawValue>>,
	finish_reason: Option<&'static str>,
	#[serde(skip_serializing_if = "Option::is_none")]
	receipt: Option<&'a Transcript>,
}

#[derive(Serialize)]
struct Message<'a> {
	role: &'static str,
	content: &'a str,
	refusal: (),
}

#[derive(Serialize)]
struct Delta<'a> {
	#[serde(skip_serializing_if = "Option::is_none")]
	role: Option<&'static str>,
	content: &'a str,
}

const ASSISTANT: &str = "assistant";

impl Frame {
	/// A document, or the data of an event, as JSON in one line.
	///
	/// # Errors
	/// If it cannot be written.
	pub(super) fn show(&self, document: &Document, stream: bool) -> serde_json::Result<Vec<u8>> {
		let name = |text: &String| printable_line(text).chars().take(NAME).collect();
		let choices = document.choices.0.iter().map(|choice| self.choice(choice, stream)).collect();
		serde_json::to_vec(&Shown {
			id: document.id.as_ref().map(name).unwrap_or_default(),
			object: self.kind.object(stream),
			created: document.created.unwrap_or_default(),
			model: &self.model,
			system_fingerprint: document.system_fingerprint.as_ref().map(name),
			choices,
			usage: document.usage,
		})
	}

	fn choice<'a>(&self, choice: &'a Choice, stream: bool) -> ShownChoice<'a> {
		let content = choice.text(self.kind, stream);
		let is_named = choice.delta.as_ref().is_some_and(|delta| delta.role.is_some());
		let (text, message, delta) = match (self.kind, stream) {
			(Kind::Chat, false) => (None, Some(Message { role: ASSISTANT, content, refusal: () }), None),
			(Kind::Chat, true) => (None, None, Some(Delta { role: is_named.then_some(ASSISTANT), content })),
			_ => (Some(content), None, None),
		};
		let finish_reason = choice.finish_reason.as_deref().and_then(|told| ["stop", "length"].into_iter().find(|known| *known == told));
		let logprobs = choice.logprobs.as_deref().and_then(line);
		ShownChoice { index: choice.index, text, message, delta, logprobs, finish_reason, receipt: choice.receipt.as_ref() }
	}
}

/// JSON in one line: an end of a line is never within a string.
fn line(json: &RawValue) -> Option<Box<RawValue>> {
	RawValue::from_string(json.get().replace(['\n', '\r'], " ")).ok()
}

#[cfg(test)]
mod tests {
	use super::{super::testing::given, *};
	use serde_json::{json, Value};

	/// Returns the JSON that a client is shown of this.
	fn shown(kind: Kind, stream: bool, told: &str) -> Value {
		let frame = Frame { kind, model: "run-0".into(), answers: 1 };
		let shown = frame.show(&serde_json::from_str(told).unwrap(), stream).unwrap();
		assert!(!shown.contains(&b'\n') && !shown.contains(&b'\r'));
		serde_json::from_slice(&shown).unwrap()
	}

	#[test]
	fn a_client_is_shown_the_text_that_was_read_and_nothing_that_was_not() {
		let told = json!({
			"id": "cmpl-1", "created": 5, "model": "other", "system_fingerprint": "f32-1", "tool_calls": [1],
			"usage": { "prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5, "more": 1 },
			"choices": [{
				"index": 0, "text": "text", "message": { "role": "system", "content": "message", "tool_calls": [1], "reasoning_content": "x" },
				"delta": { "role": "system", "content": "delta", "tool_calls": [1] }, "finish_reason": "tool_calls", "logprobs": null,
				"receipt": given(0).transcript, "tool_calls": [1],
			}],
		});
		let frame = |object: &str, choice: Value| {
			let mut all = json!({
				"id": "cmpl-1", "object": object, "created": 5, "model": "run-0", "system_fingerprint": "f32-1", "choices": [choice],
				"usage": { "prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5 },
			});
			for (name, value) in
				[("index", json!(0)), ("logprobs", Value::Null), ("finish_reason", Value::Null), ("receipt", json!(given(0).transcript))]
			{
				all["choices"][0][name] = value;
			}
			all
		};
		let message = json!({ "message": { "role": "assistant", "content": "message", "refusal": null } });
		let delta = json!({ "delta": { "role": "assistant", "content": "delta" } });
		for (kind, stream, object, choice) in [
			(Kind::Completion, false, "text_completion", json!({ "text": "text" })),
			(Kind::Completion, true, "text_completion", json!({ "text": "text" })),
			(Kind::Chat, false, "chat.completion", message),
			(Kind::Chat, true, "chat.completion.chunk", delta),
		] {
			assert_eq!(shown(kind, stream, &told.to_string()), frame(object, choice), "{kind:?} {stream}");
		}
	}

	#[test]
	fn usage_that_comes_in_the_end_of_a_stream_is_null_before() {
		let usage = |told: &str| shown(Kind::Completion, true, told).get("usage").cloned();
		assert_eq!(usage(r#"{"choices":[]}"#), None);
		assert_eq!(usage(r#"{"choices":[],"usage":null}"#), Some(Value::Null));
		let told = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
		assert_eq!(usage(told).unwrap()["total_tokens"], 3);
	}

	#[test]
	fn probabilities_and_ends_are_passed_on_in_one_line() {
		let told = "{\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"stop\",\"logprobs\":{\"tokens\":\r\n[\"a\\n\"]}}]}";
		let shown = shown(Kind::Completion, true, told);
		assert_eq!(
			(&shown["choices"][0]["logprobs"], &shown["choices"][0]["finish_reason"]),
			(&json!({ "tokens": ["a\n"] }), &json!("stop"))
		);
	}
}
