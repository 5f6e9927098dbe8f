//! One holder of a span, as the driver sees it.

use super::{
	link::Link,
	message::{frame, Pass, Request, TextPart},
};
use neuroshard_compute::exec::PAGE_TOKENS;
use std::collections::HashSet;
use tokio_util::sync::CancellationToken;

/// Somebody who holds a span, or will.
pub(super) struct Member {
	pub(super) name: String,
	/// The connection, while there is one.
	pub(super) link: Option<Link>,
	/// True if it holds the span.
	pub(super) ready: bool,
	/// Cancelled when it has told wrong rows, or was part of too many cases that could not be settled: it is not asked again, and not connected to.
	pub(super) banned: CancellationToken,
	/// It was late, and has answered nothing since: only if nobody else is there it is asked.
	pub(super) silent: bool,
	/// Pages that it has as they should be.
	pub(super) known: HashSet<u64>,
	/// Pages that it has, as they should be or not.
	pub(super) held: HashSet<u64>,
	/// Pages given up that it was not told yet.
	pub(super) given_up: Vec<u64>,
	/// The last pass that may have been asked of it before it refused one. What it tells of passes up to this one may follow from what it did not
	/// compute, and is not used.
	pub(super) stale: u64,
}

impl Member {
	/// One that is not there yet.
	pub(super) fn new(name: String, banned: CancellationToken) -> Self {
		let (known, held) = Default::default();
		Self { name, link: None, ready: false, banned, silent: false, known, held, given_up: Vec::new(), stale: 0 }
	}

	/// Returns whether it can be asked.
	pub(super) fn usable(&self) -> bool {
		self.ready && !self.banned.is_cancelled() && self.link.is_some()
	}

	/// Returns whether it has the KV cache of all that comes before these tokens.
	pub(super) fn knows(&self, text: &TextPart) -> bool {
		let begun = usize::try_from(text.first).unwrap_or(usize::MAX).div_ceil(PAGE_TOKENS);
		text.pages.iter().take(begun).all(|page| self.known.contains(page))
	}

	/// Sends a pass of some texts of all, with their rows; whether it was sent.
	pub(super) fn send(&mut self, pass: &Pass, rows: &[f32]) -> bool {
		let request = Request::Pass(Pass { given_up: self.given_up.clone(), ..pass.clone() });
		let sent = self.link.as_ref().is_some_and(|link| link.send(frame(&request, rows).into()));
		for page in pass.texts.iter().flat_map(|text| &text.pages) {
			if sent {
				self.known.insert(*page);
				self.held.insert(*page);
			} else {
				// It goes on without these tokens.
				self.known.remove(page);
			}
		}
		if sent {
			self.given_up.clear();
		}
		sent
	}

	/// It has refused a pass, when `passes` had been asked: it may lack what that was to give it, and all that was to follow.
	pub(super) fn refused(&mut self, passes: u64) {
		self.known.clear();
		self.stale = passes;
	}

	/// Its connection has ended, and all that it had with it.
	pub(super) fn lose(&mut self) {
		self.link = None;
		self.ready = false;
		self.silent = false;
		self.known.clear();
		self.held.clear();
		self.given_up.clear();
	}
}
