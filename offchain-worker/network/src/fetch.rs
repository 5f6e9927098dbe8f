//! Fetching a blob: leaf list first, then leaves, from the best peers at hand, then from mirrors, everything verified on arrival.

use crate::{
	message::{Answer, MAX_HASHES, MAX_LEAVES_PER_REQUEST},
	score::Conduct,
	FetchError, Handle, Lacking, PeerAddress, PeerFailure, PeerId, Refusal, Request, Stopped,
};
use futures::{future::BoxFuture, stream::FuturesUnordered, StreamExt};
use neuroshard_mirror::FetchFailure;
use neuroshard_store::{parse_hashes, Blob, ContentDescriptor, LeafList, Partial, StoreError};
use std::{
	collections::{HashMap, VecDeque},
	ops::Range,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Times that one peer may fail to answer before a fetch gives it up.
const PATIENCE: u32 = 2;
/// Times in a row that one peer may say it is busy before a fetch gives it up.
const BUSY_PATIENCE: u32 = 20;
/// Bytes of a leaf and of a hash in answers.
const LEAF_BYTES: usize = neuroshard_store::LEAF_BYTES;
const HASH_BYTES: usize = 32;

/// Progress of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
	/// Leaves that are here and verified.
	pub done: u32,
	/// Leaves of the blob.
	pub total: u32,
}

/// Means by which the caller steers and follows a fetch.
#[derive(Clone, Debug, Default)]
pub struct FetchWatch {
	/// Told about progress.
	pub progress: Option<watch::Sender<Progress>>,
	/// Ends the fetch.
	pub cancel: CancellationToken,
	/// Ask no mirrors: for what is on none.
	pub peers_only: bool,
	/// Peer that surely has the blob: of the peers named, it is asked first, unless it kept this worker waiting before.
	pub first: Option<PeerId>,
}

/// Brings `content` into the store. The caller sees to it that a blob is fetched only once at a time.
pub(super) async fn fetch(
	handle: &Handle,
	content: ContentDescriptor,
	peers: &[PeerAddress],
	watch: &FetchWatch,
) -> Result<Blob, FetchError> {
	if let Some(blob) = find(handle, content).await? {
		return Ok(blob);
	}
	let mut session = Session::new(handle, content, watch);
	session.add(peers.to_vec()).await?;
	let store = handle.store.clone();
	let mut partial = blocking(move || store.resume(content)).await??;
	loop {
		if partial.is_none() {
			if let Some(list) = session.leaf_list().await? {
				let store = handle.store.clone();
				partial = Some(blocking(move || store.download(list)).await??);
			}
		}
		if let Some(taken) = partial.take() {
			let arrived = session.leaves(taken).await?;
			if arrived.missing() == 0 {
				return Ok(blocking(move || arrived.finish()).await??);
			}
			partial = Some(arrived);
		}
		// Everybody who was named has been tried.
		if !session.find_others().await? {
			let lacking = partial.as_ref().map_or(Lacking::LeafList, |partial| Lacking::Leaves(partial.missing()));
			return session.mirrored(partial, lacking).await;
		}
	}
}

/// The blob, if the store has it.
async fn find(handle: &Handle, content: ContentDescriptor) -> Result<Option<Blob>, FetchError> {
	let store = handle.store.clone();
	match blocking(move || store.get(content.root)).await?? {
		Some(blob) if blob.descriptor().leaves != content.leaves => {
			Err(StoreError::LeafCount { root: content.root, expected: content.leaves, actual: blob.descriptor().leaves }.into())
		}
		found => Ok(found),
	}
}

/// Runs `work`, which uses the disk, on a thread where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stopped> {
	neuroshard_support::blocking::blocking(work).await.ok_or(Stopped)
}

/// Outcome of asking one peer for one range.
type Asked = (PeerId, Range<u32>, Result<Result<Answer, PeerFailure>, Stopped>);

/// One fetch.
struct Session<'a> {
	handle: &'a Handle,
	content: ContentDescriptor,
	watch: &'a FetchWatch,
	addresses: HashMap<PeerId, PeerAddress>,
	/// Peers that have not been given up, best first.
	usable: Vec<PeerId>,
	/// Why peers were given up.
	failures: Vec<(PeerId, PeerFailure)>,
	/// Failures and busy answers that were forgiven.
	strikes: HashMap<PeerId, (u32, u32)>,
	/// True if all others of the address book were added.
	widened: bool,
}

impl<'a> Session<'a> {
	fn new(handle: &'a Handle, content: ContentDescriptor, watch: &'a FetchWatch) -> Self {
		Self {
			handle,
			content,
			watch,
			addresses: HashMap::new(),
			usable: Vec::new(),
			failures: Vec::new(),
			strikes: HashMap::new(),
			widened: false,
		}
	}

