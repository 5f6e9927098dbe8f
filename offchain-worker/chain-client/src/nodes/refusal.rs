//! Answer of the other side of a WebSocket when it refuses to begin one. The client tells only the status of that answer.

use crate::error::ChainError;
use std::time::Duration;
use tokio::{
	io::{AsyncReadExt, AsyncWriteExt},
	net::TcpStream,
	time::timeout,
};

/// Beginning of the client's message that a WebSocket was refused.
const REJECTED: &str = "Connection rejected with status code: ";
/// Longest wait for the words.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read.
const MOST: u64 = 8 << 10;
/// Characters of the words that are told.
const TOLD: usize = 600;

/// Why a connection to `url` failed, of which the client says `reason`.
pub(super) async fn failed(url: &str, reason: String) -> ChainError {
	let status = reason.strip_prefix(REJECTED).and_then(|status| status.trim().parse::<u16>().ok());
	match status {
		// Who is only too busy, or has nobody behind it, may answer later.
		Some(status @ 400..500) if !matches!(status, 408 | 429) => {
			let words = timeout(PATIENCE, words(url)).await.ok().flatten();
			ChainError::Refused { url: url.to_owned(), status, words: words.unwrap_or_else(|| "it does not say why".into()) }
		}
		_ => ChainError::NodeAway { url: url.to_owned(), reason },
	}
}

/// The body of the answer to a handshake. None without encryption only, or without words.
async fn words(url: &str) -> Option<String> {
	let rest = url.strip_prefix("ws://")?;
	let end = rest.find('/').unwrap_or(rest.len());
	let (authority, path) = rest.split_at(end);
	let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
	let address = if has_port { authority.to_owned() } else { format!("{authority}:80") };
	let request = format!(
		"GET {} HTTP/1.1\r\nHost: {authority}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
		 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
		if path.is_empty() { "/" } else { path },
	);
	let mut socket = TcpStream::connect(address).await.ok()?;
	socket.write_all(request.as_bytes()).await.ok()?;
	let (mut answer, mut reading) = (Vec::new(), socket.take(MOST));
	loop {
		if let Some(body) = whole(&answer) {
			let text = String::from_utf8_lossy(body);
			let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
			let line: String = line.chars().filter(|char| !char.is_control()).take(TOLD).collect();
			return Some(line).filter(|line| !line.is_empty());
		}
		// At its end, the connection has said all.
		if reading.read_buf(&mut answer).await.ok()? == 0 {
			return None;
		}
	}
}

/// The body of an answer that has come as a whole, as far as its length is known.
fn whole(answer: &[u8]) -> Option<&[u8]> {
	let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
	let (head, body) = (std::str::from_utf8(answer.get(..end)?).ok()?, answer.get(end.checked_add(4)?..)?);
	let length = head.lines().find_map(|line| {
		let (name, value) = line.split_once(':')?;
		name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok()).flatten()
	})?;
	body.get(..length)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::ChainClient;
	use tokio::net::TcpListener;

	/// The address of somebody who answers every request in this way.
	async fn who_says(answer: &'static str) -> String {
		let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
		let port = listener.local_addr().unwrap().port();
		tokio::spawn(async move {
			while let Ok((mut socket, _)) = listener.accept().await {
				let mut head = Vec::new();
				while !head.ends_with(b"\r\n\r\n") {
					head.push(socket.read_u8().await.unwrap());
				}
				socket.write_all(answer.as_bytes()).await.unwrap();
			}
		});
		format!("ws://127.0.0.1:{port}")
	}

	#[tokio::test]
	async fn a_node_that_refuses_is_told_apart_from_one_that_is_away_with_what_it_said() {
		let url = who_says("HTTP/1.1 403 Forbidden\r\nContent-Length: 34\r\n\r\nnot by this name.\nUse an address.\r\n").await;
		let error = ChainClient::connect(&url).await.map(drop).unwrap_err();
		assert!(!error.passes());
		let words = error.to_string();
		for part in [&*url, "403", "not by this name. Use an address.", "--node"] {
			assert!(words.contains(part), "{part}: {words}");
		}
	}

	#[tokio::test]
	async fn a_refusal_without_words_is_one_too_and_who_is_busy_may_answer_later() {
		let url = who_says("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
		let error = ChainClient::connect(&url).await.map(drop).unwrap_err();
		assert!(matches!(error, ChainError::Refused { status: 404, .. }), "{error}");
		for busy in ["HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"]
		{
			let error = ChainClient::connect(&who_says(busy).await).await.map(drop).unwrap_err();
			assert!(error.passes(), "{error}");
		}
	}

	#[test]
	fn only_as_much_as_an_answer_says_it_has_is_its_body() {
		assert_eq!(whole(b"HTTP/1.1 403 No\r\nX: 1\r\ncontent-LENGTH:  2 \r\n\r\nnono"), Some(&b"no"[..]));
		for cut in [&b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nn"[..], b"HTTP/1.1 403 No\r\n\r\nno", b"HTTP/1.1", b""] {
			assert_eq!(whole(cut), None);
		}
	}
}
