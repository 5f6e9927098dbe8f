//! Content messages on a stream, with every length checked before anything is allocated.

use crate::{
	config::Clock,
	message::{Answer, Incoming, Refusal, Request, MAX_ANSWER_BYTES, MAX_REQUEST_BYTES},
	traffic::Traffic,
};
use codec::{DecodeAll, Encode};
use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use libp2p::{request_response, StreamProtocol};
use std::{io, sync::Arc, time::Duration};

const TAG_DATA: u8 = 0;
const TAG_REFUSED: u8 = 1;
/// Bytes of an answer that are written under one time-out.
const PART: usize = 64 * 1024;

/// Error of an answer, or of the peer that asked for it. Travels inside an [`io::Error`], since that is all the transport hands through.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum WireError {
	#[error("an answer of {bytes} bytes is longer than any may be")]
	Oversize { bytes: u64 },
	#[error("{0}")]
	Malformed(&'static str),
	#[error("the answer was not taken, or too slowly")]
	NotTaken,
}

impl From<WireError> for io::Error {
	fn from(error: WireError) -> Self {
		Self::new(io::ErrorKind::InvalidData, error)
	}
}

/// Pace at which a peer has to take what it asked for.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
	/// For the next [`PART`] of an answer.
	pub(crate) write: Duration,
	/// Bytes in a second on average, after the first [`Self::write`].
	pub(crate) least_rate: u64,
	/// The time.
	pub(crate) clock: Clock,
}

impl Pace {
	/// Longest time for so many bytes.
	fn longest(&self, bytes: usize) -> Duration {
		let millis = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(1_000) / self.least_rate.max(1);
		self.write.saturating_add(Duration::from_millis(millis))
	}

	/// Writes `pieces` one after the other, if they are taken fast enough.
	///
	/// # Errors
	/// [`WireError::NotTaken`], or what the stream says.
	async fn write<T: AsyncWrite + Unpin + Send>(&self, io: &mut T, pieces: [&[u8]; 2]) -> io::Result<()> {
		let begun = self.clock.now();
		let mut written = 0usize;
		for part in pieces.into_iter().flat_map(|piece| piece.chunks(PART)) {
			tokio::time::timeout(self.write, io.write_all(part)).await.map_err(|_| WireError::NotTaken)??;
			written = written.saturating_add(part.len());
			if self.clock.now().saturating_duration_since(begun) > self.longest(written) {
				return Err(WireError::NotTaken.into());
			}
		}
		Ok(())
	}
}

/// Reads and writes messages, counting bytes.
#[derive(Clone)]
pub(crate) struct ContentCodec {
	traffic: Arc<Traffic>,
	pace: Pace,
}

impl ContentCodec {
	pub(crate) fn new(traffic: Arc<Traffic>, pace: Pace) -> Self {
		Self { traffic, pace }
	}
}

async fn read_u32<T: AsyncRead + Unpin + Send>(io: &mut T) -> io::Result<u32> {
	let mut bytes = [0; 4];
	io.read_exact(&mut bytes).await?;
	Ok(u32::from_le_bytes(bytes))
}

async fn read_vec<T: AsyncRead + Unpin + Send>(io: &mut T, length: u32) -> io::Result<Vec<u8>> {
	let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
	io.read_exact(&mut bytes).await?;
	Ok(bytes)
}

impl request_response::Codec for ContentCodec {
	type Protocol = StreamProtocol;
	type Request = Incoming;
	type Response = Answer;

	async fn read_request<T: AsyncRead + Unpin + Send>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Incoming> {
		let length = read_u32(io).await?;
		if length > MAX_REQUEST_BYTES {
			return Ok(Err(Refusal::Oversize));
		}
		let bytes = read_vec(io, length).await?;
		self.traffic.add_received(4 + bytes.len());
		Ok(Request::decode_all(&mut bytes.as_slice()).map_err(|_| Refusal::Malformed))
	}

	async fn read_response<T: AsyncRead + Unpin + Send>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Answer> {
		let mut tag = [0];
		io.read_exact(&mut tag).await?;
		let length = read_u32(io).await?;
		if length > MAX_ANSWER_BYTES {
			return Err(WireError::Oversize { bytes: length.into() }.into());
		}
		let data = read_vec(io, length).await?;
		self.traffic.add_received(5 + data.len());
		match (tag, data.as_slice()) {
			([TAG_DATA], _) => Ok(Answer::Data(data)),
			([TAG_REFUSED], [code]) => match Refusal::from_code(*code) {
				Some(refusal) => Ok(Answer::Refused(refusal)),
				None => Err(WireError::Malformed("an unknown refusal").into()),
			},
			_ => Err(WireError::Malformed("an unknown kind of answer").into()),
		}
	}

