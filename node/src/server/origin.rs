//! Origins of web pages (RFC 6454): which of them may use a service, as `--rpc-cors` lists them.

use std::net::Ipv6Addr;

/// Which origins may use a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
	/// All: nothing is checked.
	All,
	/// Those of a list.
	Listed(Vec<Pattern>),
}

/// An entry of the list that is no origin.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no origin: give --rpc-cors origins such as https://polkadot.js.org or http://localhost:*, null, or all")]
pub struct NoOrigin(String);

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
	/// What browsers call pages without an origin: files, and frames in a sandbox.
	Null,
	/// Pages of one host by one scheme.
	Page {
		/// Scheme and host in lower case, an IPv6 address in its shortest form.
		site: (String, String),
		/// Their port.
		port: Port,
	},
}

/// The port of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
	/// Any.
	Any,
	/// This one; none for a scheme that has none by default.
	One(Option<u16>),
}

impl Origins {
	/// What a list means. Without one, all origins are allowed.
	///
	/// # Errors
	/// The first entry that is no origin.
	pub fn parse(list: Option<&[String]>) -> Result<Self, NoOrigin> {
		let Some(list) = list else { return Ok(Self::All) };
		if list.iter().any(|entry| matches!(entry.trim(), "*" | "all")) {
			return Ok(Self::All);
		}
		// A trailing slash is what people copy from the address of a page.
		let pattern = |entry: &String| {
			let written = entry.trim();
			Pattern::parse(written.strip_suffix('/').unwrap_or(written)).ok_or_else(|| NoOrigin(entry.clone()))
		};
		list.iter().map(pattern).collect::<Result<_, _>>().map(Self::Listed)
	}

	/// Whether pages of this origin, as a browser writes it, are allowed.
	pub fn allow(&self, origin: &[u8]) -> bool {
		let Self::Listed(patterns) = self else { return true };
		let origin = std::str::from_utf8(origin).ok().and_then(Pattern::parse);
		// No browser names all ports.
		let origin = origin.filter(|origin| !matches!(origin, Pattern::Page { port: Port::Any, .. }));
		origin.is_some_and(|origin| patterns.iter().any(|pattern| pattern.covers(&origin)))
	}
}

impl Pattern {
	fn parse(written: &str) -> Option<Self> {
		if written == "null" {
			return Some(Self::Null);
		}
		let written = written.to_ascii_lowercase();
		let (scheme, rest) = written.split_once("://")?;
		let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
		if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(is_scheme) {
			return None;
		}
		let (host, port) = match rest.strip_prefix('[') {
			Some(rest) => {
				let (address, port) = rest.split_once(']')?;
				(format!("[{}]", address.parse::<Ipv6Addr>().ok()?), port)
			}
			None => {
				let end = rest.find(':').unwrap_or(rest.len());
				let (host, port) = rest.split_at(end);
				let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
				(Some(host.to_owned()).filter(|host| !host.is_empty() && host.bytes().all(is_host))?, port)
			}
		};
		let port = match port.strip_prefix(':') {
			Some("*") => Port::Any,
			Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => Port::One(Some(number.parse().ok()?)),
			Some(_) => return None,
			None if port.is_empty() => Port::One(default_port(scheme)),
			None => return None,
		};
		Some(Self::Page { site: (scheme.to_owned(), host), port })
	}

	fn covers(&self, origin: &Self) -> bool {
		match (self, origin) {
			(Self::Page { site, port: Port::Any }, Self::Page { site: other, .. }) => site == other,
			_ => self == origin,
		}
	}
}

