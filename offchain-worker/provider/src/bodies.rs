//! The bodies of requests: each comes whole, within a time and a size, before anybody works on it, and all of them have a budget of memory: for their bytes, and
//! for what becomes of them when they are read.

use super::{entry::VOUCHERS, error::ApiError};
use axum::{
	body::{Body, Bytes, HttpBody},
	extract::{Request, State},
	http::{header::EXPECT, HeaderMap, StatusCode},
	middleware::Next,
	response::Response,
};
use futures::StreamExt;
use neuroshard_disputes::answers::handed::TEXTS;
use neuroshard_inference::batcher::Refused;
use std::{sync::Arc, time::Duration};
use tokio::{
	sync::{OwnedSemaphorePermit, Semaphore},
	task::spawn_blocking,
	time::{timeout_at, Instant},
};

/// Bytes of a body.
pub(super) const MOST: usize = 4 << 20;
/// Bytes of a body that has nothing but something that is signed.
const SIGNED: usize = 16 << 10;
/// Bytes of memory that may become of a body: of a million numbers, or of a hundred thousand objects.
const MOST_READ: usize = 64 << 20;
/// Bytes of memory that an element of a list, a list and an object take while they are read, whatever they are read as: lists grow to twice their size, and
/// have room for some elements when they have one.
const ELEMENT: usize = 64;
const LIST: usize = 160;
const OBJECT: usize = 704;
/// Bodies of more bytes are read on threads for work that takes time.
const LARGE: usize = 64 << 10;
/// Bytes of the bodies of all requests that are not answered.
const ALL: usize = 256 << 20;
/// Bytes that memory is counted in.
const UNIT: usize = 1 << 10;

/// Reads bodies. Clones share the memory.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
	/// For one body to come.
	time: Duration,
	memory: Arc<Semaphore>,
}

impl Bodies {
	/// Reads bodies that come within `time`.
	pub(super) fn new(time: Duration) -> Self {
		Self { time, memory: Arc::new(Semaphore::new(ALL / UNIT)) }
	}

	/// Takes a body that nobody reads, of a request that is refused: many clients read no answer before, and would find the connection broken.
	pub(super) async fn leave(&self, body: Body) {
		let (until, mut data, mut taken) = (Instant::now() + self.time, body.into_data_stream(), 0usize);
		while taken <= MOST {
			let Ok(Some(Ok(data))) = timeout_at(until, data.next()).await else { return };
			taken = taken.saturating_add(data.len());
		}
	}

	/// A whole body of at most so many bytes, with memory for it and for what becomes of it.
	async fn read(&self, body: Body, most: usize, waits: bool) -> Result<(Bytes, OwnedSemaphorePermit), ApiError> {
		let (bytes, mut memory) = self.take(body, most, waits).await?;
		let counted = bytes.clone();
		let needed = beside(bytes.len(), move || memory_of(&counted)).await?;
		if needed > MOST_READ {
			let words = format!("the request's body has too many lists and objects: they would take {} MiB of memory", needed >> 20);
			return Err(ApiError::body(StatusCode::PAYLOAD_TOO_LARGE, words));
		}
		memory.merge(self.room(needed.div_ceil(UNIT))?);
		Ok((bytes, memory))
	}

