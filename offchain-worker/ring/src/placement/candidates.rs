//! Candidates for a ring, as the directory knows them.

use super::{
	cost::{float, Model},
	Link, Links, Node, Placement, PlacementError, Roles, Speed, BEST_REPUTATION,
};
use neuroshard_directory::{Directory, Member};
use neuroshard_network::PeerId;
use neuroshard_types::{AccountId, Moment, H256};
use std::collections::{BTreeMap, BTreeSet};

/// Most candidates that are compared: of so many, the links take 2 MiB.
pub const MOST_CANDIDATES: usize = 256;

/// What a caller has read from the chain of a provider.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
	/// Reputation, 0 to [`BEST_REPUTATION`].
	pub reputation: u16,
	/// Share of the time in which it could be reached, 0 to 1.
	pub uptime: f64,
}

impl Standing {
	/// That of who is not known.
	pub const UNKNOWN: Self = Self { reputation: 500, uptime: 1.0 };

	/// That of a provider with the reputation that the chain shows, which counts proofs of uptime.
	pub fn of(reputation: u32) -> Self {
		Self { reputation: u16::try_from(reputation).unwrap_or(BEST_REPUTATION).min(BEST_REPUTATION), ..Self::UNKNOWN }
	}
}

/// Those who could hold a part of a model, in the order of their accounts.
#[derive(Clone, Debug)]
pub struct Candidates {
	/// Their accounts.
	pub accounts: Vec<AccountId>,
	/// What they have.
	pub nodes: Vec<Node>,
	/// The ways between them.
	pub links: Links,
}

impl Candidates {
	/// Those of `directory` that take streams of rings and have `parameters`, on disk or as spans. If there are more than [`MOST_CANDIDATES`], those who
	/// hold a span of `current`, and then those who compute a layer fastest. Memory that spans of `current` take counts as free, since they are given up
	/// or kept by what is decided. `standing` says what the chain knows of an account.
	///
	/// # Errors
	/// [`PlacementError::Link`]: never with what a directory takes.
	pub fn of(
		directory: &Directory,
		now: Moment,
		(model, parameters): (&Model, H256),
		current: Option<&Placement>,
		standing: impl Fn(&AccountId) -> Standing,
	) -> Result<Self, PlacementError> {
		let mut used: BTreeMap<&str, u64> = BTreeMap::new();
		for span in current.iter().flat_map(|current| &current.spans) {
			let bytes = used.entry(&span.name).or_default();
			*bytes = bytes.saturating_add(span.bytes);
		}
		let has = |member: &Member| {
			let takes = !member.holdings.addresses.is_empty();
			takes && (member.has(&parameters) || member.holdings.held.iter().any(|held| held.parameters == parameters))
		};
		let node = |member: Member| {
			let (account, name) = (member.account().clone(), name_of(&member.announcement.peer));
			let Standing { reputation, uptime } = standing(&account);
			let memory = member.holdings.memory.saturating_add(used.get(name.as_str()).copied().unwrap_or_default());
			let speed = Speed { flops: float(member.holdings.speed.flops), bytes: float(member.holdings.speed.bytes) };
			(account, Node { name, memory, speed, reputation, uptime, roles: Roles::ALL })
		};
		let mut all: Vec<(AccountId, Node)> = directory.members(now).filter(has).map(node).collect();
		// Of two accounts with one peer, only one can be the peer's: the chain has registered it for no other.
		let mut names = BTreeSet::new();
		all.retain(|(_, node)| names.insert(node.name.clone()));
		all.sort_by(|(_, a), (_, b)| {
			let key = |node: &Node| (used.contains_key(node.name.as_str()), model.layer_rate(&node.speed));
			let ((holds, rate), (other_holds, other_rate)) = (key(a), key(b));
			other_holds.cmp(&holds).then(other_rate.total_cmp(&rate)).then_with(|| a.name.cmp(&b.name))
		});
		all.truncate(MOST_CANDIDATES);
		all.sort_by(|(a, _), (b, _)| a.cmp(b));
		let (accounts, nodes): (Vec<AccountId>, Vec<Node>) = all.into_iter().unzip();
		let matrix = directory.matrix(&accounts, now);
		let links = Links::new(nodes.len(), |from, to| {
			matrix.get(from, to).map(|route| Link { latency: route.latency, bandwidth: route.bandwidth })
		})?;
		Ok(Self { accounts, nodes, links })
	}
}

/// The name of a peer in placements: its peer id, as rings call it.
pub fn name_of(peer: &[u8]) -> String {
	PeerId::from_bytes(peer).map_or_else(|_| hex::encode(peer), |peer| peer.to_string())
}
