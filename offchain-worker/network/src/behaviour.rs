//! The swarm's behaviour, put together.

use crate::{
	admission::Admission,
	codec::{ContentCodec, Pace},
	gossip::{self, GossipBehaviour},
	message::CONTENT_PROTOCOL,
	pulse::{DEAD_AFTER, HEARTBEAT},
	traffic::Traffic,
	transport::transport,
	NetworkConfig, NetworkError,
};
use libp2p::{
	allow_block_list, autonat, connection_limits,
	connection_limits::ConnectionLimits,
	dcutr, identify,
	identity::Keypair,
	noise, ping, relay, request_response,
	swarm::{behaviour::toggle::Toggle, NetworkBehaviour},
	yamux, StreamProtocol, Swarm, SwarmBuilder,
};
use std::{convert::Infallible, sync::Arc};

/// All protocols of a node.
#[derive(NetworkBehaviour)]
pub(crate) struct Behaviour {
	pub(crate) banned: allow_block_list::Behaviour<allow_block_list::BlockedPeers>,
	limits: connection_limits::Behaviour,
	pub(crate) admission: Admission,
	ping: ping::Behaviour,
	identify: identify::Behaviour,
	autonat: autonat::Behaviour,
	relay_client: relay::client::Behaviour,
	relay_server: Toggle<relay::Behaviour>,
	dcutr: dcutr::Behaviour,
	pub(crate) gossip: Toggle<GossipBehaviour>,
	pub(crate) content: request_response::Behaviour<ContentCodec>,
}

/// The swarm of a node, not listening yet.
pub(crate) fn build(config: &NetworkConfig, keypair: Keypair, traffic: Arc<Traffic>) -> Result<Swarm<Behaviour>, NetworkError> {
	let gossip = config.gossip.as_ref().map(gossip::behaviour).transpose()?;
	let pace = Pace { write: config.timeouts.write, least_rate: config.limits.least_rate, clock: config.clock.clone() };
	let swarm = SwarmBuilder::with_existing_identity(keypair)
		.with_tokio()
		.with_other_transport(|keypair| transport(keypair, config))
		.map_err(|_| NetworkError::Key)?
		.with_dns()?
		.with_relay_client(noise::Config::new, yamux::Config::default)
		.map_err(|_| NetworkError::Key)?
		.with_behaviour(|keypair, relay_client| {
			let local = keypair.public().to_peer_id();
			Behaviour {
				banned: allow_block_list::Behaviour::default(),
				limits: connection_limits::Behaviour::new(limits(config)),
				admission: Admission::new(config.limits.stranger_connections),
				// A heartbeat: whoever does not answer in time is not cut off, but taken for dead.
				ping: ping::Behaviour::new(ping::Config::new().with_interval(HEARTBEAT).with_timeout(DEAD_AFTER)),
				// Addresses come from the chain: those that peers tell are not kept.
				identify: identify::Behaviour::new(
					identify::Config::new("/neuroshard/1".to_owned(), keypair.public())
						.with_cache_size(0)
						.with_agent_version(concat!("neuroshard-worker/", env!("CARGO_PKG_VERSION")).to_owned()),
				),
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
				gossip: gossip.into(),
				content: request_response::Behaviour::with_codec(
					ContentCodec::new(traffic, pace),
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
