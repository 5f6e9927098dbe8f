//! What a web page may reach through the browser of somebody who can reach a service.
//!
//! A page names its origin in each request that it makes to another site, and every WebSocket. A CORS layer only tells browsers who may *read* the
//! answer: the request is executed before, and a WebSocket needs no such leave. So a request of an origin that is not allowed is refused here, before
//! it is read. A page could also have a name of its own stand for this machine, which makes both one site (DNS rebinding): so a service is asked by
//! an address or as `localhost`, by no other name. What browsers may ask for is not unsafe, whatever their origin: a page on another port of this
//! machine is not its operator.

use super::origin::Origins;
use futures::future::{ready, Either, Ready};
use hyper::{
	header::{HeaderMap, HeaderValue, CONNECTION, CONTENT_TYPE, HOST, ORIGIN, X_CONTENT_TYPE_OPTIONS},
	http::uri::Authority,
	Request, Response, StatusCode,
};
use sc_rpc_api::DenyUnsafe;
use std::{
	net::{IpAddr, Ipv6Addr},
	sync::Arc,
	task::{Context, Poll},
};
use tower::{Layer, Service};

/// Characters of a header that an answer repeats.
const REPEATED: usize = 200;

/// Refuses requests of web pages that may not make them, and marks the others with [`DenyUnsafe::Yes`].
#[derive(Debug, Clone)]
pub struct BrowserLayer {
	origins: Arc<Origins>,
	by_address: bool,
}

impl BrowserLayer {
	/// For a service that pages of `origins` may use. `by_address` if it is asked by an address, or as `localhost`, only.
	pub fn new(origins: Arc<Origins>, by_address: bool) -> Self {
		Self { origins, by_address }
	}

	/// Why a request with these headers is refused, if it is.
	fn refusal(&self, headers: &HeaderMap) -> Option<String> {
		if self.by_address {
			if let Some(host) = name_of(headers) {
				return Some(format!(
					"This service is asked by an address or as localhost, such as http://127.0.0.1, and not as {}: any web page could have its \
					 own name stand for this machine. Use an address. A proxy can put one into the header Host.\n",
					shown(host)
				));
			}
		}
		// Browsers name one.
		let mut origins = headers.get_all(ORIGIN).iter();
		let origin = origins.next()?;
		if self.origins.allow(origin.as_bytes()) && (origins.next().is_none() || *self.origins == Origins::All) {
			return None;
		}
		Some(format!("Web pages of {} may not use this service. Of a node's JSON-RPC, --rpc-cors lists those that may.\n", shown(origin)))
	}
}

impl<S> Layer<S> for BrowserLayer {
	type Service = Browsers<S>;

	fn layer(&self, inner: S) -> Self::Service {
		Browsers { inner, layer: self.clone() }
	}
}

/// A service behind a [`BrowserLayer`].
#[derive(Debug, Clone)]
pub struct Browsers<S> {
	inner: S,
	layer: BrowserLayer,
}

impl<S, Asked, Answer> Service<Request<Asked>> for Browsers<S>
where
	S: Service<Request<Asked>, Response = Response<Answer>>,
	Answer: From<String>,
{
	type Response = S::Response;
	type Error = S::Error;
	type Future = Either<Ready<Result<S::Response, S::Error>>, S::Future>;

	fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
		self.inner.poll_ready(context)
	}

	fn call(&mut self, mut request: Request<Asked>) -> Self::Future {
		if let Some(why) = self.layer.refusal(request.headers()) {
			tracing::debug!(target: "rpc", "refused: {}", why.trim_end());
			return Either::Left(ready(Ok(forbidden(why))));
		}
		if request.headers().contains_key(ORIGIN) {
			request.extensions_mut().insert(DenyUnsafe::Yes);
		}
		Either::Right(self.inner.call(request))
	}
}

fn forbidden<Answer: From<String>>(why: String) -> Response<Answer> {
	let mut refused = Response::new(why.into());
	*refused.status_mut() = StatusCode::FORBIDDEN;
	// Who is refused keeps no place.
	refused.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
	refused.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
	refused.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
	refused
}

/// The host by which a request asks, if it is neither an address nor `localhost`.
pub fn name_of(headers: &HeaderMap) -> Option<&HeaderValue> {
	headers.get_all(HOST).iter().find(|host| !is_address(host))
}

/// Whether a host is an address or `localhost`, on any port: a tunnel has one of its own.
fn is_address(host: &HeaderValue) -> bool {
	let Some(host) = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()).filter(|host| !host.as_str().contains('@')) else {
		return false;
	};
	let name = host.host();
	let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
	name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok() || bare.is_some_and(|name| name.parse::<Ipv6Addr>().is_ok())
}

