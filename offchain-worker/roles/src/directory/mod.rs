//! The directory of a running worker: who else is there, by what they announce, and what this worker announces itself.
//!
//! One task has it. It takes what peers pass on by gossip, asks the chain whose accounts these are ([`registry`]), passes on what is good, and tells newcomers
//! all that it knows. Others look at [`Known`]. It ends with its token, with a farewell if it has announced anything.

mod own;
mod registry;
#[cfg(test)]
mod tests;

pub use own::Announces;

use neuroshard_chain_client::ChainClient;
use neuroshard_directory::{Directory, News, Refusal};
use neuroshard_network::{Handle, Heard, PeerAddress, PeerId, Stopped, Verdict};
use neuroshard_types::{
	announcement::{tag_of, SignedAnnouncement},
	AccountId, Moment, H256,
};
use own::Own;
use registry::{Registrations, Registry};
use std::{
	collections::BTreeSet,
	sync::Arc,
	time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
	sync::watch,
	task::{JoinHandle, JoinSet},
	time::{interval, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;

/// Between two looks at what is due.
const TICK: Duration = Duration::from_secs(1);
/// Between two looks at the list of active providers, in milliseconds.
const READ_MS: Moment = 60_000;
/// The same while nobody is there who passes anything on: others may have registered their addresses just now.
const ALONE_MS: Moment = 6_000;
/// Peers that a newcomer asks what they know.
const ASKED: usize = 3;
/// Between two such questions later, in milliseconds: what was lost on the way is found again.
const ASK_MS: Moment = 300_000;

/// An account that nobody has: of who announces nothing, and takes what anybody announces.
const NOBODY: AccountId = AccountId::new([0; 32]);

/// Says what time it is, in milliseconds since the Unix epoch.
pub type Now = Arc<dyn Fn() -> Moment + Send + Sync>;

/// The time of this machine.
pub fn system_time() -> Now {
	let millis = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
	Arc::new(move || Moment::try_from(millis()).unwrap_or(Moment::MAX))
}

/// What the directory works with.
pub struct DirectoryParts {
	/// The chain, which says who is registered.
	pub client: ChainClient,
	/// Network with gossip, running.
	pub net: Handle,
	/// What this worker announces, if it does.
	pub announces: Option<Announces>,
	/// Whether the network's address book is kept here: of all active providers.
	pub keeps_book: bool,
	/// The time.
	pub now: Now,
}

/// What is known of others. Clones see the same.
#[derive(Clone)]
pub struct Known {
	newest: watch::Receiver<Arc<Directory>>,
	now: Now,
}

impl Known {
	/// The directory, and the time at which it is looked at.
	pub fn look(&self) -> (Arc<Directory>, Moment) {
		(self.newest.borrow().clone(), (self.now)())
	}
}

/// Starts the directory's task, which ends with `stop`.
pub fn spawn(parts: DirectoryParts, stop: CancellationToken) -> (Known, JoinHandle<()>) {
	let DirectoryParts { client, net, announces, keeps_book, now } = parts;
	let genesis = client.genesis();
	let (task, known) = Task::new(client, genesis, net, announces, keeps_book, now);
	(known, tokio::spawn(task.run(stop)))
}

/// The task.
struct Task<C> {
	registry: Registry<C>,
	net: Handle,
	own: Option<Own>,
	keeps_book: bool,
	now: Now,
	genesis: H256,
	directory: Directory,
	/// True if something has changed since `told`.
	changed: bool,
	told: watch::Sender<Arc<Directory>>,
	/// Peers that were asked what they know, and when somebody was asked last.
	asked: BTreeSet<PeerId>,
	asked_at: Moment,
	asking: JoinSet<Option<Vec<Vec<u8>>>>,
}

impl<C: Registrations> Task<C> {
	fn new(chain: C, genesis: H256, net: Handle, announces: Option<Announces>, keeps_book: bool, now: Now) -> (Self, Known) {
		let who = announces.as_ref().map_or(NOBODY, |announces| announces.provider.clone());
		let directory = Directory::new(genesis, who);
		let (told, newest) = watch::channel(Arc::new(directory.clone()));
		let known = Known { newest, now: now.clone() };
		let (registry, own) = (Registry::new(chain), announces.map(|announces| Own::new(announces, genesis)));
		let (asked, asking) = Default::default();
		let task = Self { registry, net, own, keeps_book, now, genesis, directory, changed: false, told, asked, asked_at: 0, asking };
		(task, known)
	}

	async fn run(mut self, stop: CancellationToken) {
		let heard = match self.net.hear().await {
			Ok(heard) => heard,
			Err(Stopped) => return,
		};
		let Some(mut heard) = heard else {
			return tracing::error!("the directory of providers stays empty: the network has no gossip, or somebody else hears it");
		};
		let mut ticks = interval(TICK);
		ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
		loop {
			// Whatever is done may ask the chain, which takes as long as it takes.
			let step = async {
				tokio::select! {
					message = heard.recv() => match message {
						Some(message) => self.hear(message).await,
						None => Err(Stopped),
					},
					Some(told) = self.asking.join_next() => {
						self.read(told.ok().flatten().unwrap_or_default()).await;
						Ok(())
					}
					_ = ticks.tick() => self.tick().await,
				}
			};
			let Some(Ok(())) = stop.run_until_cancelled(step).await else { break };
		}
		if let Some(own) = &mut self.own {
			own.leave(&self.net, (self.now)()).await;
		}
	}

	/// Takes a message, and says what it is.
	async fn hear(&mut self, message: Heard) -> Result<(), Stopped> {
		let verdict = match self.take(&message.bytes).await {
			Ok(_) => Verdict::Good,
			Err(refusal) if refusal.is_false() => Verdict::False,
			Err(_) => Verdict::Useless,
		};
		self.net.settle(message, verdict).await
	}

	/// Takes what a peer knows. None of it is passed on: others have heard it, or ask as well.
	async fn read(&mut self, told: Vec<Vec<u8>>) {
		for bytes in told {
			// A peer that tells what is false harms nobody by it.
			let _ = self.take(&bytes).await;
		}
	}

	async fn take(&mut self, bytes: &[u8]) -> Result<News, Refusal> {
		let (now, genesis) = ((self.now)(), self.genesis);
		let signed = Arc::new(SignedAnnouncement::read(bytes).map_err(Refusal::False)?);
		// Before the chain is asked: who cannot sign for anybody costs it no question.
		signed.check_signature(genesis).map_err(Refusal::False)?;
		let announcement = &signed.announcement;
		let who = announcement.provider.clone();
		let registered = self.registry.of(announcement, now).await;
		let taken = self.directory.take_read(signed, now, |_| registered, |_| Ok(()));
		match &taken {
			Ok(news) => {
				self.changed = true;
				tracing::debug!(account = %who, ?news, "an announcement was taken");
			}
			Err(refusal) => tracing::debug!(account = %who, "{refusal}"),
		}
		taken
	}

	/// Does what is due.
	async fn tick(&mut self) -> Result<(), Stopped> {
		let now = (self.now)();
		let near = self.net.status().await?.gossip_peers;
		if self.registry.is_older(if near.is_empty() { ALONE_MS } else { READ_MS }, now) {
			self.look_at_chain(now).await?;
		}
		self.ask(near, now);
		if let Some(own) = &mut self.own {
			if let Some(announcement) = own.announce(&self.net, &self.registry, now).await? {
				self.directory.note_own(announcement, now);
				self.changed = true;
			}
		}
		self.directory.expire(now);
		if std::mem::take(&mut self.changed) {
			let all: Vec<Vec<u8>> = self.directory.announcements(now).map(codec::Encode::encode).collect();
			self.net.tell(all).await?;
			self.told.send_replace(Arc::new(self.directory.clone()));
		}
		Ok(())
	}

	/// Reads who is active, and forgets who is not.
	async fn look_at_chain(&mut self, now: Moment) -> Result<(), Stopped> {
		if let Err(error) = self.registry.read(now).await {
			tracing::debug!("who is registered could not be read, which is tried again: {error}");
			return Ok(());
		}
		let gone: Vec<AccountId> = self.directory.members(now).map(|member| member.account().clone()).collect();
		for account in gone.iter().filter(|account| !self.registry.is_active(account)) {
			self.directory.forget(account);
			self.changed = true;
		}
		if self.keeps_book {
			// Each in another order: not all connect with the same ones.
			let local = self.net.peer_id().to_bytes();
			let mut book: Vec<PeerAddress> = self.registry.peers().cloned().collect();
			book.sort_by_cached_key(|address| tag_of(&[address.peer.to_bytes(), local.clone()].concat()));
			self.net.set_peers(book).await?;
		}
		Ok(())
	}

	/// Asks one of these peers what it knows: some of them soon, and some again from time to time.
	fn ask(&mut self, peers: Vec<PeerId>, now: Moment) {
		let again = now.saturating_sub(self.asked_at) >= ASK_MS;
		if !self.asking.is_empty() || self.asked.len() >= ASKED && !again {
			return;
		}
		if again {
			self.asked.clear();
		}
		let Some(peer) = peers.into_iter().find(|peer| !self.asked.contains(peer)) else { return };
		self.asked.insert(peer);
		self.asked_at = now;
		let net = self.net.clone();
		self.asking.spawn(async move { net.told_by(peer).await.ok().flatten() });
	}
}
