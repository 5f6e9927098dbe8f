//! What the two sides of a connection say to each other: what carries its bytes, and what answers its calls.

use super::budget::{Budget, Share};
use std::{
	sync::{Arc, Mutex, MutexGuard, PoisonError},
	task::Waker,
	time::Duration,
};
use tokio::{
	sync::{Notify, OwnedSemaphorePermit},
	time::Instant,
};

/// Bytes of an answer that have to be taken in a second, beside the time that every answer has.
const RATE: u64 = 64 << 10;

/// What a call may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
	/// Bytes of a request.
	pub request: u64,
	/// Bytes of an answer.
	pub answer: u64,
	/// Time for a request to come, and to be answered.
	pub call: Duration,
	/// Time for an answer to be taken, and for which a client may take nothing at all.
	pub taking: Duration,
}

/// What is spoken over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
	/// The first request is not read yet.
	Unknown,
	/// Requests of HTTP, and nothing else from then on.
	Http,
	/// A WebSocket.
	WebSocket,
}

/// A connection. It is there as long as one of its calls is executed, also if the client has left.
#[derive(Debug)]
pub struct Connection {
	/// Memory for its calls.
	pub budget: Arc<Budget>,
	/// What one of them may take.
	pub limits: Limits,
	state: Mutex<State>,
	over: Notify,
	_place: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct State {
	protocol: Protocol,
	call: Option<Call>,
	reader: Option<Waker>,
}

/// A call, or a batch of calls, that is not over: from the beginning of its request until all of its answer is written.
#[derive(Debug)]
struct Call {
	share: Share,
	until: Instant,
	/// Whether it is over as soon as nothing is left to be written.
	answered: bool,
}

impl Connection {
	/// A connection that has a `place` among all of them.
	pub fn new(budget: Arc<Budget>, limits: Limits, place: Option<OwnedSemaphorePermit>) -> Arc<Self> {
		let state = State { protocol: Protocol::Unknown, call: None, reader: None };
		Arc::new(Self { budget, limits, state: Mutex::new(state), over: Notify::new(), _place: place })
	}

	fn state(&self) -> MutexGuard<'_, State> {
		// It is whole after every statement: nothing that panics is called in between.
		self.state.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// What is spoken.
	pub fn protocol(&self) -> Protocol {
		self.state().protocol
	}

	/// Says what is spoken.
	pub fn speaks(&self, protocol: Protocol) {
		let mut state = self.state();
		state.protocol = protocol;
		state.wake();
	}

	/// Has `waker` woken when what is read depends on changes: the protocol, or the call.
	pub fn wakes(&self, waker: &Waker) {
		self.state().reader = Some(waker.clone());
	}

	/// Bytes to reserve for a call with a request of `bytes`.
	pub fn need(&self, bytes: u64) -> u64 {
		bytes.min(self.limits.request).saturating_add(self.limits.answer)
	}

	/// A call begins.
	pub fn begin(&self, share: Share) {
		let mut state = self.state();
		state.call = Some(Call { share, until: Instant::now() + self.limits.call, answered: false });
		state.wake();
	}

	/// Its answer has so many bytes.
	pub fn answer_of(&self, bytes: u64) {
		let mut state = self.state();
		if let Some(call) = &mut state.call {
			call.share.shrink(bytes);
			call.until = Instant::now() + self.limits.taking + Duration::from_secs(bytes / RATE);
		}
		state.wake();
	}

	/// Nothing but what is on its way will be written for the call.
	pub fn answered(&self) {
		if let Some(call) = &mut self.state().call {
			call.answered = true;
		}
	}

	/// Nothing is left to be written.
	pub fn flushed(&self) {
		if self.state().call.as_ref().is_some_and(|call| call.answered) {
			self.over();
		}
	}

	/// The call is over.
	pub fn over(&self) {
		let mut state = self.state();
		state.call = None;
		state.wake();
		self.over.notify_waiters();
	}

	/// Waits until there is no call.
	pub async fn idle(&self) {
		loop {
			let over = self.over.notified();
			if self.until().is_none() {
				return;
			}
			over.await;
		}
	}

	/// When the call must be over, if there is one.
	pub fn until(&self) -> Option<Instant> {
		self.state().call.as_ref().map(|call| call.until)
	}
}

impl State {
	fn wake(&mut self) {
		if let Some(waker) = self.reader.take() {
			waker.wake();
		}
	}
}
