//! The driver's side of a stream to a holder: frames go out through a bounded queue, replies come in as events of one queue for all holders.

use super::{
	message::{frame, receive, receive_bare, send, Hold, Reply, Request},
	presence::Presence,
};
use neuroshard_support::backoff::Backoff;
use std::{
	future::Future,
	sync::{
		atomic::{AtomicUsize, Ordering},
		mpsc::SyncSender,
		Arc,
	},
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
/// Between two attempts to reach a holder, after one that held its span, ..
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// .. after one that is away, ..
const AWAY: Backoff<Duration> = Backoff::new(FIRST_PAUSE, Duration::from_secs(4));
/// .. and after one that said why it does not hold it.
const REFUSED: Backoff<Duration> = Backoff::new(FIRST_PAUSE, Duration::from_secs(30));
/// Longest time in which a holder loads its layers.
const LOADING: Duration = Duration::from_secs(600);

/// Event of a holder's connection.
#[derive(Debug)]
pub(super) enum Event {
	/// It is connected, and holds its span.
	Connected(Link),
	/// It does not hold its span, and says why.
	Refused(String),
	/// It has answered.
	Reply(Reply, Vec<f32>),
	/// The connection has ended.
	Gone,
	/// It has come later, and holds this span: the first event of it.
	Recruited(Recruit),
}

/// Somebody who has come to a ring that had begun.
#[derive(Debug)]
pub(super) struct Recruit {
	/// Number of the span that it holds.
	pub(super) span: usize,
	pub(super) name: String,
	/// Cancelled when it is banned.
	pub(super) banned: CancellationToken,
}

/// A connection to a holder. The tasks behind it end when it is dropped.
#[derive(Debug)]
pub(super) struct Link {
	frames: mpsc::Sender<Arc<[u8]>>,
	/// Requests that are not answered: nobody may answer more.
	asked: Arc<AtomicUsize>,
}

impl Link {
	/// Sends a frame; whether there was room for it.
	pub(super) fn send(&self, frame: Arc<[u8]>) -> bool {
		self.asked.fetch_add(1, Ordering::Relaxed);
		self.frames.try_send(frame).is_ok()
	}

	/// Sends a message without rows.
	pub(super) fn say(&self, request: &Request) -> bool {
		self.send(frame(request, &[]).into())
	}
}

/// Keeps holder number `index` of span number `span` connected, and has it hold `hold`, which others see in `presence`: `first`, over which it holds that
/// already, and then whatever `open` opens is used until it ends, and opened anew. It ends with the tokens `stop`, or `banned` of this holder.
pub(super) async fn keep<S, F>(
	(index, span): (usize, usize),
	hold: Hold,
	(events, presence): (SyncSender<(usize, Event)>, Presence),
	[stop, banned]: [CancellationToken; 2],
	mut first: Option<S>,
	mut open: impl FnMut() -> F,
) where
	S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
	F: Future<Output = Option<S>>,
{
	let tell = |event| events.try_send((index, event)).is_ok();
	let connected = async {
		let mut pause = FIRST_PAUSE;
		loop {
			let held = match first.take() {
				Some(stream) => Ok(stream),
				None => match open().await {
					Some(stream) => begin(stream, &hold).await,
					None => Err(None),
				},
			};
			match held {
				Ok(stream) => {
					pause = FIRST_PAUSE;
					let ((frames, queue), asked) = (mpsc::channel(QUEUE), Arc::new(AtomicUsize::new(0)));
					let here = presence.enter(index, span);
					if tell(Event::Connected(Link { frames, asked: asked.clone() })) {
						talk(stream, queue, &asked, &tell).await;
						drop(here);
						tell(Event::Gone);
					}
				}
				Err(words) => {
					pause = if words.is_some() { REFUSED } else { AWAY }.after(Some(pause));
					if let Some(words) = words {
						tell(Event::Refused(words));
					}
				}
			}
			tokio::time::sleep(pause).await;
		}
	};
	tokio::select! {
		() = stop.cancelled() => {}
		() = banned.cancelled() => {}
		() = connected => {}
	}
}

/// Has the other side hold `hold`; what it says if it does not.
pub(super) async fn begin<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, hold: &Hold) -> Result<S, Option<String>> {
	let talk = async {
		send(&mut stream, &frame(&Request::Hold(hold.clone()), &[])).await.map_err(|_| None)?;
		match receive_bare(&mut stream).await {
			Ok(Reply::Holding) => Ok(()),
			Ok(Reply::Refused { words, .. }) => Err(Some(words)),
			_ => Err(None),
		}
	};
	tokio::time::timeout(LOADING, talk).await.unwrap_or(Err(None))?;
	Ok(stream)
}

/// Sends and receives until either side has enough.
async fn talk<S: AsyncRead + AsyncWrite>(
	stream: S,
	mut frames: mpsc::Receiver<Arc<[u8]>>,
	asked: &AtomicUsize,
	tell: &impl Fn(Event) -> bool,
) {
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
			let was_asked = asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |asked| asked.checked_sub(1)).is_ok();
			if !was_asked || !tell(Event::Reply(reply, rows)) {
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
