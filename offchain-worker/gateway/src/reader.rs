//! Reads what a provider sends, a JSON document or server-sent events: finds the receipts in it, and has what a client is shown made anew.

use super::{
	ledger::{Given, Wrong},
	refusal::Refusal,
	shown::{Document, Frame},
};
use axum::body::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a document, or of one event.
const MOST: usize = 32 << 20;
/// Bytes of the texts of one stream.
const MOST_TEXT: usize = 32 << 20;

/// Reads the answers to one request.
pub(super) enum Reader {
	/// A JSON document.
	Document(Frame, Vec<u8>),
	/// Server-sent events.
	Events(Events),
}

/// Complete part of a stream.
#[derive(Default, PartialEq, Debug)]
pub(super) struct Piece {
	/// Its answers.
	pub(super) given: Vec<Given>,
	/// Bytes that a client is shown.
	pub(super) shown: Vec<u8>,
}

/// Complete document.
#[derive(Default, Debug)]
pub(super) struct Whole {
	/// Its answers.
	pub(super) given: Vec<Given>,
	/// Document that a client is shown, if it has answers.
	pub(super) document: Option<Bytes>,
	/// Why it is shown nothing, if the provider did not answer as was asked.
	pub(super) wrong: Option<Wrong>,
}

/// Server-sent events.
pub(super) struct Events {
	frame: Frame,
	/// Bytes of a line that have come.
	line: Vec<u8>,
	/// The data of an event that is not complete.
	data: Vec<u8>,
	/// Texts of choices so far.
	texts: BTreeMap<u32, String>,
	/// Choices whose receipts have come.
	ended: BTreeSet<u32>,
	size: usize,
}

impl Reader {
	/// Reads a successful answer of this content type; `None` if such a one is no answer.
	pub(super) fn of(content_type: &str, frame: Frame) -> Option<Self> {
		match content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
			"application/json" => Some(Self::Document(frame, Vec::new())),
			"text/event-stream" => Some(Self::Events(Events {
				frame,
				line: Vec::new(),
				data: Vec::new(),
				texts: BTreeMap::new(),
				ended: BTreeSet::new(),
				size: 0,
			})),
			_ => None,
		}
	}

	/// Returns whether it is read to its end before anybody gets some of it.
	pub(super) fn is_document(&self) -> bool {
		matches!(self, Self::Document(..))
	}

	/// Takes these bytes and returns what is complete with them.
	///
	/// # Errors
	/// [`Wrong::TooLarge`], [`Wrong::Choice`], [`Wrong::Twice`], [`Wrong::BehindReceipt`].
	pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Piece, Wrong> {
		match self {
			Self::Document(_, document) if document.len().saturating_add(bytes.len()) > MOST => Err(Wrong::TooLarge),
			Self::Document(_, document) => {
				document.extend_from_slice(bytes);
				Ok(Piece::default())
			}
			Self::Events(events) => events.push(bytes),
		}
	}

	/// Returns the texts of answers that have no receipt, as far as they came.
	pub(super) fn seen(self) -> BTreeMap<u32, String> {
		match self {
			Self::Events(events) => events.texts,
			// Nobody reads half a document.
			Self::Document(..) => BTreeMap::new(),
		}
	}

	/// Returns the document at the end; an empty one for a stream of events.
	pub(super) fn finish(&mut self) -> Whole {
		let Self::Document(frame, document) = self else { return Whole::default() };
		let bytes = std::mem::take(document);
		let is_text = std::str::from_utf8(&bytes).is_ok();
		let is_object = is_text && bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
		// What is no such document has no receipt, and is not paid for.
		let read = serde_json::from_slice::<Document>(&bytes).ok().filter(|_| is_object);
		let Some(mut read) = read else { return Whole::default() };
		let mut known = BTreeSet::new();
		let mut indices = read.choices.0.iter().map(|choice| choice.index);
		let wrong = indices.find_map(|index| match known.insert(index) {
			_ if index >= frame.answers => Some(Wrong::Choice(index)),
			false => Some(Wrong::Twice(index)),
			true => None,
		});
		let shown = frame.show(&read, false).ok().filter(|_| wrong.is_none());
		let given = read.choices.0.iter_mut().filter_map(|choice| {
			let text = choice.text(frame.kind, false).to_owned();
			Some(Given { choice: choice.index, text, transcript: choice.receipt.take()? })
		});
		Whole { given: given.collect(), document: shown.map(Into::into), wrong }
	}
}

