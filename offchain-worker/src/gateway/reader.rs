//! Finds receipts in what a provider sends, as it passes through: in a JSON document, or in server-sent events.

use super::{
	at_most::AtMost,
	purse::{Given, Wrong},
};
use crate::receipt::Transcript;
use axum::body::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of a document, or of one event.
const MOST: usize = 32 << 20;
/// Bytes of the texts of one stream.
const MOST_TEXT: usize = 32 << 20;
/// Choices of one document, event or stream: what can be asked for.
const MOST_CHOICES: usize = 1_024;

/// Reads one answer.
pub(super) enum Reader {
	/// A JSON document.
	Document(Vec<u8>),
	/// Server-sent events.
	Events(Events),
	/// Nothing more: what came was wrong.
	Nothing,
}

/// What a document was.
#[derive(PartialEq, Debug)]
pub(super) struct Whole {
	/// Its answers.
	pub(super) given: Vec<Given>,
	/// All of it, if it is a JSON object.
	pub(super) document: Option<Bytes>,
}

/// Server-sent events.
#[derive(Default)]
pub(super) struct Events {
	/// What came of a line.
	line: Vec<u8>,
	/// The data of an event that is not complete.
	data: Vec<u8>,
	/// Texts of choices so far.
	texts: BTreeMap<u32, String>,
	size: usize,
}

#[derive(Deserialize)]
struct Document {
	#[serde(default)]
	choices: AtMost<Choice, MOST_CHOICES>,
}

#[derive(Deserialize)]
struct Choice {
	#[serde(default)]
	index: u32,
	text: Option<String>,
	message: Option<Content>,
	delta: Option<Content>,
	receipt: Option<Transcript>,
}

#[derive(Deserialize)]
struct Content {
	content: Option<String>,
}

impl Choice {
	fn text(&mut self) -> String {
		let content = |of: &mut Option<Content>| of.take().and_then(|content| content.content);
		self.text.take().or_else(|| content(&mut self.message)).or_else(|| content(&mut self.delta)).unwrap_or_default()
	}
}

impl Reader {
	/// Reads a successful answer of this content type; `None` if such a one is no answer.
	pub(super) fn of(content_type: &str) -> Option<Self> {
		match content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
			"application/json" => Some(Self::Document(Vec::new())),
			"text/event-stream" => Some(Self::Events(Events::default())),
			_ => None,
		}
	}

	/// Whether it is read to its end before anybody gets some of it.
	pub(super) fn is_document(&self) -> bool {
		matches!(self, Self::Document(_))
	}

	/// What is complete with these bytes.
	///
	/// # Errors
	/// [`Wrong::TooLarge`].
	pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Given>, Wrong> {
		match self {
			Self::Document(document) if document.len().saturating_add(bytes.len()) > MOST => Err(Wrong::TooLarge),
			Self::Document(document) => {
				document.extend_from_slice(bytes);
				Ok(Vec::new())
			}
			Self::Events(events) => events.push(bytes),
			Self::Nothing => Ok(Vec::new()),
		}
	}

	/// What came of the texts of answers that have no receipt; `None` if none was to come.
	pub(super) fn seen(self) -> Option<BTreeMap<u32, String>> {
		match self {
			Self::Events(events) => Some(events.texts),
			// Nobody reads half a document.
			Self::Document(_) => Some(BTreeMap::new()),
			Self::Nothing => None,
		}
	}

	/// What is complete at the end.
	pub(super) fn finish(&mut self) -> Whole {
		let Self::Document(document) = self else { return Whole { given: Vec::new(), document: None } };
		let document = std::mem::take(document);
		// What is passed over is not looked at otherwise.
		let is_text = std::str::from_utf8(&document).is_ok();
		let is_object = is_text && document.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
		// What is no such document has no receipt, and is not paid for.
		let read = serde_json::from_slice::<Document>(&document).ok().filter(|_| is_object);
		let Some(Document { choices }) = read else { return Whole { given: Vec::new(), document: None } };
		let given = choices.0.into_iter().filter_map(|mut choice| {
			let text = choice.text();
			Some(Given { choice: choice.index, text, transcript: choice.receipt? })
		});
		Whole { given: given.collect(), document: Some(document.into()) }
	}
}

impl Events {
	fn push(&mut self, bytes: &[u8]) -> Result<Vec<Given>, Wrong> {
		let mut given = Vec::new();
		for part in bytes.split_inclusive(|byte| *byte == b'\n') {
			if self.line.len().saturating_add(self.data.len()).saturating_add(part.len()) > MOST {
				return Err(Wrong::TooLarge);
			}
			self.line.extend_from_slice(part);
			if self.line.ends_with(b"\n") {
				let line = std::mem::take(&mut self.line);
				let line = line.strip_suffix(b"\n").unwrap_or(&line);
				self.line(line.strip_suffix(b"\r").unwrap_or(line), &mut given)?;
			}
		}
		Ok(given)
	}

	fn line(&mut self, line: &[u8], given: &mut Vec<Given>) -> Result<(), Wrong> {
		if let Some(data) = line.strip_prefix(b"data:") {
			if !self.data.is_empty() {
				self.data.push(b'\n');
			}
			self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
		}
		if line.is_empty() {
			let data = std::mem::take(&mut self.data);
			// The end of a stream is no document.
			if let Ok(document) = serde_json::from_slice::<Document>(&data) {
				return self.choices(document.choices.0, given);
			}
		}
		Ok(())
	}

