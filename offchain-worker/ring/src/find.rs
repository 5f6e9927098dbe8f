//! Who could hold a part of a model, as the directory knows it.

use neuroshard_directory::{Directory, Member};
use neuroshard_network::PeerAddress;
use neuroshard_types::{Moment, H256};

/// Most holders that are found: as many are greeted, which takes some MiB each.
pub const MOST_FOUND: usize = 32;

/// Peers that take streams of rings and have these parameters, those with the most free memory first, and at most [`MOST_FOUND`].
pub fn holders(directory: &Directory, now: Moment, parameters: H256) -> Vec<PeerAddress> {
	let has = |member: &Member| member.has(&parameters) || member.holdings.held.iter().any(|held| held.parameters == parameters);
	let mut found: Vec<(u64, PeerAddress)> = directory
		.members(now)
		.filter(has)
		.filter_map(|member| {
			let addresses = member.holdings.addresses.iter().map(|address| address.as_slice());
			let address = PeerAddress::from_bytes(&member.announcement.peer, addresses).ok()?;
			(!address.addresses.is_empty()).then_some((member.holdings.memory, address))
		})
		.collect();
	found.sort_by(|(memory, one), (more, other)| more.cmp(memory).then_with(|| one.peer.cmp(&other.peer)));
	found.truncate(MOST_FOUND);
	found.into_iter().map(|(_, address)| address).collect()
}
