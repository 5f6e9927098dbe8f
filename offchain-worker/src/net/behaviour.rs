//! What the swarm does, put together.

use super::{codec::ContentCodec, message::CONTENT_PROTOCOL, traffic::Traffic, NetworkConfig, NetworkError};
use libp2p::{
	allow_block_list, autonat, connection_limits,
	connection_limits::ConnectionLimits,
	dcutr, identify,
	identity::Keypair,
	kad, noise, ping, relay, request_response,
	swarm::{behaviour::toggle::Toggle, NetworkBehaviour},
	tcp, yamux, PeerId, StreamProtocol, Swarm, SwarmBuilder,
};
use std::{convert::Infallible, num::NonZeroUsize, sync::Arc};

/// Provider records that we publish, and that we keep for others.
const MAX_RECORDS: usize = 4096;
/// Providers that a lookup finds and a record names.
const MAX_PROVIDERS: usize = 20;

/// All protocols of a node.
#[derive(NetworkBehaviour)]
pub(crate) struct Behaviour {
	pub(crate) banned: allow_block_list::Behaviour<allow_block_list::BlockedPeers>,
	limits: connection_limits::Behaviour,
	ping: ping::Behaviour,
	identify: identify::Behaviour,
	pub(crate) kad: kad::Behaviour<kad::store::MemoryStore>,
	autonat: autonat::Behaviour,
	relay_client: relay::client::Behaviour,
	relay_server: Toggle<relay::Behaviour>,
	dcutr: dcutr::Behaviour,
	pub(crate) content: request_response::Behaviour<ContentCodec>,
}

/// Name of the Kademlia protocol of `network`.
pub(crate) fn kad_protocol(network: &str) -> Result<StreamProtocol, NetworkError> {
	if network.is_empty() || !network.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
		return Err(NetworkError::Name(network.to_owned()));
	}
	StreamProtocol::try_from_owned(format!("/neuroshard/{network}/kad/1")).map_err(|_| NetworkError::Name(network.to_owned()))
}

/// The swarm of a node, not listening yet.
pub(crate) fn build(config: &NetworkConfig, keypair: Keypair, traffic: Arc<Traffic>) -> Result<Swarm<Behaviour>, NetworkError> {
	let kad_name = kad_protocol(&config.network)?;
	let swarm = SwarmBuilder::with_existing_identity(keypair)
		.with_tokio()
		.with_tcp(tcp::Config::default(), noise::Config::new, yamux::Config::default)
		.map_err(|_| NetworkError::Key)?
		.with_quic()
		.with_dns()?
		.with_relay_client(noise::Config::new, yamux::Config::default)
		.map_err(|_| NetworkError::Key)?
		.with_behaviour(|keypair, relay_client| {
			let local = keypair.public().to_peer_id();
			Behaviour {
				banned: allow_block_list::Behaviour::default(),
				limits: connection_limits::Behaviour::new(limits(config)),
				ping: ping::Behaviour::default(),
				identify: identify::Behaviour::new(
					identify::Config::new("/neuroshard/1".to_owned(), keypair.public())
						.with_agent_version(concat!("neuroshard-worker/", env!("CARGO_PKG_VERSION")).to_owned()),
				),
				kad: kademlia(local, kad_name, config.dht_server),
				autonat: autonat::Behaviour::new(
					local,
					autonat::Config {
						boot_delay: config.nat.first,
						retry_interval: config.nat.retry,
						throttle_server_period: config.nat.retry,
						only_global_ips: config.nat.only_global,
						..Default::default()
					},
				),
				relay_client,
				relay_server: config.serve_relay.then(|| relay::Behaviour::new(local, relay::Config::default())).into(),
				dcutr: dcutr::Behaviour::new(local),
				content: request_response::Behaviour::with_codec(
					ContentCodec::new(traffic),
					[(StreamProtocol::new(CONTENT_PROTOCOL), request_response::ProtocolSupport::Full)],
					request_response::Config::default()
						.with_request_timeout(config.timeouts.request)
						.with_max_concurrent_streams(2 * config.limits.serving_per_peer + config.limits.requests_per_peer),
				),
			}
		})
		.map_err(|never: Infallible| -> NetworkError { match never {} })?
		// QUIC gets a head start over TCP.
		.with_swarm_config(|swarm| swarm.with_idle_connection_timeout(config.timeouts.idle).with_smart_dial())
		.with_connection_timeout(config.timeouts.dial)
		.build();
	Ok(swarm)
}

fn limits(config: &NetworkConfig) -> ConnectionLimits {
	let limits = config.limits;
	ConnectionLimits::default()
		.with_max_established_incoming(Some(limits.connections))
		.with_max_established_outgoing(Some(limits.connections))
		.with_max_established_per_peer(Some(limits.connections_per_peer))
		.with_max_pending_incoming(Some(limits.pending_connections))
		.with_max_pending_outgoing(Some(limits.pending_connections))
}

fn kademlia(local: PeerId, protocol: StreamProtocol, server: bool) -> kad::Behaviour<kad::store::MemoryStore> {
	let records = kad::store::MemoryStoreConfig {
		max_records: MAX_RECORDS,
		max_provided_keys: MAX_RECORDS,
		max_providers_per_key: MAX_PROVIDERS,
		..Default::default()
	};
	let mut config = kad::Config::new(protocol);
	if let Some(providers) = NonZeroUsize::new(MAX_PROVIDERS) {
		config.set_replication_factor(providers);
	}
	// Only provider records are used: values that others would store here are not taken.
	config.set_record_filtering(kad::StoreInserts::FilterBoth);
	let store = kad::store::MemoryStore::with_config(local, records);
	let mut kad = kad::Behaviour::with_config(local, store, config);
	if server {
		kad.set_mode(Some(kad::Mode::Server));
	}
	kad
}
