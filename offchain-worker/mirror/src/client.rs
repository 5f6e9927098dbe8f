//! The HTTP client of mirrors: it follows no redirects, and holds little of what a server says beside the content.

use async_trait::async_trait;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
	body::{Bytes, Incoming},
	header::{HeaderValue, USER_AGENT},
	Method, StatusCode,
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
	client::legacy::{self, connect, Client},
	rt::{TokioExecutor, TokioTimer},
};
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
/// Most bytes of an answer that is no content: what is said about an error, an upload or credentials.
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
	let mut http = connect::HttpConnector::new();
	http.enforce_http(false);
	http.set_connect_timeout(Some(CONNECT));
	http.set_nodelay(true);
	let crypto = rustls::crypto::ring::default_provider();
	let builder = HttpsConnectorBuilder::new();
	let connector = match (builder.with_provider_and_native_roots(crypto.clone()), plain) {
		(Ok(builder), true) => builder.https_or_http(),
		(Ok(builder), false) => builder.https_only(),
		// Nobody is trusted then, and nobody need be.
		(Err(_), true) => {
			let config = rustls::ClientConfig::builder_with_provider(crypto.into());
			let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
			let config = config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
			HttpsConnectorBuilder::new().with_tls_config(config).https_or_http()
		}
		(Err(error), false) => return Err(error),
	};
	let mut client = Client::builder(TokioExecutor::new());
	client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME).pool_max_idle_per_host(IDLE);
	Ok(client.build(connector.enable_http1().wrap_connector(http)))
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
		let within = ANSWER.saturating_add(Duration::from_secs(sent / LEAST_RATE));
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
			status => aside(body, status.is_success()).await?,
		};
		Ok(HttpResponse::from_parts(head, body))
	}
}

/// An answer that is no content, whole. Of what is said about an error only its code is kept: the rest may quote the request's credentials.
async fn aside(body: Incoming, success: bool) -> Result<HttpResponseBody, HttpError> {
	let collected = match timeout(ASIDE_TIME, Limited::new(body, ASIDE).collect()).await {
		Ok(Ok(collected)) => collected.to_bytes(),
		_ if !success => Bytes::new(),
		Ok(Err(error)) => return Err(HttpError::new(HttpErrorKind::Interrupted, io::Error::other(error))),
		Err(_) => return Err(HttpError::new(HttpErrorKind::Timeout, Answer::Late(ASIDE_TIME))),
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
	HttpError::new(kind, Chain::of(&error))
}

fn broken(error: hyper::Error) -> HttpError {
	HttpError::new(HttpErrorKind::Interrupted, Chain::of(&error))
}

/// An error with those behind it, which say more than it does.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Chain(String);

impl Chain {
	fn of(error: &dyn std::error::Error) -> Self {
		let mut words = error.to_string();
		let mut next = error.source();
		while let Some(error) = next {
			words = format!("{words}: {error}");
			next = error.source();
		}
		Self(words)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn of_an_error_its_code_is_kept_and_nothing_that_it_quotes() {
		let body = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
		assert_eq!(code(body.as_bytes()), "SignatureDoesNotMatch");
		for other in ["", "<Code>", "<Code>a b</Code>", "AKIA", "<Code>\u{1b}[2J</Code>"] {
			assert_eq!(code(other.as_bytes()), "");
		}
	}
}
