//! A request on its way in. It has memory for what has come of it, whatever its client says will come, and must come in its time.

use super::{
	budget::{Kind, Share},
	time_of, Limits,
};
use std::io;
use tokio::time::{timeout_at, Instant};

/// Bytes of a request that are not counted: most requests are smaller, so that those never wait for larger ones.
const FREE: usize = 64 << 10;
/// Bytes that are reserved at a time.
const STEP: u64 = 64 << 10;

/// What has come of a request.
#[derive(Debug)]
pub struct Coming {
	bytes: Vec<u8>,
	came: usize,
	most: usize,
	share: Share,
	until: Instant,
}

impl Coming {
	/// Nothing yet.
	pub fn new(kind: &Kind, limits: &Limits) -> Self {
		let share = Share::none(kind.requests.clone());
		Self { bytes: Vec::new(), came: 0, most: limits.request as usize, share, until: Instant::now() + limits.coming }
	}

	/// When all of it must be there.
	pub fn until(&self) -> Instant {
		self.until
	}

	/// Waits until there is memory for so many more bytes. Giving up the wait changes nothing.
	///
	/// # Errors
	/// There was none in time.
	pub async fn room(&mut self, bytes: usize) -> io::Result<()> {
		let bytes = self.bytes.len().saturating_add(bytes);
		if bytes > FREE && !self.is_too_large() {
			let needed = (bytes as u64).next_multiple_of(STEP);
			timeout_at(self.until, self.share.grow(needed)).await.map_err(|_| slow())?;
		}
		Ok(())
	}

	/// Takes bytes for which there is room. They give it time, as far as a request may have so many. What is too large is not kept.
	pub fn take(&mut self, bytes: &[u8]) {
		let before = self.came;
		self.came = before.saturating_add(bytes.len());
		if self.is_too_large() {
			self.bytes = Vec::new();
			self.share.shrink(0);
		} else {
			self.until += time_of(bytes.len() as u64);
			self.bytes.extend_from_slice(bytes);
		}
	}

	/// Whether it has more bytes than it may have.
	pub fn is_too_large(&self) -> bool {
		self.came > self.most
	}

	/// What has come of it, without what is white at its beginning.
	pub fn text(&self) -> &[u8] {
		self.bytes.trim_ascii_start()
	}
}

/// Why a connection ends whose client takes too long.
pub fn slow() -> io::Error {
	io::Error::new(io::ErrorKind::TimedOut, "the client was too slow")
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::time::Duration;

	const MOST: u32 = 1 << 20;
	const LATER: Duration = Duration::from_secs(600);
	const LIMITS: Limits = Limits { request: MOST, answer: 0, coming: LATER, call: LATER, taking: LATER };

	async fn come(coming: &mut Coming, bytes: usize) {
		coming.room(bytes).await.unwrap();
		coming.take(&vec![b'x'; bytes]);
	}

	#[tokio::test]
	async fn memory_is_taken_as_bytes_come_and_given_back_with_what_is_too_large() {
		let kind = Kind::new(MOST.into(), 0, 0);
		let mut request = Coming::new(&kind, &LIMITS);
		come(&mut request, FREE).await;
		assert_eq!(kind.requests.taken(), 0, "small ones are not counted");
		come(&mut request, 1).await;
		assert_eq!(kind.requests.taken(), 128 << 10);
		come(&mut request, MOST as usize - FREE - 1).await;
		assert_eq!((kind.requests.taken(), request.is_too_large(), request.text().len()), (1 << 20, false, 1 << 20));
		come(&mut request, 1).await;
		assert_eq!((kind.requests.taken(), request.is_too_large(), request.text().len()), (0, true, 0));
	}

	#[tokio::test]
	async fn bytes_that_have_come_give_a_request_time_but_no_more_than_it_may_have() {
		let mut request = Coming::new(&Kind::new(MOST.into(), 0, 0), &LIMITS);
		let until = request.until();
		for _ in 0..20 {
			come(&mut request, 64 << 10).await;
		}
		assert_eq!(request.until() - until, Duration::from_secs(16), "a mebibyte in parts of 64 KiB");
	}

	#[tokio::test]
	async fn a_request_for_which_there_is_no_memory_waits_no_longer_than_it_may_come() {
		let kind = Kind::new(128 << 10, 0, 0);
		let mut first = Coming::new(&kind, &LIMITS);
		come(&mut first, FREE + 1).await;
		let limits = Limits { coming: Duration::from_millis(20), ..LIMITS };
		assert_eq!(Coming::new(&kind, &limits).room(FREE + 1).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
		drop(first);
		Coming::new(&kind, &LIMITS).room(FREE + 1).await.unwrap();
	}
}
