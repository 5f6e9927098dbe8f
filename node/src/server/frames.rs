//! Frames of a WebSocket (RFC 6455, section 5.2), as far as is needed to tell messages apart.

/// Longest header of a frame: two bytes, eight of a length, four of a mask.
const LONGEST_HEADER: usize = 14;
/// What a message of a subscription begins with; an answer has an id there, and one to a batch is a list.
const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method""#;

/// Header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
	/// Bytes of the header.
	pub size: usize,
	/// Bytes that follow.
	pub payload: u64,
	/// Whether it is of a message, not one of the protocol's own.
	pub data: bool,
	/// Whether it is the first one of a message.
	pub first: bool,
	/// Whether it is the last one of a message.
	pub last: bool,
	/// What the first byte of the payload is masked with.
	pub mask: u8,
}

impl Header {
	/// The header that `bytes` begin with, if they contain all of it.
	pub fn of(bytes: &[u8]) -> Option<Self> {
		let [start, length, rest @ ..] = bytes else { return None };
		let (payload, long) = match length & 0x7f {
			126 => (u64::from(u16::from_be_bytes(*rest.first_chunk()?)), 2),
			127 => (u64::from_be_bytes(*rest.first_chunk()?), 8),
			short => (u64::from(short), 0),
		};
		let (size, mask) = match length & 0x80 {
			0 => (2 + long, 0),
			_ => (2 + long + 4, *bytes.get(2 + long)?),
		};
		let operation = start & 0x0f;
		let data = operation < 8;
		let header = Self { size, payload, data, first: data && operation != 0, last: data && start & 0x80 != 0, mask };
		(bytes.len() >= size).then_some(header)
	}
}

/// Finds the end of an HTTP message's head in what comes piece by piece: an empty line after another line. As for the parser, lines end with LF,
/// with or without CR before it, and empty lines may come first.
#[derive(Debug, Default)]
pub enum Head {
	/// Nothing but empty lines.
	#[default]
	Before,
	/// In a line that is not empty.
	Line,
	/// At the beginning of a line.
	Beginning,
	/// At the beginning of a line, behind a CR.
	Return,
}

impl Head {
	/// How many of `bytes` belong to the head, if it ends in them.
	pub fn end(&mut self, bytes: &[u8]) -> Option<usize> {
		for (place, byte) in bytes.iter().enumerate() {
			*self = match (&self, byte) {
				(Self::Before, b'\r' | b'\n') => Self::Before,
				(Self::Beginning | Self::Return, b'\n') => {
					*self = Self::Before;
					return Some(place + 1);
				}
				(_, b'\n') => Self::Beginning,
				(Self::Beginning, b'\r') => Self::Return,
				_ => Self::Line,
			};
		}
		None
	}
}

/// What a server has written over a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
	/// The beginning of an answer of so many bytes.
	AnswerBegins(u64),
	/// All of an answer.
	Answer,
}

/// Tells answers of a server apart from what else it writes, beginning with the head of its answer to the handshake.
#[derive(Debug)]
pub enum Outgoing {
	/// The head is not over.
	Handshake(Head),
	/// A header is not complete.
	Header(Vec<u8>),
	/// So many bytes of a frame are to come.
	Payload {
		/// Its header.
		header: Header,
		/// Bytes to come.
		left: u64,
		/// What its message begins with, as far as it matters.
		start: Vec<u8>,
	},
}

impl Default for Outgoing {
	fn default() -> Self {
		Self::Handshake(Head::default())
	}
}

impl Outgoing {
	/// Takes what was written, and calls `found` for what that came to.
	pub fn take(&mut self, mut bytes: &[u8], mut found: impl FnMut(Written)) {
		while !bytes.is_empty() {
			match self {
				Self::Handshake(head) => match head.end(bytes) {
					None => return,
					Some(end) => {
						bytes = &bytes[end..];
						*self = Self::Header(Vec::new());
					}
				},
				Self::Header(collected) => {
					let missing = LONGEST_HEADER - collected.len();
					let before = collected.len();
					collected.extend(bytes.iter().take(missing));
					let Some(header) = Header::of(collected) else { return };
					bytes = &bytes[header.size - before..];
					*self = Self::Payload { header, left: header.payload, start: Vec::new() };
					self.progress(&[], &mut found);
				}
				Self::Payload { left, .. } => {
					let part = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
					let (of_frame, rest) = bytes.split_at(part);
					bytes = rest;
					self.progress(of_frame, &mut found);
				}
			}
		}
	}

