//! Who may use a holder.

use neuroshard_chain_client::{ChainClient, ChainError};
use neuroshard_network::PeerId;
use neuroshard_types::{
	provider::{ProviderStatus, Role},
	AccountId,
};
use std::{
	collections::{HashMap, HashSet},
	time::{Duration, Instant},
};

/// Providers that are asked for at a time.
const PAGE: u32 = 100;
/// Most providers that are remembered.
const MOST: usize = 16_384;
/// Least time between two looks at the list of providers: a block.
const AGAIN: Duration = Duration::from_secs(6);

/// Those whom a holder answers.
pub enum Drivers {
	/// Whoever comes.
	Anybody,
	/// These.
	Named(HashSet<PeerId>),
	/// Active providers with the role of a driver.
	Registered(Registered),
}

/// Active providers, as the chain has them.
pub struct Registered {
	client: ChainClient,
	/// Accounts of identities, and when they were read.
	known: HashMap<PeerId, AccountId>,
	read_at: Option<Instant>,
}

impl Registered {
	/// Those of a chain.
	pub fn new(client: ChainClient) -> Self {
		Self { client, known: HashMap::new(), read_at: None }
	}

	/// Returns whether the identity is that of an active provider with the role of a driver.
	///
	/// # Errors
	/// [`ChainError`].
	async fn has(&mut self, peer: &PeerId) -> Result<bool, ChainError> {
		let at = self.client.now().await?;
		if !self.known.contains_key(peer) && self.read_at.is_none_or(|read| read.elapsed() >= AGAIN) {
			self.read_at = Some(Instant::now());
			let (mut known, mut after) = (HashMap::new(), None);
			loop {
				let (page, next) = at.active_peers(after, PAGE).await?;
				known.extend(page.into_iter().filter_map(|(account, peer, _)| Some((PeerId::from_bytes(&peer).ok()?, account))));
				after = next;
				if after.is_none() || known.len() >= MOST {
					break;
				}
			}
			self.known = known;
		}
		let Some(account) = self.known.get(peer) else { return Ok(false) };
		// It may have another identity by now, or another role.
		Ok(at.provider(account).await?.is_some_and(|provider| {
			let info = &provider.info;
			provider.status == ProviderStatus::Active && info.roles.contains(Role::Driver) && info.peer_id[..] == peer.to_bytes()[..]
		}))
	}
}

impl Drivers {
	/// Why a peer is not answered; `None` if it is.
	pub(crate) async fn refusal(&mut self, peer: &PeerId) -> Option<String> {
		match self {
			Self::Anybody => None,
			Self::Named(named) if named.contains(peer) => None,
			Self::Named(_) => Some(format!("{peer} is none of the drivers named with --driver")),
			Self::Registered(registered) => match registered.has(peer).await {
				Ok(true) => None,
				Ok(false) => Some(format!("{peer} is no active provider with the role of a driver")),
				Err(error) => Some(format!("it is not known whether {peer} is a driver: {error}")),
			},
		}
	}
}
