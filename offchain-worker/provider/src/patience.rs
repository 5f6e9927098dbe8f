//! Timeouts of clients, and a connection that waits no longer. hyper has no time for an answer that is not taken, nor one for the next request
//! that is not one for its head as well.

use std::{
	future::Future,
	io::{self, IoSlice},
	pin::Pin,
	sync::{
		atomic::{AtomicUsize, Ordering},
		Arc,
	},
	task::{Context, Poll},
	time::Duration,
};
use tokio::{
	io::{AsyncRead, AsyncWrite, ReadBuf},
	time::{sleep, sleep_until, Instant, Sleep},
};

/// Bytes that a client has to take in a second, beside the time that it has for all: as a slow telephone does.
const RATE: u64 = 4 << 10;

/// Times that a client is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Patience {
	/// For the head of a request: from the beginning of the connection, or from the head's first byte.
	pub(super) header: Duration,
	/// For the body of a request.
	pub(super) body: Duration,
	/// For what is written to be taken, beside the time for its bytes. For so long a client may take nothing at all.
	pub(super) write: Duration,
	/// For the next request over a connection.
	pub(super) idle: Duration,
	/// For the answers that are under way when the server stops.
	pub(super) drain: Duration,
}

impl Default for Patience {
	fn default() -> Self {
		Self {
			header: Duration::from_secs(10),
			body: Duration::from_secs(30),
			write: Duration::from_secs(60),
			// Longer than proxies keep connections, for 60 seconds as a rule: one that closes first sends no request into a connection that is closed here.
			idle: Duration::from_secs(75),
			drain: Duration::from_secs(30),
		}
	}
}

/// Turns on a connection: the client's until it has sent the head of a request, then the server's until the answer is written. Clones share it.
#[derive(Clone, Default, Debug)]
pub(super) struct Turns(
	/// Number of times that it changed. Of one connection's requests, one is answered at a time: at odd numbers.
	Arc<AtomicUsize>,
);

/// The server's turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(Turns);

impl Turns {
	/// Begins a turn of the server.
	pub(super) fn begin(&self) -> Turn {
		// All of a connection is one task.
		self.0.fetch_add(1, Ordering::Relaxed);
		Turn(self.clone())
	}

	fn number(&self) -> usize {
		self.0.load(Ordering::Relaxed)
	}
}

impl Drop for Turn {
	fn drop(&mut self) {
		self.0 .0.fetch_add(1, Ordering::Relaxed);
	}
}

/// A client that has not taken all that is written.
#[derive(Clone, Copy, Debug)]
struct Untaken {
	since: Instant,
	/// Time at which it took something last.
	last: Instant,
	/// Bytes that it took since.
	taken: u64,
}

impl Untaken {
	/// Returns the time by which it must have taken more. However little it takes in between, it must take all in its time.
	fn until(&self, write: Duration) -> Instant {
		self.last.min(self.since + Duration::from_millis(self.taken.saturating_mul(1_000) / RATE)) + write
	}
}

/// A connection whose reads and writes fail if its client is too slow.
#[derive(Debug)]
pub(super) struct Patient<Io> {
	io: Io,
	patience: Patience,
	turns: Turns,
	/// The number of the turn that the two below belong to.
	turn: usize,
	/// True if the head of a request may have begun.
	begun: bool,
	/// Time by which it must have come, or begun.
	comes: Option<Pin<Box<Sleep>>>,
	/// Bytes that are not taken yet, and the time by which more of them must be.
	untaken: Option<(Untaken, Pin<Box<Sleep>>)>,
}