impl Events {
	fn push(&mut self, bytes: &[u8]) -> Result<Piece, Wrong> {
		let mut piece = Piece::default();
		for part in bytes.split_inclusive(|byte| *byte == b'\n') {
			if self.line.len().saturating_add(self.data.len()).saturating_add(part.len()) > MOST {
				return Err(Wrong::TooLarge);
			}
			self.line.extend_from_slice(part);
			if self.line.ends_with(b"\n") {
				let line = std::mem::take(&mut self.line);
				let line = line.strip_suffix(b"\n").unwrap_or(&line);
				self.line(line.strip_suffix(b"\r").unwrap_or(line), &mut piece)?;
			}
		}
		Ok(piece)
	}

	fn line(&mut self, line: &[u8], piece: &mut Piece) -> Result<(), Wrong> {
		if line.starts_with(b":") {
			// It tells that the provider is there.
			piece.shown.extend(b":\n\n");
		}
		if let Some(data) = line.strip_prefix(b"data:") {
			if !self.data.is_empty() {
				self.data.push(b'\n');
			}
			self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
		}
		if line.is_empty() {
			let data = std::mem::take(&mut self.data);
			// What is neither of these is shown to nobody.
			let shown = match serde_json::from_slice::<Document>(&data) {
				Ok(document) => Some(self.document(document, piece)?),
				Err(_) if data == b"[DONE]" => Some(data),
				Err(_) => Refusal::told(&data),
			};
			if let Some(shown) = shown {
				piece.shown.extend([&b"data: "[..], &shown, b"\n\n"].concat());
			}
		}
		Ok(())
	}

	/// Returns the bytes of an event that a client is shown.
	fn document(&mut self, document: Document, piece: &mut Piece) -> Result<Vec<u8>, Wrong> {
		let shown = self.frame.show(&document, true).map_err(|_| Wrong::TooLarge)?;
		let mut known = BTreeSet::new();
		for choice in document.choices.0 {
			let (index, told) = (choice.index, choice.text(self.frame.kind, true));
			if index >= self.frame.answers {
				return Err(Wrong::Choice(index));
			}
			if !known.insert(index) {
				return Err(Wrong::Twice(index));
			}
			if !told.is_empty() && self.ended.contains(&index) {
				return Err(Wrong::BehindReceipt(index));
			}
			self.size = self.size.saturating_add(told.len());
			if self.size > MOST_TEXT {
				return Err(Wrong::TooLarge);
			}
			let text = self.texts.entry(index).or_default();
			text.push_str(told);
			if let Some(transcript) = choice.receipt {
				self.ended.insert(index);
				piece.given.push(Given { choice: index, text: std::mem::take(text), transcript });
			}
		}
		Ok(shown)
	}
}

#[cfg(test)]
mod tests {
	use super::{super::testing::given, *};
	use neuroshard_http::api::Kind;
	use serde_json::{json, Value};

	fn reader(content_type: &str, kind: Kind, answers: u32) -> Option<Reader> {
		Reader::of(content_type, Frame { kind, model: "run-0".into(), answers })
	}

	fn stream(kind: Kind, answers: u32) -> Reader {
		reader("text/event-stream", kind, answers).unwrap()
	}

	/// Reads a document to its end.
	fn document(bytes: impl AsRef<[u8]>) -> Whole {
		let mut reader = reader("application/json", Kind::Completion, 2).unwrap();
		reader.push(bytes.as_ref()).unwrap();
		reader.finish()
	}

	fn event(choice: Value) -> String {
		format!("data: {}\n\n", json!({ "choices": [choice] }))
	}

	/// Texts of the choices that a client reads of a document, or of the data of an event.
	fn texts(shown: &[u8]) -> Vec<(u64, String)> {
		let shown: Value = serde_json::from_slice(shown).unwrap();
		let text = |choice: &Value| {
			["/text", "/message/content", "/delta/content"].iter().find_map(|at| choice.pointer(at)?.as_str().map(str::to_owned))
		};
		shown["choices"].as_array().unwrap().iter().map(|choice| (choice["index"].as_u64().unwrap(), text(choice).unwrap())).collect()
	}