	/// Adds peers that are new to this fetch and ranks all that are usable.
	async fn add(&mut self, peers: Vec<PeerAddress>) -> Result<(), Stopped> {
		let mut candidates = std::mem::take(&mut self.usable);
		for peer in peers {
			if peer.peer != self.handle.peer_id() && !self.addresses.contains_key(&peer.peer) {
				candidates.push(peer.peer);
				self.addresses.insert(peer.peer, peer);
			}
		}
		let ranking = self.handle.rank(candidates, self.watch.first, self.content.root).await?;
		self.usable = ranking.usable;
		self.failures.extend(ranking.banned.into_iter().map(|(peer, rest)| (peer, PeerFailure::Banned(rest))));
		Ok(())
	}

	/// Adds all others of the address book, once; says whether that makes anybody usable.
	async fn find_others(&mut self) -> Result<bool, Stopped> {
		if std::mem::replace(&mut self.widened, true) {
			return Ok(false);
		}
		self.add(self.handle.book().await?).await?;
		Ok(!self.usable.is_empty())
	}

	/// What peers could not bring, from the mirrors. Peers come first: what they serve costs nobody a store's fees, and asking one that does not have
	/// it takes a moment.
	async fn mirrored(self, partial: Option<Partial>, lacking: Lacking) -> Result<Blob, FetchError> {
		let (handle, content, watch) = (self.handle, self.content, self.watch);
		let peers = self.exhausted(lacking);
		if watch.peers_only || handle.mirrors.is_empty() {
			return Err(peers);
		}
		let report = |missing: u32| {
			if let Some(progress) = &watch.progress {
				progress.send_replace(Progress { done: content.leaves.saturating_sub(missing), total: content.leaves });
			}
		};
		handle.mirrors.fetch(&handle.store, content, partial, report).await.map_err(|failure| match failure {
			FetchFailure::Mirrors(mirrors) => FetchError::Nowhere { peers: Box::new(peers), mirrors },
			FetchFailure::Store(error) => error.into(),
			FetchFailure::Ended => Stopped.into(),
		})
	}

	fn exhausted(self, lacking: Lacking) -> FetchError {
		let root = self.content.root;
		match self.failures.is_empty() {
			true => FetchError::NoPeers { root },
			false => FetchError::Exhausted { root, lacking, failures: self.failures },
		}
	}

	/// The leaf list from the first peer that has the right one; `None` if nobody does.
	async fn leaf_list(&mut self) -> Result<Option<LeafList>, FetchError> {
		while let Some(peer) = self.usable.first().copied() {
			match self.leaf_list_of(peer).await? {
				Ok(list) => {
					self.handle.judge(peer, Conduct::Good).await?;
					return Ok(Some(list));
				}
				Err(failure) => self.note(peer, failure).await?,
			}
		}
		Ok(None)
	}

	async fn leaf_list_of(&self, peer: PeerId) -> Result<Result<LeafList, PeerFailure>, FetchError> {
		let ContentDescriptor { root, leaves } = self.content;
		let mut hashes = Vec::new();
		for start in (0..leaves).step_by(MAX_HASHES as usize) {
			let count = MAX_HASHES.min(leaves - start);
			let data = match self.ask(peer, Request::Hashes { root, start, count }).await? {
				Ok(Answer::Data(data)) => data,
				Ok(Answer::Refused(refusal)) => return Ok(Err(PeerFailure::Refused(refusal))),
				Err(failure) => return Ok(Err(failure)),
			};
			match parse_hashes(&data).filter(|part| part.len() as u64 == u64::from(count)) {
				Some(part) => hashes.extend(part),
				None => return Ok(Err(wrong_length(data.len(), count, HASH_BYTES))),
			}
		}
		let content = self.content;
		match blocking(move || LeafList::verified(content, hashes)).await? {
			Ok(list) => Ok(Ok(list)),
			Err(StoreError::WrongLeafList { .. }) => Ok(Err(PeerFailure::WrongLeafList)),
			Err(error) => Err(error.into()),
		}
	}

