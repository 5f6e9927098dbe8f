//! Errors as the clients of the OpenAI API read them.

use axum::{
	http::{header::RETRY_AFTER, StatusCode},
	response::{IntoResponse, Response},
	Json,
};
use neuroshard_http::api::Fault;
use neuroshard_support::printable::printable_line;
use serde::Deserialize;
use serde_json::{json, Value};

/// Characters of what the provider says.
const WORDS: usize = 2_000;
/// Characters of its codes.
const CODE: usize = 64;

/// Why the gateway does not answer.
#[derive(Debug)]
pub(super) struct Refusal {
	status: StatusCode,
	code: String,
	message: String,
	param: Option<String>,
	/// Seconds after which the client may try again.
	retry: Option<u32>,
}

/// An error as the provider tells it.
#[derive(Deserialize)]
struct Told {
	error: Error,
}

#[derive(Deserialize)]
struct Error {
	message: String,
	param: Option<String>,
	code: Option<String>,
}

/// The beginning of a text of the provider, as one line.
fn line(text: &str, most: usize) -> String {
	printable_line(text).chars().take(most).collect()
}

impl Refusal {
	fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
		Self { status, code: code.to_owned(), message: message.into(), param: None, retry: None }
	}

	/// The provider refuses the request with `status`, and these bytes, if they are JSON by their header. A status that clients would follow, or take for an
	/// answer, is none that they get.
	pub(super) fn of_provider(status: StatusCode, bytes: &[u8], retry: Option<u32>) -> Self {
		if !status.is_client_error() && !status.is_server_error() {
			return Self::unreadable(&format!("its status is {status}"));
		}
		let refusal = match serde_json::from_slice(bytes) {
			Ok(Told { error: Error { message, param, code } }) => Self {
				param: param.map(|param| line(&param, CODE)),
				..Self::new(status, &line(code.as_deref().unwrap_or("provider_refused"), CODE), line(&message, WORDS))
			},
			Err(_) => Self::new(status, "provider_refused", format!("the provider answers with status {status}, and does not say why")),
		};
		Self { retry, ..refusal }
	}

	/// An error that the provider tells in a stream, as JSON in one line; `None` if it is none.
	pub(super) fn told(bytes: &[u8]) -> Option<Vec<u8>> {
		serde_json::from_slice::<Told>(bytes).ok()?;
		serde_json::to_vec(&Self::of_provider(StatusCode::BAD_GATEWAY, bytes, None).json()).ok()
	}

	/// The provider answers with something that is no answer.
	pub(super) fn unreadable(why: &str) -> Self {
		let words = format!("the provider gives an answer that cannot be read: {}", line(why, WORDS));
		Self::new(StatusCode::BAD_GATEWAY, "provider_unreadable", words)
	}

	/// A fault of the program.
	pub(super) fn fault() -> Self {
		let words = "the request was given up by a fault of the program: please report it";
		Self::new(StatusCode::INTERNAL_SERVER_ERROR, "gateway_fault", words)
	}

	/// A page in a browser asks, or a browser that would show what it gets.
	pub(super) fn page() -> Self {
		let words = "this gateway spends the money of its user, and answers no pages in browsers: ask with a client of the API";
		Self::new(StatusCode::FORBIDDEN, "browser", words)
	}

	/// The address takes requests of another method.
	pub(super) fn method() -> Self {
		Self::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_method", "this address takes requests of another method")
	}

	/// There is no such model.
	pub(super) fn model(offered: &str) -> Self {
		let missing = Self::new(StatusCode::NOT_FOUND, "model_not_found", format!("this model is not offered; {offered:?} is"));
		Self { param: Some("model".into()), ..missing }
	}

	/// The request cannot be read.
	pub(super) fn invalid(message: impl Into<String>) -> Self {
		Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
	}

	/// The request asks for something that is not to be had.
	pub(super) fn of_request(Fault { param, code, message }: Fault) -> Self {
		Self { param, ..Self::new(StatusCode::BAD_REQUEST, code.unwrap_or("invalid_request"), message) }
	}

	/// The body is no JSON by its header. A page in a browser could send such a request to this machine unasked.
	pub(super) fn content_type() -> Self {
		let words = "the header content-type must be application/json";
		Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_content_type", words)
	}

	/// The body is too large, or did not come.
	pub(super) fn body(most: usize) -> Self {
		let words = format!("the request's body has more than {most} bytes, or did not come in its time");
		Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_body", words)
	}

	/// There is nothing at this address.
	pub(super) fn path() -> Self {
		Self::new(StatusCode::NOT_FOUND, "unknown_path", "there is nothing at this address")
	}

	/// Embeddings are not paid for.
	pub(super) fn embeddings() -> Self {
		let words = "embeddings cannot be paid for: no receipt says what they are. Ask for chats and completions here";
		Self::new(StatusCode::NOT_IMPLEMENTED, "unpaid_request", words)
	}

	/// Too many requests at a time.
	pub(super) fn busy(most: usize) -> Self {
		Self::new(StatusCode::TOO_MANY_REQUESTS, "gateway_busy", format!("{most} requests are under way: ask again when one has ended"))
	}

	/// The gateway ends.
	pub(super) fn stopping() -> Self {
		Self::new(StatusCode::SERVICE_UNAVAILABLE, "gateway_stopping", "the gateway is being stopped")
	}

	/// The provider does not answer.
	pub(super) fn away(message: impl Into<String>) -> Self {
		Self::new(StatusCode::BAD_GATEWAY, "provider_away", message)
	}

	/// Nothing is paid any more.
	pub(super) fn stopped(why: &str) -> Self {
		let words = format!(
			"the provider is not paid any more, and not asked: {why}. Look at the gateway's log; start it again, or close the session \
			 (`neuroshard-worker gateway --close`) and name another provider"
		);
		Self::new(StatusCode::BAD_GATEWAY, "payment_stopped", words)
	}
}