	/// A whole body, and its memory.
	async fn take(&self, body: Body, most: usize, waits: bool) -> Result<(Bytes, OwnedSemaphorePermit), ApiError> {
		let until = Instant::now() + self.time;
		let too_large = || ApiError::body(StatusCode::PAYLOAD_TOO_LARGE, format!("the request's body has more than {most} bytes"));
		let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
		let mut refused = (declared > most).then(too_large);
		if let Some(error) = refused.take_if(|_| waits) {
			return Err(error);
		}
		let (mut bytes, mut memory) = (Vec::new(), self.room(0)?);
		let mut data = body.into_data_stream();
		loop {
			let Ok(next) = timeout_at(until, data.next()).await else {
				let seconds = self.time.as_secs();
				let late =
					|| ApiError::body(StatusCode::REQUEST_TIMEOUT, format!("the request's body did not come within {seconds} seconds"));
				return Err(refused.unwrap_or_else(late));
			};
			let Some(data) = next else { break };
			let data = data.map_err(|error| ApiError::invalid(format!("the request's body is broken: {error}")))?;
			// What is refused is read to its end: many clients read no answer before, and would find the connection broken.
			if refused.is_some() {
				continue;
			}
			let length = bytes.len().saturating_add(data.len());
			let more = if length > most { Err(too_large()) } else { self.room(length.div_ceil(UNIT).saturating_sub(memory.num_permits())) };
			match more {
				Ok(more) => {
					memory.merge(more);
					bytes.extend_from_slice(&data);
				}
				Err(error) => (refused, bytes, memory) = (Some(error), Vec::new(), self.room(0)?),
			}
		}
		refused.map_or_else(|| Ok((bytes.into(), memory)), Err)
	}

	fn room(&self, units: usize) -> Result<OwnedSemaphorePermit, ApiError> {
		let units = u32::try_from(units).map_err(|_| Refused::Busy)?;
		Ok(self.memory.clone().try_acquire_many_owned(units).map_err(|_| Refused::Busy)?)
	}
}

/// Returns whether a client sends its body only when it is asked to.
pub(super) fn waits(headers: &HeaderMap) -> bool {
	headers.contains_key(EXPECT)
}

/// Does work on a body of so many bytes, on a thread for that if it may take time.
///
/// # Errors
/// If the work panics.
pub(super) async fn beside<R: Send + 'static>(bytes: usize, work: impl FnOnce() -> R + Send + 'static) -> Result<R, ApiError> {
	match bytes > LARGE {
		true => spawn_blocking(work).await.map_err(|_| ApiError::internal("the request's body could not be read")),
		false => Ok(work()),
	}
}

/// Bytes of memory that JSON may take while it is read.
fn memory_of(json: &[u8]) -> usize {
	let (mut needed, mut bytes) = (0usize, json.iter());
	while let Some(byte) = bytes.next() {
		needed = needed.saturating_add(match byte {
			b'"' => {
				// Up to its end, which no backslash stands before.
				while let Some(byte) = bytes.next() {
					match byte {
						b'"' => break,
						b'\\' => drop(bytes.next()),
						_ => {}
					}
				}
				0
			}
			b',' => ELEMENT,
			b'[' => LIST,
			b'{' => OBJECT,
			_ => 0,
		});
	}
	needed
}

/// Has a request answered when its body has come.
pub(super) async fn whole(State(bodies): State<Bodies>, request: Request, next: Next) -> Result<Response, ApiError> {
	let (parts, body) = request.into_parts();
	let waits = waits(&parts.headers);
	let most = if matches!(parts.uri.path(), TEXTS | VOUCHERS) { SIGNED } else { MOST };
	let (body, _memory) = bodies.read(body, most, waits).await?;
	Ok(next.run(Request::from_parts(parts, body.into())).await)
}

#[cfg(test)]
mod tests {
	use super::*;
	use axum::response::IntoResponse;
	use futures::stream;

	fn pieces(count: usize, size: usize) -> Body {
		Body::from_stream(stream::iter((0..count).map(move |_| Ok::<_, std::io::Error>(vec![b'x'; size]))))
	}

	fn status(result: Result<(Bytes, OwnedSemaphorePermit), ApiError>) -> StatusCode {
		result.unwrap_err().into_response().status()
	}

