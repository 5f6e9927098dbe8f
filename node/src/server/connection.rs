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

/// Bytes of a request that have to come, and of an answer that have to be taken, in a second, beside the time that each of them has.
const RATE: u64 = 64 << 10;

/// What a call may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
	/// Bytes of a request.
	pub request: u64,
	/// Bytes of an answer.
	pub answer: u64,
	/// Time for a request to come, beside that for its bytes.
	pub coming: Duration,
	/// Time for a request that has come to be answered.
	pub call: Duration,
	/// Time for an answer to be taken, beside that for its bytes, and for which a client may take nothing at all.
	pub taking: Duration,
}

impl Limits {
	/// Longest time for which an honest client may have to wait for what it sends to be read.
	pub fn longest(&self) -> Duration {
		self.coming + time_of(self.request) + self.call + self.taking + time_of(self.answer)
	}
}

/// Time for so many bytes.
fn time_of(bytes: u64) -> Duration {
	Duration::from_nanos(bytes.saturating_mul(1_000_000_000 / RATE))
}

/// What follows the head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
	/// So many bytes, and then the next request.
	Bytes(u64),
	/// Chunks, and nothing else.
	Chunks,
	/// The frames of a WebSocket.
	Frames,
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
	is_websocket: bool,
	body: Option<Body>,
	call: Option<Call>,
	reader: Option<Waker>,
}

/// A call, or a batch of calls, that is not over: from the beginning of its request until all of its answer is written.
#[derive(Debug)]
struct Call {
	share: Share,
	until: Instant,
	/// Bytes of its request that may still give it time.
	to_come: u64,
	/// Whether it is certain that it is no batch.
	single: bool,
	stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
	/// Its request comes, or is executed.
	Asked,
	/// Its answer is written.
	Answering,
	/// It is over as soon as nothing is left to be written.
	Answered,
}

impl Connection {
	/// A connection that has a `place` among all of them.
	pub fn new(budget: Arc<Budget>, limits: Limits, place: Option<OwnedSemaphorePermit>) -> Arc<Self> {
		let state = State { is_websocket: false, body: None, call: None, reader: None };
		Arc::new(Self { budget, limits, state: Mutex::new(state), over: Notify::new(), _place: place })
	}

	fn state(&self) -> MutexGuard<'_, State> {
		// It is whole after every statement: nothing that panics is called in between.
		self.state.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// Whether frames are what is read and written.
	pub fn is_websocket(&self) -> bool {
		self.state().is_websocket
	}

	/// Says what follows the head that was read last.
	pub fn follows(&self, body: Body) {
		let mut state = self.state();
		state.is_websocket |= body == Body::Frames;
		state.body = Some(body);
		state.wake();
	}

	/// Takes what follows the head that was read last, if that was said.
	pub fn body(&self) -> Option<Body> {
		self.state().body.take()
	}

	/// Has `waker` woken when what is read depends on changes: what follows a head, or the call.
	pub fn wakes(&self, waker: &Waker) {
		self.state().reader = Some(waker.clone());
	}

	/// Bytes to reserve for a call with a request of `bytes`.
	pub fn need(&self, bytes: u64) -> u64 {
		bytes.min(self.limits.request).saturating_add(self.limits.answer)
	}

	/// A call begins; `single` if it is certain that it is no batch.
	pub fn begin(&self, share: Share, single: bool) {
		let mut state = self.state();
		let until = Instant::now() + self.limits.coming;
		state.call = Some(Call { share, until, to_come: self.limits.request, single, stage: Stage::Asked });
		state.wake();
	}

	/// So many more bytes of its request have come. They give it time, as far as a request may have so many: saying that there will be many does not.
	pub fn comes(&self, bytes: u64) {
		if let Some(call) = self.state().call.as_mut().filter(|call| call.stage == Stage::Asked) {
			let counted = bytes.min(call.to_come);
			call.to_come -= counted;
			call.until += time_of(counted);
		}
	}

	/// All of its request has come.
	pub fn came(&self) {
		let mut state = self.state();
		if let Some(call) = state.call.as_mut().filter(|call| call.stage == Stage::Asked) {
			call.until = Instant::now() + self.limits.call;
		}
		state.wake();
	}

	/// Whether it is certain that the call is no batch.
	pub fn is_single(&self) -> bool {
		self.state().call.as_ref().is_some_and(|call| call.single)
	}

	/// Its answer has so many bytes.
	pub fn answer_of(&self, bytes: u64) {
		let mut state = self.state();
		if let Some(call) = &mut state.call {
			call.share.shrink(bytes);
			call.until = Instant::now() + self.limits.taking + time_of(bytes);
			call.stage = Stage::Answering;
		}
		state.wake();
	}

	/// Nothing but what is on its way will be written for the call.
	pub fn answered(&self) {
		if let Some(call) = &mut self.state().call {
			call.stage = Stage::Answered;
		}
	}

	/// Nothing is left to be written.
	pub fn flushed(&self) {
		if self.state().call.as_ref().is_some_and(|call| call.stage == Stage::Answered) {
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

	/// Has the reader look at what has changed.
	pub fn wake(&self) {
		self.state().wake();
	}

	/// When what the call waits for must have come, if there is one.
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
