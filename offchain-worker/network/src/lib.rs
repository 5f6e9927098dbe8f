//! Peer to peer: identity, reachability, and the verified transfer of content. The only crate that knows libp2p.
//!
//! One task, the [actor](actor), owns the swarm. Everybody else holds a [`Handle`], which sends it messages over a bounded
//! channel. Fetching is logic in the caller's task: it asks the actor for single answers from single peers, checks each
//! leaf as it arrives, and tells the actor how the peer behaved. Dropping the future of a fetch cancels it; what arrived
//! stays in the store and the next fetch goes on from there. What no peer has is read from the [mirrors](neuroshard_mirror) that the operator named.
//!
//! The chain is the address book ([`Handle::set_peers`]). It says whom to ask, whom to stay connected with, and who is served: the peers in
//! it have most of the places for connections and answers, all others share a few.
//! Transport is QUIC where possible, else TCP with Noise and yamux. Content is a request-response protocol of small
//! bounded messages (see [`Request`]), so neither a stream of unknown length nor two writers waiting for each other
//! can occur. What all workers of a chain should know, they [gossip](Handle::publish). The workers of a ring speak over [`Streams`], a swarm of its own.

mod actor;
mod address;
mod admission;
mod behaviour;
mod codec;
mod config;
mod error;
mod events;
mod fetch;
mod gossip;
mod handle;
mod links;
mod message;
mod note;
mod pulse;
mod rates;
mod reach;
mod reachability;
mod score;
mod serve;
mod start;
mod status;
mod streams;
#[cfg(test)]
mod tests;
mod traffic;
mod transport;
mod ways;

pub use address::{AddressError, PeerAddress};
pub use config::{Clock, Limits, NatProbes, NetworkConfig, ScorePolicy, Timeouts};
pub use error::{FetchError, Lacking, NetworkError, PeerFailure, Stopped};
pub use fetch::{FetchWatch, Progress};
pub use gossip::{GossipConfig, GossipError, Heard, Verdict, MESH, MESH_HIGH, MESH_LOW};
pub use handle::{Handle, NetworkStatus, PeerConnection, Standing, Transport};
pub use libp2p::{identity::Keypair, multiaddr::Protocol, Multiaddr, PeerId};
pub use message::{Refusal, Request, MAX_HASHES, MAX_LEAVES_PER_REQUEST};
pub use pulse::{Pulse, DEAD_AFTER};
pub use rates::Rate;
pub use reach::Reach;
pub use reachability::Reachability;
pub use start::{keypair_from_secret, Network};
pub use streams::{ByteStream, Incoming, Purpose, StreamError, Streams};
pub use traffic::TrafficTotals;
pub use ways::Way;
