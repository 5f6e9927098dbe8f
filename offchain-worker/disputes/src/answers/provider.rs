//! The provider's address, and requests to it.
//!
//! The address is what the provider's offer says, so anybody may have chosen it: it leads where [`Reach`] says, whatever its name resolves to, and redirects
//! are not followed.

mod resolver;

use axum::{
	body::{Body, Bytes},
	http::{
		header::HeaderMap,
		uri::{PathAndQuery, Scheme},
		Method, Request, Response, Uri,
	},
};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
	client::legacy::{connect::HttpConnector, Client},
	rt::{TokioExecutor, TokioTimer},
};
use neuroshard_network::Reach;
pub use resolver::Elsewhere;
use resolver::Resolver;
use std::{error::Error, io, net::IpAddr, time::Duration};
use tokio::time::timeout;

/// For a connection to be there.
const CONNECT: Duration = Duration::from_secs(10);
/// For the head of an answer to come: of one that is not streamed, it comes when the answer is whole.
const ANSWER: Duration = Duration::from_secs(3_600);
/// Connections that wait for the next request, and how long.
const IDLE: usize = 8;
const IDLE_TIME: Duration = Duration::from_secs(30);

/// Why an address is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{endpoint:?} is not an address that can be asked: expected http://HOST:PORT or https://HOST:PORT")]
pub struct BadEndpoint {
	endpoint: String,
}

/// Endpoint of a provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
	scheme: Scheme,
	authority: axum::http::uri::Authority,
	reach: Reach,
}

impl Endpoint {
	/// The address in an offer. It leads into the internet only; see [`Self::reaching`].
	///
	/// # Errors
	/// [`BadEndpoint`].
	pub fn parse(bytes: &[u8]) -> Result<Self, BadEndpoint> {
		let bad = || BadEndpoint { endpoint: String::from_utf8_lossy(bytes).into_owned() };
		let parts = Uri::try_from(bytes).map_err(|_| bad())?.into_parts();
		let plain = parts.path_and_query.is_none_or(|path| path == "/");
		match (parts.scheme, parts.authority) {
			(Some(scheme), Some(authority))
				if plain && (scheme == Scheme::HTTP || scheme == Scheme::HTTPS) && !authority.as_str().contains('@') =>
			{
				Ok(Self { scheme, authority, reach: Reach::Internet })
			}
			_ => Err(bad()),
		}
	}

	/// The same, where it may lead to.
	#[must_use]
	pub fn reaching(self, reach: Reach) -> Self {
		Self { reach, ..self }
	}

	/// Refuses an IP address that it may not lead to. What a name leads to is known when it is resolved.
	///
	/// # Errors
	/// [`Elsewhere`].
	pub fn check(&self) -> Result<(), Elsewhere> {
		let host = self.authority.host();
		let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
		match host.parse::<IpAddr>() {
			Ok(ip) if !self.reach.covers(ip) => Err(Elsewhere),
			_ => Ok(()),
		}
	}

	fn uri(&self, path: PathAndQuery) -> Result<Uri, axum::http::Error> {
		Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query(path).build()
	}
}

impl std::fmt::Display for Endpoint {
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		write!(formatter, "{}://{}", self.scheme, self.authority)
	}
}