	#[test]
	fn receipts_of_a_document_are_found_with_their_texts() {
		let transcript = &given(0).transcript;
		let document = json!({ "choices": [
			{ "index": 0, "message": { "content": "abc" }, "receipt": transcript },
			{ "index": 1, "message": { "content": "abc" }, "receipt": given(1).transcript },
			{ "index": 2, "message": { "content": "without" } },
		] });
		let mut reader = reader("application/json; charset=utf-8", Kind::Chat, 3).unwrap();
		for piece in document.to_string().as_bytes().chunks(7) {
			assert_eq!(reader.push(piece).unwrap(), Piece::default());
		}
		let Whole { given: found, document, wrong } = reader.finish();
		assert_eq!((found, wrong.is_none()), (vec![given(0), Given { choice: 1, ..given(1) }], true));
		assert_eq!(texts(&document.unwrap()), [(0, "abc".into()), (1, "abc".into()), (2, "without".into())]);
	}

	#[test]
	fn what_is_no_answer_is_no_document_whatever_its_type_says() {
		assert!(document(br#" {"choices": []}"#).document.is_some());
		for wrong in ["", "<html></html>", "[[]]", "\"text\"", "{", "{} <script>", "\u{feff}{}", "{\"choices\": 5}", "{\"error\": {}}"] {
			let Whole { given, document, wrong: why } = document(wrong);
			assert!(given.is_empty() && document.is_none() && why.is_none(), "{wrong}");
		}
		assert!(document(b"{\"choices\": [], \"a\": \"\xff\"}").document.is_none());
		for kind in ["text/html", "", "image/svg+xml"] {
			assert!(reader(kind, Kind::Completion, 1).is_none());
		}
	}

	#[test]
	fn nobody_is_shown_a_document_with_other_choices_than_were_asked_for() {
		let choices = |indices: &[u32]| {
			json!({ "choices": indices.iter().map(|index| json!({ "index": index, "text": "x" })).collect::<Vec<_>>() }).to_string()
		};
		assert!(document(choices(&[1, 0])).document.is_some());
		for (indices, words) in [(&[0, 0][..], "two answers for choice 0"), (&[0, 2], "nobody asked for choice 2")] {
			let Whole { document, wrong, .. } = document(choices(indices));
			assert!(document.is_none() && wrong.unwrap().to_string().contains(words), "{words}");
		}
		let many = |count: usize| format!("{{\"choices\":[{}]}}", vec!["{}"; count].join(","));
		assert!(document(many(super::super::shown::MOST_CHOICES + 1)).wrong.is_none(), "they are not kept");
	}

	#[test]
	fn receipts_of_a_stream_are_found_wherever_its_pieces_are_cut() {
		let all = [
			event(json!({ "index": 0, "delta": { "role": "assistant", "content": "" } })),
			event(json!({ "index": 1, "delta": { "content": "a" } })),
			": keep-alive\r\n\r\n".to_owned(),
			event(json!({ "index": 0, "delta": { "content": "ab" } })),
			event(json!({ "index": 0, "delta": { "content": "c" }, "receipt": given(0).transcript })),
			event(json!({ "index": 1, "delta": { "content": "bc" }, "receipt": given(1).transcript })).replace('\n', "\r\n"),
			"data: [DONE]\n\n".to_owned(),
		];
		let all = all.concat();
		let mut shown = BTreeSet::new();
		for size in [1, 5, 1_000, all.len()] {
			let mut reader = stream(Kind::Chat, 2);
			let pieces: Vec<Piece> = all.as_bytes().chunks(size).map(|bytes| reader.push(bytes).unwrap()).collect();
			shown.insert(pieces.iter().flat_map(|piece| piece.shown.clone()).collect::<Vec<u8>>());
			let found: Vec<_> = pieces.into_iter().flat_map(|piece| piece.given).collect();
			assert_eq!(found, [given(0), Given { choice: 1, ..given(1) }], "{size}");
		}
		assert_eq!(shown.len(), 1);
		let shown = String::from_utf8(shown.pop_first().unwrap()).unwrap();
		let data: Vec<_> = shown.split_terminator("\n\n").collect();
		assert_eq!((data.len(), data[2], data[6]), (7, ":", "data: [DONE]"));
		let texts: Vec<_> =
			[0, 1, 3, 4, 5].into_iter().flat_map(|place: usize| texts(data[place].strip_prefix("data: ").unwrap().as_bytes())).collect();
		assert_eq!(texts, [(0, ""), (1, "a"), (0, "ab"), (0, "c"), (1, "bc")].map(|(index, text)| (index, text.to_owned())));
	}

	#[test]
	fn a_client_sees_no_text_that_its_receipt_is_not_held_against() {
		let whole = event(json!({ "index": 0, "delta": { "content": "abc" }, "receipt": given(0).transcript }));
		for (hidden, words) in [
			// Behind the receipt, of nobody's choice, and twice in one event.
			(event(json!({ "index": 0, "delta": { "content": "evil" } })), "behind its receipt"),
			(event(json!({ "index": 1, "delta": { "content": "evil" } })), "nobody asked for choice 1"),
			(
				format!("data: {}\n\n", json!({ "choices": [{ "delta": {} }, { "delta": { "content": "evil" } }] })),
				"two answers for choice 0",
			),
		] {
			let wrong = stream(Kind::Chat, 1).push([whole.as_str(), &hidden].concat().as_bytes()).unwrap_err();
			assert!(wrong.to_string().contains(words), "{wrong}");
		}
		for hidden in [
			// In places that are not read here and are elsewhere, and where other readers find an event.
			event(json!({ "index": 0, "delta": {}, "text": "evil", "message": { "content": "evil" }, "more": "evil" })),
			event(json!({ "index": 0, "delta": { "tool_calls": ["evil"], "reasoning_content": "evil" } })),
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"delta\":{\"content\":\"evil\"}}]}\n\n".into(),
			"data: {\"choices\":[{\"index\":0.0,\"delta\":{\"content\":\"evil\"}}]}\n\n".into(),
			format!("data: x\r\r{}", event(json!({ "index": 0, "delta": { "content": "evil" } })).replace('\n', "\r")),
			"event: evil\nid: evil\ndata: evil\n\n".into(),
		] {
			let Piece { given: found, shown } = stream(Kind::Chat, 1).push([hidden.as_str(), "\n\n", &whole].concat().as_bytes()).unwrap();
			let shown = String::from_utf8(shown).unwrap();
			assert!(found == [given(0)] && !shown.contains("evil") && shown.contains("\"abc\""), "{hidden}: {shown}");
		}
	}

	#[test]
	fn an_error_in_a_stream_is_told_in_the_providers_words() {
		let told = stream(Kind::Chat, 1).push(b"data: {\"error\":{\"message\":\"it failed\",\"more\":[1]}}\n\n").unwrap();
		let data: Value = serde_json::from_slice(told.shown.strip_prefix(b"data: ").unwrap()).unwrap();
		assert_eq!((&data["error"]["message"], data["error"].get("more")), (&json!("it failed"), None));
	}

	#[test]
	fn what_came_of_a_stream_without_a_receipt_is_told() {
		let mut reader = stream(Kind::Completion, 2);
		reader.push(event(json!({ "index": 1, "text": "a" })).as_bytes()).unwrap();
		reader.push(event(json!({ "index": 1, "text": "b" })).as_bytes()).unwrap();
		reader.push(b"data: {").unwrap();
		assert!(reader.finish().given.is_empty());
		assert_eq!(reader.seen(), [(1, "ab".to_owned())].into());
		let mut document = super::tests::reader("application/json", Kind::Completion, 1).unwrap();
		document.push(b"{").unwrap();
		assert_eq!(document.seen(), BTreeMap::new());
	}

	#[test]
	fn no_event_takes_all_memory() {
		let line = vec![b'x'; MOST];
		for mut reader in [stream(Kind::Completion, 1), reader("application/json", Kind::Completion, 1).unwrap()] {
			reader.push(&line).unwrap();
			assert!(matches!(reader.push(b"x"), Err(Wrong::TooLarge)));
		}
	}
}
