//! Settings of the network, with everything that time or chance would decide passed in.

use crate::{GossipConfig, PeerAddress, Reach};
use libp2p::Multiaddr;
use neuroshard_mirror::Mirrors;
use std::{fmt, sync::Arc, time::Duration, time::Instant};

/// Settings.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
	/// Addresses to listen on. The default is QUIC and TCP on loopback, at ports that the system chooses.
	pub listen: Vec<Multiaddr>,
	/// Addresses under which others reach us although no interface has them (a forwarded port).
	pub external: Vec<Multiaddr>,
	/// Relays to be reached through if nobody can reach us directly.
	pub relays: Vec<PeerAddress>,
	/// Dial addresses that are not global, such as 10.0.0.1. Anybody can register one: a worker that dialled them would connect to machines
	/// of its own network for strangers.
	pub dial_private: bool,
	/// Mirrors that content is read from which no peer has.
	pub mirrors: Mirrors,
	/// Relay hole punching for others.
	pub serve_relay: bool,
	/// Gossip about what all workers of the chain should know; `None` for none.
	pub gossip: Option<GossipConfig>,
	/// Bounds.
	pub limits: Limits,
	/// Patience.
	pub timeouts: Timeouts,
	/// Policy by which peers' conduct is scored.
	pub score: ScorePolicy,
	/// Probes of our own reachability.
	pub nat: NatProbes,
	/// The time.
	pub clock: Clock,
}

impl Default for NetworkConfig {
	/// A network on this machine.
	fn default() -> Self {
		Self {
			listen: listen_addresses("127.0.0.1", 0),
			external: Vec::new(),
			relays: Vec::new(),
			dial_private: true,
			mirrors: Mirrors::default(),
			serve_relay: false,
			gossip: None,
			limits: Limits::default(),
			timeouts: Timeouts::default(),
			score: ScorePolicy::default(),
			nat: NatProbes::default(),
			clock: Clock::default(),
		}
	}
}

impl NetworkConfig {
	/// Returns which addresses that others have named may be dialled.
	pub fn reach(&self) -> Reach {
		match self.dial_private {
			true => Reach::Anywhere,
			false => Reach::Internet,
		}
	}

	/// Listens for QUIC and TCP on `port` of every interface; 0 lets the system choose.
	pub fn listen_everywhere(port: u16) -> Vec<Multiaddr> {
		listen_addresses("0.0.0.0", port)
	}

	/// Listens for QUIC and TCP on `port` of the loopback interface; 0 lets the system choose.
	pub fn listen_locally(port: u16) -> Vec<Multiaddr> {
		listen_addresses("127.0.0.1", port)
	}
}

fn listen_addresses(ip: &str, port: u16) -> Vec<Multiaddr> {
	// Both texts are well-formed whatever the port; an address that did not parse would be left out.
	[format!("/ip4/{ip}/udp/{port}/quic-v1"), format!("/ip4/{ip}/tcp/{port}")].iter().filter_map(|text| text.parse().ok()).collect()
}

/// Bounds on memory, connections and work.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
	/// Connections in each direction.
	pub connections: u32,
	/// Connections that peers outside the address book may have opened.
	pub stranger_connections: usize,
	/// Connections with one peer: direct, relayed, and one of each that is being replaced.
	pub connections_per_peer: u32,
	/// Connections being set up, in each direction.
	pub pending_connections: u32,
	/// Peers of the address book that a connection is kept with, its first ones.
	pub kept_peers: usize,
	/// Requests that we have open at one peer.
	pub requests_per_peer: usize,
	/// Requests waiting for a connection or a free place at one peer.
	pub waiting_per_peer: usize,
	/// Answers being read or sent, all peers together. Each takes at most 512 KiB.
	pub serving: usize,
	/// Answers being read or sent for one peer.
	pub serving_per_peer: usize,
	/// Answers being read or sent for all peers together that are not in the address book.
	pub serving_strangers: usize,
	/// Bytes of an answer that a peer has to take in a second, on average, after the first [`Timeouts::write`].
	pub least_rate: u64,
}

