//! The bytes of a connection on their way in and out.

use super::{
	budget::Share,
	connection::{Body, Connection},
	frames::{Head, Header, Outgoing, Written},
};
use futures::{future::BoxFuture, FutureExt};
use std::{
	future::Future,
	io::{self, IoSlice},
	pin::Pin,
	sync::Arc,
	task::{ready, Context, Poll, Waker},
};
use tokio::{
	io::{AsyncRead, AsyncWrite, ReadBuf},
	time::{sleep_until, Instant, Sleep},
};

/// Bytes that are read ahead of what is passed on.
const AHEAD: usize = 8_192;

/// A connection that passes on one call at a time, as soon as there is memory for it and its answer, and ends with a client that does not take
/// what it asked for.
pub struct Gate<Io> {
	io: Io,
	connection: Arc<Connection>,
	incoming: Incoming,
	ahead: Vec<u8>,
	reserving: Option<BoxFuture<'static, Option<Share>>>,
	outgoing: Outgoing,
	ends: Option<Pin<Box<Sleep>>>,
	stalled: Option<(Instant, Pin<Box<Sleep>>)>,
	/// Bytes of the message in parts that is not over.
	message: Option<u64>,
	writer: Option<Waker>,
	over: bool,
}

/// What is read next.
enum Incoming {
	/// The head of a request.
	Head(Head),
	/// What follows it, once that is known.
	Unknown,
	/// So many bytes of its body.
	Body(u64),
	/// Whatever comes.
	Rest,
	/// The header of a frame.
	Header,
	/// A frame, of which so many bytes are to come.
	Frame(Header, u64),
}

fn slow() -> io::Error {
	io::Error::new(io::ErrorKind::TimedOut, "the client was too slow")
}

fn unclear() -> io::Error {
	io::Error::new(io::ErrorKind::InvalidData, "it is not clear where requests end")
}

impl<Io> Gate<Io> {
	/// The gate of a connection.
	pub fn new(io: Io, connection: Arc<Connection>) -> Self {
		Self {
			io,
			connection,
			incoming: Incoming::Head(Head::default()),
			ahead: Vec::new(),
			reserving: None,
			outgoing: Outgoing::default(),
			ends: None,
			stalled: None,
			message: None,
			writer: None,
			over: false,
		}
	}

	/// An error if the time of the call is over; else its end wakes the task.
	fn check_time(&mut self, context: &mut Context<'_>) -> io::Result<()> {
		match self.connection.until() {
			None => self.ends = None,
			Some(until) => {
				let ends = self.ends.get_or_insert_with(|| Box::pin(sleep_until(until)));
				if ends.deadline() != until {
					ends.as_mut().reset(until);
				}
				if ends.as_mut().poll(context).is_ready() {
					self.end();
				}
			}
		}
		self.check_open()
	}

	fn check_open(&self) -> io::Result<()> {
		if self.over {
			return Err(slow());
		}
		Ok(())
	}

	fn end(&mut self) {
		self.over = true;
		self.connection.wake();
		if let Some(writer) = self.writer.take() {
			writer.wake();
		}
	}

	/// Passes on at most `most` bytes that were read ahead.
	fn pass(&mut self, most: usize, buffer: &mut ReadBuf<'_>) -> usize {
		let part = most.min(buffer.remaining()).min(self.ahead.len());
		buffer.put_slice(&self.ahead[..part]);
		self.ahead.drain(..part);
		part
	}
}

