//! Bytes moved by the content protocol.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters, shared by the connections.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
	received: AtomicU64,
	sent: AtomicU64,
}

/// Bytes of content messages, without the overhead of the transport below.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TrafficTotals {
	/// Received since the start.
	pub received: u64,
	/// Sent since the start.
	pub sent: u64,
}

impl Traffic {
	pub(crate) fn add_received(&self, bytes: usize) {
		self.received.fetch_add(bytes as u64, Ordering::Relaxed);
	}

	pub(crate) fn add_sent(&self, bytes: usize) {
		self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
	}

	pub(crate) fn totals(&self) -> TrafficTotals {
		TrafficTotals { received: self.received.load(Ordering::Relaxed), sent: self.sent.load(Ordering::Relaxed) }
	}
}