/// The port that browsers leave out.
fn default_port(scheme: &str) -> Option<u16> {
	match scheme {
		"http" => Some(80),
		"https" => Some(443),
		_ => None,
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::cli::Cli;
	use clap::{CommandFactory, Parser};

	fn listed(entries: &[&str]) -> Result<Origins, NoOrigin> {
		Origins::parse(Some(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()))
	}

	#[test]
	fn an_origin_is_allowed_by_its_own_entry_and_by_no_other() {
		for (entry, allowed, refused) in [
			(
				"https://app.example",
				vec!["https://app.example", "https://app.example:443", "HTTPS://App.Example"],
				vec![
					"http://app.example",
					"https://app.example:444",
					"https://app.example.evil.example",
					"https://evil.example",
					"https://sub.app.example",
					"https://app.example/",
					"https://app.example/path",
					"https://user@app.example",
					"https://app.example https://evil.example",
					"app.example",
					"null",
					"",
				],
			),
			("http://localhost:*", vec!["http://localhost", "http://localhost:3000"], vec!["https://localhost", "http://localhost:*"]),
			("http://localhost:3000", vec!["http://localhost:3000"], vec!["http://localhost", "http://localhost:30000"]),
			("http://127.0.0.1:*", vec!["http://127.0.0.1:8080"], vec!["http://127.0.0.2:8080", "http://localhost:8080"]),
			(
				"http://[::1]:*",
				vec!["http://[::1]", "http://[::1]:80", "http://[0:0:0:0:0:0:0:1]:8080"],
				vec!["http://[::2]", "http://::1"],
			),
			("HTTPS://App.Example/", vec!["https://app.example"], vec!["https://app.example/"]),
			("chrome-extension://abcdef", vec!["chrome-extension://abcdef"], vec!["chrome-extension://abcdeg"]),
			("null", vec!["null"], vec!["https://app.example", "NULL", "Null"]),
		] {
			let origins = listed(&[entry]).unwrap();
			for origin in allowed {
				assert!(origins.allow(origin.as_bytes()), "{entry}: {origin}");
			}
			for origin in refused {
				assert!(!origins.allow(origin.as_bytes()), "{entry}: {origin}");
			}
			assert!(!origins.allow(b"https://app.example\xff"), "{entry}");
		}
	}

	#[test]
	fn all_origins_are_allowed_without_a_list_and_by_one_that_says_so() {
		for origins in [Origins::parse(None), listed(&["all"]), listed(&["https://app.example", "*"])] {
			let origins = origins.unwrap();
			assert!(["https://evil.example", "null", "", "\u{ff}"].iter().all(|origin| origins.allow(origin.as_bytes())));
		}
		assert!(!listed(&[]).unwrap().allow(b"https://app.example"), "an empty list allows nobody");
	}

	#[test]
	fn what_no_browser_sends_is_no_entry() {
		for entry in [
			"",
			"app.example",
			"localhost:*",
			"https://",
			"https://*.example",
			"https://*",
			"https://app.example/path",
			"https://user@app.example",
			"https://app.example:port",
			"https://app.example:+80",
			"https://app.example:65536",
			"https://[::1",
			"https://[app]",
			"://app.example",
			"NULL",
		] {
			assert_eq!(listed(&["null", entry]), Err(NoOrigin(entry.to_owned())), "{entry}");
		}
	}

	#[test]
	fn the_origins_that_are_allowed_by_default_are_those_that_the_help_names() {
		let help = Cli::command().render_long_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ");
		assert!(
			help.contains(
				"pages of localhost and 127.0.0.1 (http and https, any port) and of https://polkadot.js.org may; with --dev, all"
			),
			"{help}"
		);
		assert!(help.contains("web pages are served safe ones only"), "{help}");
		let allowed = |options: &[&str]| {
			let cli = Cli::try_parse_from(["neuroshard-node"].iter().chain(options)).unwrap();
			let origins = Origins::parse(cli.run.rpc_params.rpc_cors(cli.run.shared_params.dev).unwrap().as_deref()).unwrap();
			move |origin: &str| origins.allow(origin.as_bytes())
		};
		let default = allowed(&[]);
		for host in ["localhost", "localhost:3000", "127.0.0.1:8080"] {
			assert!(default(&format!("http://{host}")) && default(&format!("https://{host}")), "{host}");
		}
		assert!(default("https://polkadot.js.org") && !default("https://evil.example") && !default("null"));
		assert!(allowed(&["--dev"])("https://evil.example") && allowed(&["--rpc-cors=all"])("null"));
		let named = allowed(&["--dev", "--rpc-cors=https://app.example,null"]);
		assert!(named("https://app.example") && named("null") && !named("http://localhost"));
	}
}
