//! Requests of the OpenAI API, as its clients send them: one reader for the server and for the gateway before a provider's.
//!
//! - `json`: values of JSON one by one, with the names of their fields. Nothing is kept of what is not asked for.
//! - `fields`: a table of all fields that are known here or elsewhere, and what is done with each.
//! - `request`: chats and completions. `input`: their messages and prompts. `embedding`: the third kind.
//! - `fault`: what is wrong with a request, in words for who sent it.

mod embedding;
mod fault;
mod fields;
mod input;
mod json;
mod request;

pub use embedding::Embedding;
pub use fault::Fault;
pub use input::{Input, Prompt};
pub use request::{with_receipt, Request, Settings};

/// Kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
	/// A text, continued.
	Completion,
	/// The next message of a chat.
	Chat,
	/// Texts as vectors.
	Embedding,
}

impl Kind {
	/// Returns the path of its endpoint.
	pub fn path(self) -> &'static str {
		match self {
			Self::Completion => "/v1/completions",
			Self::Chat => "/v1/chat/completions",
			Self::Embedding => "/v1/embeddings",
		}
	}

	/// Returns the `object` field of an answer, or of a chunk of one that is streamed.
	pub fn object(self, stream: bool) -> &'static str {
		match (self, stream) {
			(Self::Chat, false) => "chat.completion",
			(Self::Chat, true) => "chat.completion.chunk",
			_ => "text_completion",
		}
	}
}