/// A header's value as an answer repeats it.
fn shown(value: &HeaderValue) -> String {
	let text = String::from_utf8_lossy(value.as_bytes());
	format!(
		"`{}`",
		text.chars().take(REPEATED).map(|char| if char.is_ascii_graphic() || char == ' ' { char } else { '?' }).collect::<String>()
	)
}

#[cfg(test)]
mod tests {
	use super::*;
	use tower::ServiceExt;

	/// The status with which a request with these headers is answered, what is said then, and whether it is denied what is unsafe.
	async fn asked(layer: &BrowserLayer, headers: &[(&'static str, &str)]) -> (u16, String) {
		let service = tower::service_fn(|request: Request<()>| async move {
			let denied = matches!(request.extensions().get::<DenyUnsafe>(), Some(DenyUnsafe::Yes));
			Ok::<_, std::convert::Infallible>(Response::new(format!("denied: {denied}")))
		});
		let mut request = Request::new(());
		for (name, value) in headers {
			request.headers_mut().append(*name, value.parse().unwrap());
		}
		let (head, said) = layer.layer(service).oneshot(request).await.unwrap().into_parts();
		if head.status == StatusCode::FORBIDDEN {
			assert_eq!([&head.headers[X_CONTENT_TYPE_OPTIONS], &head.headers[CONNECTION]], ["nosniff", "close"]);
		}
		(head.status.as_u16(), said)
	}

	fn listed(origin: &str) -> Arc<Origins> {
		Arc::new(Origins::parse(Some(&[origin.to_owned()])).unwrap())
	}

	#[tokio::test]
	async fn a_page_of_another_origin_is_refused_and_told_why() {
		let layer = BrowserLayer::new(listed("https://app.example"), true);
		let (status, said) = asked(&layer, &[("host", "127.0.0.1:9944"), ("origin", "https://evil.example")]).await;
		assert!(status == 403 && said.contains("`https://evil.example`") && said.contains("--rpc-cors"), "{status} {said}");
		for origin in ["null", "", "https://app.example, https://evil.example"] {
			assert_eq!(asked(&layer, &[("origin", origin)]).await.0, 403, "{origin}");
		}
		let both = [("origin", "https://app.example"), ("origin", "https://evil.example")];
		assert_eq!(asked(&layer, &both).await.0, 403);
		assert_eq!(asked(&layer, &both.map(|(name, _)| (name, "https://app.example"))).await.0, 403, "no browser names two");
	}

	#[tokio::test]
	async fn no_browser_is_served_what_is_unsafe_and_everybody_else_is() {
		let allowed = (200, "denied: true".to_owned());
		let one = BrowserLayer::new(listed("https://app.example"), true);
		let all = BrowserLayer::new(Arc::new(Origins::All), false);
		assert_eq!(asked(&one, &[("origin", "https://app.example")]).await, allowed);
		for headers in
			[&[("origin", "https://evil.example")][..], &[("origin", "")], &[("origin", "null"), ("origin", "https://app.example")]]
		{
			assert_eq!(asked(&all, headers).await, allowed, "{headers:?}");
		}
		for layer in [one, all] {
			assert_eq!(asked(&layer, &[("host", "localhost:9944")]).await, (200, "denied: false".to_owned()));
		}
	}

	#[tokio::test]
	async fn a_service_is_asked_by_an_address_or_as_localhost_on_any_port() {
		let layer = BrowserLayer::new(Arc::new(Origins::Listed(Vec::new())), true);
		for host in ["127.0.0.1:9944", "127.0.0.1", "localhost:22", "LocalHost", "[::1]:9944", "[::1]", "192.0.2.7:9944"] {
			assert_eq!(asked(&layer, &[("host", host)]).await.0, 200, "{host}");
		}
		assert_eq!(asked(&layer, &[]).await.0, 200, "HTTP/1.0 names none");
		for host in
			["evil.example:9944", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "127.1", "", "[::1", "a b"]
		{
			let (status, said) = asked(&layer, &[("host", host)]).await;
			assert!(status == 403 && said.contains(&format!("`{host}`")), "{host}: {status} {said}");
		}
		assert_eq!(asked(&layer, &[("host", "127.0.0.1"), ("host", "evil.example")]).await.0, 403);
		let any = BrowserLayer::new(Arc::new(Origins::All), false);
		assert_eq!(asked(&any, &[("host", "node.example")]).await.0, 200);
	}
}
