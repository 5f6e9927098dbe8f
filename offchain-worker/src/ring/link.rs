//! The driver's side of a stream to a holder: frames go out through a bounded queue, replies come in as events of one queue for all holders.

use super::message::{frame, receive, send, Reply, Request};
use std::{
	future::Future,
	sync::{mpsc::SyncSender, Arc},
	time::Duration,
};
use tokio::{
	io::{AsyncRead, AsyncWrite},
	sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// Frames that wait for a holder. One that reads no more than this behind is late.
const QUEUE: usize = 4;
/// Events that wait for the engine.
pub(super) const EVENTS: usize = 1_024;
/// Between two attempts to reach a holder.
const RETRY: Duration = Duration::from_millis(500);

/// What happens with a holder.
#[derive(Debug)]
pub(super) enum Event {
	/// It is connected, and holds nothing yet.
	Connected(Link),
	/// It has answered.
	Reply(Reply, Vec<f32>),
	/// The connection has ended.
	Gone,
}

/// A connection to a holder. The tasks behind it end when it is dropped.
#[derive(Debug)]
pub(super) struct Link(mpsc::Sender<Arc<[u8]>>);

impl Link {
	/// Sends a frame; whether there was room for it.
	pub(super) fn send(&self, frame: Arc<[u8]>) -> bool {
		self.0.try_send(frame).is_ok()
	}

	/// Sends a message without rows.
	pub(super) fn say(&self, request: &Request) -> bool {
		self.send(frame(request, &[]).into())
	}
}

/// Keeps holder number `index` connected: whatever `open` opens is used until it ends, and then opened anew.
pub(super) async fn keep<S, F>(index: usize, events: SyncSender<(usize, Event)>, stop: CancellationToken, mut open: impl FnMut() -> F)
where
	S: AsyncRead + AsyncWrite + Send + 'static,
	F: Future<Output = Option<S>>,
{
	let tell = |event| events.try_send((index, event)).is_ok();
	let connected = async {
		loop {
			if let Some(stream) = open().await {
				let (link, frames) = mpsc::channel(QUEUE);
				if tell(Event::Connected(Link(link))) {
					talk(stream, frames, &tell).await;
					tell(Event::Gone);
				}
			}
			tokio::time::sleep(RETRY).await;
		}
	};
	tokio::select! {
		() = stop.cancelled() => {}
		() = connected => {}
	}
}

/// Sends and receives until either side has enough.
async fn talk<S: AsyncRead + AsyncWrite>(stream: S, mut frames: mpsc::Receiver<Arc<[u8]>>, tell: &impl Fn(Event) -> bool) {
	let (mut from, mut to) = tokio::io::split(stream);
	let sending = async {
		while let Some(frame) = frames.recv().await {
			if send(&mut to, &frame).await.is_err() {
				return;
			}
		}
	};
	let receiving = async {
		let mut from = Box::pin(&mut from);
		while let Ok((reply, rows)) = receive::<Reply>(&mut from).await {
			if !tell(Event::Reply(reply, rows)) {
				return;
			}
		}
	};
	// The future of a frame that is half read or written is dropped with its stream.
	tokio::select! {
		() = sending => {}
		() = receiving => {}
	}
}
