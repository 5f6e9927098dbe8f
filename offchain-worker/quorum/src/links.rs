//! Links between all members of a quorum: each dials those with smaller numbers, and is dialled by the others.
//!
//! A link is for one attempt at one round: both sides say first which work it is for. What ends before all links are there is made anew, so that all begin with
//! whole links; what ends later ends the attempt. Whoever is dialled or dials has shown who it is by its network key.

use crate::{
	link::{longest, read, write},
	run::{room, Mail},
	Place,
};
use codec::Encode;
use neuroshard_graph::merkle::{blake2_256, Hash};
use neuroshard_network::{ByteStream, Incoming, PeerAddress, PeerId, Streams};
use neuroshard_support::backoff::Backoff;
use neuroshard_types::quorum::QuorumWork;
use std::{
	collections::{BTreeMap, BTreeSet},
	future::Future,
	time::Duration,
};
use tokio::{
	io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
	sync::mpsc::channel,
	task::{AbortHandle, JoinSet},
	time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Longest time in which the other side says what a link is for.
const GREETING: Duration = Duration::from_secs(5);
/// Between two attempts to reach a member.
const PAUSE: Backoff<Duration> = Backoff::new(Duration::from_millis(250), Duration::from_secs(4));
/// Longest time in which what is queued at the end of an attempt gets to the other side.
const CLOSING: Duration = Duration::from_secs(10);

/// A link that nothing was sent over but what it is for.
pub type Fresh = BufReader<ByteStream>;

/// Who meets for which work.
#[derive(Clone, Debug)]
pub struct Meeting {
	/// Where members are reached, by number.
	pub members: Vec<PeerAddress>,
	/// Number of this one.
	pub own: usize,
	/// What the links are for, as both sides say it.
	pub about: Hash,
}

/// Why there are no links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MeetError {
	/// This side is being shut down.
	#[error("the network of this worker has been shut down")]
	Stopped,
}

impl Meeting {
	/// For an attempt at a round.
	pub fn new(members: Vec<PeerAddress>, own: usize, work: &QuorumWork) -> Self {
		Self { members, own, about: blake2_256(&(b"neuroshard/quorum-link/1", work).encode()) }
	}

	/// Number of the member that dials this one and has this identity.
	fn caller(&self, peer: &PeerId) -> Option<usize> {
		self.members.iter().position(|member| member.peer == *peer).filter(|&member| member > self.own)
	}
}

/// Links with all others, once all of them are there at the same time. It takes as long as somebody is away.
///
/// # Errors
/// [`MeetError`].
pub async fn meet(streams: &Streams, incoming: &mut Incoming, meeting: &Meeting) -> Result<BTreeMap<usize, Fresh>, MeetError> {
	let mut tasks = Tasks { all: JoinSet::new(), under_way: BTreeMap::new() };
	// Links that are there.
	let mut watched = BTreeSet::new();
	let mut go = CancellationToken::new();
	(0..meeting.own.min(meeting.members.len())).for_each(|member| tasks.dial(streams, meeting, member));
	loop {
		if watched.len() == meeting.members.len().saturating_sub(1) {
			go.cancel();
			let mut links = BTreeMap::new();
			while let Some((member, link)) = tasks.next().await {
				links.extend(link.map(|link| (member, link)));
			}
			if links.len() == watched.len() {
				return Ok(links);
			}
			// Some have ended meanwhile.
			(go, watched) = (CancellationToken::new(), BTreeSet::new());
			(0..meeting.own).filter(|member| !links.contains_key(member)).for_each(|member| tasks.dial(streams, meeting, member));
			for (member, link) in links {
				tasks.watch(member, link, &go);
				watched.insert(member);
			}
			continue;
		}
		tokio::select! {
			arrived = incoming.next() => {
				let (peer, stream) = arrived.ok_or(MeetError::Stopped)?;
				if let Some(member) = meeting.caller(&peer) {
					watched.remove(&member);
					tasks.greet(member, stream, meeting.about);
				}
			}
			Some((member, link)) = tasks.next(), if !tasks.under_way.is_empty() => match link {
				Some(link) => {
					tracing::debug!(member, "linked with a member of the quorum");
					tasks.watch(member, link, &go);
					watched.insert(member);
				}
				None => {
					watched.remove(&member);
					if member < meeting.own {
						tasks.dial(streams, meeting, member);
					}
				}
			},
		}
	}
}

/// What goes on for each member: one task at a time. All end with this.
struct Tasks {
	all: JoinSet<(usize, Option<Fresh>)>,
	under_way: BTreeMap<usize, AbortHandle>,
}

impl Tasks {
	/// Begins the task of a member, in place of the one before.
	fn begin(&mut self, member: usize, task: impl Future<Output = Option<Fresh>> + Send + 'static) {
		let handle = self.all.spawn(async move { (member, task.await) });
		if let Some(before) = self.under_way.insert(member, handle) {
			before.abort();
		}
	}

