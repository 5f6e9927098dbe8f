//! Origins of pages.

use axum::http::{header::HeaderMap, uri::Authority, HeaderValue};
use std::{fmt, str::FromStr};

/// The site that a page is of, as browsers name it: `https://chat.example`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
	scheme: String,
	authority: Authority,
}

/// Why a text is no origin.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadOrigin {
	/// It stands for any site.
	#[error("{0:?} would let every page in every browser ask here: name each site, such as https://chat.example")]
	Any(String),
	/// It is something else.
	#[error("{0:?} is no origin of a page: name scheme, host and port alone, such as https://chat.example or http://localhost:3000")]
	Other(String),
}

impl Origin {
	/// The host, without its port.
	pub fn host(&self) -> &str {
		self.authority.host()
	}

	/// Returns whether a page of this origin asks itself, if requests go to `host`.
	pub(super) fn is_at(&self, host: &Authority) -> bool {
		let bare = |host: &Authority| Self { scheme: self.scheme.clone(), authority: host.clone() }.to_string().to_ascii_lowercase();
		bare(&self.authority) == bare(host)
	}

	/// That of the page that asks, if browsers say one. None says two.
	pub(super) fn of(headers: &HeaderMap) -> Option<Result<Self, BadOrigin>> {
		let mut all = headers.get_all(axum::http::header::ORIGIN).iter();
		let told = all.next()?.to_str().unwrap_or_default();
		Some(if all.next().is_some() { Err(BadOrigin::Other(told.into())) } else { told.parse() })
	}

	/// As a header has it.
	pub(super) fn value(&self) -> Option<HeaderValue> {
		HeaderValue::try_from(self.to_string()).ok()
	}
}

impl fmt::Display for Origin {
	fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
		let port = self.authority.port_u16().filter(|port| !matches!((self.scheme.as_str(), port), ("http", 80) | ("https", 443)));
		write!(to, "{}://{}", self.scheme, self.authority.host())?;
		port.map_or(Ok(()), |port| write!(to, ":{port}"))
	}
}

impl FromStr for Origin {
	type Err = BadOrigin;

	fn from_str(text: &str) -> Result<Self, BadOrigin> {
		if matches!(text, "*" | "null") {
			return Err(BadOrigin::Any(text.into()));
		}
		let other = || BadOrigin::Other(text.chars().take(256).collect());
		let (scheme, authority) = text.split_once("://").ok_or_else(other)?;
		let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
			&& scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
		let authority = authority.strip_suffix('/').unwrap_or(authority).to_ascii_lowercase();
		let authority: Authority = authority.parse().map_err(|_| other())?;
		if !is_scheme || authority.host().is_empty() || authority.as_str().contains('@') {
			return Err(other());
		}
		Ok(Self { scheme: scheme.to_ascii_lowercase(), authority })
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn origins_are_read_as_browsers_write_them() {
		for (text, written) in [
			("https://chat.example", "https://chat.example"),
			("HTTPS://Chat.Example:443/", "https://chat.example"),
			("http://localhost:3000", "http://localhost:3000"),
			("http://[::1]:80", "http://[::1]"),
			("chrome-extension://abcdef", "chrome-extension://abcdef"),
		] {
			assert_eq!(text.parse::<Origin>().unwrap().to_string(), written);
		}
		for text in ["*", "null"] {
			assert!(text.parse::<Origin>().unwrap_err().to_string().contains("every page"));
		}
		for text in [
			"",
			"chat.example",
			"https://",
			"https://chat.example/page",
			"https://me@chat.example",
			"//x",
			"1://x",
			"https://a b",
			"https://*.example/x",
		] {
			assert!(matches!(text.parse::<Origin>(), Err(BadOrigin::Other(_))), "{text}");
		}
	}

	#[test]
	fn a_page_asks_itself_at_its_own_host_and_port() {
		let at = |origin: &str, host: &str| origin.parse::<Origin>().unwrap().is_at(&host.parse().unwrap());
		assert!(at("http://127.0.0.1:8080", "127.0.0.1:8080") && at("https://chat.example", "Chat.example") && at("http://x", "x:80"));
		assert!(!at("http://127.0.0.1:8081", "127.0.0.1:8080") && !at("http://evil.example", "127.0.0.1") && !at("http://x", "x:8080"));
	}
}