	#[tokio::test]
	async fn bodies_are_whole_and_small_and_have_memory_for_their_bytes_only() {
		let bodies = Bodies::new(Duration::from_secs(60));
		let (body, memory) = bodies.read(pieces(3_000, 1), MOST, false).await.unwrap();
		assert_eq!((body.len(), memory.num_permits()), (3_000, 3));
		assert_eq!(bodies.read(Body::empty(), MOST, false).await.unwrap().1.num_permits(), 0);
		let (body, memory) = bodies.read(pieces(4, 1 << 20), MOST, false).await.unwrap();
		assert_eq!((body.len(), memory.num_permits()), (MOST, 4_096));
		assert_eq!(status(bodies.read(pieces(5, 1 << 20), MOST, false).await), StatusCode::PAYLOAD_TOO_LARGE);
		// One that waits to be asked for is not asked for.
		let never = Body::new(Declared(MOST as u64 + 1));
		assert_eq!(status(bodies.read(never, MOST, true).await), StatusCode::PAYLOAD_TOO_LARGE);
	}

	#[tokio::test]
	async fn without_memory_requests_are_put_off_and_memory_comes_back() {
		let bodies = Bodies::new(Duration::from_secs(60));
		let all = bodies.room(ALL / UNIT - 1).unwrap();
		assert_eq!(bodies.read(pieces(1, UNIT), MOST, false).await.unwrap().0.len(), UNIT);
		assert_eq!(status(bodies.read(pieces(2, UNIT), MOST, false).await), StatusCode::TOO_MANY_REQUESTS);
		drop(all);
		assert_eq!(bodies.memory.available_permits(), ALL / UNIT);
	}

	#[tokio::test]
	async fn the_budget_counts_what_becomes_of_a_body() {
		let bodies = Bodies::new(Duration::from_secs(60));
		let kept = |json: String| async { bodies.read(json.into(), MOST, false).await.map(|(_, memory)| memory.num_permits()) };
		// A list, whose room for elements is four times 32 bytes, and its place in another one.
		let lists = |count: usize| format!("[{}]", vec!["[0]"; count].join(","));
		let units = kept(lists(50_000)).await.unwrap();
		assert!(units * UNIT >= 50_000 * (32 + 4 * 32), "{units}");
		assert_eq!(status(bodies.read(lists(1_000_000).into(), MOST, false).await), StatusCode::PAYLOAD_TOO_LARGE);
		let objects = format!("[{}]", vec!["{\"\":0}"; 500_000].join(","));
		assert_eq!(status(bodies.read(objects.into(), MOST, false).await), StatusCode::PAYLOAD_TOO_LARGE);
		// As many tokens as no model here reads, and any text.
		assert!(kept(format!("{{\"prompt\":[{}]}}", vec!["255"; 500_000].join(","))).await.is_ok());
		assert_eq!(kept(format!("\"{}\"", "[{,\\\"".repeat(500_000))).await.unwrap(), (2usize + 5 * 500_000).div_ceil(UNIT));
		let all = bodies.room(ALL / UNIT - 100).unwrap();
		assert_eq!(status(bodies.read(lists(5_000).into(), MOST, false).await), StatusCode::TOO_MANY_REQUESTS);
		drop(all);
		assert_eq!(bodies.memory.available_permits(), ALL / UNIT);
	}

	#[test]
	fn strings_are_told_from_what_is_around_them() {
		for (json, needed) in [
			("", 0),
			(r#""[{,""#, 0),
			(r#"["\"", "\\\\", []]"#, 2 * LIST + 2 * ELEMENT),
			(r#"{"a": [1, 2], "b,": {}}"#, 2 * OBJECT + LIST + 2 * ELEMENT),
			(r#""unended \"#, 0),
		] {
			assert_eq!(memory_of(json.as_bytes()), needed, "{json}");
		}
	}

	/// A body of so many bytes, which never come.
	struct Declared(u64);

	impl HttpBody for Declared {
		type Data = Bytes;
		type Error = std::convert::Infallible;

		fn poll_frame(
			self: std::pin::Pin<&mut Self>,
			_: &mut std::task::Context<'_>,
		) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
			std::task::Poll::Pending
		}

		fn size_hint(&self) -> hyper::body::SizeHint {
			hyper::body::SizeHint::with_exact(self.0)
		}
	}
}
