//! Errors as the clients of the OpenAI API read them.

use axum::{
	http::StatusCode,
	response::{IntoResponse, Response},
	Json,
};
use serde_json::json;

/// Why the gateway does not answer.
#[derive(Debug)]
pub(super) struct Refusal {
	status: StatusCode,
	code: &'static str,
	message: String,
}

impl Refusal {
	fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
		Self { status, code, message: message.into() }
	}

	/// The request cannot be read.
	pub(super) fn invalid(message: impl Into<String>) -> Self {
		Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
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

	/// The request was meant for another host.
	pub(super) fn host() -> Self {
		let words = "this gateway is asked by the address of this machine, such as http://127.0.0.1:8081, and by no other name";
		Self::new(StatusCode::FORBIDDEN, "other_host", words)
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

impl IntoResponse for Refusal {
	fn into_response(self) -> Response {
		let kind = if self.status.is_client_error() { "invalid_request_error" } else { "server_error" };
		let error = json!({ "message": self.message, "type": kind, "param": null, "code": self.code });
		(self.status, Json(json!({ "error": error }))).into_response()
	}
}
