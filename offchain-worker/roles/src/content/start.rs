//! A checkpoint that runs are to start from, offered to peers out of a folder: its sponsor is the first one who has it.

use crate::WorkerError;
use codec::Encode;
use neuroshard_store::Store;
use neuroshard_training::checkpoint::{data_path, Checkpoint, CheckpointError, Header, HEADER_FILE};
use neuroshard_types::H256;
use std::{
	fs::File,
	io::{self, Read},
	path::Path,
};

/// Label under which it is kept.
const LABEL: &str = "start";

/// Offers the checkpoint in `folder`, if one is named, as one that runs start from, whatever round it is of. One that was offered before and is not named any more
/// is let go of. Returns its root. Blocks.
///
/// # Errors
/// [`WorkerError::File`] if there is none, [`WorkerError::Checkpoint`] if it is damaged, [`WorkerError::Store`] if the store has no room for it.
pub fn offer_start(store: &Store, folder: Option<&Path>) -> Result<Option<H256>, WorkerError> {
	let Some(folder) = folder else { return Ok(store.unpin_label(LABEL).map(|()| None)?) };
	let none = || WorkerError::File { path: folder.join(HEADER_FILE), source: io::ErrorKind::NotFound.into() };
	let header = Checkpoint::header(folder)?.ok_or_else(none)?;
	let path = data_path(folder, &header);
	let failed = |source| WorkerError::File { path: path.clone(), source };
	let mut file = File::open(&path).map_err(failed)?;
	let half = file.metadata().map_err(failed)?.len() / 2;
	for old in store.pinned(LABEL).into_iter().filter(|old| ![header.params, header.momentum].contains(old)) {
		store.unpin(old, LABEL)?;
	}
	for (part, expected) in [("parameters", header.params), ("outer momentum", header.momentum)] {
		let mut bytes = Vec::new();
		file.by_ref().take(half).read_to_end(&mut bytes).map_err(failed)?;
		let found = store.put_pinned(&bytes, LABEL)?.root;
		if found != expected {
			store.unpin_label(LABEL)?;
			return Err(CheckpointError::Root { part, found, expected }.into());
		}
	}
	let first = Header::first(header.params, header.momentum);
	// The note comes last: whoever gets it finds the blobs.
	store.set_note(first.root(), &first.encode())?;
	Ok(Some(first.root()))
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::content::Content;
	use neuroshard_graph::{commit::tensors_root, ModelConfig, ParamLayout, TrainConfig};

	#[test]
	fn a_checkpoint_of_any_round_is_offered_as_a_first_one_and_let_go_of_when_it_is_not_named_any_more() {
		let dir = tempfile::tempdir().unwrap();
		let (store, folder) = (Store::open(&dir.path().join("store"), 1 << 24).unwrap(), dir.path().join("folder"));
		let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
		let layout = ParamLayout::new(&model).unwrap();
		assert!(matches!(offer_start(&store, Some(&folder)), Err(WorkerError::File { .. })));
		let mut checkpoint = Checkpoint::genesis(7, &model, &train, 1).unwrap();
		let genesis = checkpoint.header;
		(checkpoint.header.round, checkpoint.header.adopted_steps) = (3, 12);
		checkpoint.save(&folder, &layout).unwrap();
		assert_eq!(offer_start(&store, Some(&folder)).unwrap(), Some(genesis.root()));
		// As whoever starts a run from it reads it.
		let read = Content::read_checkpoint(&store, 5, genesis.root(), &layout, 1).unwrap();
		assert_eq!((read.header, read.params), (Header { run: 5, ..genesis }, checkpoint.params.clone()));
		assert_eq!(store.pinned(LABEL).len(), 2);

		checkpoint.params[0] += 1.0;
		checkpoint.header.params = H256(tensors_root(&layout, &checkpoint.params, 1));
		checkpoint.save(&folder, &layout).unwrap();
		assert_ne!(offer_start(&store, Some(&folder)).unwrap(), Some(genesis.root()));
		assert!(!store.pinned(LABEL).contains(&genesis.params), "another one takes its place");
		assert_eq!(offer_start(&store, None).unwrap(), None);
		assert!(store.pinned(LABEL).is_empty());
	}

	#[test]
	fn a_damaged_checkpoint_is_not_offered() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(&dir.path().join("store"), 1 << 24).unwrap();
		let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
		let (layout, checkpoint) = (ParamLayout::new(&model).unwrap(), Checkpoint::genesis(0, &model, &train, 1).unwrap());
		checkpoint.save(dir.path(), &layout).unwrap();
		let path = data_path(dir.path(), &checkpoint.header);
		let whole = std::fs::read(&path).unwrap();
		for (place, part) in [(5, "parameters"), (whole.len() - 5, "outer momentum")] {
			let mut bytes = whole.clone();
			bytes[place] ^= 1;
			std::fs::write(&path, bytes).unwrap();
			let error = offer_start(&store, Some(dir.path())).unwrap_err().to_string();
			assert!(error.contains(&format!("{part} has root")), "{error}");
			assert!(store.pinned(LABEL).is_empty() && store.note(checkpoint.header.root()).unwrap().is_none());
		}
	}
}