	/// What becomes of the next task that ends; `None` if there is none.
	async fn next(&mut self) -> Option<(usize, Option<Fresh>)> {
		loop {
			if self.under_way.is_empty() {
				return None;
			}
			match self.all.join_next_with_id().await? {
				Ok((id, (member, link))) if self.under_way.get(&member).is_some_and(|task| task.id() == id) => {
					self.under_way.remove(&member);
					return Some((member, link));
				}
				// It was aborted, or would have been.
				Ok(_) => {}
				Err(error) => {
					let ended = self.under_way.iter().find(|(_, task)| task.id() == error.id()).map(|(member, _)| *member);
					if let Some(member) = ended {
						self.under_way.remove(&member);
						return Some((member, None));
					}
				}
			}
		}
	}

	/// Dials a member until it is there for the same work.
	fn dial(&mut self, streams: &Streams, meeting: &Meeting, member: usize) {
		let Some(address) = meeting.members.get(member).cloned() else { return };
		let (streams, about) = (streams.clone(), meeting.about);
		self.begin(member, async move {
			let mut pause = None;
			loop {
				match streams.open(&address).await {
					Ok(stream) => {
						if let Some(link) = greeted(stream, about, true).await {
							return Some(link);
						}
					}
					Err(error) => tracing::debug!(member, "a member of the quorum is not there yet: {error}"),
				}
				let next = PAUSE.after(pause);
				tokio::time::sleep(next).await;
				pause = Some(next);
			}
		});
	}

	/// Hears what a member that has dialled wants.
	fn greet(&mut self, member: usize, stream: ByteStream, about: Hash) {
		self.begin(member, greeted(stream, about, false));
	}

	/// Keeps a link until all are there.
	fn watch(&mut self, member: usize, mut link: Fresh, go: &CancellationToken) {
		let go = go.clone();
		self.begin(member, async move {
			tokio::select! {
				biased;
				() = go.cancelled() => Some(link),
				ended = ended(&mut link) => match ended {
					true => None,
					// The other one has all of its links already.
					false => {
						go.cancelled().await;
						Some(link)
					}
				},
			}
		});
	}
}

/// Whether a link ends before anything comes over it.
async fn ended(link: &mut Fresh) -> bool {
	link.fill_buf().await.map_or(true, <[u8]>::is_empty)
}

/// The link, if the other side says the same of what it is for. Whoever has dialled says it first.
async fn greeted(stream: ByteStream, about: Hash, dialled: bool) -> Option<Fresh> {
	let mut link = BufReader::new(stream);
	let greeting = async {
		let mut said = Hash::default();
		if dialled {
			link.write_all(&about).await?;
			link.flush().await?;
		}
		link.read_exact(&mut said).await?;
		if !dialled && said == about {
			link.write_all(&about).await?;
			link.flush().await?;
		}
		Ok::<_, std::io::Error>(said)
	};
	let said = timeout(GREETING, greeting).await.ok()?.ok()?;
	(said == about).then_some(link)
}

/// The tasks that move messages over links. They end when this is dropped.
pub struct Moving {
	writers: JoinSet<()>,
	readers: JoinSet<()>,
	stop: CancellationToken,
}

/// Mail of member `place` over these links, and the tasks that move it, on the runtime at hand. With `stop` all links end.
pub fn carry(place: &Place, links: BTreeMap<usize, Fresh>, stop: &CancellationToken) -> (Mail, Moving) {
	let (train, width) = (&place.train, u64::from(place.model.dim));
	let rows = u64::from(place.micro_batch).saturating_mul(train.seq_len.into()).saturating_mul(width);
	let longest = longest(usize::try_from(rows).unwrap_or(usize::MAX));
	let (sender, inbox) = channel(links.len().max(1));
	let mut moving = Moving { writers: JoinSet::new(), readers: JoinSet::new(), stop: stop.child_token() };
	let mut outboxes = BTreeMap::new();
	for (member, link) in links {
		let (from, to) = tokio::io::split(link);
		let (outbox, queue) = channel(room(place.flying));
		moving.writers.spawn(write(to, queue, moving.stop.clone()));
		moving.readers.spawn(read((member, longest), from, sender.clone(), moving.stop.clone()));
		outboxes.insert(member, outbox);
	}
	(Mail::new(inbox, outboxes, tokio::runtime::Handle::current()), moving)
}

impl Moving {
	/// Ends the links: what is queued gets to the others first, as far as they take it.
	pub async fn close(mut self, mail: Mail) {
		let Mail { outboxes, inbox, .. } = mail;
		drop(outboxes);
		let written = timeout(CLOSING, async { while self.writers.join_next().await.is_some() {} });
		if written.await.is_err() {
			tracing::debug!("some messages of the quorum were not taken in time");
		}
		self.stop.cancel();
		drop(inbox);
		while self.readers.join_next().await.is_some() {}
	}
}
