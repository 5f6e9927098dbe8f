//! The network as people and `doctor` want to see it.

use crate::{actor::Actor, Multiaddr, NetworkStatus, PeerConnection, Reachability, Standing, Transport};

impl Actor {
	pub(super) fn status(&self) -> NetworkStatus {
		let listening: Vec<Multiaddr> = self.swarm.listeners().cloned().collect();
		let connected = self.links.iter().flat_map(|(peer, link)| {
			link.connections.values().map(|endpoint| PeerConnection {
				peer: *peer,
				address: endpoint.get_remote_address().clone(),
				transport: Transport::of(endpoint),
				inbound: endpoint.is_listener(),
			})
		});
		let standings =
			self.scores.all(self.config.clock.now()).into_iter().map(|(peer, points, banned_for)| Standing { peer, points, banned_for });
		NetworkStatus {
			peer: *self.swarm.local_peer_id(),
			reachability: Reachability::judge(&self.probed, &listening),
			external: self.swarm.external_addresses().cloned().collect(),
			connections: connected.collect(),
			standings: standings.collect(),
			known_peers: self.book.len(),
			gossip_peers: self.gossip_peers(),
			listening,
		}
	}
}
