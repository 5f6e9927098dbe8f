//! Links between members: a stream of bytes each, with bounded queues on both ends that push back.

use crate::message::Message;
use codec::{DecodeAll, Encode};
use neuroshard_support::frames::{self, FrameError};
use tokio::{
	io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
	sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// Bytes of what is no rows, at most.
const RECORD: u32 = 4 << 20;

/// Messages that arrive, each with its sender; last of each the end of its link.
pub type Arrived = (usize, Result<Message, FrameError>);

/// Sends what is queued until the queue is closed, or the token cancelled.
pub async fn write(mut stream: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Message>, cancel: CancellationToken) {
	let sends = async {
		while let Some(message) = queue.recv().await {
			if send(&mut stream, &message).await.is_err() {
				// The reader tells that it has ended.
				return;
			}
		}
		let _ = stream.shutdown().await;
	};
	tokio::select! {
		() = sends => {}
		() = cancel.cancelled() => {}
	}
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), message: &Message) -> std::io::Result<()> {
	let bytes = message.encode();
	let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
	stream.write_all(&length.to_le_bytes()).await?;
	stream.write_all(&bytes).await?;
	stream.flush().await
}

/// Bytes of the longest message between members whose rows of a micro-batch are so many numbers.
pub fn longest(numbers: usize) -> u32 {
	u32::try_from(numbers).unwrap_or(u32::MAX).saturating_mul(4).saturating_add(1 << 10).max(RECORD)
}

/// Reads messages of member `from`, of [`longest`] bytes at most, into the inbox, no faster than they are taken out of it, until the stream ends or the token is
/// cancelled.
pub async fn read(
	(from, longest): (usize, u32),
	mut stream: impl AsyncRead + Unpin,
	inbox: mpsc::Sender<Arrived>,
	cancel: CancellationToken,
) {
	let reads = async {
		loop {
			let message = receive(&mut stream, longest).await;
			let ended = message.is_err();
			if inbox.send((from, message)).await.is_err() || ended {
				return;
			}
		}
	};
	tokio::select! {
		() = reads => {}
		() = cancel.cancelled() => {}
	}
}

async fn receive(stream: &mut (impl AsyncRead + Unpin), longest: u32) -> Result<Message, FrameError> {
	let mut length = [0; 4];
	stream.read_exact(&mut length).await?;
	let bytes = frames::read(stream, u32::from_le_bytes(length), longest).await?;
	Message::decode_all(&mut &bytes[..]).map_err(|_| FrameError::Malformed)
}
