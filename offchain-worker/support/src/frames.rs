//! Bytes of messages from a stream, as many as a length says that nobody vouches for.

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that are made room for before any has come.
const PORTION: usize = 1 << 20;

/// Why a frame is not taken.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
	/// The stream.
	#[error("the connection has ended: {0}")]
	Io(#[from] std::io::Error),
	/// Too long.
	#[error("a message of {0} bytes is longer than any")]
	TooLong(u32),
	/// No message.
	#[error("a message could not be read")]
	Malformed,
}

/// Reads `length` bytes, if those are no more than `most`. Memory is taken as they come, so that a length alone takes none.
///
/// # Errors
/// [`FrameError::TooLong`], [`FrameError::Io`].
pub async fn read(from: &mut (impl AsyncRead + Unpin), length: u32, most: u32) -> Result<Vec<u8>, FrameError> {
	if length > most {
		return Err(FrameError::TooLong(length));
	}
	let length = usize::try_from(length).unwrap_or(usize::MAX);
	let mut bytes = Vec::with_capacity(length.min(PORTION));
	while bytes.len() < length {
		let have = bytes.len();
		bytes.resize(length.min(have.saturating_add(PORTION)), 0);
		from.read_exact(&mut bytes[have..]).await?;
	}
	Ok(bytes)
}
