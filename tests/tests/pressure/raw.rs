//! Clients without manners: what they send is not checked, and they read when they like.

use neuroshard_e2e::within;
use serde_json::Value;
use std::time::Duration;
use tokio::{
	io::{AsyncReadExt, AsyncWriteExt},
	net::TcpStream,
};

/// Longest wait for one answer, on a busy machine.
const ANSWER: Duration = Duration::from_secs(60);

/// A WebSocket connection.
pub struct Socket(TcpStream);

impl Socket {
	/// Connects, unless the node takes no more connections.
	pub async fn open(url: &str) -> Option<Self> {
		let place = url.strip_prefix("ws://").unwrap();
		let mut stream = TcpStream::connect(place).await.ok()?;
		let request = format!(
			"GET / HTTP/1.1\r\nHost: {place}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
			 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
		);
		stream.write_all(request.as_bytes()).await.ok()?;
		let mut head = Vec::new();
		while !head.ends_with(b"\r\n\r\n") {
			match within("a byte", ANSWER, stream.read_u8()).await {
				Ok(Ok(byte)) => head.push(byte),
				_ => return None,
			}
		}
		head.starts_with(b"HTTP/1.1 101").then_some(Self(stream))
	}

	/// Sends a message. It may be refused by closing the connection.
	pub async fn send(&mut self, text: &str) -> bool {
		let length = text.len();
		// A final text frame, masked as a client's must be, by zeros.
		let mut frame = vec![0x81];
		match length {
			0..=125 => frame.push(0x80 | length as u8),
			126..=65_535 => {
				frame.push(0x80 | 126);
				frame.extend((length as u16).to_be_bytes());
			}
			_ => {
				frame.push(0x80 | 127);
				frame.extend((length as u64).to_be_bytes());
			}
		}
		frame.extend([0; 4]);
		frame.extend(text.as_bytes());
		self.0.write_all(&frame).await.is_ok()
	}

	/// The next message; nothing if the connection is closed.
	pub async fn receive(&mut self) -> Option<Value> {
		within("an answer", ANSWER, self.message()).await.unwrap()
	}

	/// What the node says to one message.
	pub async fn ask(&mut self, text: &str) -> Option<Value> {
		self.send(text).await;
		self.receive().await
	}

	async fn message(&mut self) -> Option<Value> {
		let mut text = Vec::new();
		loop {
			let [first, second] = [self.0.read_u8().await.ok()?, self.0.read_u8().await.ok()?];
			let length = match second & 0x7f {
				126 => u64::from(self.0.read_u16().await.ok()?),
				127 => self.0.read_u64().await.ok()?,
				short => u64::from(short),
			};
			let mut part = vec![0; length as usize];
			self.0.read_exact(&mut part).await.ok()?;
			match first & 0x0f {
				0x0..=0x2 => text.extend(part),
				0x8 => return None,
				// A ping, which this client does not answer.
				_ => continue,
			}
			if first & 0x80 != 0 {
				return serde_json::from_slice(&text).ok();
			}
		}
	}
}

/// The status and the body of the answer to a POST request.
pub async fn post(url: &str, body: &[u8]) -> Option<(u16, String)> {
	let place = url.strip_prefix("ws://").unwrap();
	let mut stream = TcpStream::connect(place).await.ok()?;
	let head = format!(
		"POST / HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
		body.len()
	);
	stream.write_all(head.as_bytes()).await.ok()?;
	// What is refused by its length is not read to its end.
	let _ = stream.write_all(body).await;
	let mut answer = Vec::new();
	let _ = within("an answer", ANSWER, stream.read_to_end(&mut answer)).await.unwrap();
	let answer = String::from_utf8_lossy(&answer).into_owned();
	let status = answer.split(' ').nth(1)?.parse().ok()?;
	Some((status, answer.split_once("\r\n\r\n")?.1.to_owned()))
}

/// The text of a request.
pub fn request(id: usize, method: &str, parameters: Value) -> String {
	serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }).to_string()
}

/// The code of an error; nothing if it is none.
pub fn code(answer: &Value) -> Option<i64> {
	answer.get("error")?.get("code")?.as_i64()
}
