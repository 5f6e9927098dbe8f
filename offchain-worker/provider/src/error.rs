//! Errors as the clients of the OpenAI API read them.

use axum::{
	http::{header::RETRY_AFTER, HeaderValue, StatusCode},
	response::{IntoResponse, Response},
	Json,
};
use neuroshard_chain_client::ChainError;
use neuroshard_compute::exec::InferenceError;
use neuroshard_http::api::Fault;
use neuroshard_inference::batcher::Refused;
use serde_json::json;

/// Seconds after which a client that was refused may try again.
const RETRY: u16 = 2;

/// An error with its HTTP status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ApiError {
	status: StatusCode,
	kind: &'static str,
	code: Option<&'static str>,
	param: Option<String>,
	message: String,
	retry: Option<u16>,
}

impl ApiError {
	fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
		Self { status, kind, code: None, param: None, message: message.into(), retry: None }
	}

	/// The request is wrong.
	pub(super) fn invalid(message: impl Into<String>) -> Self {
		Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
	}

	/// One field of the request is wrong.
	pub(super) fn field(param: &'static str, message: impl Into<String>) -> Self {
		Self::invalid(message).of(param)
	}

	/// The same, of one field of the request, if it is about the request at all.
	pub(super) fn of(self, param: &'static str) -> Self {
		let param = self.param.or_else(|| (self.status == StatusCode::BAD_REQUEST).then(|| param.to_owned()));
		Self { param, ..self }
	}

	/// There is no such model.
	pub(super) fn model<'a>(asked: &str, served: impl Iterator<Item = &'a str>) -> Self {
		let served: Vec<String> = served.map(|name| format!("{name:?}")).collect();
		let message = format!("the model {asked:?} is not served here; served: {}", served.join(", "));
		let not_found = Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message);
		Self { code: Some("model_not_found"), param: Some("model".into()), ..not_found }
	}

	/// No such address.
	pub(super) fn path() -> Self {
		Self::new(StatusCode::NOT_FOUND, "invalid_request_error", "there is nothing at this address")
	}

	/// The address is asked in another way.
	pub(super) fn method() -> Self {
		let words = "this address is not asked in this way: the header allow says how it is. Pages of other sites may ask if the server is started with \
		             --cors ORIGIN";
		Self::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_request_error", words)
	}

	/// The body is no JSON by its header.
	pub(super) fn content_type() -> Self {
		let words = "the header content-type must be application/json";
		Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request_error", words)
	}

	/// The body is compressed.
	pub(super) fn encoding() -> Self {
		let words = "compressed requests are not read: send the body as it is, without the header content-encoding";
		Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request_error", words)
	}

	/// The key is missing or unknown.
	pub(super) fn key() -> Self {
		let denied = Self::new(StatusCode::UNAUTHORIZED, "invalid_request_error", "the API key is missing or unknown");
		Self { code: Some("invalid_api_key"), ..denied }
	}

	/// The key's requests of this minute are used up.
	pub(super) fn limit(seconds: u16) -> Self {
		let message = "this API key's requests of this minute are used up";
		let limited = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", message);
		Self { code: Some("rate_limit_exceeded"), retry: Some(seconds), ..limited }
	}

	/// The answer is not paid for.
	pub(super) fn payment(message: impl Into<String>) -> Self {
		let refused = Self::new(StatusCode::PAYMENT_REQUIRED, "invalid_request_error", message);
		Self { code: Some("payment_required"), ..refused }
	}

	/// The client may not have this.
	pub(super) fn denied(message: impl Into<String>) -> Self {
		Self::new(StatusCode::FORBIDDEN, "invalid_request_error", message)
	}

	/// As many are asked as can be.
	pub(super) fn busy(message: impl Into<String>) -> Self {
		let busy = Self::new(StatusCode::TOO_MANY_REQUESTS, "server_error", message);
		Self { code: Some("server_overloaded"), retry: Some(RETRY), ..busy }
	}

	/// The model may not be used.
	pub(super) fn halted() -> Self {
		let refused = Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", "governance has halted this model: nobody may use it");
		Self { code: Some("model_halted"), ..refused }
	}

	/// The data of an answer cannot be kept.
	pub(super) fn no_room() -> Self {
		let words = "this provider cannot keep what belongs to an answer just now, and gives none: ask again later, or another one";
		let refused = Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", words);
		Self { code: Some("no_room"), ..refused }
	}

	/// The chain cannot be asked. Where the node is, and what is wrong with it, is nobody's business: addresses of nodes have keys in them.
	pub(super) fn chain(error: &ChainError) -> Self {
		tracing::debug!("a request is refused, since the chain cannot be asked: {error}");
		let words = "the chain cannot be asked just now: ask again";
		let away = Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", words);
		Self { code: Some("chain_away"), retry: Some(RETRY), ..away }
	}

	/// Nobody can compute an answer for now.
	fn away(message: impl Into<String>) -> Self {
		let away = Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message);
		Self { code: Some("model_not_held"), retry: Some(RETRY), ..away }
	}

	/// Something failed here.
	pub(super) fn internal(message: impl Into<String>) -> Self {
		Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message)
	}

	/// The request's body, as axum refused it.
	pub(super) fn body(status: StatusCode, message: String) -> Self {
		Self::new(status, "invalid_request_error", message)
	}

	/// The error as JSON.
	pub(super) fn json(&self) -> serde_json::Value {
		json!({ "error": { "message": self.message, "type": self.kind, "param": self.param, "code": self.code } })
	}
}

impl From<Fault> for ApiError {
	fn from(Fault { param, code, message }: Fault) -> Self {
		Self { param, code, ..Self::invalid(message) }
	}
}

impl From<Refused> for ApiError {
	fn from(refused: Refused) -> Self {
		let message = refused.to_string();
		match refused {
			Refused::Busy => Self::busy(message),
			Refused::Away => Self::away(message),
			Refused::Stopping => Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message),
			Refused::TooLong { .. } => Self { code: Some("context_length_exceeded"), ..Self::invalid(message) },
			Refused::Vocabulary(_) | Refused::TooMany { .. } | Refused::Empty => Self::invalid(message),
		}
	}
}

impl From<InferenceError> for ApiError {
	fn from(error: InferenceError) -> Self {
		match error {
			InferenceError::Lost => Self::away(error.to_string()),
			error => Self::internal(error.to_string()),
		}
	}
}

impl IntoResponse for ApiError {
	fn into_response(self) -> Response {
		let mut response = (self.status, Json(self.json())).into_response();
		if let Some(seconds) = self.retry {
			response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
		}
		response
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn nobody_is_told_where_the_node_of_a_provider_is() {
		let (url, reason) = ("wss://me:word@host/key".to_owned(), "refused".to_owned());
		for error in [ChainError::NodeAway { url: url.clone(), reason: reason.clone() }, ChainError::NodeBusy { url, reason }] {
			let error = ApiError::chain(&error);
			assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
			let told = error.json().to_string();
			assert!(!told.contains("host") && !told.contains("key") && !told.contains("refused"), "{told}");
		}
	}

	#[test]
	fn who_asks_while_nobody_holds_a_part_of_the_model_is_told_when_to_come_back() {
		for error in [ApiError::from(Refused::Away), InferenceError::Lost.into()] {
			let response = error.into_response();
			assert_eq!((response.status(), &response.headers()[RETRY_AFTER]), (StatusCode::SERVICE_UNAVAILABLE, &HeaderValue::from(RETRY)));
		}
		assert_eq!(ApiError::from(InferenceError::Empty).into_response().status(), StatusCode::INTERNAL_SERVER_ERROR);
	}
}