impl<Io: AsyncRead + Unpin> Gate<Io> {
	/// Reads ahead, and says whether anything is to come.
	fn poll_ahead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
		let mut bytes = [0; AHEAD];
		let mut buffer = ReadBuf::new(&mut bytes);
		ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
		self.ahead.extend_from_slice(buffer.filled());
		Poll::Ready(Ok(!buffer.filled().is_empty()))
	}

	/// Begins the call with this frame once the last one is over, and there is memory for it.
	fn poll_begin(&mut self, header: Header, context: &mut Context<'_>) -> Poll<io::Result<()>> {
		if self.connection.until().is_some() {
			return Poll::Pending;
		}
		let connection = &self.connection;
		// Nobody knows how long a message in several frames becomes.
		let request = if header.last { header.payload } else { u64::MAX };
		let reserving = self.reserving.get_or_insert_with(|| connection.budget.clone().reserve(connection.need(request)).boxed());
		let share = ready!(reserving.as_mut().poll(context));
		self.reserving = None;
		let Some(share) = share else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
		// Whoever makes one call begins with it. Behind a part that is empty is the header of the next one.
		let first = self.ahead.get(header.size).filter(|_| header.payload > 0);
		let single = first.is_some_and(|byte| byte ^ header.mask == b'{');
		self.connection.begin(share, single);
		Poll::Ready(self.check_time(context))
	}

	/// The header of the next frame, once it is there. Of the first one of a message, a byte of what follows it must be there as well.
	fn poll_header(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<Header>>> {
		loop {
			let header = Header::of(&self.ahead);
			let complete = header.filter(|header| !header.first || header.payload == 0 || self.ahead.len() > header.size);
			if complete.is_some() || !ready!(self.poll_ahead(context))? {
				return Poll::Ready(Ok(complete));
			}
		}
	}
}

impl<Io: AsyncRead + Unpin> AsyncRead for Gate<Io> {
	fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
		let this = self.get_mut();
		this.connection.wakes(context.waker());
		this.check_time(context)?;
		loop {
			match &mut this.incoming {
				// Whoever reads them ends heads elsewhere.
				Incoming::Head(_) if this.connection.body().is_some() => return Poll::Ready(Err(unclear())),
				Incoming::Head(_) | Incoming::Body(1..) | Incoming::Frame(_, 1..) if this.ahead.is_empty() => {
					if !ready!(this.poll_ahead(context))? {
						return Poll::Ready(Ok(()));
					}
				}
				Incoming::Head(head) => {
					let part = this.ahead.len().min(buffer.remaining());
					let end = head.end(&this.ahead[..part]);
					this.pass(end.unwrap_or(part), buffer);
					if end.is_some() {
						this.incoming = Incoming::Unknown;
					}
					return Poll::Ready(Ok(()));
				}
				Incoming::Unknown => match this.connection.body() {
					None => return Poll::Pending,
					Some(Body::Bytes(bytes)) => this.incoming = Incoming::Body(bytes),
					Some(Body::Chunks) => this.incoming = Incoming::Rest,
					Some(Body::Frames) => this.incoming = Incoming::Header,
				},
				Incoming::Body(0) => {
					this.connection.came();
					this.incoming = Incoming::Head(Head::default());
				}
				Incoming::Body(left) => {
					let left = *left;
					let passed = this.pass(usize::try_from(left).unwrap_or(usize::MAX), buffer) as u64;
					this.connection.comes(passed);
					this.incoming = Incoming::Body(left.saturating_sub(passed));
					return Poll::Ready(Ok(()));
				}
				Incoming::Rest if this.ahead.is_empty() => return Pin::new(&mut this.io).poll_read(context, buffer),
				Incoming::Rest => {
					this.pass(usize::MAX, buffer);
					return Poll::Ready(Ok(()));
				}
				Incoming::Header => {
					let Some(header) = ready!(this.poll_header(context))? else { return Poll::Ready(Ok(())) };
					// Each part of a message comes after the one before, and nothing else that is data.
					if header.data && header.first == this.message.is_some() {
						return Poll::Ready(Err(unclear()));
					}
					let length = this.message.unwrap_or(0).saturating_add(header.payload);
					let in_parts = header.data && !(header.first && header.last);
					// Behind parts that are too long together, the library reads on at another place than behind the last of them.
					if in_parts && length > this.connection.limits.request {
						return Poll::Ready(Err(unclear()));
					}
					if header.first {
						ready!(this.poll_begin(header, context))?;
					}
					if header.data {
						this.message = (!header.last).then_some(length);
					}
					this.incoming = Incoming::Frame(header, header.payload.saturating_add(header.size as u64));
				}
				Incoming::Frame(header, 0) => {
					if header.last {
						this.connection.came();
					}
					this.incoming = Incoming::Header;
				}
				Incoming::Frame(header, left) => {
					let (header, left) = (*header, *left);
					let passed = this.pass(usize::try_from(left).unwrap_or(usize::MAX), buffer) as u64;
					// Pings give a message no time.
					if header.data {
						this.connection.comes(passed);
					}
					this.incoming = Incoming::Frame(header, left.saturating_sub(passed));
					return Poll::Ready(Ok(()));
				}
			}
		}
	}
}

