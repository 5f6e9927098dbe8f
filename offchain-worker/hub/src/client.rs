//! HTTP, as far as the hub needs it: files and lists are got, and redirections are followed.

use super::{HubError, Settings};
use http_body_util::{BodyExt, Empty};
use hyper::{
	body::{Body, Bytes, Incoming},
	header::{HeaderMap, AUTHORIZATION, ETAG, LOCATION, USER_AGENT},
	Request, Uri,
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
	client::legacy::{connect::HttpConnector, Client as Pool},
	rt::TokioExecutor,
};
use neuroshard_support::https::{self, causes};
use std::{
	io,
	time::{Duration, Instant},
};
use tokio::time::timeout;

const CONNECT: Duration = Duration::from_secs(15);
/// Until an answer begins, and until the next `PIECE` bytes of it have come.
const ANSWER: Duration = Duration::from_secs(60);
const PIECE: usize = 1 << 20;
const MOST_REDIRECTIONS: usize = 10;
/// Most bytes of an answer that is held in memory.
const MOST_HELD: usize = 64 << 20;

/// Asks the hub.
pub(crate) struct Client {
	pool: Pool<HttpsConnector<HttpConnector>, Empty<Bytes>>,
	settings: Settings,
}

/// What comes as an answer.
pub(crate) struct Answer {
	url: String,
	/// Tag of the file, which names its content, as the hub itself says it.
	tag: Option<String>,
	/// Its bytes, as the hub itself says them, or whoever sends them.
	bytes: Option<u64>,
	body: Incoming,
	pace: Pace,
}

/// How fast an answer comes.
struct Pace {
	/// When the last piece was there, and what has come since.
	since: Instant,
	bytes: usize,
}

impl Pace {
	fn new(since: Instant) -> Self {
		Self { since, bytes: 0 }
	}

	/// Returns whether bytes that have come by `now` are in time.
	fn add(&mut self, bytes: usize, now: Instant) -> bool {
		self.bytes = self.bytes.saturating_add(bytes);
		if self.bytes >= PIECE {
			*self = Self::new(now);
		}
		now.saturating_duration_since(self.since) <= ANSWER
	}
}

impl Client {
	pub(crate) fn new(settings: &Settings) -> Result<Self, HubError> {
		let failed = |error: io::Error| HubError::Away { url: settings.endpoint.clone(), reason: error.to_string() };
		let connector = https::connector(!settings.endpoint.starts_with("https:"), CONNECT).map_err(failed)?;
		Ok(Self { pool: Pool::builder(TokioExecutor::new()).build(connector), settings: settings.clone() })
	}

	/// Gets what has this path at the hub, following redirections. The token goes to the hub alone.
	///
	/// # Errors
	/// [`HubError::Away`], [`HubError::Refused`], [`HubError::Answer`].
	pub(crate) async fn get(&self, path: &str) -> Result<Answer, HubError> {
		let url = format!("{}{path}", self.settings.endpoint);
		let away = |reason: String| HubError::Away { url: url.clone(), reason };
		let parse = |text: &str| text.parse::<Uri>().map_err(|error| HubError::Answer { url: url.clone(), reason: error.to_string() });
		let (hub, mut next) = (parse(&self.settings.endpoint)?, parse(&url)?);
		let (mut tag, mut bytes) = (None, None);
		for _ in 0..=MOST_REDIRECTIONS {
			let is_hub = next.scheme() == hub.scheme() && next.authority() == hub.authority();
			let mut request = Request::get(next.clone()).header(USER_AGENT, concat!("neuroshard/", env!("CARGO_PKG_VERSION")));
			if let Some(authorization) = self.settings.authorization.as_ref().filter(|_| is_hub) {
				request = request.header(AUTHORIZATION, authorization);
			}
			let request = request.body(Empty::new()).map_err(|error| away(error.to_string()))?;
			let answer = timeout(ANSWER, self.pool.request(request)).await.map_err(|_| away("no answer has come".into()))?;
			let answer = answer.map_err(|error| away(causes(&error)))?;
			let (status, headers) = (answer.status(), answer.headers());
			if is_hub {
				tag = text(headers, "x-linked-etag").or(tag);
				bytes = text(headers, "x-linked-size").and_then(|digits| digits.parse().ok()).or(bytes);
			}
			if status.is_success() {
				let tag = tag.or_else(|| text(headers, ETAG.as_str()).filter(|_| is_hub));
				let body = answer.into_body();
				let bytes = bytes.or_else(|| body.size_hint().exact());
				return Ok(Answer { url, tag, bytes, body, pace: Pace::new(Instant::now()) });
			}
			if !status.is_redirection() {
				return Err(HubError::Refused { url, status: status.as_u16() });
			}
			let place = text(headers, LOCATION.as_str()).unwrap_or_default();
			next = elsewhere(&next, &place).ok_or_else(|| HubError::Answer {
				url: url.clone(),
				reason: "it leads to an address that is none, or is not encrypted".into(),
			})?;
		}
		Err(HubError::Answer { url, reason: format!("it leads from one address to another for more than {MOST_REDIRECTIONS} times") })
	}
}