/// Why a provider did not answer.
#[derive(Debug, thiserror::Error)]
pub enum Away {
	/// The connection, or what came over it.
	#[error("{0}")]
	Client(#[source] hyper_util::client::legacy::Error),
	/// Its address leads where nothing is asked.
	#[error(transparent)]
	Elsewhere(#[from] Elsewhere),
	/// Its time was over.
	#[error("it did not answer within {} seconds", ANSWER.as_secs())]
	Late,
	/// The request.
	#[error("the request cannot be written: {0}")]
	Request(#[from] axum::http::Error),
}

impl Away {
	/// Returns whether the provider may have been asked all the same.
	pub fn was_sent(&self) -> bool {
		match self {
			Self::Client(error) => !error.is_connect(),
			Self::Late => true,
			Self::Elsewhere(_) | Self::Request(_) => false,
		}
	}
}

impl From<hyper_util::client::legacy::Error> for Away {
	fn from(error: hyper_util::client::legacy::Error) -> Self {
		let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
		match causes.any(|cause| cause.is::<Elsewhere>()) {
			true => Self::Elsewhere(Elsewhere),
			false => Self::Client(error),
		}
	}
}

/// A provider.
#[derive(Clone, Debug)]
pub struct Provider {
	endpoint: Endpoint,
	client: Client<HttpsConnector<HttpConnector<Resolver>>, Body>,
}

impl Provider {
	/// The provider at an address.
	///
	/// # Errors
	/// If the system has no certificates that could be trusted, and one is needed.
	pub fn new(endpoint: Endpoint) -> io::Result<Self> {
		let mut http = HttpConnector::new_with_resolver(Resolver::new(endpoint.reach));
		http.enforce_http(false);
		http.set_connect_timeout(Some(CONNECT));
		http.set_nodelay(true);
		let crypto = rustls::crypto::ring::default_provider();
		let builder = HttpsConnectorBuilder::new();
		let builder = match endpoint.scheme == Scheme::HTTPS {
			true => builder.with_provider_and_native_roots(crypto)?,
			// Nobody is trusted, and nobody need be.
			false => {
				let config = rustls::ClientConfig::builder_with_provider(crypto.into());
				let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
				builder.with_tls_config(config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
			}
		};
		let connector = builder.https_or_http().enable_http1().wrap_connector(http);
		let mut client = Client::builder(TokioExecutor::new());
		client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIME).pool_max_idle_per_host(IDLE);
		Ok(Self { endpoint, client: client.build(connector) })
	}

	/// Its address.
	pub fn endpoint(&self) -> &Endpoint {
		&self.endpoint
	}

	/// Asks it.
	///
	/// # Errors
	/// [`Away`].
	pub async fn ask(&self, method: Method, path: PathAndQuery, headers: HeaderMap, body: Bytes) -> Result<Response<Incoming>, Away> {
		self.endpoint.check()?;
		let mut request = Request::new(Body::from(body));
		(*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, self.endpoint.uri(path)?, headers);
		Ok(timeout(ANSWER, self.client.request(request)).await.map_err(|_| Away::Late)??)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_address_has_a_scheme_a_host_and_nothing_else() {
		for good in ["http://127.0.0.1:8080", "https://provider.example", "http://[::1]:1/"] {
			assert_eq!(Endpoint::parse(good.as_bytes()).unwrap().to_string(), good.trim_end_matches('/'));
		}
		for bad in
			["", "127.0.0.1:8080", "ftp://host", "http://user:word@host", "http://host/v1", "http://host/?a=b", "file:///etc", "http://"]
		{
			assert!(Endpoint::parse(bad.as_bytes()).unwrap_err().to_string().contains("http://HOST:PORT"), "{bad}");
		}
		assert!(Endpoint::parse(&[0xff, 0xfe]).is_err());
	}

	/// Returns the result of asking at this address.
	async fn ask(endpoint: &str, reach: Reach) -> Result<axum::http::StatusCode, Away> {
		let provider = Provider::new(Endpoint::parse(endpoint.as_bytes()).unwrap().reaching(reach)).unwrap();
		let asked = provider.ask(Method::GET, PathAndQuery::from_static("/v1/models"), HeaderMap::new(), Bytes::new());
		asked.await.map(|response| response.status())
	}

	/// A listener on loopback that notes whether anybody has connected, and sends those who do elsewhere.
	async fn listener(elsewhere: &str) -> (u16, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
		let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
		let (counted, location) = (asked.clone(), elsewhere.to_owned());
		let answer = move || {
			counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
			let headers = [(axum::http::header::LOCATION, location.clone())];
			async move { (axum::http::StatusCode::TEMPORARY_REDIRECT, headers) }
		};
		let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
		let port = listener.local_addr().unwrap().port();
		tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
		(port, asked)
	}

	#[tokio::test]
	async fn an_address_in_an_offer_leads_into_the_internet_and_to_nothing_of_this_machine_or_its_network() {
		let (port, asked) = listener("/").await;
		let here = ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0", "127.1", "2130706433", "0x7f.0.0.1", "[::1]", "[::]"];
		let elsewhere = [
			"169.254.169.254",
			"10.0.0.1",
			"192.168.1.1",
			"[fe80::1]",
			"[fd00::1]",
			"224.0.0.1",
			"[64:ff9b::a9fe:a9fe]",
			"[2002:a9fe:a9fe::]",
		];
		for host in here.into_iter().chain(elsewhere) {
			let endpoint = format!("http://{host}:{port}");
			let error = ask(&endpoint, Reach::Internet).await.unwrap_err();
			assert!(matches!(error, Away::Elsewhere(_)), "{endpoint}: {error:?}");
			assert!(error.to_string().contains("--dial-private") && !error.was_sent());
		}
		assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 0);
		for host in ["127.0.0.1", "localhost"] {
			assert!(ask(&format!("http://{host}:{port}"), Reach::Anywhere).await.is_ok());
		}
	}

	#[tokio::test]
	async fn nobody_is_sent_elsewhere() {
		let (other, asked) = listener("/").await;
		let (port, _) = listener(&format!("http://127.0.0.1:{other}/")).await;
		let status = ask(&format!("http://127.0.0.1:{port}"), Reach::Anywhere).await.unwrap();
		assert_eq!((status, asked.load(std::sync::atomic::Ordering::SeqCst)), (axum::http::StatusCode::TEMPORARY_REDIRECT, 0));
	}
}
