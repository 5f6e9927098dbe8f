//! Who is registered, as the chain says it: remembered, so that not each announcement costs a question.

use crate::peers::readable;
use neuroshard_chain_client::{ChainClient, ChainError};
use neuroshard_directory::{Registered, MOST_MEMBERS};
use neuroshard_network::{PeerAddress, PeerId};
use neuroshard_types::{announcement::Announcement, provider::ProviderStatus, AccountId, Moment};
use std::{
	collections::{BTreeMap, HashSet},
	future::Future,
};

/// Providers that are asked for at a time.
const PAGE: u32 = 100;
/// Least time between two looks at the list of providers for an account that is not on it, in milliseconds: a block.
const NEW_MS: Moment = 6_000;
/// Time after which a registration that an announcement contradicts is looked at again, in milliseconds.
const OTHER_MS: Moment = 6_000;

/// What is asked of the chain.
pub(super) trait Registrations: Send + Sync + 'static {
	/// Active providers, and where they are.
	fn active(&self) -> impl Future<Output = Result<BTreeMap<AccountId, PeerAddress>, ChainError>> + Send;

	/// What an account has registered, if it is an active provider's.
	fn registered(&self, account: &AccountId) -> impl Future<Output = Result<Option<Registered>, ChainError>> + Send;
}

impl Registrations for ChainClient {
	async fn active(&self) -> Result<BTreeMap<AccountId, PeerAddress>, ChainError> {
		let (at, mut all, mut after) = (self.now().await?, BTreeMap::new(), None);
		loop {
			let (page, next) = at.active_peers(after, PAGE).await?;
			all.extend(readable(page));
			// A directory has no room for more.
			if next.is_none() || all.len() >= MOST_MEMBERS {
				return Ok(all);
			}
			after = next;
		}
	}

	async fn registered(&self, account: &AccountId) -> Result<Option<Registered>, ChainError> {
		let provider = self.now().await?.provider(account).await?.filter(|provider| provider.status == ProviderStatus::Active);
		Ok(provider.map(|provider| Registered { key: provider.info.ponw_key, peer: provider.info.peer_id }))
	}
}

/// Registrations that are remembered: of no more accounts than there are active ones.
pub(super) struct Registry<C> {
	chain: C,
	active: BTreeMap<AccountId, PeerAddress>,
	peers: HashSet<PeerId>,
	/// When the list was read, or tried to.
	read_at: Option<Moment>,
	/// What accounts have registered, and when that was read.
	known: BTreeMap<AccountId, (Option<Registered>, Moment)>,
}

impl<C: Registrations> Registry<C> {
	/// Nothing was read yet.
	pub(super) fn new(chain: C) -> Self {
		let (active, peers, known) = Default::default();
		Self { chain, active, peers, read_at: None, known }
	}

	/// Returns whether the list was read more than so many milliseconds ago.
	pub(super) fn is_older(&self, age: Moment, now: Moment) -> bool {
		self.read_at.is_none_or(|read| now.saturating_sub(read) >= age)
	}

	/// Reads who is active.
	///
	/// # Errors
	/// [`ChainError`]: all stays as it was.
	pub(super) async fn read(&mut self, now: Moment) -> Result<(), ChainError> {
		self.read_at = Some(now);
		self.active = self.chain.active().await?;
		self.peers = self.active.values().map(|address| address.peer).collect();
		let active = &self.active;
		self.known.retain(|account, _| active.contains_key(account));
		Ok(())
	}

	/// Returns whether an account is that of an active provider.
	pub(super) fn is_active(&self, account: &AccountId) -> bool {
		self.active.contains_key(account)
	}

	/// Returns whether an active provider has this identity.
	pub(super) fn has_peer(&self, peer: &PeerId) -> bool {
		self.peers.contains(peer)
	}

	/// Where active providers are.
	pub(super) fn peers(&self) -> impl Iterator<Item = &PeerAddress> {
		self.active.values()
	}

	/// What the account of an announcement has registered, if it is an active provider's. The chain is asked where that is not known, or is not what the
	/// announcement says; about nobody more than once in a while. If it does not answer, the account is a stranger's.
	pub(super) async fn of(&mut self, announcement: &Announcement, now: Moment) -> Option<Registered> {
		let who = &announcement.provider;
		if !self.is_active(who) && self.is_older(NEW_MS, now) {
			self.read(now).await.ok()?;
		}
		if !self.is_active(who) {
			return None;
		}
		let says = Registered { key: announcement.key, peer: announcement.peer.clone() };
		match self.known.get(who) {
			Some((known, read)) if known.as_ref() == Some(&says) || now.saturating_sub(*read) < OTHER_MS => known.clone(),
			_ => {
				let registered = self.chain.registered(who).await.ok()?;
				self.known.insert(who.clone(), (registered.clone(), now));
				registered
			}
		}
	}
}
