//! A client of HTTP as small as it can be: one request over a connection, whose answer is read piece by piece.

use serde_json::Value;
use std::{
	io::{Error, ErrorKind, Result},
	net::SocketAddr,
};
use tokio::{
	io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
	net::TcpStream,
};

/// Lines of a head that are read, and bytes of one piece of a body.
const MOST_LINES: usize = 100;
const MOST_BYTES: usize = 64 << 20;

/// An answer whose head has come.
#[derive(Debug)]
pub struct Reply {
	/// HTTP's status.
	pub status: u16,
	from: BufReader<TcpStream>,
	body: Body,
	/// Bytes of the body that are no whole event yet.
	begun: Vec<u8>,
}

/// What is still to come of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Body {
	Chunks,
	Bytes(usize),
	Ended,
}

fn wrong(what: &str) -> Error {
	Error::new(ErrorKind::InvalidData, what)
}

/// The head of a request with a body of so many bytes.
pub fn head(path: &str, bytes: usize) -> String {
	format!(
		"POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
	)
}

impl Reply {
	/// Posts JSON.
	///
	/// # Errors
	/// Those of the connection; [`ErrorKind::InvalidData`] if what answers does not speak HTTP.
	pub async fn to(address: SocketAddr, path: &str, body: &[u8]) -> Result<Self> {
		let mut stream = TcpStream::connect(address).await?;
		stream.set_nodelay(true)?;
		let mut request = head(path, body.len()).into_bytes();
		request.extend_from_slice(body);
		// A server that refuses a body does not read all of it, and answers.
		let _ = stream.write_all(&request).await;
		Self::of(stream).await
	}

	/// Reads the head of what comes over a connection.
	///
	/// # Errors
	/// As [`Self::to`].
	pub(crate) async fn of(stream: TcpStream) -> Result<Self> {
		let mut from = BufReader::new(stream);
		let first = line(&mut from).await?;
		let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(|| wrong("no status"))?;
		let mut body = Body::Bytes(0);
		for _ in 0..MOST_LINES {
			let header = line(&mut from).await?;
			if header.is_empty() {
				return Ok(Self { status, from, body, begun: Vec::new() });
			}
			let (name, value) = header.split_once(':').ok_or_else(|| wrong("a header without a value"))?;
			match (name.to_ascii_lowercase().as_str(), value.trim()) {
				("content-length", length) => body = Body::Bytes(length.parse().map_err(|_| wrong("no length"))?),
				("transfer-encoding", "chunked") => body = Body::Chunks,
				_ => {}
			}
		}
		Err(wrong("too many headers"))
	}

	/// The next bytes of the body; `None` behind the last ones.
	async fn piece(&mut self) -> Result<Option<Vec<u8>>> {
		let (length, next) = match self.body {
			Body::Ended | Body::Bytes(0) => return Ok(None),
			Body::Bytes(length) => (length, Body::Ended),
			Body::Chunks => {
				let length = usize::from_str_radix(&line(&mut self.from).await?, 16).map_err(|_| wrong("a chunk without a length"))?;
				(length, if length == 0 { Body::Ended } else { Body::Chunks })
			}
		};
		if length > MOST_BYTES {
			return Err(wrong("more bytes than anybody wants"));
		}
		let mut bytes = vec![0; length];
		self.from.read_exact(&mut bytes).await?;
		if self.body == Body::Chunks {
			line(&mut self.from).await?;
		}
		self.body = next;
		Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
	}

	/// All of the body, as JSON.
	///
	/// # Errors
	/// Those of the connection; [`ErrorKind::InvalidData`] if it is no JSON.
	pub async fn json(mut self) -> Result<Value> {
		let mut all = Vec::new();
		while let Some(bytes) = self.piece().await? {
			all.extend(bytes);
		}
		serde_json::from_slice(&all).map_err(|error| wrong(&error.to_string()))
	}

	/// The data of the next server-sent event; `None` when the stream has ended as it should.
	///
	/// # Errors
	/// Those of the connection; [`ErrorKind::InvalidData`] if what comes are no events.
	pub async fn event(&mut self) -> Result<Option<String>> {
		loop {
			if let Some(end) = self.begun.windows(2).position(|bytes| bytes == b"\n\n") {
				let event: Vec<u8> = self.begun.drain(..end + 2).collect();
				let event = String::from_utf8(event).map_err(|_| wrong("an event that is no text"))?;
				// Others are comments, which keep a connection.
				if let Some(data) = event.trim_end().strip_prefix("data:") {
					return Ok(Some(data.trim_start().to_owned()));
				}
				continue;
			}
			match self.piece().await? {
				Some(bytes) => self.begun.extend(bytes),
				None if self.begun.is_empty() => return Ok(None),
				None => return Err(wrong("half an event")),
			}
		}
	}
}

/// A line without its end.
async fn line(from: &mut BufReader<TcpStream>) -> Result<String> {
	let mut line = String::new();
	if from.read_line(&mut line).await? == 0 {
		return Err(ErrorKind::UnexpectedEof.into());
	}
	Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