impl<Io: AsyncWrite + Unpin> Gate<Io> {
	/// What a write came to. One that waits for the client does not wait for ever.
	fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
		if written.is_ready() {
			self.stalled = None;
			return written;
		}
		self.writer = Some(context.waker().clone());
		let (since, ends) = self.stalled.get_or_insert_with(|| {
			let now = Instant::now();
			(now, Box::pin(sleep_until(now)))
		});
		// However little is taken in between, an answer must be taken in its time.
		let patience = *since + self.connection.limits.taking;
		let until = self.connection.until().map_or(patience, |until| until.min(patience));
		if ends.deadline() != until {
			ends.as_mut().reset(until);
		}
		ready!(ends.as_mut().poll(context));
		self.end();
		Poll::Ready(Err(slow()))
	}

	/// Notes what was written of these.
	fn note(&mut self, slices: &[IoSlice<'_>], mut written: usize) {
		if !self.connection.is_websocket() {
			return;
		}
		for slice in slices {
			let part = &slice[..written.min(slice.len())];
			written -= part.len();
			self.outgoing.take(part, |what| match what {
				Written::AnswerBegins(bytes) => self.connection.answer_of(bytes),
				Written::Answer => self.connection.over(),
			});
		}
	}
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Gate<Io> {
	fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
		self.poll_write_vectored(context, &[IoSlice::new(bytes)])
	}

	fn poll_write_vectored(self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
		let this = self.get_mut();
		this.check_open()?;
		let written = Pin::new(&mut this.io).poll_write_vectored(context, slices);
		let written = ready!(this.watch(context, written))?;
		this.note(slices, written);
		Poll::Ready(Ok(written))
	}

	fn is_write_vectored(&self) -> bool {
		self.io.is_write_vectored()
	}

	fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
		let this = self.get_mut();
		this.check_open()?;
		let flushed = Pin::new(&mut this.io).poll_flush(context);
		ready!(this.watch(context, flushed))?;
		this.connection.flushed();
		Poll::Ready(Ok(()))
	}

	fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
		Pin::new(&mut self.get_mut().io).poll_shutdown(context)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::server::{budget::Budget, connection::Limits};
	use std::time::Duration;
	use tokio::io::{duplex, AsyncReadExt, AsyncWriteExt, DuplexStream};

	const SOON: Duration = Duration::from_millis(50);
	const LATER: Duration = Duration::from_secs(600);
	const LIMITS: Limits = Limits { request: 1 << 20, answer: 1 << 20, coming: LATER, call: LATER, taking: LATER };
	const NEED: u64 = 2 << 20;
	const HEAD: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
	const ANSWER: &[u8] = b"\x81\x02{}";

	/// A client, the gate of its connection, and what the gate shares with the server.
	fn connected(buffer: usize, limits: Limits) -> (DuplexStream, Gate<DuplexStream>, Arc<Connection>) {
		let (client, server) = duplex(buffer);
		let connection = Connection::new(Budget::new(NEED), limits, None);
		(client, Gate::new(server, connection.clone()), connection)
	}

	/// The same, after the handshake of a WebSocket.
	async fn websocket(limits: Limits) -> (DuplexStream, Gate<DuplexStream>, Arc<Connection>) {
		let (mut client, mut gate, connection) = connected(10_000, limits);
		client.write_all(HEAD).await.unwrap();
		gate.read_exact(&mut [0; HEAD.len()]).await.unwrap();
		connection.follows(Body::Frames);
		gate.write_all(b"HTTP/1.1 101\r\n\r\n").await.unwrap();
		client.read_exact(&mut [0; 16]).await.unwrap();
		(client, gate, connection)
	}

	/// A masked text.
	fn text(length: u8) -> Vec<u8> {
		[&[0x81, 0x80 | length, 0, 0, 0, 0], &vec![b'x'; length.into()][..]].concat()
	}

	/// What is passed on at once, up to so many bytes.
	async fn read(gate: &mut Gate<DuplexStream>, most: usize) -> usize {
		let mut bytes = vec![0; most];
		let mut reading = std::pin::pin!(gate.read(&mut bytes));
		match futures::poll!(&mut reading) {
			Poll::Ready(read) => read.unwrap(),
			Poll::Pending => 0,
		}
	}

	#[tokio::test]
	async fn messages_are_passed_on_one_by_one_as_they_are_answered() {
		let (mut client, mut gate, connection) = websocket(LIMITS).await;
		let ping = [0x89, 0x80, 0, 0, 0, 0];
		client.write_all(&[&text(5)[..], &ping, &text(7), &text(9)].concat()).await.unwrap();
		for length in [5, 7, 9] {
			let mut message = vec![0; 6 + length];
			gate.read_exact(&mut message).await.unwrap();
			assert_eq!(message, text(length as u8));
			assert_eq!(connection.budget.taken(), (1 << 20) + 1_024, "a small request, and the largest answer");
			assert_eq!(read(&mut gate, 100).await, if length == 5 { ping.len() } else { 0 }, "what is no message passes");
			assert_eq!(read(&mut gate, 100).await, 0);
			gate.write_all(ANSWER).await.unwrap();
			assert_eq!(connection.budget.taken(), 0);
		}
	}

	#[tokio::test]
	async fn a_message_in_parts_is_one_call_and_what_subscriptions_say_ends_none() {
		let (mut client, mut gate, connection) = websocket(LIMITS).await;
		let part = |start: u8| vec![start, 0x81, 0, 0, 0, 0, b'x'];
		client.write_all(&[part(0x01), part(0x00), part(0x80), text(1)].concat()).await.unwrap();
		gate.read_exact(&mut [0; 21]).await.unwrap();
		assert_eq!(read(&mut gate, 100).await, 0);
		let notification = br#"{"jsonrpc":"2.0","method":"chain_newHead"}"#;
		gate.write_all(&[&[0x81, notification.len() as u8], &notification[..]].concat()).await.unwrap();
		assert_eq!(read(&mut gate, 100).await, 0);
		assert_eq!(connection.budget.taken(), NEED, "nobody knows how long a message in parts becomes");
		let answer = br#"{"jsonrpc":"2.0","id":1,"result":1}"#;
		gate.write_all(&[&[0x81, answer.len() as u8], &answer[..25]].concat()).await.unwrap();
		assert_eq!(connection.budget.taken(), 1_024, "an answer that has begun takes no more than it has");
		assert_eq!(read(&mut gate, 100).await, 0);
		gate.write_all(&answer[25..]).await.unwrap();
		assert_eq!(read(&mut gate, 100).await, 7);
	}

	#[tokio::test]
	async fn what_follows_a_handshake_waits_until_it_is_answered() {
		let (mut client, mut gate, connection) = connected(10_000, LIMITS);
		client.write_all(&[HEAD, &text(5), &text(5)].concat()).await.unwrap();
		assert_eq!(read(&mut gate, 1_000).await, HEAD.len());
		assert_eq!(read(&mut gate, 1_000).await, 0);
		connection.follows(Body::Frames);
		assert_eq!(read(&mut gate, 1_000).await, 11);
		assert_eq!(read(&mut gate, 1_000).await, 0);
	}

	#[tokio::test]
	async fn each_request_of_http_is_passed_on_by_itself_and_a_websocket_may_come_behind_others() {
		let (mut client, mut gate, connection) = connected(10_000, LIMITS);
		client.write_all(&[HEAD, b"body", HEAD, HEAD].concat()).await.unwrap();
		assert_eq!(read(&mut gate, 1_000).await, HEAD.len());
		assert_eq!(read(&mut gate, 1_000).await, 0);
		connection.follows(Body::Bytes(4));
		assert_eq!(read(&mut gate, 1_000).await, 4);
		assert_eq!(read(&mut gate, 1_000).await, HEAD.len());
		assert_eq!(read(&mut gate, 1_000).await, 0);
		connection.follows(Body::Bytes(0));
		assert_eq!(read(&mut gate, 1_000).await, HEAD.len());
		client.write_all(&[text(5), text(5)].concat()).await.unwrap();
		connection.follows(Body::Frames);
		assert_eq!(read(&mut gate, 1_000).await, 11);
		assert_eq!(read(&mut gate, 1_000).await, 0);
	}

	#[tokio::test]
	async fn all_that_follows_a_request_in_chunks_is_passed_on() {
		let (mut client, mut gate, connection) = connected(10_000, LIMITS);
		client.write_all(&[HEAD, b"chunks", HEAD].concat()).await.unwrap();
		assert_eq!(read(&mut gate, 1_000).await, HEAD.len());
		connection.follows(Body::Chunks);
		assert_eq!(read(&mut gate, 1_000).await, 6 + HEAD.len());
	}

	#[tokio::test]
	async fn what_others_may_read_as_something_else_ends_the_connection() {
		let (mut client, mut gate, connection) = connected(10_000, LIMITS);
		client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
		assert_eq!(read(&mut gate, 1_000).await, 16);
		connection.follows(Body::Frames);
		assert_eq!(gate.read_u8().await.unwrap_err().kind(), io::ErrorKind::InvalidData, "the head is not over");

		// A part of no message, and a message within another one.
		for frames in [vec![0x80, 0x81, 0, 0, 0, 0, b'x'], [&[0x01, 0x81, 0, 0, 0, 0, b'x'], &text(1)[..]].concat()] {
			let (mut client, mut gate, _) = websocket(LIMITS).await;
			client.write_all(&frames).await.unwrap();
			let mut passed = Vec::new();
			assert_eq!(gate.read_to_end(&mut passed).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
			assert_eq!(passed.len(), frames.len() - 7);
		}
	}

	#[tokio::test]
	async fn only_what_begins_as_one_call_is_certain_to_be_no_batch() {
		for (first, single) in [(b'{', true), (b'[', false), (b' ', false)] {
			let (mut client, mut gate, connection) = websocket(LIMITS).await;
			client.write_all(&[0x81, 0x82, 7, 9, 0, 0, first ^ 7, b'x' ^ 9]).await.unwrap();
			assert_eq!(read(&mut gate, 100).await, 8);
			assert_eq!(connection.is_single(), single);
		}
		// An empty part, masked so that the header behind it looks like the beginning of a call.
		let (mut client, mut gate, connection) = websocket(LIMITS).await;
		client.write_all(&[&[0x01, 0x80, 0x80 ^ b'{', 0, 0, 0][..], &[0x80, 0x81, 0, 0, 0, 0, b'[']].concat()).await.unwrap();
		gate.read_exact(&mut [0; 13]).await.unwrap();
		assert!(!connection.is_single());
	}

	#[tokio::test]
	async fn parts_that_are_too_long_together_end_the_connection_and_one_that_is_by_itself_is_skipped() {
		let limits = Limits { request: 8, ..LIMITS };
		let part = |start: u8, length: u8| [&[start, 0x80 | length, 0, 0, 0, 0], &vec![b'x'; length.into()][..]].concat();
		for last in [0x00, 0x80] {
			let (mut client, mut gate, _) = websocket(limits).await;
			client.write_all(&[part(0x01, 5), part(0x00, 3), part(last, 1)].concat()).await.unwrap();
			let mut passed = Vec::new();
			assert_eq!(gate.read_to_end(&mut passed).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
			assert_eq!(passed.len(), 11 + 9, "two parts have as many bytes as a message may have");
		}
		let (mut client, mut gate, _) = websocket(limits).await;
		client.write_all(&[part(0x01, 9), part(0x80, 1)].concat()).await.unwrap();
		assert!(gate.read_to_end(&mut Vec::new()).await.is_err());

		let (mut client, mut gate, connection) = websocket(limits).await;
		client.write_all(&[text(9), text(5)].concat()).await.unwrap();
		gate.read_exact(&mut [0; 15]).await.unwrap();
		assert_eq!(read(&mut gate, 100).await, 0, "it is answered first");
		gate.write_all(ANSWER).await.unwrap();
		assert_eq!(read(&mut gate, 100).await, 11);
		assert!(connection.until().is_some());
	}

	#[tokio::test]
	async fn bytes_that_have_come_give_a_request_time_but_no_more_than_it_may_have() {
		let limits = Limits { request: 128 << 10, coming: LATER, ..LIMITS };
		let (mut client, mut gate, connection) = websocket(limits).await;
		// It says that it has a gigabyte.
		client.write_all(&[&[0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0][..], &[b'x'; 1_000]].concat()).await.unwrap();
		gate.read_exact(&mut [0; 14]).await.unwrap();
		let until = connection.until().unwrap();
		assert!(until < Instant::now() + LATER + Duration::from_millis(1), "none has come but the header");
		for _ in 0..300 {
			gate.read_exact(&mut [0; 1_000]).await.unwrap();
			client.write_all(&[b'x'; 1_000]).await.unwrap();
		}
		let more = connection.until().unwrap() - until;
		assert!((1_999..=2_000).contains(&more.as_millis()), "128 KiB in {more:?}");

		let (mut client, mut gate, connection) = connected(10_000, limits);
		client.write_all(&[HEAD, b"body"].concat()).await.unwrap();
		gate.read_exact(&mut [0; HEAD.len()]).await.unwrap();
		connection.begin(connection.budget.clone().reserve(NEED).await.unwrap(), true);
		connection.follows(Body::Bytes(1 << 30));
		let until = connection.until().unwrap();
		gate.read_exact(&mut [0; 4]).await.unwrap();
		assert_eq!(connection.until().unwrap() - until, Duration::from_nanos(4 * 15_258));
	}

	#[tokio::test]
	async fn a_call_over_http_is_over_once_its_answer_is_written() {
		let (mut client, mut gate, connection) = connected(4, LIMITS);
		connection.begin(connection.budget.clone().reserve(NEED).await.unwrap(), true);
		gate.flush().await.unwrap();
		assert_eq!(connection.budget.taken(), NEED, "nothing is answered yet");
		connection.answer_of(8);
		connection.answered();
		let (written, answer) = tokio::join!(gate.write_all(b"12345678"), async {
			let mut answer = [0; 8];
			client.read_exact(&mut answer).await.map(|_| answer)
		});
		written.unwrap();
		assert_eq!(&answer.unwrap(), b"12345678");
		assert_eq!(connection.budget.taken(), 1_024);
		let mut idle = Box::pin(connection.idle());
		assert!(futures::poll!(&mut idle).is_pending(), "the next request waits");
		gate.flush().await.unwrap();
		idle.await;
		assert_eq!(connection.budget.taken(), 0);
	}

	#[tokio::test]
	async fn a_client_that_takes_nothing_is_left() {
		let (_client, mut gate, _connection) = connected(4, Limits { taking: SOON, ..LIMITS });
		assert_eq!(gate.write_all(b"12345").await.unwrap_err().kind(), io::ErrorKind::TimedOut);
		assert!(gate.read(&mut [0; 1]).await.is_err());
	}

	#[tokio::test]
	async fn an_answer_must_be_taken_in_its_time_however_little_is_taken_in_between() {
		let (mut client, mut gate, connection) = connected(4, Limits { taking: SOON, ..LIMITS });
		connection.begin(connection.budget.clone().reserve(NEED).await.unwrap(), true);
		connection.answer_of(1_000);
		let trickle = async {
			// The other side closes: no time is measured here.
			while client.read_u8().await.is_ok() {
				tokio::time::sleep(SOON / 10).await;
			}
		};
		let written = async {
			let written = gate.write_all(&[0; 1_000]).await;
			drop(gate);
			written
		};
		let (written, ()) = tokio::join!(written, trickle);
		assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
	}

	#[tokio::test]
	async fn a_request_that_comes_too_slowly_and_a_call_that_takes_too_long_end_the_connection() {
		for (limits, part) in [(Limits { coming: SOON, ..LIMITS }, 7), (Limits { call: SOON, ..LIMITS }, 11)] {
			let (mut client, mut gate, _connection) = websocket(limits).await;
			client.write_all(&text(5)[..part]).await.unwrap();
			gate.read_exact(&mut vec![0; part]).await.unwrap();
			assert_eq!(gate.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
			assert!(gate.write_all(b"1").await.is_err());
		}
	}
}
