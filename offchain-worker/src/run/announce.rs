//! Where this worker is, as it registers it.

use super::{tasks::Tasks, WorkerError};
use crate::net::Multiaddr;
use neuroshard_types::provider::{Addresses, ProviderInfo};

/// What this worker should have registered: `registered` with its present keys and addresses.
pub(super) async fn current_info(tasks: &Tasks, registered: &ProviderInfo) -> Result<ProviderInfo, WorkerError> {
	let network = tasks.content.net.status().await?;
	let known = network.external.into_iter().chain(sorted(network.listening));
	let mut addresses = Addresses::default();
	for address in known.filter_map(|address| address.to_vec().try_into().ok()) {
		// Addresses beyond what the chain takes are left out: the first ones reach furthest.
		if !addresses.contains(&address) && addresses.try_push(address).is_err() {
			break;
		}
	}
	let peer_id = network.peer.to_bytes().try_into().map_err(|_| WorkerError::Stopped)?;
	Ok(ProviderInfo { ponw_key: tasks.keys.ponw.public(), peer_id, addresses, ..registered.clone() })
}

/// Addresses in an order that a restart does not change, those that only this machine understands last.
fn sorted(mut addresses: Vec<Multiaddr>) -> Vec<Multiaddr> {
	addresses.sort_by_key(|address| {
		let text = address.to_string();
		let local = text.starts_with("/ip4/127.") || text.starts_with("/ip6/::1/");
		(local, text)
	});
	addresses
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn addresses_are_sorted_with_loopback_last() {
		let texts = ["/ip4/127.0.0.1/tcp/1", "/ip4/192.0.2.7/udp/1/quic-v1", "/ip4/10.0.0.1/tcp/1"];
		let addresses = texts.iter().map(|text| text.parse().unwrap()).collect();
		let sorted: Vec<String> = sorted(addresses).iter().map(ToString::to_string).collect();
		assert_eq!(sorted, ["/ip4/10.0.0.1/tcp/1", "/ip4/192.0.2.7/udp/1/quic-v1", "/ip4/127.0.0.1/tcp/1"]);
	}
}
