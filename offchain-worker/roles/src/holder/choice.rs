//! Choice of the chain's dataset that is attested: equal text may be proposed more than once.

use super::folder::Folder;
use neuroshard_chain_client::{ChainAt, ChainError};
use neuroshard_types::{
	dataset::{DatasetStatus, DatasetView, ShardRange},
	BlockNumber, DatasetId,
};

/// Blocks until it is looked again what is proposed, and which of it is active.
const LOOK_AGAIN: BlockNumber = 10;

/// The datasets that the folder holds, and the one of them that is attested.
#[derive(Default)]
pub(super) struct Choice {
	/// First identifier that was not looked at.
	next: DatasetId,
	equal: Vec<DatasetId>,
	chosen: Option<(DatasetId, ShardRange)>,
	look_at: BlockNumber,
}

impl Choice {
	/// Returns the dataset that is to be attested of what `folder` holds, if anything of it is on chain. Identifiers are taken from a finalized block,
	/// `at`: what they stand for does not change any more. `attested` are those that are attested at block `now`.
	///
	/// # Errors
	/// The node is away, or its answer cannot be used.
	pub(super) async fn look(
		&mut self,
		at: &ChainAt,
		folder: &Folder,
		attested: &[DatasetId],
		now: BlockNumber,
	) -> Result<Option<(DatasetId, ShardRange)>, ChainError> {
		if now < self.look_at {
			return Ok(self.chosen);
		}
		let first = self.next;
		for id in at.datasets().await?.into_iter().filter(|id| *id >= first) {
			if at.dataset(id).await?.is_some_and(|view| folder.opens(&view.manifest)) {
				self.equal.push(id);
			}
			self.next = id.saturating_add(1);
		}
		let mut there = Vec::new();
		for id in &self.equal {
			// What takes no new runs and is not used will go soon.
			let used = |view: &DatasetView| view.users > 0 || matches!(view.status, DatasetStatus::Proposed | DatasetStatus::Active);
			if let Some(view) = at.dataset(*id).await?.filter(used) {
				there.push((*id, view.status, view.manifest.shape.shard_count));
			}
		}
		self.equal = there.iter().map(|(id, ..)| *id).collect();
		self.chosen = best(&there, attested);
		self.look_at = now.saturating_add(LOOK_AGAIN);
		Ok(self.chosen)
	}

	/// Forgets everything: the folder holds something else, or what was chosen is gone.
	pub(super) fn forget(&mut self) {
		*self = Self::default();
	}
}

/// An active one, which runs can use; if there are several one that is attested already; the oldest.
fn best(there: &[(DatasetId, DatasetStatus, u32)], attested: &[DatasetId]) -> Option<(DatasetId, ShardRange)> {
	let best = there.iter().min_by_key(|(id, status, _)| (*status != DatasetStatus::Active, !attested.contains(id), *id));
	best.map(|(id, _, count)| (*id, ShardRange { first: 0, count: *count }))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn of_equal_datasets_an_active_one_is_attested_and_of_those_the_one_that_is_already() {
		let (proposed, active, retired) = (DatasetStatus::Proposed, DatasetStatus::Active, DatasetStatus::Retired);
		let chosen = |there: &[(DatasetId, DatasetStatus)], attested: &[DatasetId]| {
			let there: Vec<_> = there.iter().map(|(id, status)| (*id, *status, 4)).collect();
			best(&there, attested).map(|(id, shards)| {
				assert_eq!(shards, ShardRange { first: 0, count: 4 });
				id
			})
		};
		assert_eq!(chosen(&[], &[]), None);
		assert_eq!(chosen(&[(3, proposed)], &[]), Some(3));
		assert_eq!(chosen(&[(1, retired), (3, proposed), (5, active), (6, active)], &[]), Some(5));
		assert_eq!(chosen(&[(5, active), (6, active)], &[6]), Some(6));
		assert_eq!(chosen(&[(1, retired), (5, active)], &[1]), Some(5), "runs use the active one");
	}
}
