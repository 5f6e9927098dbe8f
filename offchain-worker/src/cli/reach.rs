//! Where addresses that the chain names may lead, for commands without a worker's network.

use axum::http::Uri;
use neuroshard_chain_client::ChainClient;
use neuroshard_network::Reach;
use std::net::IpAddr;

/// Anywhere if the operator said so, or if the chain is one of this machine: the nodes at `nodes` are on it, and say that the chain is for development. What
/// a node on another machine says of the chain does not count, nor what anybody has put on the chain.
pub(super) async fn reach(client: &ChainClient, nodes: &[String], dial_private: bool) -> Reach {
	// A node that does not say is none of those.
	let local = async { nodes.iter().all(|url| is_here(url)) && client.is_for_development().await.unwrap_or(false) };
	match dial_private || local.await {
		true => Reach::Anywhere,
		false => Reach::Internet,
	}
}

/// Whether an address is one of this machine.
fn is_here(url: &str) -> bool {
	let Ok(url) = url.parse::<Uri>() else { return false };
	let host = url.host().unwrap_or_default();
	let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
	bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::Connect;
	use neuroshard_mock_node::{Fate, MockNode, Script};

	#[test]
	fn nodes_of_this_machine_are_known_by_their_addresses() {
		for here in ["ws://127.0.0.1:9944", "ws://localhost:1", "ws://[::1]:9944", "wss://127.8.0.1"] {
			assert!(is_here(here), "{here}");
		}
		for elsewhere in ["ws://10.0.0.1:9944", "wss://rpc.example.org", "ws://localhost.example.org:1", "ws://127.0.0.1.example.org", ""] {
			assert!(!is_here(elsewhere), "{elsewhere}");
		}
	}

	#[tokio::test]
	async fn only_a_chain_for_development_on_this_machine_makes_private_addresses_ones_to_ask_at() {
		let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
		let client = node.client().await;
		let of = |nodes: &'static [&'static str], dial_private| {
			let (client, nodes) = (client.clone(), nodes.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>());
			async move { reach(&client, &nodes, dial_private).await }
		};
		let here: &[&str] = &["ws://127.0.0.1:9944"];
		// The node does not say what its chain is for.
		assert_eq!((of(here, false).await, of(here, true).await), (Reach::Internet, Reach::Anywhere));
		for (kind, expected) in
			[("Live", Reach::Internet), ("Development", Reach::Anywhere), ("Local", Reach::Anywhere), ("Own", Reach::Internet)]
		{
			node.chain_type(kind);
			assert_eq!(of(here, false).await, expected, "{kind}");
			assert_eq!(of(&["ws://127.0.0.1:9944", "wss://rpc.example.org"], false).await, Reach::Internet, "{kind}");
		}
	}
}
