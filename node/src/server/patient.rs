//! A connection that does not wait for ever for its client to take what is written. hyper has no time for that, and a client that takes nothing would keep
//! its place and the memory of its answer.

use super::{coming::slow, time_of};
use std::{
	future::Future,
	io::{self, IoSlice},
	pin::Pin,
	task::{Context, Poll},
	time::Duration,
};
use tokio::{
	io::{AsyncRead, AsyncWrite, ReadBuf},
	time::{sleep_until, Instant, Sleep},
};

/// A connection whose writes fail if its client is too slow.
pub struct Patient<Io> {
	io: Io,
	/// Time for which the client may take nothing, and that for what is written to be taken beside that for its bytes.
	taking: Duration,
	waiting: Option<(Waiting, Pin<Box<Sleep>>)>,
}

/// A client that has not taken all that is written.
#[derive(Clone, Copy)]
struct Waiting {
	since: Instant,
	/// When it took something last.
	last: Instant,
	/// Bytes that it took since.
	taken: u64,
}

impl Waiting {
	/// When it must have taken more. However little it takes in between, it must take all in its time.
	fn until(&self, taking: Duration) -> Instant {
		self.last.min(self.since + time_of(self.taken)) + taking
	}
}

impl<Io> Patient<Io> {
	/// Watches what is written to `io`, for which nobody may take nothing for longer than `taking`.
	pub fn new(io: Io, taking: Duration) -> Self {
		Self { io, taking, waiting: None }
	}

	fn watch(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
		match written {
			Poll::Ready(Ok(bytes)) => {
				if let Some((waiting, _)) = &mut self.waiting {
					waiting.last = Instant::now();
					waiting.taken = waiting.taken.saturating_add(bytes as u64);
				}
				written
			}
			Poll::Ready(Err(_)) => written,
			Poll::Pending => {
				let (waiting, ends) = self.waiting.get_or_insert_with(|| {
					let now = Instant::now();
					(Waiting { since: now, last: now, taken: 0 }, Box::pin(sleep_until(now)))
				});
				ends.as_mut().reset(waiting.until(self.taking));
				ends.as_mut().poll(context).map(|()| Err(slow()))
			}
		}
	}
}

impl<Io: AsyncRead + Unpin> AsyncRead for Patient<Io> {
	fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
		Pin::new(&mut self.get_mut().io).poll_read(context, buffer)
	}
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Patient<Io> {
	fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
		self.poll_write_vectored(context, &[IoSlice::new(bytes)])
	}

	fn poll_write_vectored(self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
		let this = self.get_mut();
		let written = Pin::new(&mut this.io).poll_write_vectored(context, slices);
		this.watch(context, written)
	}

	// hyper keeps an answer, and with it its memory, until it is written, only if this is so.
	fn is_write_vectored(&self) -> bool {
		self.io.is_write_vectored()
	}

	/// Whoever writes flushes what is written to its end.
	fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
		let this = self.get_mut();
		let flushed = Pin::new(&mut this.io).poll_flush(context);
		if flushed.is_ready() {
			this.waiting = None;
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
	use tokio::io::{duplex, AsyncReadExt, AsyncWriteExt};

	#[tokio::test]
	async fn a_client_that_takes_nothing_is_left_though_it_took_much_before() {
		let (mut client, server) = duplex(1_000);
		let mut server = Patient::new(server, Duration::from_secs(1));
		let (answer, mut buffer) = (vec![0; 2 << 20], vec![0; 1 << 20]);
		let reading = async { client.read_exact(&mut buffer).await.map(drop) };
		let (written, read) = tokio::join!(server.write_all(&answer), reading);
		assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
		read.unwrap();
	}

	#[tokio::test]
	async fn what_is_written_must_be_taken_in_its_time_however_little_is_taken_in_between() {
		let (since, second) = (Instant::now(), Duration::from_secs(1));
		let until = |last: u32, taken: u64| (Waiting { since, last: since + last * second, taken }.until(30 * second) - since).as_secs();
		assert_eq!(until(0, 0), 30);
		assert_eq!(until(29, 29), 30, "a byte in a second");
		assert_eq!(until(29, 640 << 10), 40, "ten seconds' worth of bytes");
		assert_eq!(until(100, 64 << 20), 130, "all is taken fast enough");
		assert_eq!(until(1, 64 << 20), 31, "and then nothing");
	}
}
