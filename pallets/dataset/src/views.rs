//! Implementation of the view functions.

use crate::{Attestation, Attestations, AttestedBy, Challenges, Config, Datasets, Pallet};
use alloc::{collections::BTreeMap, vec::Vec};
use neuroshard_types::{
	dataset::{ChallengeView, Coverage, HoldingView, ShardRange},
	AccountId, DatasetId,
};

impl<T: Config> Pallet<T> {
	/// Attestations of a dataset that count: not expired, and of active providers.
	fn standing(id: DatasetId) -> impl Iterator<Item = (AccountId, Attestation)> {
		let now = Self::now();
		Attestations::<T>::iter_prefix(id).filter(move |(who, attestation)| now < attestation.expires_at && Self::is_active_provider(who))
	}

	pub(crate) fn do_holders(id: DatasetId, shard: u32) -> Vec<AccountId> {
		let mut holders: Vec<_> =
			Self::standing(id).filter(|(_, attestation)| attestation.shards.contains(shard)).map(|(who, _)| who).collect();
		holders.sort_unstable();
		holders
	}

	pub(crate) fn do_coverage(id: DatasetId) -> Vec<Coverage> {
		let Some(dataset) = Datasets::<T>::get(id) else { return Vec::new() };
		let end = dataset.manifest.shape.shard_count;
		// By how many the holders of a shard are more, and fewer, than those of the shard before it.
		let mut changes = BTreeMap::<u32, (u32, u32)>::from([(0, (0, 0)), (end, (0, 0))]);
		for (_, Attestation { shards: ShardRange { first, count }, .. }) in Self::standing(id) {
			let more = changes.entry(first).or_default();
			more.0 = more.0.saturating_add(1);
			let fewer = changes.entry(first.saturating_add(count)).or_default();
			fewer.1 = fewer.1.saturating_add(1);
		}
		let mut coverage = Vec::<Coverage>::new();
		let mut holders = 0u32;
		for ((first, (more, fewer)), (next, _)) in changes.iter().zip(changes.iter().skip(1)) {
			holders = holders.saturating_add(*more).saturating_sub(*fewer);
			let count = next.saturating_sub(*first);
			match coverage.last_mut().filter(|last| last.holders == holders) {
				Some(last) => last.shards.count = last.shards.count.saturating_add(count),
				None => coverage.push(Coverage { shards: ShardRange { first: *first, count }, holders }),
			}
		}
		coverage
	}

	pub(crate) fn do_attestations_of(who: AccountId) -> Vec<HoldingView> {
		let holding = |dataset| {
			let Attestation { shards, expires_at, .. } = Attestations::<T>::get(dataset, &who)?;
			Some(HoldingView { dataset, shards, expires_at, challenges: Self::do_challenges_of(dataset, who.clone()) })
		};
		AttestedBy::<T>::get(&who).into_iter().filter_map(holding).collect()
	}

	pub(crate) fn do_challenges_of(id: DatasetId, who: AccountId) -> Vec<ChallengeView> {
		let mut challenges: Vec<_> = Challenges::<T>::iter_prefix((id, who))
			.map(|(challenger, challenge)| ChallengeView { challenger, place: challenge.place, deadline: challenge.deadline })
			.collect();
		challenges.sort_unstable_by_key(|challenge| challenge.deadline);
		challenges
	}
}