impl Default for Limits {
	fn default() -> Self {
		Self {
			connections: 256,
			// Room for those whose registration this worker has not read yet; it costs nothing to be many strangers.
			stranger_connections: 32,
			connections_per_peer: 4,
			pending_connections: 64,
			// As many as take part in the largest round: they hear each other's heartbeats.
			kept_peers: 128,
			requests_per_peer: 4,
			waiting_per_peer: 64,
			serving: 64,
			// Twice what a worker asks for at a time: its next request may be here before the end of the last answer is noted.
			serving_per_peer: 8,
			// One may be stuck, and another one is served.
			serving_strangers: 2,
			// The longest answer takes 13 s then. Whoever asked gives up after 15 s.
			least_rate: 64 * 1024,
		}
	}
}

/// Timeouts.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
	/// For a connection to be established.
	pub dial: Duration,
	/// For a request to be answered, transfer included.
	pub request: Duration,
	/// For a peer to take the next 64 KiB of an answer.
	pub write: Duration,
	/// Before a peer that said it was busy is asked again.
	pub busy: Duration,
	/// Before an unused connection is closed.
	pub idle: Duration,
	/// Between looks at the address book, bans and relays.
	pub housekeeping: Duration,
	/// For peers to hear the farewell when the network stops.
	pub farewell: Duration,
	/// For connections to close when the network stops.
	pub shutdown: Duration,
}

impl Default for Timeouts {
	fn default() -> Self {
		Self {
			dial: Duration::from_secs(10),
			request: Duration::from_secs(15),
			// Several retransmissions of a lost packet; a peer that reads nothing holds its place no longer.
			write: Duration::from_secs(5),
			busy: Duration::from_millis(500),
			idle: Duration::from_secs(600),
			housekeeping: Duration::from_secs(5),
			farewell: Duration::from_secs(1),
			shutdown: Duration::from_secs(1),
		}
	}
}

/// Points that conduct costs and earns. A peer starts at 0 and stays between -100 and `best`.
#[derive(Clone, Copy, Debug)]
pub struct ScorePolicy {
	/// Earned by a verified answer.
	pub good: i32,
	/// Most that good answers add up to.
	pub best: i32,
	/// Lost by not answering in time or not being reachable.
	pub unresponsive: i32,
	/// Lost by asking for something and not taking it.
	pub stalled: i32,
	/// Time for which a peer that did that is served with less: one of the address book as a stranger, a stranger not at all.
	pub distrust: Duration,
	/// Lost by an answer that is not what was asked for, by a false message, and by far too many messages.
	pub corrupt: i32,
	/// Time for which a peer that did that is banned.
	pub ban: Duration,
}

impl Default for ScorePolicy {
	fn default() -> Self {
		let (distrust, ban) = (Duration::from_secs(60), Duration::from_secs(600));
		Self { good: 1, best: 20, unresponsive: 5, stalled: 5, distrust, corrupt: 50, ban }
	}
}

/// Timing of AutoNAT's probes, which ask others whether they can reach us.
#[derive(Clone, Copy, Debug)]
pub struct NatProbes {
	/// Wait before the first probe.
	pub first: Duration,
	/// Wait between probes until the answer is certain.
	pub retry: Duration,
	/// Leave private addresses out. Only tests on one machine switch this off.
	pub only_global: bool,
}

impl Default for NatProbes {
	fn default() -> Self {
		Self { first: Duration::from_secs(15), retry: Duration::from_secs(90), only_global: true }
	}
}

/// Says what time it is.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Instant + Send + Sync>);

impl Clock {
	/// A clock that asks `now`.
	pub fn new(now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
		Self(Arc::new(now))
	}

	/// The time.
	pub fn now(&self) -> Instant {
		(self.0)()
	}
}

impl Default for Clock {
	fn default() -> Self {
		Self::new(Instant::now)
	}
}

impl fmt::Debug for Clock {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		f.write_str("Clock")
	}
}
