//! Folders of seats: what a member keeps of a round to defend itself, until nobody can dispute that any more.

use crate::{
	actor::blocking::blocking,
	content::old::{first_needed, RECENT},
	WorkerError,
};
use neuroshard_chain_client::ChainAt;
use neuroshard_training::need::kept_for;
use neuroshard_types::{BlockNumber, RoundIndex, RunId, H256};
use std::{
	collections::BTreeMap,
	fs, io,
	path::{Path, PathBuf},
};

/// Below the base folder.
const FOLDER: &str = "quorum";

/// Folder of a member for the attempt at a round with this seed.
pub fn seat_folder(base: &Path, run: RunId, round: RoundIndex, seed: H256) -> PathBuf {
	base.join(FOLDER).join(format!("run-{run}-round-{round}-{seed:?}"))
}

/// Run, round and seed of a folder that [`seat_folder`] named.
fn named(base: &Path, name: &str) -> Option<(RunId, RoundIndex, H256)> {
	let (run, rest) = name.strip_prefix("run-")?.split_once("-round-")?;
	let (round, seed) = rest.split_once('-')?;
	let (run, round, seed) = (run.parse().ok()?, round.parse().ok()?, seed.parse().ok()?);
	(seat_folder(base, run, round, seed).file_name()?.to_str()? == name).then_some((run, round, seed))
}

/// Folders of seats by run, rounds ascending. Blocks.
fn folders(base: &Path) -> Result<BTreeMap<RunId, Vec<(RoundIndex, H256)>>, WorkerError> {
	let path = base.join(FOLDER);
	let mut found = BTreeMap::<_, Vec<_>>::new();
	let entries = match fs::read_dir(&path) {
		Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
		entries => entries.and_then(Iterator::collect).map_err(|source| WorkerError::File { path, source })?,
	};
	for entry in entries {
		if let Some((run, round, seed)) = entry.file_name().to_str().and_then(|name| named(base, name)) {
			found.entry(run).or_default().push((round, seed));
		}
	}
	found.values_mut().for_each(|rounds| rounds.sort_unstable());
	Ok(found)
}

/// Deletes the folders of rounds that nobody can dispute any more according to the finalized block, and those of other attempts at rounds that were adopted.
pub async fn forget_seats(base: &Path, at: &ChainAt, finalized: BlockNumber) -> Result<(), WorkerError> {
	let here = base.to_path_buf();
	let found = blocking(move || folders(&here)).await?;
	if found.is_empty() {
		return Ok(());
	}
	let kept_for = kept_for(&at.dispute_terms().await?);
	for (run, rounds) in found {
		let adopted = at.run(run).await?.map(|run| run.rounds_adopted);
		let needed = match (adopted, rounds.first()) {
			(Some(adopted), Some((oldest, _))) => {
				first_needed(at, (run, *oldest..adopted.saturating_sub(RECENT)), (kept_for, finalized)).await?
			}
			_ => RoundIndex::MAX,
		};
		for (round, seed) in rounds {
			let other_attempt = || async { Ok::<_, WorkerError>(at.record(run, round).await?.is_some_and(|record| record.seed != seed)) };
			if round < needed || other_attempt().await? {
				let path = seat_folder(base, run, round, seed);
				blocking(move || fs::remove_dir_all(&path).map_err(|source| WorkerError::File { path, source })).await?;
			}
		}
	}
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{content::rounds::tests::record, participant::decide::plan::tests::training};
	use codec::{Decode, Encode};
	use neuroshard_fixtures::Connect;
	use neuroshard_mock_node::MockNode;
	use neuroshard_types::{
		dispute::Terms,
		run::{RoundRecord, RunView},
		NEURO,
	};

	#[tokio::test]
	async fn what_nobody_can_dispute_any_more_goes_and_what_was_not_adopted_with_it() {
		let node = MockNode::with_blocks(2_000).await;
		let view = RunView { rounds_adopted: 10, ..training().0.run.unwrap().view };
		node.answer_by("Training", "run", move |asked| {
			let run = u32::decode(&mut &*asked).unwrap();
			(run == 3).then(|| view.clone()).encode()
		});
		// Of rounds of run 3 the first eight are too old, and rounds from the ninth on were adopted just now.
		node.answer_by("Training", "record", |asked| {
			let (_, round) = <(u32, u32)>::decode(&mut &*asked).unwrap();
			let adopted_at = if round < 6 { 7 } else { 1_990 };
			(round < 10).then(|| RoundRecord { seed: H256::repeat_byte(1), adopted_at, ..record(H256::zero(), &[]) }).encode()
		});
		node.answer("Training", "redo_from", &None::<RoundIndex>);
		node.answer("Disputes", "terms", &Terms { window: 100, clock: 20, extension: 10, bond: NEURO, most_games: 32 });
		let base = tempfile::tempdir().unwrap();
		let [adopted, other] = [1, 2].map(H256::repeat_byte);
		let all = [(3, 4, adopted), (3, 5, other), (3, 6, adopted), (3, 6, other), (3, 10, other), (8, 0, adopted)];
		all.iter().for_each(|(run, round, seed)| fs::create_dir_all(seat_folder(base.path(), *run, *round, *seed)).unwrap());
		let foreign = base.path().join(FOLDER).join("mine");
		fs::create_dir(&foreign).unwrap();
		let at = node.client().await.now().await.unwrap();
		forget_seats(base.path(), &at, 1_999).await.unwrap();
		let left: Vec<_> = folders(base.path()).unwrap().into_iter().collect();
		assert_eq!(left, [(3, vec![(6, adopted), (10, other)])]);
		assert!(foreign.exists());
		forget_seats(&base.path().join("none"), &at, 1_999).await.unwrap();
	}

	#[test]
	fn folders_are_read_back_and_others_are_not() {
		let base = Path::new("/base");
		let path = seat_folder(base, 3, 14, H256::repeat_byte(0xab));
		assert_eq!(named(base, path.file_name().unwrap().to_str().unwrap()), Some((3, 14, H256::repeat_byte(0xab))));
		for other in ["run-3-round-14", "run-3-round-14-0xab", "run-+3-round-14-", ""] {
			assert_eq!(named(base, other), None, "{other}");
		}
	}
}