impl Refusal {
	fn json(&self) -> Value {
		let kind = if self.status.is_client_error() { "invalid_request_error" } else { "server_error" };
		json!({ "error": { "message": self.message, "type": kind, "param": self.param, "code": self.code } })
	}
}

impl IntoResponse for Refusal {
	fn into_response(self) -> Response {
		let mut response = (self.status, Json(self.json())).into_response();
		if let Some(seconds) = self.retry {
			response.headers_mut().insert(RETRY_AFTER, seconds.into());
		}
		response
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn told(status: u16, bytes: &str) -> (u16, String, String) {
		let Refusal { status, code, message, .. } = Refusal::of_provider(status.try_into().unwrap(), bytes.as_bytes(), None);
		(status.as_u16(), code, message)
	}

	#[test]
	fn an_error_of_the_provider_is_told_in_its_words_and_nothing_else_of_it() {
		let words = r#"{"error":{"message":"top\nup","code":"payment_required","type":"x","more":[[0]]}}"#;
		assert_eq!(told(402, words), (402, "payment_required".into(), printable_line("top\nup").into_owned()));
		for (status, bytes) in [(500, "<html></html>"), (429, ""), (404, "[]"), (400, r#"{"error":"x"}"#)] {
			let (told, code, message) = told(status, bytes);
			assert_eq!((told, code.as_str()), (status, "provider_refused"));
			assert!(message.contains(&status.to_string()) && !message.contains("html"), "{message}");
		}
	}

	#[test]
	fn nothing_that_a_client_would_follow_is_passed_on() {
		for status in [201, 204, 206, 301, 302, 303, 307, 308] {
			let (told, code, message) = told(status, r#"{"error":{"message":"x"}}"#);
			assert_eq!((told, code.as_str()), (502, "provider_unreadable"));
			assert!(message.contains(&status.to_string()), "{message}");
		}
	}
}
