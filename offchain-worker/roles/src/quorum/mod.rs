//! Rounds of a quorum: several accounts hold one place of a run together, each a span of the model.
//!
//! - [`attempt`]: a member's part in a round, over as many links as it takes; the participant takes it where its account leads.
//! - [`member`]: the role of who does not lead: follows the run, and takes its part in the rounds of its quorum.
//! - [`seats`]: folders of what members keep to defend themselves, and when they go.
//!
//! Moves about what members keep are made by the `verifier`.

pub(super) mod attempt;
mod member;
mod seats;

pub use member::{work_in_quorum, MemberOptions};
pub(super) use seats::{forget_seats, seat_folder};

use neuroshard_network::{Incoming, PeerAddress, Streams};
use neuroshard_types::{quorum::Seat, AccountId};
use std::collections::BTreeMap;

/// How this worker reaches the others of its quorum, and they reach it.
pub struct Ways {
	/// Where members are reached, this one's address among them or not.
	pub members: BTreeMap<AccountId, PeerAddress>,
	/// Opens links.
	pub streams: Streams,
	/// Links that others open.
	pub incoming: Incoming,
}

impl Ways {
	/// Where those on these seats are reached, by number, `me` anywhere; or who is not named.
	fn to(&self, seats: &[Seat], me: &AccountId) -> Result<Vec<PeerAddress>, AccountId> {
		let own = || PeerAddress { peer: self.streams.local(), addresses: Vec::new() };
		let way = |seat: &Seat| match seat.who == *me {
			true => Ok(own()),
			false => self.members.get(&seat.who).cloned().ok_or_else(|| seat.who.clone()),
		};
		seats.iter().map(way).collect()
	}
}
