//! Address book of a participant: the peers that it asks for content.

use super::decide::view::RunState;
use crate::{
	peers::{addresses, holders, participants, readable},
	WorkerError,
};
use neuroshard_chain_client::{ChainAt, ChainError, PeerPage};
use neuroshard_network::{Handle, PeerAddress, PeerId};
use neuroshard_types::{AccountId, BlockNumber};
use std::{
	collections::{BTreeMap, BTreeSet},
	sync::Arc,
};

/// Other providers that are asked for at a time, and how often with one look at the chain.
const PAGE: u32 = 100;
const PAGES: u32 = 10;
/// Most other providers that are known at a time.
const MOST_OTHERS: usize = 16_384;
/// The book is read anew after so many blocks, and when somebody could not be reached.
const REFRESH_AFTER: BlockNumber = 10;

/// Addresses, by account, of the providers whom the run at hand needs content from. All others are known to the network only.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
	entries: BTreeMap<AccountId, PeerAddress>,
	others: Arc<Others>,
	read_at: Option<BlockNumber>,
}

impl Book {
	/// Returns whether it is time to read it again.
	pub(super) fn is_old(&self, best: BlockNumber) -> bool {
		self.read_at.is_none_or(|read| best.saturating_sub(read) >= REFRESH_AFTER)
	}

	/// Has it read again with the next block: somebody is not where it says.
	pub(super) fn expire(&mut self) {
		self.read_at = None;
	}

	/// Reads where those are whom `run` needs, and some more of all others, and tells the network. `me` is left out.
	pub(super) async fn refresh(&mut self, at: &ChainAt, run: Option<&RunState>, me: &AccountId, net: &Handle) -> Result<(), WorkerError> {
		let needed = match run {
			Some(run) => needed_by(at, run).await?,
			None => BTreeSet::new(),
		};
		self.entries = addresses(at, needed, me).await?;
		Arc::make_mut(&mut self.others).read_on(at).await?;
		let others = self.others.all().filter(|(account, _)| *account != me && !self.entries.contains_key(account));
		net.set_peers(self.entries.values().chain(others.map(|(_, address)| address)).cloned().collect()).await?;
		self.read_at = Some(at.block().number);
		Ok(())
	}

	/// Peer of a provider.
	pub(super) fn peer_of(&self, account: &AccountId) -> Option<PeerId> {
		self.entries.get(account).map(|address| address.peer)
	}

	/// Everybody's addresses.
	pub(super) fn all(&self) -> Vec<PeerAddress> {
		self.entries.values().cloned().collect()
	}
}

/// Active providers, whoever they are. They are asked for in pages, and where there are too many for one look at the chain, the next one goes
/// on where the last one ended, so that everybody's turn comes.
#[derive(Clone, Debug, Default)]
struct Others {
	/// Those that were met since the first page, and in the pass over all pages before that.
	met: BTreeMap<AccountId, PeerAddress>,
	before: BTreeMap<AccountId, PeerAddress>,
	/// Whom the next page comes after.
	after: Option<AccountId>,
}

impl Others {
	async fn read_on(&mut self, at: &ChainAt) -> Result<(), ChainError> {
		for _ in 0..PAGES {
			let (page, next) = at.active_peers(self.after.clone(), PAGE).await?;
			self.note(page, next);
			if self.after.is_none() {
				break;
			}
		}
		Ok(())
	}

	fn note(&mut self, page: PeerPage, next: Option<AccountId>) {
		self.met.extend(readable(page));
		self.after = next;
		if self.after.is_none() || self.met.len() >= MOST_OTHERS {
			self.before = std::mem::take(&mut self.met);
		}
	}

	fn all(&self) -> impl Iterator<Item = (&AccountId, &PeerAddress)> {
		self.met.iter().chain(self.before.iter().filter(|(account, _)| !self.met.contains_key(account)))
	}
}

/// Accounts that have what a run needs: its sponsor, its members, who takes part in its round or took part in the one that was adopted last,
/// and holders of its dataset.
async fn needed_by(at: &ChainAt, run: &RunState) -> Result<BTreeSet<AccountId>, ChainError> {
	let mut accounts: BTreeSet<AccountId> = run.members.iter().cloned().collect();
	accounts.insert(run.view.sponsor.clone());
	accounts.extend(run.round.iter().flat_map(|round| &round.participants).map(|one| one.account.clone()));
	accounts.extend(holders(at, run.view.config.dataset).await?);
	if let Some(last) = run.view.rounds_adopted.checked_sub(1) {
		accounts.extend(participants(at, run.id, last).await?);
	}
	Ok(accounts)
}

#[cfg(test)]
mod tests;
