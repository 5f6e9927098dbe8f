//! Work that is taken over from an accomplice before its commitment.

use neuroshard_roles::{pending_in, Made, WorkerError};
use neuroshard_store::{read_blob, StoreError};
use neuroshard_types::{run::Work, RunId, H256};
use std::{
	path::{Path, PathBuf},
	time::Duration,
};

/// Pause between two looks into an accomplice's folder.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

/// Waits for what the accomplice with base folder `from` does in the round with this seed.
pub(crate) async fn taken_over(from: PathBuf, run: RunId, seed: H256) -> Result<Made, WorkerError> {
	loop {
		let base = from.clone();
		let looked = tokio::task::spawn_blocking(move || handed_over(&base, run, seed)).await;
		if let Some(made) = looked.map_err(|_| WorkerError::Stopped)?? {
			return Ok(made);
		}
		tokio::time::sleep(LOOK_INTERVAL).await;
	}
}

/// What the accomplice with base folder `from` has ready for the round with this seed: its work, and its delta. `None` until it has.
fn handed_over(from: &Path, run: RunId, seed: H256) -> Result<Option<(Work, Vec<u8>)>, StoreError> {
	match pending_in(from).into_iter().find(|pending| pending.run == run && pending.seed == seed) {
		Some(pending) => Ok(Some((pending.work.clone(), read_blob(&from.join("store"), pending.work.delta_root)?))),
		None => Ok(None),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_roles::{Journal, Pending};
	use neuroshard_store::Store;
	use neuroshard_types::AccountId;

	#[test]
	fn a_copy_is_what_the_accomplice_has_ready_for_this_round() {
		const RUN: RunId = 3;
		const SEED: H256 = H256::repeat_byte(9);
		let base = tempfile::tempdir().unwrap();
		assert_eq!(handed_over(base.path(), RUN, SEED).unwrap(), None);
		let mut journal = Journal::open(base.path(), H256::zero(), AccountId::new([1; 32])).unwrap();
		let store = Store::open(&base.path().join("store"), 1 << 30).unwrap();
		let delta = vec![7; 4096];
		let delta_root = store.put_pinned(&delta, "run-3-round-0").unwrap().root;
		let work = Work { state_roots: vec![H256::zero()].try_into().unwrap(), delta_root, delta_bytes: 4096, tokens: 64 };
		journal.set_pending(Pending::new(RUN, (0, 0), SEED, work.clone())).unwrap();
		assert_eq!(handed_over(base.path(), RUN, SEED).unwrap(), Some((work, delta)));
		assert_eq!(handed_over(base.path(), RUN, H256::zero()).unwrap(), None);
		assert_eq!(handed_over(base.path(), RUN + 1, SEED).unwrap(), None);
	}
}
