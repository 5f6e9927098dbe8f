//! Which headers of a request or an answer are for the other side, too.

use axum::http::header::{self, HeaderMap, HeaderName};

/// Headers about one connection, and those that this side writes itself: the answer is to be readable here, and the client's key for this gateway is
/// nobody else's business.
const OWN: [HeaderName; 14] = [
	header::CONNECTION,
	HeaderName::from_static("keep-alive"),
	HeaderName::from_static("proxy-connection"),
	header::PROXY_AUTHENTICATE,
	header::PROXY_AUTHORIZATION,
	header::TE,
	header::TRAILER,
	header::TRANSFER_ENCODING,
	header::UPGRADE,
	header::HOST,
	header::EXPECT,
	header::CONTENT_LENGTH,
	header::ACCEPT_ENCODING,
	header::AUTHORIZATION,
];

/// Headers that are for the other side, too.
pub(super) fn passed_on(headers: &HeaderMap) -> HeaderMap {
	let named: Vec<String> = headers
		.get_all(header::CONNECTION)
		.iter()
		.filter_map(|value| value.to_str().ok())
		.flat_map(|value| value.split(','))
		.map(|name| name.trim().to_ascii_lowercase())
		.collect();
	let mut passed = headers.clone();
	for name in OWN {
		passed.remove(name);
	}
	for name in named {
		passed.remove(name);
	}
	passed
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn headers_about_a_connection_and_keys_stay_here() {
		let mut headers = HeaderMap::new();
		for (name, value) in [
			("connection", "close, X-Hop"),
			("x-hop", "1"),
			("transfer-encoding", "chunked"),
			("authorization", "Bearer secret"),
			("host", "127.0.0.1"),
			("accept-encoding", "gzip"),
			("x-request", "2"),
		] {
			headers.insert(name, value.parse().unwrap());
		}
		let passed = passed_on(&headers);
		assert_eq!(passed.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-request"]);
	}
}
