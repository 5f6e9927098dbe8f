//! What the swarm reports.

use super::{
	actor::Actor,
	address::is_loopback,
	behaviour::{kad_protocol, BehaviourEvent},
	codec::WireError,
	links::Link,
	message::{Answer, Incoming},
	reachability::Probed,
	PeerFailure,
};
use libp2p::{
	autonat, dcutr, identify,
	kad::{self, store::RecordStore},
	request_response::{self, OutboundFailure},
	swarm::SwarmEvent,
	PeerId,
};
use std::collections::HashSet;

/// Addresses that a peer may add to our Kademlia table.
const MAX_LEARNED: usize = 8;

impl Actor {
	pub(super) fn on_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
		match event {
			SwarmEvent::Behaviour(event) => self.on_behaviour(event),
			SwarmEvent::ConnectionEstablished { peer_id, connection_id, endpoint, .. } => {
				let link = self.links.entry(peer_id);
				link.connections.insert(connection_id, endpoint);
				link.reached();
				if link.dial == Some(connection_id) {
					link.dial = None;
				}
				// A direct connection replaces the relayed one that led to it.
				for relayed in link.superseded() {
					self.swarm.close_connection(relayed);
				}
				self.advance(peer_id);
			}
			SwarmEvent::ConnectionClosed { peer_id, connection_id, .. } => {
				self.links.entry(peer_id).connections.remove(&connection_id);
				self.advance(peer_id);
			}
			SwarmEvent::OutgoingConnectionError { connection_id, peer_id: Some(peer), error }
				if self.links.get(&peer).is_some_and(|link| link.dial == Some(connection_id)) =>
			{
				self.dial_failed(peer, &error);
			}
			SwarmEvent::NewListenAddr { address, .. } => tracing::info!(%address, "listening"),
			SwarmEvent::ListenerClosed { listener_id, reason, .. } => {
				self.circuits.remove(&listener_id);
				if let Err(error) = reason {
					tracing::warn!(%error, "stopped listening on one address");
				}
			}
			SwarmEvent::ExternalAddrConfirmed { address } => tracing::info!(%address, "reachable from outside"),
			_ => {}
		}
	}

	fn on_behaviour(&mut self, event: BehaviourEvent) {
		match event {
			BehaviourEvent::Content(event) => self.on_content(event),
			BehaviourEvent::Identify(identify::Event::Received { peer_id, info, .. }) => self.on_identified(peer_id, info),
			BehaviourEvent::Kad(event) => self.on_kad(event),
			BehaviourEvent::Autonat(autonat::Event::StatusChanged { new, .. }) => {
				self.probed = match new {
					autonat::NatStatus::Public(address) => Probed::Public(address),
					autonat::NatStatus::Private => Probed::Private,
					autonat::NatStatus::Unknown => Probed::Unknown,
				};
				self.keep_reserved();
			}
			BehaviourEvent::Dcutr(dcutr::Event { remote_peer_id, result: Err(error) }) => {
				tracing::debug!(peer = %remote_peer_id, %error, "no direct path through the relay");
				if self.links.get(&remote_peer_id).is_some_and(|link| !link.is_direct()) {
					self.fail_waiting(remote_peer_id, &PeerFailure::OnlyRelayed);
				}
			}
			_ => {}
		}
	}

	fn on_content(&mut self, event: request_response::Event<Incoming, Answer>) {
		use request_response::{Event, Message};
		match event {
			Event::Message { peer, message: Message::Request { request_id, request, channel }, .. } => {
				self.answer(peer, request_id, request, channel);
			}
			Event::Message { message: Message::Response { request_id, response }, .. } => self.finish(request_id, Ok(response)),
			Event::OutboundFailure { request_id, error, .. } => self.finish(request_id, Err(failure(error))),
			Event::InboundFailure { request_id, peer, error, .. } => {
				self.inbound.remove(&request_id);
				tracing::debug!(%peer, %error, "a peer did not get its answer");
			}
			Event::ResponseSent { request_id, .. } => {
				self.inbound.remove(&request_id);
			}
		}
	}

	fn on_identified(&mut self, peer: PeerId, info: identify::Info) {
		// The name was accepted when the swarm was built.
		let Ok(protocol) = kad_protocol(&self.config.network) else { return };
		if info.protocols.contains(&protocol) {
			// Loopback addresses mean something only to somebody on the same machine.
			let neighbour = self.links.get(&peer).is_some_and(Link::is_local);
			for address in info.listen_addrs.into_iter().filter(|address| neighbour || !is_loopback(address)).take(MAX_LEARNED) {
				self.swarm.behaviour_mut().kad.add_address(&peer, address);
			}
		}
	}

	fn on_kad(&mut self, event: kad::Event) {
		match event {
			kad::Event::InboundRequest { request: kad::InboundRequest::AddProvider { record: Some(record) } } => {
				if let Err(error) = self.swarm.behaviour_mut().kad.store_mut().add_provider(record) {
					tracing::debug!(%error, "no room for another provider record");
				}
			}
			kad::Event::OutboundQueryProgressed { id, result: kad::QueryResult::GetProviders(result), step, .. } => {
				if let Ok(kad::GetProvidersOk::FoundProviders { providers, .. }) = result {
					self.on_providers(id, providers);
				}
				if step.last {
					if let Some(lookup) = self.lookups.remove(&id) {
						let _ = lookup.reply.send(lookup.found.into_iter().collect());
					}
				}
			}
			kad::Event::OutboundQueryProgressed { id, result: kad::QueryResult::StartProviding(result), .. } => {
				if let Some(reply) = self.announcements.remove(&id) {
					let _ = reply.send(result.is_ok());
				}
			}
			_ => {}
		}
	}

	/// Notes providers that a lookup found and connects to them: Kademlia knows their addresses only while the lookup lasts.
	fn on_providers(&mut self, id: kad::QueryId, providers: HashSet<PeerId>) {
		let now = self.config.clock.now();
		for peer in &providers {
			let idle = self.links.get(peer).is_none_or(|link| link.may_dial(now));
			if idle && peer != self.swarm.local_peer_id() && self.scores.banned(peer, now).is_none() {
				self.dial(*peer);
			}
		}
		if let Some(lookup) = self.lookups.get_mut(&id) {
			lookup.found.extend(providers);
		}
	}
}

fn failure(error: OutboundFailure) -> PeerFailure {
	match error {
		OutboundFailure::DialFailure => PeerFailure::Unreachable("the connection ended".to_owned()),
		OutboundFailure::Timeout => PeerFailure::Timeout,
		OutboundFailure::ConnectionClosed => PeerFailure::Disconnected,
		OutboundFailure::UnsupportedProtocols => PeerFailure::Unsupported,
		OutboundFailure::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<WireError>()) {
			Some(WireError::Oversize { bytes }) => PeerFailure::Oversize { bytes: *bytes },
			Some(WireError::Malformed(what)) => PeerFailure::Malformed((*what).to_owned()),
			None => PeerFailure::Transport(error.to_string()),
		},
	}
}
