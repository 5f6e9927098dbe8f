//! State of the links with each peer: connections, requests that wait, requests under way.

use crate::{
	message::{Answer, Request},
	PeerFailure,
};
use libp2p::{core::ConnectedPoint, swarm::ConnectionId, Multiaddr, PeerId};
use neuroshard_support::backoff::Backoff;
use std::{
	collections::{HashMap, VecDeque},
	time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Channel that the outcome of a request is sent to.
pub(crate) type Reply = oneshot::Sender<Result<Answer, PeerFailure>>;

/// Wait before a peer of the address book that could not be reached is dialled again.
const BACKOFF: Backoff<Duration> = Backoff::new(Duration::from_secs(10), Duration::from_secs(600));

/// A request that could not be sent yet.
pub(crate) struct Waiting {
	pub(crate) request: Request,
	pub(crate) reply: Reply,
	pub(crate) since: Instant,
}

/// One peer.
#[derive(Default)]
pub(crate) struct Link {
	pub(crate) connections: HashMap<ConnectionId, ConnectedPoint>,
	pub(crate) waiting: VecDeque<Waiting>,
	pub(crate) in_flight: usize,
	/// Our own attempt to connect.
	pub(crate) dial: Option<ConnectionId>,
	/// Addresses that callers gave for it.
	pub(crate) hints: Vec<Multiaddr>,
	/// The last wait, if it was not reached since.
	wait: Option<Duration>,
	not_before: Option<Instant>,
}

impl Link {
	/// Returns whether there is a connection that bulk data may use.
	pub(crate) fn is_direct(&self) -> bool {
		self.connections.values().any(|endpoint| !endpoint.is_relayed())
	}

	/// Relayed connections that a direct one has made useless.
	pub(crate) fn superseded(&self) -> Vec<ConnectionId> {
		match self.is_direct() {
			true => self.connections.iter().filter(|(_, endpoint)| endpoint.is_relayed()).map(|(id, _)| *id).collect(),
			false => Vec::new(),
		}
	}

	/// Notes that it could not be reached.
	pub(crate) fn back_off(&mut self, now: Instant) {
		let wait = *self.wait.insert(BACKOFF.after(self.wait));
		self.not_before = now.checked_add(wait);
	}

	/// Notes that it was reached.
	pub(crate) fn reached(&mut self) {
		(self.wait, self.not_before) = (None, None);
	}

	/// Returns whether there is a connection, or an attempt to make one.
	pub(crate) fn is_engaged(&self) -> bool {
		!self.connections.is_empty() || self.dial.is_some()
	}

	/// Returns whether housekeeping may dial it now.
	pub(crate) fn may_dial(&self, now: Instant) -> bool {
		!self.is_engaged() && self.not_before.is_none_or(|time| time <= now)
	}

	/// Returns whether nothing would be lost by forgetting it.
	fn is_idle(&self, now: Instant) -> bool {
		self.may_dial(now) && self.waiting.is_empty() && self.in_flight == 0
	}
}

/// All peers with which something is going on.
#[derive(Default)]
pub(crate) struct Links {
	links: HashMap<PeerId, Link>,
}

impl Links {
	pub(crate) fn entry(&mut self, peer: PeerId) -> &mut Link {
		self.links.entry(peer).or_default()
	}

	pub(crate) fn get(&self, peer: &PeerId) -> Option<&Link> {
		self.links.get(peer)
	}

	pub(crate) fn get_mut(&mut self, peer: &PeerId) -> Option<&mut Link> {
		self.links.get_mut(peer)
	}

	pub(crate) fn iter(&self) -> impl Iterator<Item = (&PeerId, &Link)> {
		self.links.iter()
	}

	/// Forgets peers with which nothing is going on.
	pub(crate) fn prune(&mut self, now: Instant) {
		self.links.retain(|_, link| !link.is_idle(now));
	}

	/// Peers with a request that has waited for a direct connection since before `time`.
	pub(crate) fn stalled(&self, time: Instant) -> Vec<PeerId> {
		let stalled = |link: &Link| !link.is_direct() && link.waiting.front().is_some_and(|first| first.since <= time);
		self.links.iter().filter(|(_, link)| stalled(link)).map(|(peer, _)| *peer).collect()
	}
}