	async fn write_request<T: AsyncWrite + Unpin + Send>(&mut self, _: &StreamProtocol, io: &mut T, request: Incoming) -> io::Result<()> {
		let body = request.map_err(io::Error::other)?.encode();
		let length = u32::try_from(body.len()).map_err(io::Error::other)?;
		let message = [&length.to_le_bytes(), body.as_slice()].concat();
		io.write_all(&message).await?;
		self.traffic.add_sent(message.len());
		Ok(())
	}

	async fn write_response<T: AsyncWrite + Unpin + Send>(&mut self, _: &StreamProtocol, io: &mut T, answer: Answer) -> io::Result<()> {
		let (tag, data) = match answer {
			Answer::Data(data) => (TAG_DATA, data),
			Answer::Refused(refusal) => (TAG_REFUSED, vec![refusal.code()]),
		};
		let length = u32::try_from(data.len()).map_err(io::Error::other)?;
		let [a, b, c, d] = length.to_le_bytes();
		self.pace.write(io, [&[tag, a, b, c, d], &data]).await?;
		self.traffic.add_sent(5 + data.len());
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use request_response::Codec;
	use std::{
		pin::Pin,
		sync::Mutex,
		task::{Context, Poll},
		time::Instant,
	};

	/// Longest answer.
	const BYTES: usize = 512 * 1024;

	/// A peer that takes so many bytes at once, which lasts so long on its own clock, and no more than `most`.
	struct Reader {
		now: Arc<Mutex<Instant>>,
		bytes: usize,
		lasts: Duration,
		most: usize,
		taken: usize,
	}

	impl AsyncWrite for Reader {
		fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
			let count = buffer.len().min(self.bytes).min(self.most - self.taken);
			if count == 0 {
				return Poll::Pending;
			}
			*self.now.lock().unwrap() += self.lasts;
			self.taken += count;
			Poll::Ready(Ok(count))
		}

		fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
			Poll::Ready(Ok(()))
		}

		fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
			Poll::Ready(Ok(()))
		}
	}

	/// Sends the longest answer with this time-out of a write: whether the peer gets all of it, what it took, and in which time.
	async fn answer(write: Duration, bytes: usize, lasts: Duration, most: usize) -> (bool, usize, Duration) {
		let begun = Instant::now();
		let now = Arc::new(Mutex::new(begun));
		let clock = now.clone();
		let pace = Pace { write, least_rate: 64 * 1024, clock: Clock::new(move || *clock.lock().unwrap()) };
		let mut reader = Reader { now, bytes, lasts, most, taken: 0 };
		let mut codec = ContentCodec::new(Arc::default(), pace);
		let outcome = codec.write_response(&StreamProtocol::new("/test"), &mut reader, Answer::Data(vec![7; BYTES])).await;
		if let Err(error) = &outcome {
			assert_eq!(error.get_ref().and_then(|inner| inner.downcast_ref()), Some(&WireError::NotTaken), "{error}");
		}
		let took = reader.now.lock().unwrap().duration_since(begun);
		(outcome.is_ok(), reader.taken, took)
	}

	#[tokio::test]
	async fn a_peer_that_takes_nothing_more_is_given_up() {
		for taken in [0, 5, 5 + PART, 5 + BYTES - 1] {
			assert_eq!(answer(Duration::ZERO, usize::MAX, Duration::ZERO, taken).await, (false, taken, Duration::ZERO));
		}
		assert_eq!(answer(Duration::ZERO, usize::MAX, Duration::ZERO, usize::MAX).await, (true, 5 + BYTES, Duration::ZERO));
	}

	#[tokio::test]
	async fn a_peer_that_takes_an_answer_too_slowly_is_given_up_although_it_goes_on() {
		// 64 KiB a second are the least, after a second. The first five bytes last as long as every other 16 KiB.
		let at = |millis| answer(Duration::from_secs(1), 16 * 1024, Duration::from_millis(millis), usize::MAX);
		assert_eq!(at(250).await, (true, 5 + BYTES, Duration::from_millis(8_250)));
		// 256 KiB within 5.1 s, where they have 5 s.
		assert_eq!(at(300).await, (false, 5 + BYTES / 2, Duration::from_millis(5_100)));
	}
}
