//! Sync with a node's only peer. The SDK asks a peer for nothing for a minute and longer if it went away while a request was under way, and bans it the
//! third time: others are asked meanwhile. A node that has no other one would fetch nothing, and as it knows that it is behind, make no blocks.

use neuroshard_runtime::opaque::Block;
use sc_consensus::{BlockImportError, BlockImportStatus};
use sc_network::{PeerId, ProtocolName};
use sc_network_common::sync::message::BlockAnnounce;
use sc_network_sync::{
	service::network::NetworkServiceHandle,
	strategy::{StrategyKey, SyncingAction, SyncingStrategy},
	SyncStatus,
};
use sp_blockchain::{Error, HeaderBackend};
use sp_runtime::traits::{Block as BlockT, NumberFor};
use std::{any::Any, sync::Arc};

type Hash = <Block as BlockT>::Hash;
type Header = <Block as BlockT>::Header;
type Number = NumberFor<Block>;
type Results = Vec<(Result<BlockImportStatus<Number>, BlockImportError>, Hash)>;

/// A syncing strategy that asks the only peer again at once when that comes back.
pub struct LastPeer<C> {
	inner: Box<dyn SyncingStrategy<Block>>,
	client: Arc<C>,
}

impl<C> LastPeer<C> {
	/// As `inner`, which syncs the chain of `client`, with all peers but the last one.
	pub fn new(inner: Box<dyn SyncingStrategy<Block>>, client: Arc<C>) -> Self {
		Self { inner, client }
	}
}

impl<C: HeaderBackend<Block> + Send + Sync> SyncingStrategy<Block> for LastPeer<C> {
	fn add_peer(&mut self, peer_id: PeerId, best_hash: Hash, best_number: Number) {
		self.inner.add_peer(peer_id, best_hash, best_number);
	}

	/// A peer that comes with a block that is known is asked for nothing yet: so what was under way with the last one is forgotten before it goes.
	fn remove_peer(&mut self, peer_id: &PeerId) {
		if self.inner.num_peers() == 1 {
			let status = self.inner.status();
			if status.warp_sync.is_none() && status.state_sync.is_none() {
				let own = self.client.info();
				self.inner.add_peer(*peer_id, own.best_hash, own.best_number);
			}
		}
		self.inner.remove_peer(peer_id);
	}

	fn on_validated_block_announce(&mut self, is_best: bool, peer_id: PeerId, announce: &BlockAnnounce<Header>) -> Option<(Hash, Number)> {
		self.inner.on_validated_block_announce(is_best, peer_id, announce)
	}

	fn set_sync_fork_request(&mut self, peers: Vec<PeerId>, hash: &Hash, number: Number) {
		self.inner.set_sync_fork_request(peers, hash, number);
	}

	fn request_justification(&mut self, hash: &Hash, number: Number) {
		self.inner.request_justification(hash, number);
	}

	fn clear_justification_requests(&mut self) {
		self.inner.clear_justification_requests();
	}

	fn on_justification_import(&mut self, hash: Hash, number: Number, success: bool) {
		self.inner.on_justification_import(hash, number, success);
	}

	fn on_generic_response(&mut self, peer_id: &PeerId, key: StrategyKey, protocol_name: ProtocolName, response: Box<dyn Any + Send>) {
		self.inner.on_generic_response(peer_id, key, protocol_name, response);
	}

	fn on_blocks_processed(&mut self, imported: usize, count: usize, results: Results) {
		self.inner.on_blocks_processed(imported, count, results);
	}

	fn on_block_finalized(&mut self, hash: &Hash, number: Number) {
		self.inner.on_block_finalized(hash, number);
	}

	fn update_chain_info(&mut self, best_hash: &Hash, best_number: Number) {
		self.inner.update_chain_info(best_hash, best_number);
	}

	fn is_major_syncing(&self) -> bool {
		self.inner.is_major_syncing()
	}

	fn num_peers(&self) -> usize {
		self.inner.num_peers()
	}

	fn status(&self) -> SyncStatus<Block> {
		self.inner.status()
	}

	fn num_downloaded_blocks(&self) -> usize {
		self.inner.num_downloaded_blocks()
	}

	fn num_sync_requests(&self) -> usize {
		self.inner.num_sync_requests()
	}

	fn actions(&mut self, network_service: &NetworkServiceHandle) -> Result<Vec<SyncingAction<Block>>, Error> {
		self.inner.actions(network_service)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use sc_client_api::in_mem::Blockchain;
	use sc_network_sync::SyncState;
	use std::sync::Mutex;

	/// Peers, each with the block that it is said to have.
	type Known = Vec<(PeerId, Hash)>;

	/// Those that are there, and those that were there whenever one went.
	#[derive(Default)]
	struct Peers(Known, Arc<Mutex<Vec<Known>>>);

	impl SyncingStrategy<Block> for Peers {
		fn add_peer(&mut self, peer_id: PeerId, best_hash: Hash, _: Number) {
			self.0.retain(|(peer, _)| *peer != peer_id);
			self.0.push((peer_id, best_hash));
		}

		fn remove_peer(&mut self, peer_id: &PeerId) {
			self.1.lock().unwrap().push(self.0.clone());
			self.0.retain(|(peer, _)| peer != peer_id);
		}

		fn on_validated_block_announce(&mut self, _: bool, _: PeerId, _: &BlockAnnounce<Header>) -> Option<(Hash, Number)> {
			None
		}

		fn set_sync_fork_request(&mut self, _: Vec<PeerId>, _: &Hash, _: Number) {}

		fn request_justification(&mut self, _: &Hash, _: Number) {}

		fn clear_justification_requests(&mut self) {}

		fn on_justification_import(&mut self, _: Hash, _: Number, _: bool) {}

		fn on_generic_response(&mut self, _: &PeerId, _: StrategyKey, _: ProtocolName, _: Box<dyn Any + Send>) {}

		fn on_blocks_processed(&mut self, _: usize, _: usize, _: Results) {}

		fn on_block_finalized(&mut self, _: &Hash, _: Number) {}

		fn update_chain_info(&mut self, _: &Hash, _: Number) {}

		fn is_major_syncing(&self) -> bool {
			false
		}

		fn num_peers(&self) -> usize {
			self.0.len()
		}

		fn status(&self) -> SyncStatus<Block> {
			SyncStatus { state: SyncState::Idle, best_seen_block: None, num_peers: 0, queued_blocks: 0, state_sync: None, warp_sync: None }
		}

		fn num_downloaded_blocks(&self) -> usize {
			0
		}

		fn num_sync_requests(&self) -> usize {
			0
		}

		fn actions(&mut self, _: &NetworkServiceHandle) -> Result<Vec<SyncingAction<Block>>, Error> {
			Ok(Vec::new())
		}
	}

	#[test]
	fn only_the_last_peer_goes_as_one_that_is_asked_for_nothing() {
		let (peers, client) = (Peers::default(), Arc::new(Blockchain::<Block>::new()));
		let (let_go, own) = (peers.1.clone(), client.info().best_hash);
		let mut sync = LastPeer::new(Box::new(peers), client);
		let ([one, other], theirs) = ([PeerId::random(), PeerId::random()], Hash::repeat_byte(7));
		sync.add_peer(one, theirs, 9);
		sync.add_peer(other, theirs, 9);
		sync.remove_peer(&one);
		sync.remove_peer(&other);
		assert_eq!(*let_go.lock().unwrap(), [vec![(one, theirs), (other, theirs)], vec![(other, own)]]);
		assert_eq!(sync.num_peers(), 0);
	}
}