	/// Takes bytes of a frame, and goes on to the next one if that was all. Each message is a frame: the server splits none.
	fn progress(&mut self, bytes: &[u8], found: &mut impl FnMut(Written)) {
		let Self::Payload { header, left, start } = self else { return };
		*left = left.saturating_sub(bytes.len() as u64);
		if header.data {
			if start.len() < NOTIFICATION.len() {
				start.extend(bytes.iter().take(NOTIFICATION.len() - start.len()));
				if *start != NOTIFICATION && (start.len() == NOTIFICATION.len() || *left == 0) {
					found(Written::AnswerBegins(header.payload));
				}
			}
			if *left == 0 && *start != NOTIFICATION {
				found(Written::Answer);
			}
		}
		if *left == 0 {
			*self = Self::Header(Vec::new());
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	/// A frame of a server.
	fn frame(start: u8, payload: &[u8]) -> Vec<u8> {
		let length = match payload.len() {
			short @ 0..=125 => vec![short as u8],
			long @ 126..=65_535 => [&[126], &(long as u16).to_be_bytes()[..]].concat(),
			longest => [&[127], &(longest as u64).to_be_bytes()[..]].concat(),
		};
		[&[start], &length[..], payload].concat()
	}

	#[test]
	fn headers_are_read_once_all_of_them_is_there() {
		let whole = |bytes: &[u8]| Header::of(bytes).unwrap();
		let text = Header { size: 2, payload: 5, data: true, first: true, last: true, mask: 0 };
		assert_eq!(whole(&[0x81, 5]), text);
		assert_eq!(whole(&[0x81, 0x85, 1, 2, 3, 4]), Header { size: 6, mask: 1, ..text });
		assert_eq!(Header::of(&[0x81, 0x85, 1, 2, 3]), None);
		assert_eq!(whole(&[0x02, 126, 1, 0]), Header { size: 4, payload: 256, last: false, ..text });
		assert_eq!(whole(&[0x80, 127, 0, 0, 0, 1, 0, 0, 0, 0, 9]), Header { size: 10, payload: 1 << 32, first: false, ..text });
		assert_eq!(whole(&[0x89, 0]), Header { payload: 0, data: false, first: false, last: false, ..text });
		for short in [&[][..], &[0x81], &[0x81, 126, 1], &[0x81, 127, 0, 0, 0, 0, 0, 0, 1], &[0x81, 0xfe, 0, 1, 0, 0, 0]] {
			assert_eq!(Header::of(short), None, "{short:?}");
		}
	}

	#[test]
	fn the_end_of_a_head_is_found_wherever_it_is_cut() {
		for (text, rest) in [
			(&b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n\r\nrest"[..], 6),
			(b"GET / HTTP/1.1\nHost: a\n\nrest\r\n\r\n", 8),
			(b"GET / HTTP/1.1\r\n\nrest", 4),
			(b"GET / HTTP/1.1\n\r\nrest", 4),
			(b"\r\n\r\n\n\nGET / HTTP/1.1\r\n\r\nrest", 4),
		] {
			for cut in 0..text.len() {
				let mut head = Head::default();
				let found = head.end(&text[..cut]).or_else(|| head.end(&text[cut..]).map(|end| cut + end));
				assert_eq!(found, Some(text.len() - rest), "{} cut at {cut}", text.escape_ascii());
			}
		}
	}

	#[test]
	fn answers_are_told_from_all_else_that_is_written_wherever_it_is_cut() {
		let answer = |length: usize| [&br#"{"jsonrpc":"2.0","id":1,"result":""#[..], &vec![b'x'; length], b"\"}"].concat();
		let lengths = [answer(3).len(), answer(200).len(), answer(70_000).len()].map(|length| length as u64);
		let written = [
			b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".to_vec(),
			frame(0x81, &answer(3)),
			frame(0x81, br#"{"jsonrpc":"2.0","method":"chain_newHead","params":{"id":1}}"#),
			frame(0x89, b""),
			frame(0x81, &answer(200)),
			frame(0x81, b"[]"),
			frame(0x88, &[3, 232]),
			frame(0x81, &answer(70_000)),
			frame(0x81, b""),
		]
		.concat();
		let expected: Vec<_> = [lengths[0], lengths[1], 2, lengths[2], 0]
			.into_iter()
			.flat_map(|length| [Written::AnswerBegins(length), Written::Answer])
			.collect();
		for piece in [1, 2, 3, 7, 64, 1_000, written.len()] {
			let (mut outgoing, mut found) = (Outgoing::default(), Vec::new());
			for bytes in written.chunks(piece) {
				outgoing.take(bytes, |what| found.push(what));
			}
			assert_eq!(found, expected, "in pieces of {piece}");
		}
	}
}
