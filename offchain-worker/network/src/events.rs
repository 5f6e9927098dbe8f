//! Handling of the swarm's events.

use crate::{
	actor::Actor,
	behaviour::BehaviourEvent,
	codec::WireError,
	message::{Answer, Incoming, Request},
	reachability::Probed,
	score::Conduct,
	PeerFailure,
};
use libp2p::{
	autonat, dcutr, ping,
	request_response::{self, InboundFailure, OutboundFailure},
	swarm::SwarmEvent,
};
use std::io;

impl Actor {
	pub(super) fn on_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
		match event {
			SwarmEvent::Behaviour(event) => self.on_behaviour(event),
			SwarmEvent::ConnectionEstablished { peer_id, connection_id, endpoint, .. } => {
				self.pulses.heard(peer_id, self.config.clock.now());
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
			BehaviourEvent::Ping(ping::Event { peer, result: Ok(rtt), .. }) => {
				let now = self.config.clock.now();
				self.pulses.heard(peer, now);
				self.ways.heartbeat(peer, rtt, now);
			}
			BehaviourEvent::Gossip(event) => self.on_gossip(event),
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
			Event::Message { peer, message: Message::Request { request: Ok(Request::Farewell), channel, .. }, .. } => {
				self.pulses.left(peer, self.config.clock.now());
				self.send_answer(channel, Answer::Data(Vec::new()));
			}
			Event::Message { peer, message: Message::Request { request_id, request, channel }, .. } => {
				self.answer(peer, request_id, request, channel);
			}
			Event::Message { message: Message::Response { request_id, response }, .. } => self.finish(request_id, Ok(response)),
			Event::OutboundFailure { request_id, error, .. } => self.finish(request_id, Err(failure(error))),
			Event::InboundFailure { request_id, peer, error, .. } => {
				tracing::debug!(%peer, %error, "a peer did not get its answer");
				let answered = self.inbound.remove(&request_id).is_some_and(|serving| serving.answered);
				if answered && is_not_taken(&error) {
					self.judge(peer, Conduct::Stalled);
				}
			}
			Event::ResponseSent { request_id, .. } => {
				self.inbound.remove(&request_id);
			}
		}
	}
}

fn failure(error: OutboundFailure) -> PeerFailure {
	match error {
		OutboundFailure::DialFailure => PeerFailure::Unreachable("the connection ended".to_owned()),
		OutboundFailure::Timeout => PeerFailure::Timeout,
		OutboundFailure::ConnectionClosed => PeerFailure::Disconnected,
		OutboundFailure::UnsupportedProtocols => PeerFailure::Unsupported,
		OutboundFailure::Io(error) => match wire_error(&error) {
			Some(WireError::Oversize { bytes }) => PeerFailure::Oversize { bytes: *bytes },
			Some(WireError::Malformed(what)) => PeerFailure::Malformed((*what).to_owned()),
			Some(WireError::NotTaken) | None => PeerFailure::Transport(error.to_string()),
		},
	}
}

fn wire_error(error: &io::Error) -> Option<&WireError> {
	error.get_ref().and_then(|inner| inner.downcast_ref())
}

/// Returns whether a peer did not take an answer in time that was on its way.
fn is_not_taken(error: &InboundFailure) -> bool {
	match error {
		InboundFailure::Timeout => true,
		InboundFailure::Io(error) => wire_error(error) == Some(&WireError::NotTaken),
		_ => false,
	}
}
