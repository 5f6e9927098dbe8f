//! Content messages on a stream, with every length checked before anything is allocated.

use super::{
	message::{Answer, Incoming, Refusal, Request, MAX_ANSWER_BYTES, MAX_REQUEST_BYTES},
	traffic::Traffic,
};
use codec::{DecodeAll, Encode};
use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use libp2p::{request_response, StreamProtocol};
use std::{io, sync::Arc};

const TAG_DATA: u8 = 0;
const TAG_REFUSED: u8 = 1;

/// What is wrong with an answer. Travels inside an [`io::Error`], since that is all the transport hands through.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum WireError {
	#[error("an answer of {bytes} bytes is longer than any may be")]
	Oversize { bytes: u64 },
	#[error("{0}")]
	Malformed(&'static str),
}

impl From<WireError> for io::Error {
	fn from(error: WireError) -> Self {
		Self::new(io::ErrorKind::InvalidData, error)
	}
}

/// Reads and writes messages, counting bytes.
#[derive(Clone)]
pub(crate) struct ContentCodec {
	traffic: Arc<Traffic>,
}

impl ContentCodec {
	pub(crate) fn new(traffic: Arc<Traffic>) -> Self {
		Self { traffic }
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
		io.write_all(&[tag, a, b, c, d]).await?;
		io.write_all(&data).await?;
		self.traffic.add_sent(5 + data.len());
		Ok(())
	}
}