fn late(what: &str) -> io::Error {
	io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<Io> Patient<Io> {
	/// Watches `io`, of a connection whose turns are `turns`. The first head has begun.
	pub(super) fn new(io: Io, patience: Patience, turns: Turns) -> Self {
		Self { io, patience, turn: turns.number(), turns, begun: true, comes: None, untaken: None }
	}

	/// Notices that the turn has changed.
	fn turn(&mut self) {
		let turn = self.turns.number();
		if turn != self.turn {
			(self.turn, self.begun, self.comes) = (turn, false, None);
		}
	}

	/// Returns whether it is the client's turn.
	fn is_clients(&self) -> bool {
		self.turn.is_multiple_of(2)
	}

	/// After a read that gave nothing: whether the client has had its time.
	fn waits(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
		// While it takes an answer, it need not ask for another.
		if !self.begun && self.untaken.is_some() {
			return Poll::Pending;
		}
		let time = if self.begun { self.patience.header } else { self.patience.idle };
		let comes = self.comes.get_or_insert_with(|| Box::pin(sleep(time)));
		comes.as_mut().poll(context).map(|()| Err(late("no request came in its time")))
	}

	/// After a write.
	fn wrote(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
		match written {
			Poll::Ready(Ok(bytes)) => {
				if let Some((untaken, _)) = &mut self.untaken {
					untaken.last = Instant::now();
					untaken.taken = untaken.taken.saturating_add(bytes as u64);
				}
				written
			}
			Poll::Ready(Err(_)) => written,
			Poll::Pending => {
				let (untaken, ends) = self.untaken.get_or_insert_with(|| {
					let now = Instant::now();
					(Untaken { since: now, last: now, taken: 0 }, Box::pin(sleep_until(now)))
				});
				ends.as_mut().reset(untaken.until(self.patience.write));
				ends.as_mut().poll(context).map(|()| Err(late("the answer was not taken in its time")))
			}
		}
	}
}

impl<Io: AsyncRead + Unpin> AsyncRead for Patient<Io> {
	fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
		let this = self.get_mut();
		this.turn();
		let before = buffer.filled().len();
		let read = Pin::new(&mut this.io).poll_read(context, buffer);
		// In the server's turn, whoever reads a body has a time for it.
		if !this.is_clients() {
			return read;
		}
		match read {
			Poll::Pending => this.waits(context),
			Poll::Ready(Ok(())) if !this.begun && buffer.filled().len() > before => {
				(this.begun, this.comes) = (true, None);
				read
			}
			Poll::Ready(_) => read,
		}
	}
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Patient<Io> {
	fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
		self.poll_write_vectored(context, &[IoSlice::new(bytes)])
	}

	fn poll_write_vectored(self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
		let this = self.get_mut();
		let written = Pin::new(&mut this.io).poll_write_vectored(context, slices);
		this.wrote(context, written)
	}

	fn is_write_vectored(&self) -> bool {
		self.io.is_write_vectored()
	}

	/// hyper flushes whenever all is written, and it need not read then, if it knows already that there is nothing to be read.
	fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
		let this = self.get_mut();
		let flushed = Pin::new(&mut this.io).poll_flush(context);
		if flushed.is_ready() {
			this.untaken = None;
			this.turn();
			// So the time for the next request begins here. A read tells that it is over.
			if this.is_clients() && !this.begun {
				let _ = this.waits(context);
			}
		}
		flushed
	}

	fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
		Pin::new(&mut self.get_mut().io).poll_shutdown(context)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use tokio::io::{duplex, AsyncReadExt, AsyncWriteExt, DuplexStream};

	const SHORT: Duration = Duration::from_millis(100);
	/// Longer than any test.
	const LONG: Duration = Duration::from_secs(600);

	fn patience() -> Patience {
		Patience { header: LONG, body: LONG, write: LONG, idle: LONG, drain: LONG }
	}

	/// A client, and the connection to it.
	fn connection(patience: Patience) -> (DuplexStream, Patient<DuplexStream>, Turns) {
		let ((client, server), turns) = (duplex(1_000), Turns::default());
		(client, Patient::new(server, patience, turns.clone()), turns)
	}

	async fn read(server: &mut Patient<DuplexStream>) -> io::Result<usize> {
		server.read(&mut [0; 100]).await
	}

	fn is_late<T: std::fmt::Debug>(result: io::Result<T>) -> bool {
		result.unwrap_err().kind() == io::ErrorKind::TimedOut
	}

	#[tokio::test]
	async fn a_head_has_one_time_from_the_connection_on_and_from_its_first_byte_on() {
		let (_client, mut server, _) = connection(Patience { header: SHORT, ..patience() });
		assert!(is_late(read(&mut server).await));

		let (mut client, mut server, turns) = connection(Patience { header: SHORT, ..patience() });
		client.write_all(b"head").await.unwrap();
		assert_eq!(read(&mut server).await.unwrap(), 4);
		// A body has no time here, and a client that has asked waits as long as it likes.
		let turn = turns.begin();
		assert!(tokio::time::timeout(2 * SHORT, read(&mut server)).await.is_err());
		drop(turn);
		assert!(tokio::time::timeout(2 * SHORT, read(&mut server)).await.is_err());
		// Bytes that come within the time do not prolong it.
		let begun = Instant::now();
		let slowly = async {
			loop {
				client.write_all(b"h").await.unwrap();
				sleep(SHORT / 10).await;
			}
		};
		let all = async { while read(&mut server).await.inspect_err(|error| assert_eq!(error.kind(), io::ErrorKind::TimedOut)).is_ok() {} };
		tokio::select! {
			() = slowly => {}
			() = all => {}
		}
		assert!(begun.elapsed() >= SHORT);
	}

	#[tokio::test]
	async fn the_next_request_has_its_time_once_the_answer_is_taken() {
		let (mut client, mut server, turns) = connection(Patience { idle: 2 * SHORT, ..patience() });
		drop(turns.begin());
		let begun = Instant::now();
		assert!(is_late(read(&mut server).await));
		assert!(begun.elapsed() >= 2 * SHORT);

		drop(turns.begin());
		let writing = tokio::time::timeout(SHORT, server.write_all(&[0; 1_500])).await;
		assert!(writing.is_err() && server.untaken.is_some());
		// While an answer is not taken, no request is late.
		assert!(tokio::time::timeout(5 * SHORT, read(&mut server)).await.is_err());
		client.read_exact(&mut [0; 1_000]).await.unwrap();
		server.flush().await.unwrap();
		let taken = Instant::now();
		assert!(is_late(read(&mut server).await));
		assert!(taken.elapsed() >= SHORT);
	}

	#[tokio::test]
	async fn a_client_that_takes_nothing_is_left_though_it_took_much_before() {
		let (mut client, mut server, _) = connection(Patience { write: SHORT, ..patience() });
		let (answer, mut buffer) = (vec![0; 2 << 20], vec![0; 1 << 20]);
		let reading = async { client.read_exact(&mut buffer).await.map(drop) };
		let (written, read) = tokio::join!(server.write_all(&answer), reading);
		assert!(is_late(written));
		read.unwrap();
	}

	#[tokio::test]
	async fn what_is_written_must_be_taken_in_its_time_however_little_is_taken_in_between() {
		let (since, second) = (Instant::now(), Duration::from_secs(1));
		let until = |last: u32, taken: u64| (Untaken { since, last: since + last * second, taken }.until(60 * second) - since).as_secs();
		assert_eq!(until(0, 0), 60);
		assert_eq!(until(59, 59), 60, "a byte in a second");
		assert_eq!(until(59, 10 * RATE), 70, "ten seconds' worth of bytes");
		assert_eq!(until(100, 1_000 * RATE), 160, "all is taken fast enough");
		assert_eq!(until(1, 1_000 * RATE), 61, "and then nothing");
	}
}
