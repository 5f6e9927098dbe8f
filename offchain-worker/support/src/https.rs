//! Connections to web servers.

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use std::{error::Error, io, iter, time::Duration};

/// What makes connections, each within `within`; also such as are not encrypted where `plain` says so. The system's certificates are trusted. Where
/// there are none, nobody is, and that is an error unless connections may be plain.
///
/// # Errors
/// What the system says.
pub fn connector(plain: bool, within: Duration) -> io::Result<HttpsConnector<HttpConnector>> {
	let mut http = HttpConnector::new();
	http.enforce_http(false);
	http.set_connect_timeout(Some(within));
	http.set_nodelay(true);
	let crypto = rustls::crypto::ring::default_provider();
	let builder = HttpsConnectorBuilder::new();
	let builder = match (builder.with_provider_and_native_roots(crypto.clone()), plain) {
		(Ok(builder), true) => builder.https_or_http(),
		(Ok(builder), false) => builder.https_only(),
		(Err(_), true) => {
			let config = rustls::ClientConfig::builder_with_provider(crypto.into());
			let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
			let config = config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
			HttpsConnectorBuilder::new().with_tls_config(config).https_or_http()
		}
		(Err(error), false) => return Err(error),
	};
	Ok(builder.enable_http1().wrap_connector(http))
}

/// An error with those behind it, which say more than it does.
pub fn causes(error: &dyn Error) -> String {
	let causes = iter::successors(error.source(), |cause| (*cause).source());
	causes.fold(error.to_string(), |words, cause| format!("{words}: {cause}"))
}
