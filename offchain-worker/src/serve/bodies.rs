//! The bodies of requests: each comes whole, within a time and a size, before anybody works on it, and all of them have a budget of memory.

use super::{batcher::Refused, error::ApiError};
use axum::{
	body::{Body, Bytes, HttpBody},
	extract::{Request, State},
	http::{header::EXPECT, StatusCode},
	middleware::Next,
	response::Response,
};
use futures::StreamExt;
use std::{sync::Arc, time::Duration};
use tokio::{
	sync::{OwnedSemaphorePermit, Semaphore},
	time::{timeout_at, Instant},
};

/// Bytes of a body.
pub(super) const MOST: usize = 4 << 20;
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

	/// A whole body, and its memory.
	async fn read(&self, body: Body, waits: bool) -> Result<(Bytes, OwnedSemaphorePermit), ApiError> {
		let until = Instant::now() + self.time;
		let too_large = || ApiError::body(StatusCode::PAYLOAD_TOO_LARGE, format!("the request's body has more than {MOST} bytes"));
		let mut refused = (body.size_hint().lower() > MOST as u64).then(too_large);
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
			let more = if length > MOST { Err(too_large()) } else { self.room(length.div_ceil(UNIT).saturating_sub(memory.num_permits())) };
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

/// Has a request answered when its body has come.
pub(super) async fn whole(State(bodies): State<Bodies>, request: Request, next: Next) -> Result<Response, ApiError> {
	let (parts, body) = request.into_parts();
	// Such a client sends its body when it is asked to.
	let waits = parts.headers.contains_key(EXPECT);
	let (body, _memory) = bodies.read(body, waits).await?;
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
		let (body, memory) = bodies.read(pieces(3_000, 1), false).await.unwrap();
		assert_eq!((body.len(), memory.num_permits()), (3_000, 3));
		assert_eq!(bodies.read(Body::empty(), false).await.unwrap().1.num_permits(), 0);
		let (body, memory) = bodies.read(pieces(4, 1 << 20), false).await.unwrap();
		assert_eq!((body.len(), memory.num_permits()), (MOST, 4_096));
		assert_eq!(status(bodies.read(pieces(5, 1 << 20), false).await), StatusCode::PAYLOAD_TOO_LARGE);
		// One that waits to be asked for is not asked for.
		let never = Body::new(Declared(MOST as u64 + 1));
		assert_eq!(status(bodies.read(never, true).await), StatusCode::PAYLOAD_TOO_LARGE);
	}

	#[tokio::test]
	async fn without_memory_requests_are_put_off_and_memory_comes_back() {
		let bodies = Bodies::new(Duration::from_secs(60));
		let all = bodies.room(ALL / UNIT - 1).unwrap();
		assert_eq!(bodies.read(pieces(1, UNIT), false).await.unwrap().0.len(), UNIT);
		assert_eq!(status(bodies.read(pieces(2, UNIT), false).await), StatusCode::TOO_MANY_REQUESTS);
		drop(all);
		assert_eq!(bodies.memory.available_permits(), ALL / UNIT);
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