	/// Fetches what `partial` lacks until it is complete or no peer is left.
	async fn leaves(&mut self, mut partial: Partial) -> Result<Partial, FetchError> {
		let mut wanted: VecDeque<Range<u32>> = partial.missing_ranges(MAX_LEAVES_PER_REQUEST).into();
		let mut load: HashMap<PeerId, usize> = HashMap::new();
		let mut open: FuturesUnordered<BoxFuture<'a, Asked>> = FuturesUnordered::new();
		self.report(&partial);
		loop {
			while let Some(range) = wanted.pop_front() {
				let free = |peer: &&PeerId| load.get(peer).is_none_or(|load| *load < self.handle.requests_per_peer);
				let Some(peer) = self.usable.iter().find(free).copied() else {
					wanted.push_front(range);
					break;
				};
				*load.entry(peer).or_default() += 1;
				open.push(self.ask_for(peer, range));
			}
			// Nothing is open only if everything has arrived or nobody is left to ask.
			let Some((peer, range, outcome)) = open.next().await else { return Ok(partial) };
			if let Some(load) = load.get_mut(&peer) {
				*load -= 1;
			}
			let outcome = match outcome? {
				Ok(Answer::Data(data)) => {
					let (returned, outcome) = accept(partial, range.clone(), data).await?;
					partial = returned;
					outcome
				}
				Ok(Answer::Refused(refusal)) => Err(PeerFailure::Refused(refusal)),
				Err(failure) => Err(failure),
			};
			match outcome {
				Ok(()) => {
					self.handle.judge(peer, Conduct::Good).await?;
					// It answers between being busy: there are few places for strangers.
					if let Some((_, busy)) = self.strikes.get_mut(&peer) {
						*busy = 0;
					}
					self.report(&partial);
				}
				Err(failure) => {
					wanted.push_front(range);
					self.note(peer, failure).await?;
				}
			}
		}
	}

	/// Asks `peer` for leaves, after a pause if it said that it was busy.
	fn ask_for(&self, peer: PeerId, range: Range<u32>) -> BoxFuture<'a, Asked> {
		let (handle, root) = (self.handle, self.content.root);
		let busy = self.strikes.get(&peer).is_some_and(|(_, busy)| *busy > 0);
		let address = self.addresses.get(&peer).cloned().unwrap_or_else(|| PeerAddress::new(peer, []));
		Box::pin(async move {
			if busy {
				tokio::time::sleep(handle.busy).await;
			}
			let request = Request::Leaves { root, start: range.start, count: range.end - range.start };
			let outcome = handle.ask(address, request).await;
			(peer, range, outcome)
		})
	}

	async fn ask(&self, peer: PeerId, request: Request) -> Result<Result<Answer, PeerFailure>, Stopped> {
		let address = self.addresses.get(&peer).cloned().unwrap_or_else(|| PeerAddress::new(peer, []));
		self.handle.ask(address, request).await
	}

	/// Judges a failure and gives the peer up if it is not worth another try.
	async fn note(&mut self, peer: PeerId, failure: PeerFailure) -> Result<(), Stopped> {
		tracing::debug!(%peer, root = ?self.content.root, %failure, "a peer did not deliver");
		self.handle.judge_failure(peer, &failure).await?;
		let (failed, busy) = self.strikes.entry(peer).or_default();
		let again = match &failure {
			PeerFailure::Refused(Refusal::Busy) | PeerFailure::Queue => {
				*busy += 1;
				*busy < BUSY_PATIENCE
			}
			PeerFailure::Timeout | PeerFailure::Disconnected | PeerFailure::Transport(_) => {
				*failed += 1;
				*failed < PATIENCE
			}
			_ => false,
		};
		if let Some(place) = self.usable.iter().position(|usable| *usable == peer) {
			self.usable.remove(place);
			match again {
				// Its second chance comes when the others have had their first.
				true => self.usable.push(peer),
				false => self.failures.push((peer, failure)),
			}
		}
		Ok(())
	}

	fn report(&self, partial: &Partial) {
		if let Some(progress) = &self.watch.progress {
			let total = self.content.leaves;
			progress.send_replace(Progress { done: total - partial.missing(), total });
		}
	}
}

/// Stores `data` as the leaves of `range`. The inner error is the peer's fault, the outer one ours.
async fn accept(mut partial: Partial, range: Range<u32>, data: Vec<u8>) -> Result<(Partial, Result<(), PeerFailure>), FetchError> {
	let count = range.end - range.start;
	if data.len() as u64 != u64::from(count) * LEAF_BYTES as u64 {
		return Ok((partial, Err(wrong_length(data.len(), count, LEAF_BYTES))));
	}
	let (partial, outcome) = blocking(move || {
		let outcome = partial.write(range.start, &data);
		(partial, outcome)
	})
	.await?;
	match outcome {
		Ok(()) => Ok((partial, Ok(()))),
		Err(StoreError::WrongLeaf { leaf, .. }) => Ok((partial, Err(PeerFailure::CorruptLeaf { leaf }))),
		Err(error) => Err(error.into()),
	}
}

fn wrong_length(bytes: usize, count: u32, unit: usize) -> PeerFailure {
	PeerFailure::Malformed(format!("{bytes} bytes where {count} times {unit} were asked for"))
}
