//! Where providers are, as the chain says it.

use super::WorkerError;
use crate::{
	chain::ChainAt,
	net::{Handle, PeerAddress, PeerId},
};
use neuroshard_types::{AccountId, BlockNumber};
use std::collections::BTreeMap;

/// Providers asked for at a time, and in all: the address book of one worker need not hold everybody.
const PAGE: u32 = 100;
const PAGES: u32 = 10;
/// The book is read anew after so many blocks, and when somebody could not be reached.
const REFRESH_AFTER: BlockNumber = 10;

/// Addresses of providers by account.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
	entries: BTreeMap<AccountId, PeerAddress>,
	read_at: Option<BlockNumber>,
}

impl Book {
	/// Whether it is time to read it again.
	pub(super) fn is_old(&self, best: BlockNumber) -> bool {
		self.read_at.is_none_or(|read| best.saturating_sub(read) >= REFRESH_AFTER)
	}

	/// Has it read again with the next block: somebody is not where it says.
	pub(super) fn expire(&mut self) {
		self.read_at = None;
	}

	/// Reads all providers but `me`, and tells the network.
	pub(super) async fn refresh(&mut self, at: &ChainAt, me: &AccountId, net: &Handle) -> Result<(), WorkerError> {
		let mut entries = BTreeMap::new();
		let mut after = None;
		// Whatever the node answers, this ends.
		for _ in 0..PAGES {
			let page = at.peers(after.take(), PAGE).await?;
			let full = u32::try_from(page.len()).is_ok_and(|len| len >= PAGE);
			after = page.last().map(|(account, ..)| account.clone());
			for (account, peer, addresses) in page {
				let addresses = addresses.iter().map(|address| address.as_slice());
				// Whoever registered an unreadable peer id only makes itself unreachable.
				if let (Ok(address), true) = (PeerAddress::from_bytes(&peer, addresses), account != *me) {
					entries.insert(account, address);
				}
			}
			if !full {
				break;
			}
		}
		if entries != self.entries {
			net.set_peers(entries.values().cloned().collect()).await?;
		}
		self.entries = entries;
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

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_provider_is_found_by_its_account() {
		let accounts = [1, 2, 3].map(|byte| AccountId::new([byte; 32]));
		let addresses = [(); 3].map(|()| PeerAddress::new(PeerId::random(), []));
		let book = Book { entries: accounts.iter().cloned().zip(addresses.iter().cloned()).collect(), read_at: Some(100) };
		assert_eq!(book.peer_of(&accounts[1]), Some(addresses[1].peer));
		assert_eq!(book.peer_of(&AccountId::new([9; 32])), None);
		assert_eq!(book.all().len(), 3);
	}

	#[test]
	fn a_book_ages_by_blocks() {
		assert!(Book::default().is_old(0));
		let mut book = Book { entries: BTreeMap::new(), read_at: Some(100) };
		assert!(!book.is_old(109));
		assert!(book.is_old(110));
		assert!(!book.is_old(90), "a reorganisation does not make it old");
		book.expire();
		assert!(book.is_old(100));
	}
}