	fn choices(&mut self, choices: Vec<Choice>, given: &mut Vec<Given>) -> Result<(), Wrong> {
		for mut choice in choices {
			let (index, piece) = (choice.index, choice.text());
			self.size = self.size.saturating_add(piece.len());
			if self.size > MOST_TEXT || self.texts.len() >= MOST_CHOICES {
				return Err(Wrong::TooLarge);
			}
			let text = self.texts.entry(index).or_default();
			text.push_str(&piece);
			if let Some(transcript) = choice.receipt {
				given.push(Given { choice: index, text: std::mem::take(text), transcript });
			}
		}
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::{super::testing::given, *};
	use serde_json::json;

	#[test]
	fn receipts_of_a_document_are_found_with_their_texts() {
		let transcript = &given(0).transcript;
		let document = json!({ "choices": [
			{ "index": 0, "message": { "content": "abc" }, "receipt": transcript },
			{ "index": 1, "text": "abc", "receipt": given(1).transcript },
			{ "index": 2, "text": "without" },
		] });
		let document = document.to_string();
		let mut reader = Reader::of("application/json; charset=utf-8").unwrap();
		for piece in document.as_bytes().chunks(7) {
			assert_eq!(reader.push(piece).unwrap(), []);
		}
		let given = vec![given(0), Given { choice: 1, ..given(1) }];
		assert_eq!(reader.finish(), Whole { given, document: Some(document.into()) });
	}

	/// What comes of a document.
	fn document(bytes: impl AsRef<[u8]>) -> Whole {
		let mut reader = Reader::of("application/json").unwrap();
		reader.push(bytes.as_ref()).unwrap();
		reader.finish()
	}

	#[test]
	fn what_is_no_json_object_is_no_document_whatever_its_type_says() {
		let other = b"{ \"error\": {} }";
		assert_eq!(document(other), Whole { given: vec![], document: Some(other.to_vec().into()) });
		for wrong in ["", "<html></html>", "[[]]", "\"text\"", "{", "{} <script>", "\u{feff}{}", "{\"choices\": 5}"] {
			assert_eq!(document(wrong), Whole { given: vec![], document: None }, "{wrong}");
		}
		assert!(document(b"{\"a\": \"\xff\"}").document.is_none());
		assert!(Reader::of("text/html").is_none() && Reader::of("").is_none() && Reader::of("image/svg+xml").is_none());
	}

	#[test]
	fn no_more_choices_are_kept_than_can_be_asked_for() {
		let choices = |count: usize| format!("{{\"choices\":[{}]}}", vec!["{}"; count].join(","));
		assert!(document(choices(MOST_CHOICES)).document.is_some());
		assert!(document(choices(MOST_CHOICES + 1)).document.is_none());
	}

	#[test]
	fn receipts_of_a_stream_are_found_wherever_its_pieces_are_cut() {
		let event = |choice: serde_json::Value| format!("data: {}\n\n", json!({ "choices": [choice] }));
		let stream = [
			event(json!({ "index": 0, "delta": { "role": "assistant", "content": "" } })),
			event(json!({ "index": 1, "delta": { "content": "a" } })),
			": keep-alive\r\n\r\n".to_owned(),
			event(json!({ "index": 0, "delta": { "content": "ab" } })),
			event(json!({ "index": 0, "delta": { "content": "c" }, "receipt": given(0).transcript })),
			event(json!({ "index": 1, "delta": { "content": "bc" }, "receipt": given(1).transcript })).replace('\n', "\r\n"),
			"data: [DONE]\n\n".to_owned(),
		];
		let stream = stream.concat();
		for size in [1, 5, 1_000, stream.len()] {
			let mut reader = Reader::of("text/event-stream").unwrap();
			let found: Vec<_> = stream.as_bytes().chunks(size).flat_map(|piece| reader.push(piece).unwrap()).collect();
			assert_eq!(found, [given(0), Given { choice: 1, ..given(1) }], "{size}");
		}
	}

	#[test]
	fn what_came_of_a_stream_without_a_receipt_is_told() {
		let event = |choice: serde_json::Value| format!("data: {}\n\n", json!({ "choices": [choice] }));
		let mut reader = Reader::of("text/event-stream").unwrap();
		reader.push(event(json!({ "index": 1, "text": "a" })).as_bytes()).unwrap();
		reader.push(event(json!({ "index": 1, "text": "b" })).as_bytes()).unwrap();
		reader.push(b"data: {").unwrap();
		assert_eq!(reader.finish(), Whole { given: vec![], document: None });
		assert_eq!(reader.seen(), Some([(1, "ab".to_owned())].into()));
		let mut document = Reader::of("application/json").unwrap();
		document.push(b"{").unwrap();
		assert_eq!((document.seen(), Reader::Nothing.seen()), (Some(BTreeMap::new()), None));
	}

	#[test]
	fn no_event_takes_all_memory() {
		let mut reader = Reader::of("text/event-stream").unwrap();
		let line = vec![b'x'; MOST];
		reader.push(&line).unwrap();
		assert!(matches!(reader.push(b"x"), Err(Wrong::TooLarge)));
		let mut reader = Reader::of("application/json").unwrap();
		reader.push(&line).unwrap();
		assert!(matches!(reader.push(b"x"), Err(Wrong::TooLarge)));
	}
}
