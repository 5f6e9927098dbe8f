//! Messages between the driver of a ring and those who hold its spans: frames of a length and a SCALE-encoded message, and behind messages
//! with rows the rows themselves, as bytes of f32, the lowest first.

use super::accounts::{Terms, Unfit};
use codec::{DecodeAll, Encode};
use neuroshard_compute::exec::{Output, Stage, Wanted};
use neuroshard_graph::{merkle::blake2_256, tiles::bytes_of, Class, ModelConfig};
use neuroshard_support::frames;
pub(super) use neuroshard_support::frames::FrameError;
use neuroshard_types::{announcement::Held, AccountId, H256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of a message, and of its rows, at most.
const LONGEST_MESSAGE: u32 = 4 << 20;
const LONGEST_ROWS: u32 = 256 << 20;

/// Request of a driver to a holder.
#[derive(Clone, PartialEq, Debug, Encode, codec::Decode)]
pub(super) enum Request {
	/// Asks for the holder's profile. Rows that come with it measure the way.
	Profile,
	/// Hold this part of this model, for so many pages of the KV cache.
	Hold(Hold),
	/// Compute. The rows that go in follow, unless tokens are given.
	Pass(Pass),
	/// Tell the rows of the last pass, if it is this one.
	Again(u64),
	/// The account that you name is not used, and so you are not.
	Unfit(Unfit),
}

/// A part of a model.
#[derive(Clone, PartialEq, Eq, Debug, Encode, codec::Decode)]
pub(super) struct Hold {
	/// Root of the parameters.
	pub(super) parameters: H256,
	/// The arithmetic.
	pub(super) class: Class,
	/// True if tokens become rows here.
	pub(super) embedding: bool,
	/// First layer.
	pub(super) first: u32,
	/// Number of layers.
	pub(super) layers: u32,
	/// True if rows become logits here.
	pub(super) head: bool,
	/// Pages of the KV cache, at most.
	pub(super) pages: u32,
	/// Terms that are offered on chain with whoever holds it, if its account is to be on the offer.
	pub(super) terms: Option<Terms>,
}

impl Hold {
	/// The same as announcements say it, of a model with so many layers.
	pub(super) fn held(&self, layers: u32) -> Held {
		let narrow = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
		// The embedding is part 0.
		let first = if self.embedding { 0 } else { self.first.saturating_add(1) };
		let end = if self.head { layers.saturating_add(2) } else { self.first.saturating_add(self.layers).saturating_add(1) };
		Held { parameters: self.parameters, class: self.class, first: narrow(first), parts: narrow(end.saturating_sub(first).max(1)) }
	}

	/// The stage, of a model.
	pub(super) fn stage(&self) -> Stage {
		let size = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
		let first = size(self.first);
		Stage { embedding: self.embedding, layers: first..first.saturating_add(size(self.layers)), head: self.head }
	}
}

/// Kind of a pass, by what is wanted of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, codec::Decode)]
pub(super) enum Kind {
	/// The rows of all tokens.
	Rows,
	/// The wanted rows after the last norm.
	Hidden,
	/// The logits of the wanted rows.
	Logits,
}

impl From<Kind> for Output {
	fn from(kind: Kind) -> Self {
		match kind {
			Kind::Rows => Self::Rows,
			Kind::Hidden => Self::Hidden,
			Kind::Logits => Self::Logits,
		}
	}
}

/// A pass of several texts.
#[derive(Clone, PartialEq, Eq, Debug, Encode, codec::Decode)]
pub(super) struct Pass {
	/// Counted by the driver.
	pub(super) number: u64,
	/// Kind of the pass.
	pub(super) kind: Kind,
	/// True if the rows that come out are told, false if only their hashes are.
	pub(super) told: bool,
	/// Pages that no text has any more.
	pub(super) given_up: Vec<u64>,
	/// The texts.
	pub(super) texts: Vec<TextPart>,
	/// Hash of the rows that go in, in the order of the texts; `None` if the tokens go in.
	pub(super) rows: Option<H256>,
}

/// Part of a text in a pass.
#[derive(Clone, PartialEq, Eq, Debug, Encode, codec::Decode)]
pub(super) struct TextPart {
	/// Position of the first token.
	pub(super) first: u32,
	/// Number of its tokens.
	pub(super) count: u32,
	/// The tokens, where they go in.
	pub(super) tokens: Vec<u32>,
	/// 0 if nothing is wanted, 1 for the last one, 2 for all.
	pub(super) wanted: u8,
	/// Numbers of the text's pages, those for these tokens included.
	pub(super) pages: Vec<u64>,
}

/// Returns the number of rows of a text that come out of a pass.
pub(super) fn told_rows(kind: Kind, text: &TextPart) -> usize {
	let count = usize::try_from(text.count).unwrap_or(usize::MAX);
	match (kind, wanted_of(text.wanted)) {
		(Kind::Rows, _) | (_, Wanted::All) => count,
		(_, Wanted::Last) => 1,
		(_, Wanted::Nothing) => 0,
	}
}

pub(super) fn wanted_code(wanted: Wanted) -> u8 {
	match wanted {
		Wanted::Nothing => 0,
		Wanted::Last => 1,
		Wanted::All => 2,
	}
}

pub(super) fn wanted_of(code: u8) -> Wanted {
	match code {
		0 => Wanted::Nothing,
		1 => Wanted::Last,
		_ => Wanted::All,
	}
}

/// Reply of a holder.
#[derive(Clone, PartialEq, Debug, Encode, codec::Decode)]
pub(super) enum Reply {
	/// Its profile.
	Profile(Profile),
	/// It holds what it was asked to.
	Holding,
	/// It has computed a pass; if rows are told, they follow.
	Done(Done),
	/// It cannot.
	Refused {
		/// The pass, if it was one.
		number: Option<u64>,
		/// Why.
		words: String,
	},
	/// It has read why its account is not used.
	Noted,
}

/// Profile of a holder.
#[derive(Clone, PartialEq, Eq, Debug, Encode, codec::Decode)]
pub(super) struct Profile {
	/// Root of the parameters that it has.
	pub(super) parameters: H256,
	/// Bytes of memory that it lends, and that nothing takes now.
	pub(super) memory: u64,
	/// Measured bytes a second at which it reads weights.
	pub(super) bandwidth: u64,
	/// Measured operations a second in products of many rows.
	pub(super) flops: u64,
	/// The account that is to be paid for what it computes, if it is one of the chain.
	pub(super) account: Option<AccountId>,
}

/// Output of a pass.
#[derive(Clone, PartialEq, Eq, Debug, Encode, codec::Decode)]
pub(super) struct Done {
	/// Number of the pass.
	pub(super) number: u64,
	/// Hash of what came out for each text, in their order.
	pub(super) roots: Vec<H256>,
	/// True if it follows.
	pub(super) told: bool,
	/// Microseconds that it took.
	pub(super) micros: u64,
}

/// A message and its rows, ready to be sent.
pub(super) fn frame(message: &impl Encode, rows: &[f32]) -> Vec<u8> {
	let message = message.encode();
	let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes();
	let mut bytes = Vec::with_capacity(8 + message.len() + size_of_val(rows));
	bytes.extend(length(message.len()));
	bytes.extend(length(size_of_val(rows)));
	bytes.extend(message);
	bytes.extend(rows.iter().flat_map(|value| value.to_le_bytes()));
	bytes
}

/// Sends a frame.
pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> Result<(), FrameError> {
	to.write_all(frame).await?;
	Ok(to.flush().await?)
}

/// The next message and its rows.
pub(super) async fn receive<M: codec::Decode>(from: &mut (impl AsyncRead + Unpin)) -> Result<(M, Vec<f32>), FrameError> {
	receive_within(from, LONGEST_ROWS).await
}

/// The next message, which has no rows: strangers are given no memory for any.
pub(super) async fn receive_bare<M: codec::Decode>(from: &mut (impl AsyncRead + Unpin)) -> Result<M, FrameError> {
	Ok(receive_within(from, 0).await?.0)
}

/// The next message and its rows, if those have no more than `most_rows` bytes.
async fn receive_within<M: codec::Decode>(from: &mut (impl AsyncRead + Unpin), most_rows: u32) -> Result<(M, Vec<f32>), FrameError> {
	let mut lengths = [0; 8];
	from.read_exact(&mut lengths).await?;
	let [a, b, c, d, e, f, g, h] = lengths;
	let (message, rows) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
	// Neither is read if the other one is too long.
	if rows > most_rows {
		return Err(FrameError::TooLong(rows));
	}
	let message = frames::read(from, message, LONGEST_MESSAGE).await?;
	let rows = frames::read(from, rows, most_rows).await?;
	let message = M::decode_all(&mut &message[..]).map_err(|_| FrameError::Malformed)?;
	let (rows, []) = rows.as_chunks::<4>() else { return Err(FrameError::Malformed) };
	Ok((message, rows.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
}

/// Hash of rows.
pub(super) fn root(rows: &[f32]) -> H256 {
	// In canonical form: machines may differ in what a NaN carries, and in the sign of a zero.
	H256(blake2_256(&bytes_of(rows)))
}

/// The rows of each text among `rows`, by how many there are of each and how wide they are.
pub(super) fn by_text<'a>(rows: &'a [f32], counts: &'a [usize], width: usize) -> impl Iterator<Item = &'a [f32]> + 'a {
	let mut at = 0usize;
	counts.iter().map(move |count| {
		let end = at.saturating_add(count.saturating_mul(width)).min(rows.len());
		let part = rows.get(at..end).unwrap_or_default();
		at = end;
		part
	})
}

/// Width of what comes out of a model.
pub(super) fn width(model: &ModelConfig, kind: Kind) -> usize {
	let width = if kind == Kind::Logits { model.vocab } else { model.dim };
	usize::try_from(width).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn a_frame_is_read_as_it_was_sent_and_nothing_else_is() {
		let reply = Reply::Done(Done { number: 7, roots: vec![H256::repeat_byte(1)], told: true, micros: 3 });
		let rows = [1.0f32, -0.0, f32::from_bits(0x7fc0_0001), f32::MIN_POSITIVE / 2.0];
		let bytes = frame(&reply, &rows);
		let (read, got) = receive::<Reply>(&mut &bytes[..]).await.unwrap();
		assert_eq!(read, reply);
		assert_eq!(got.iter().map(|row| row.to_bits()).collect::<Vec<_>>(), rows.iter().map(|row| row.to_bits()).collect::<Vec<_>>());
		for cut in 0..bytes.len() {
			assert!(matches!(receive::<Reply>(&mut &bytes[..cut]).await, Err(FrameError::Io(_))), "{cut}");
		}
		let mut long = bytes.clone();
		long[3] = 0xff;
		assert!(matches!(receive::<Reply>(&mut &long[..]).await, Err(FrameError::TooLong(_))));
		let mut odd = bytes.clone();
		odd[4] -= 1;
		assert!(matches!(receive::<Reply>(&mut &odd[..]).await, Err(FrameError::Malformed)));
		let mut wrong = bytes;
		wrong[8] = 99;
		assert!(matches!(receive::<Reply>(&mut &wrong[..]).await, Err(FrameError::Malformed)));
	}

	#[tokio::test]
	async fn where_no_rows_belong_a_message_without_any_is_read_and_none_with_some() {
		assert_eq!(receive_bare::<Reply>(&mut &frame(&Reply::Noted, &[])[..]).await.unwrap(), Reply::Noted);
		let with = frame(&Reply::Noted, &[1.0]);
		// By its length alone.
		assert!(matches!(receive_bare::<Reply>(&mut &with[..8]).await, Err(FrameError::TooLong(4))));
	}

	#[test]
	fn rows_are_told_apart_by_text() {
		let parts: Vec<&[f32]> = by_text(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1, 0, 2], 2).collect();
		assert_eq!(parts, [&[1.0, 2.0][..], &[], &[3.0, 4.0, 5.0, 6.0]]);
	}
}
