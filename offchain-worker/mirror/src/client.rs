//! The HTTP client of mirrors: it follows no redirects. Answers to `GET` are handed on as they come; of others, and of errors, it holds little.

use async_trait::async_trait;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
	body::{Bytes, Incoming},
	header::{HeaderValue, USER_AGENT},
	Method, StatusCode,
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
	client::legacy::{self, connect, Client},
	rt::{TokioExecutor, TokioTimer},
};
use neuroshard_support::https::{self, causes};
use object_store::{
	client::{
		HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
	},
	ClientConfigKey, ClientOptions,
};
use std::{io, time::Duration};
use tokio::time::timeout;

/// For a connection to be there.
const CONNECT: Duration = Duration::from_secs(10);
/// For the head of an answer to come, after the request is sent.
const ANSWER: Duration = Duration::from_secs(15);
/// Bytes of a request that are sent in a second, at least.
const LEAST_RATE: u64 = 64 * 1024;
/// For a store to put an upload together: it may take minutes to answer, and send blanks meanwhile.
pub const COMPLETION: Duration = Duration::from_secs(900);
/// Most bytes of an answer to a request other than `GET`, and of what is said about an error.
const ASIDE: usize = 256 * 1024;
/// For such an answer to come.
const ASIDE_TIME: Duration = Duration::from_secs(10);
/// Connections that wait for the next request, and how long.
const IDLE: usize = 8;
const IDLE_TIME: Duration = Duration::from_secs(30);

/// What a server answered that the library has no words for.
#[derive(Debug, thiserror::Error)]
pub enum Answer {
	/// Sends whoever asks elsewhere.
	#[error("a redirect ({0})")]
	Redirect(u16),
	/// Nothing in time.
	#[error("no answer in {} s", .0.as_secs())]
	Late(Duration),
}

/// Makes clients for the library.
#[derive(Clone, Copy, Debug)]
pub struct Connector;

impl HttpConnector for Connector {
	fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
		let plain = options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|allowed| allowed == "true");
		let failed = |source: io::Error| object_store::Error::Generic { store: "HTTP client", source: Box::new(source) };
		Ok(HttpClient::new(Service { client: client(plain).map_err(failed)? }))
	}
}

/// A client; without TLS, too, where `plain` says so.
fn client(plain: bool) -> io::Result<Client<HttpsConnector<connect::HttpConnector>, HttpRequestBody>> {
	let connector = https::connector(plain, CONNECT)?;
	let mut client = Client::builder(TokioExecutor::new());
	client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME).pool_max_idle_per_host(IDLE);
	Ok(client.build(connector))
}

/// Client of one mirror.
#[derive(Debug)]
struct Service {
	client: Client<HttpsConnector<connect::HttpConnector>, HttpRequestBody>,
}

#[async_trait]
impl HttpService for Service {
	async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
		let content = *request.method() == Method::GET;
		let sent = u64::try_from(request.body().content_length()).unwrap_or(u64::MAX);
		let (within, aside_within) = limits(request.method(), request.uri().query(), sent);
		let name = HeaderValue::from_static(concat!("neuroshard-worker/", env!("CARGO_PKG_VERSION")));
		request.headers_mut().entry(USER_AGENT).or_insert(name);
		let late = |_| HttpError::new(HttpErrorKind::Timeout, Answer::Late(within));
		let response = timeout(within, self.client.request(request)).await.map_err(late)?.map_err(failed)?;
		let (head, body) = response.into_parts();
		let body = match head.status {
			status if status.is_success() && content => HttpResponseBody::new(body.map_err(broken)),
			status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
				return Err(HttpError::new(HttpErrorKind::Unknown, Answer::Redirect(status.as_u16())));
			}
			status if status.is_success() => aside(body, true, aside_within).await?,
			_ => aside(body, false, ASIDE_TIME).await?,
		};
		Ok(HttpResponse::from_parts(head, body))
	}
}

/// How long the head of the answer to a request of so many bytes may take, and the body of one that is held.
fn limits(method: &Method, query: Option<&str>, bytes: u64) -> (Duration, Duration) {
	match *method == Method::POST && query.is_some_and(|query| query.split('&').any(|part| part.starts_with("uploadId="))) {
		true => (COMPLETION, COMPLETION),
		false => (ANSWER.saturating_add(Duration::from_secs(bytes / LEAST_RATE)), ASIDE_TIME),
	}
}

/// An answer that is no content, whole. Of what is said about an error only its code is kept: the rest may quote the request's credentials.
async fn aside(body: Incoming, success: bool, within: Duration) -> Result<HttpResponseBody, HttpError> {
	let collected = match timeout(within, Limited::new(body, ASIDE).collect()).await {
		Ok(Ok(collected)) => collected.to_bytes(),
		_ if !success => Bytes::new(),
		Ok(Err(error)) => return Err(HttpError::new(HttpErrorKind::Interrupted, io::Error::other(error))),
		Err(_) => return Err(HttpError::new(HttpErrorKind::Timeout, Answer::Late(within))),
	};
	let kept = if success { collected } else { Bytes::from(code(&collected)) };
	Ok(HttpResponseBody::new(Full::new(kept).map_err(|never| match never {})))
}

/// The code in what object stores say about an error, such as `AccessDenied`; nothing if there is none.
fn code(body: &[u8]) -> String {
	let text = String::from_utf8_lossy(body);
	let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
	code.filter(|code| code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric())).unwrap_or_default().to_owned()
}

fn failed(error: legacy::Error) -> HttpError {
	let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request };
	HttpError::new(kind, Chain(causes(&error)))
}

fn broken(error: hyper::Error) -> HttpError {
	HttpError::new(HttpErrorKind::Interrupted, Chain(causes(&error)))
}

/// The words of an error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Chain(String);

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_upload_is_completed_as_slowly_as_the_store_needs_and_nothing_else_is() {
		let seconds = |method, query, bytes| {
			let (head, body) = limits(&method, query, bytes);
			(head.as_secs(), body.as_secs())
		};
		assert_eq!(seconds(Method::POST, Some("uploadId=a"), 1 << 20), (900, 900));
		assert_eq!(seconds(Method::POST, Some("x=y&uploadId=a"), 0), (900, 900));
		assert_eq!(seconds(Method::POST, Some("uploads"), 0), (15, 10));
		assert_eq!(seconds(Method::POST, None, 0), (15, 10));
		// 8 MiB at 64 KiB a second.
		assert_eq!(seconds(Method::PUT, Some("partNumber=1&uploadId=a"), 8 << 20), (15 + 128, 10));
	}

	#[test]
	fn of_an_error_its_code_is_kept_and_nothing_that_it_quotes() {
		let body = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
		assert_eq!(code(body.as_bytes()), "SignatureDoesNotMatch");
		for other in ["", "<Code>", "<Code>a b</Code>", "AKIA", "<Code>\u{1b}[2J</Code>"] {
			assert_eq!(code(other.as_bytes()), "");
		}
	}
}