impl Answer {
	/// The tag of the file, if it can be the name of one.
	pub(crate) fn tag(&self) -> Result<String, HubError> {
		let tag = self.tag.as_deref().map(|tag| tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"'));
		let is_name = |tag: &&str| (8..=128).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
		tag.filter(is_name).map(str::to_owned).ok_or_else(|| self.refused("the hub does not say which file it is".into()))
	}

	/// Its bytes, where somebody says them.
	pub(crate) fn bytes(&self) -> Option<u64> {
		self.bytes
	}

	/// An error about it.
	pub(crate) fn refused(&self, reason: String) -> HubError {
		HubError::Answer { url: self.url.clone(), reason }
	}

	/// The next part; none at the end.
	pub(crate) async fn part(&mut self) -> Result<Option<Bytes>, HubError> {
		let away = |reason: String| HubError::Away { url: self.url.clone(), reason };
		loop {
			let frame = timeout(ANSWER, self.body.frame()).await.map_err(|_| away("no more of it has come".into()))?;
			let Some(frame) = frame.transpose().map_err(|error| away(causes(&error)))? else { return Ok(None) };
			if let Ok(data) = frame.into_data() {
				if !self.pace.add(data.len(), Instant::now()) {
					return Err(away(format!("it is too slow: less than {PIECE} bytes have come in {} s", ANSWER.as_secs())));
				}
				return Ok(Some(data));
			}
		}
	}

	/// All of it.
	pub(crate) async fn whole(mut self) -> Result<Vec<u8>, HubError> {
		let mut whole = Vec::new();
		while let Some(part) = self.part().await? {
			whole.extend_from_slice(&part);
			if whole.len() > MOST_HELD {
				return Err(self.refused(format!("it has more than {MOST_HELD} bytes")));
			}
		}
		Ok(whole)
	}
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
	headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The address that a redirection leads to: one of its own, or a path of the same place. What was encrypted stays so.
fn elsewhere(from: &Uri, place: &str) -> Option<Uri> {
	let to: Uri = match place.starts_with('/') && !place.starts_with("//") {
		true => Uri::builder().scheme(from.scheme()?.clone()).authority(from.authority()?.clone()).path_and_query(place).build().ok()?,
		false => place.parse().ok()?,
	};
	let is_kept = to.scheme_str() == Some("https") || (from.scheme_str() == Some("http") && to.scheme_str() == Some("http"));
	Some(to).filter(|to| is_kept && to.host().is_some())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn each_mebibyte_of_an_answer_has_a_minute() {
		let start = Instant::now();
		let mut pace = Pace::new(start);
		let mut add = |bytes, seconds| pace.add(bytes, start + Duration::from_secs(seconds));
		assert!(add(1, 60), "a small file may take as long");
		assert!(add(1 << 20, 61) && add((1 << 20) - 1, 121), "the next minute begins with the next mebibyte");
		assert!(!add(0, 122));
	}

	#[test]
	fn what_was_encrypted_stays_so() {
		let to = |from: &str, place: &str| elsewhere(&from.parse().unwrap(), place).map(|uri| uri.to_string());
		assert_eq!(to("https://a/b", "/c?d=e").unwrap(), "https://a/c?d=e");
		assert_eq!(to("https://a/b", "https://c/d").unwrap(), "https://c/d");
		assert_eq!(to("http://a/b", "http://c/d").unwrap(), "http://c/d");
		for place in ["http://c/d", "file:///etc/passwd", "", "c/d", "//c/d", "ftp://c/d"] {
			assert_eq!(to("https://a/b", place), None, "{place}");
		}
	}
}
