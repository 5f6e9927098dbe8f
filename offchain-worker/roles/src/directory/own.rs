//! What this worker announces of itself.

use super::registry::{Registrations, Registry};
use codec::Encode;
use neuroshard_chain_client::keys::PonwSigner;
use neuroshard_directory::{row, Announcer, Measured};
use neuroshard_network::{GossipError, Handle, PeerId, Stopped};
use neuroshard_types::{
	announcement::{Holdings, SignedAnnouncement, MIN_INTERVAL_MS},
	provider::PeerIdBytes,
	AccountId, Moment, H256,
};
use std::sync::Arc;
use tokio::sync::watch;

/// Time after its first announcement at which a worker says it again, in milliseconds. A process of this account that has just ended may have announced
/// something so lately that the first one is too soon for others.
const AGAIN_MS: Moment = MIN_INTERVAL_MS + 1_000;

/// What is announced, and as whom.
pub struct Announces {
	/// Account of this worker's provider.
	pub provider: AccountId,
	/// Its key for proofs, as registered.
	pub signer: PonwSigner,
	/// The identity that it has registered.
	pub peer: PeerId,
	/// What it has. Its ways are added.
	pub holdings: watch::Receiver<Holdings>,
}

/// Announces this worker.
pub(super) struct Own {
	signer: PonwSigner,
	holdings: watch::Receiver<Holdings>,
	announcer: Announcer,
	genesis: H256,
	/// Time of the second announcement, until that was made.
	again_at: Option<Moment>,
	has_begun: bool,
	/// An announcement that nobody has heard yet.
	unheard: Option<Vec<u8>>,
}

impl Own {
	/// Nothing was announced yet.
	pub(super) fn new(announces: Announces, genesis: H256) -> Self {
		let Announces { provider, signer, peer, holdings } = announces;
		let announcer = Announcer::new(provider, signer.public(), PeerIdBytes::truncate_from(peer.to_bytes()));
		Self { signer, holdings, announcer, genesis, again_at: None, has_begun: false, unheard: None }
	}

	/// Announces what there is, if that is due; what was announced. What nobody has heard is sent again.
	pub(super) async fn announce<C: Registrations>(
		&mut self,
		net: &Handle,
		registry: &Registry<C>,
		now: Moment,
	) -> Result<Option<Arc<SignedAnnouncement>>, Stopped> {
		let mut holdings = self.holdings.borrow().clone();
		let ways = net.ways().await?.into_iter().filter(|(peer, _)| registry.has_peer(peer));
		holdings.ways = row(ways.map(|(peer, way)| Measured {
			peer: peer.to_bytes(),
			rtt_us: u64::try_from(way.rtt.as_micros()).unwrap_or(u64::MAX),
			// Rates of links are far below 2^53.
			bandwidth: way.bandwidth.map(|(bandwidth, _)| bandwidth as u64),
			age_s: way.rtt_age.as_secs(),
		}));
		let is_due = self.announcer.is_due(&holdings, now, rand::random());
		let again = self.again_at.is_some_and(|at| at <= now);
		let mut made = None;
		if is_due || again {
			let signed = self.signer.sign_announcement(self.announcer.announce(holdings, now, rand::random()), self.genesis);
			// Once, after the first one.
			self.again_at = (!std::mem::replace(&mut self.has_begun, true)).then(|| now.saturating_add(AGAIN_MS));
			self.unheard = Some(signed.encode());
			made = Some(Arc::new(signed));
		}
		if let Some(bytes) = self.unheard.take() {
			match net.publish(bytes.clone()).await {
				Ok(()) | Err(GossipError::Again) => {}
				Err(GossipError::Alone | GossipError::Busy) => self.unheard = Some(bytes),
				Err(GossipError::Stopped(stopped)) => return Err(stopped),
				Err(error) => tracing::warn!("what this worker has was not announced: {error}"),
			}
		}
		Ok(made)
	}

	/// Says farewell, if anything was announced.
	pub(super) async fn leave(&mut self, net: &Handle, now: Moment) {
		if let Some(farewell) = self.announcer.farewell(now) {
			// Whoever does not hear it learns it when the last announcement expires.
			if let Err(error) = net.publish(self.signer.sign_announcement(farewell, self.genesis).encode()).await {
				tracing::debug!("nobody has heard the farewell: {error}");
			}
		}
	}
}
