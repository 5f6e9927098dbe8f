//! Somebody takes the place of a holder that is lost: of those whom the directory knows, the nearest one that has room.
//!
//! A span that fewer members hold than were asked for is looked at until one more holds it. Whoever is away may be back in a moment, so that a span is left
//! alone at first.

use super::{
	find::{Resting, UNUSABLE},
	link::{begin, keep, Event, Recruit},
	message::Hold,
	presence::Presence,
	report::Reports,
	start::{greet, opening, Candidate, Find},
};
use futures::future::join_all;
use neuroshard_network::{ByteStream, PeerAddress, PeerId, Streams};
use std::{
	collections::HashMap,
	sync::mpsc::SyncSender,
	time::{Duration, Instant},
};
use tokio::{
	task::JoinSet,
	time::{interval, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Time for which a span may lack a holder before another one is looked for.
const GRACE: Duration = Duration::from_secs(3);
/// Candidates that are greeted at a time.
const GREETED: usize = 4;

/// A member of the ring, by its number.
pub(super) struct Recruited {
	pub(super) span: usize,
	pub(super) peer: PeerId,
	pub(super) banned: CancellationToken,
}

/// What it takes to find holders.
pub(super) struct Recruiting {
	pub(super) streams: Streams,
	pub(super) find: Find,
	/// The spans, and how many bytes of memory each takes.
	pub(super) spans: Vec<(Hold, u64)>,
	/// How many members hold each.
	pub(super) redundancy: usize,
	pub(super) members: Vec<Recruited>,
	pub(super) events: (SyncSender<(usize, Event)>, Presence),
	pub(super) reports: Reports,
}

/// One that has taken a span, over this stream.
struct Taken {
	span: usize,
	address: PeerAddress,
	stream: ByteStream,
	/// Others that were greeted.
	of: usize,
}

impl Recruiting {
	/// Looks after the spans until `stop` is cancelled.
	pub(super) async fn run(mut self, stop: CancellationToken) {
		let (mut kept, mut loading) = (JoinSet::new(), JoinSet::<(usize, Vec<PeerId>, Option<Taken>)>::new());
		let mut lacking: HashMap<usize, Instant> = HashMap::new();
		let tried = Resting::default();
		// Spans for which somebody is looked for.
		let mut busy: Vec<usize> = Vec::new();
		let mut looks = interval(LOOK);
		looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
		loop {
			tokio::select! {
				() = stop.cancelled() => break,
				Some(ended) = kept.join_next(), if !kept.is_empty() => drop::<Result<(), _>>(ended),
				Some(ended) = loading.join_next(), if !loading.is_empty() => {
					let Ok((span, greeted, taken)) = ended else { continue };
					busy.retain(|other| *other != span);
					greeted.into_iter().for_each(|peer| tried.rest(peer, Instant::now(), UNUSABLE));
					if let Some(taken) = taken {
						tried.end(&taken.address.peer);
						self.keep(taken, &stop, &mut kept);
					}
				}
				_ = looks.tick() => {
					for span in 0..self.spans.len() {
						if self.events.1.of(span) >= self.redundancy {
							lacking.remove(&span);
							continue;
						}
						let since = *lacking.entry(span).or_insert_with(Instant::now);
						if since.elapsed() < GRACE || busy.contains(&span) {
							continue;
						}
						let candidates = self.candidates(span, &tried);
						if !candidates.is_empty() {
							busy.push(span);
							loading.spawn(self.look_for(span, candidates));
						}
					}
				}
			}
		}
	}

	/// Those who could take a span, and how much of their memory they have for it left: first those who hold nothing of this ring.
	fn candidates(&self, span: usize, tried: &Resting) -> Vec<(PeerAddress, u64)> {
		let holds = |peer: PeerId| self.members.iter().filter(move |member| member.peer == peer);
		let now = Instant::now();
		let usable = |peer: &PeerId| {
			!tried.has(peer, now)
				&& !self.reports.is_liar(&peer.to_string())
				&& holds(*peer).all(|member| member.span != span && !member.banned.is_cancelled())
		};
		let mut all: Vec<(PeerAddress, u64)> = (self.find)(&usable)
			.into_iter()
			.map(|found| {
				let used = holds(found.peer).filter_map(|member| self.spans.get(member.span)).map(|(_, bytes)| *bytes);
				let used = used.fold(0u64, u64::saturating_add);
				(found, used)
			})
			.collect();
		// Among equals, the lots by which they are found stay.
		all.sort_by_key(|(_, used)| *used);
		all.truncate(GREETED);
		all
	}

	/// Has the nearest one that has room take a span.
	fn look_for(
		&self,
		span: usize,
		candidates: Vec<(PeerAddress, u64)>,
	) -> impl std::future::Future<Output = (usize, Vec<PeerId>, Option<Taken>)> + Send + 'static {
		let (streams, spans) = (self.streams.clone(), self.spans.get(span).cloned());
		async move {
			let greeted = candidates.iter().map(|(found, _)| found.peer).collect();
			let Some((hold, bytes)) = spans else { return (span, greeted, None) };
			let greeting = candidates.iter().map(|(found, used)| {
				let (streams, parameters) = (&streams, hold.parameters);
				async move { greet(streams, found, parameters, None).await.map(|candidate| (candidate, *used)) }
			});
			let mut usable: Vec<(Candidate, u64)> = Vec::new();
			for (greeted, (found, _)) in join_all(greeting).await.into_iter().zip(&candidates) {
				match greeted {
					Ok((candidate, used)) if candidate.profile.memory >= bytes => usable.push((candidate, used)),
					Ok(_) => tracing::debug!("{} has no room for the span that begins with layer {}", found.peer, hold.first),
					Err(why) => tracing::debug!("{}: {why}", found.peer),
				}
			}
			usable.sort_by(|(a, used), (b, other)| used.cmp(other).then(a.latency.total_cmp(&b.latency)));
			let of = usable.len();
			for (candidate, _) in usable {
				let address = candidate.address;
				let Ok(stream) = streams.open(&address).await else { continue };
				match begin(stream, &hold).await {
					Ok(stream) => return (span, greeted, Some(Taken { span, address, stream, of })),
					Err(words) => tracing::info!("{} does not take a span: {}", address.peer, words.unwrap_or_else(|| "it is gone".into())),
				}
			}
			(span, greeted, None)
		}
	}

	/// Makes one that has taken a span a member.
	fn keep(&mut self, taken: Taken, stop: &CancellationToken, kept: &mut JoinSet<()>) {
		let Taken { span, address, stream, of } = taken;
		let Some((hold, _)) = self.spans.get(span).cloned() else { return };
		let (index, peer, name) = (self.members.len(), address.peer, address.peer.to_string());
		// Who lies about one span is not asked for another one either.
		let banned =
			self.members.iter().find(|member| member.peer == peer).map_or_else(CancellationToken::new, |member| member.banned.clone());
		let recruit = Recruit { span, name, banned: banned.clone() };
		if self.events.0.try_send((index, Event::Recruited(recruit))).is_err() {
			// Its queue is full: later.
			return;
		}
		let last = hold.first.saturating_add(hold.layers).saturating_sub(1);
		tracing::info!(
			"{peer} is taken for layers {} to {last}, which fewer than {} held: the nearest of {of} with room that the directory knows",
			hold.first,
			self.redundancy
		);
		self.members.push(Recruited { span, peer, banned: banned.clone() });
		let open = opening(self.streams.clone(), address, Some(self.find.clone()));
		kept.spawn(keep((index, span), hold, self.events.clone(), [stop.clone(), banned], Some(stream), open));
	}
}
