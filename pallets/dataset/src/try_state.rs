//! Invariants of the pallet's storage.

use crate::{
	types::manifest_problem, Attestations, AttestedBy, Attesters, Challenges, Config, Datasets, HoldReason, Leaving, NextId, Pallet,
	MAX_ATTESTATIONS, MAX_CHALLENGES, MAX_DATASETS,
};
use alloc::collections::{BTreeMap, BTreeSet};
use frame_support::ensure;
use neuroshard_types::{dataset::DatasetStatus, AccountId, Balance, DatasetId};
use sp_runtime::TryRuntimeError;

/// Amounts that are to be on hold, by account.
type Sums = BTreeMap<AccountId, Balance>;

fn add(sums: &mut Sums, who: AccountId, amount: Balance) -> Result<(), TryRuntimeError> {
	let sum = sums.entry(who).or_default();
	*sum = sum.checked_add(amount).ok_or("deposits overflow")?;
	Ok(())
}

impl<T: Config> Pallet<T> {
	/// Checks every invariant; its cost grows with the number of datasets, so it is no part of a block.
	///
	/// - The counter equals the number of datasets and is within [`MAX_DATASETS`]; identifiers are below the next one.
	/// - Every manifest is one that `propose` accepts.
	/// - A proposed dataset has no users. Exactly those that are retired or condemned, and have none, leave. A condemned one has no deposit.
	/// - Attestations are counted by dataset, within [`MAX_ATTESTATIONS`], and listed by account; each has shards of its dataset, if that is there,
	///   and the challenges that it counts, within [`MAX_CHALLENGES`].
	/// - Every challenge is somebody else's, about a chunk that was attested, of a dataset that stays as long as it can be answered.
	/// - Deposits of proposers and of attesters, and bonds of challengers, add up to what is on hold for each of them.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		Self::datasets_are_sound()?;
		Self::attestations_are_sound()?;
		Self::challenges_are_sound()
	}

	fn datasets_are_sound() -> Result<(), TryRuntimeError> {
		let next = NextId::<T>::get();
		let mut count = 0u32;
		let mut deposits = Sums::new();
		for (id, dataset) in Datasets::<T>::iter() {
			count = count.saturating_add(1);
			ensure!(id < next, "a dataset with an identifier that was never given");
			ensure!(manifest_problem(&dataset.manifest).is_none(), "an invalid manifest");
			ensure!(dataset.status != DatasetStatus::Proposed || dataset.users == 0, "a proposed dataset with users");
			let leaves = !dataset.is_open() && dataset.users == 0;
			ensure!(leaves == Leaving::<T>::contains_key(id), "a dataset that leaves and should not, or the other way round");
			ensure!((dataset.status == DatasetStatus::Condemned) == (dataset.deposit == 0), "a deposit that was lost, or none");
			add(&mut deposits, dataset.proposer, dataset.deposit)?;
		}
		ensure!(count == Datasets::<T>::count(), "counter differs from the number of datasets");
		ensure!(count <= MAX_DATASETS, "too many datasets");
		ensure!(Leaving::<T>::iter_keys().all(Datasets::<T>::contains_key), "a dataset that is gone leaves");
		Self::are_held(HoldReason::Manifest, &deposits)
	}

	fn attestations_are_sound() -> Result<(), TryRuntimeError> {
		let mut deposits = Sums::new();
		let mut attesters = BTreeMap::<DatasetId, u32>::new();
		let mut attested = BTreeMap::<AccountId, BTreeSet<DatasetId>>::new();
		for (id, who, attestation) in Attestations::<T>::iter() {
			let count = attesters.entry(id).or_default();
			*count = count.saturating_add(1);
			ensure!(*count <= MAX_ATTESTATIONS, "too many attestations of a dataset");
			if let Some(dataset) = Datasets::<T>::get(id) {
				ensure!(attestation.shards.is_within(dataset.manifest.shape.shard_count), "an attestation of shards that are not there");
			}
			let open = u32::try_from(Challenges::<T>::iter_prefix((id, &who)).count()).unwrap_or(u32::MAX);
			ensure!(open == attestation.challenges && open <= MAX_CHALLENGES, "challenges are counted wrongly");
			attested.entry(who.clone()).or_default().insert(id);
			add(&mut deposits, who, attestation.deposit)?;
		}
		let listed = AttestedBy::<T>::iter().map(|(who, datasets)| (who, datasets.len(), datasets.into_iter().collect::<BTreeSet<_>>()));
		let once =
			listed.map(|(who, len, datasets)| (datasets.len() == len).then_some((who, datasets))).collect::<Option<BTreeMap<_, _>>>();
		ensure!(once == Some(attested), "attestations of an account are listed wrongly");
		ensure!(Attesters::<T>::iter().collect::<BTreeMap<_, _>>() == attesters, "attestations are counted wrongly");
		Self::are_held(HoldReason::Attestation, &deposits)
	}

	fn challenges_are_sound() -> Result<(), TryRuntimeError> {
		let mut bonds = Sums::new();
		for ((id, who), challenger, challenge) in Challenges::<T>::iter() {
			ensure!(who != challenger, "an attester challenges itself");
			let attestation = Attestations::<T>::get(id, &who).ok_or("a challenge of what nobody attests")?;
			ensure!(attestation.shards.contains(challenge.place.shard), "a challenge of a shard that is not attested");
			match Datasets::<T>::get(id) {
				Some(dataset) => {
					ensure!(challenge.place.chunk < dataset.manifest.chunks_per_shard(), "a challenge of a chunk that is not there");
					let stays = Self::removable_at(id).is_none_or(|removable_at| challenge.deadline < removable_at);
					ensure!(stays, "a dataset leaves before a challenge can be answered");
				}
				None => ensure!(challenge.deadline < Self::now(), "a dataset left before a challenge could be answered"),
			}
			add(&mut bonds, challenger, challenge.bond)?;
		}
		Self::are_held(HoldReason::Challenge, &bonds)
	}

	fn are_held(reason: HoldReason, sums: &Sums) -> Result<(), TryRuntimeError> {
		ensure!(sums.iter().all(|(who, sum)| Self::held(reason, who) == *sum), "what is on hold differs from deposits and bonds");
		Ok(())
	}
}
