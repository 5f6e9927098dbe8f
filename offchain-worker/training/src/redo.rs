//! Data that a replay sets aside for outer steps that are redone later, and the source of what nobody can recompute.

use super::{
	checkpoint::{decode_delta, Checkpoint, CheckpointError, Header},
	round::Trained,
};
use crate::engine::Engine;
use codec::DecodeAll;
use neuroshard_graph::{tiles, ParamLayout};
use neuroshard_store::{read_blob, read_note};
use neuroshard_types::{dispute::OuterJob, RunId, H256};
use std::{
	collections::BTreeSet,
	fs,
	path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A temporary folder with the deltas and checkpoints that outer steps are redone with, and the content store of a worker, if there is
/// one: false deltas and fallen checkpoints follow from nothing, so that somebody must have their bytes. Whatever is read is checked
/// against its root.
#[derive(Debug)]
pub struct Redo {
	folder: TempDir,
	wanted: BTreeSet<H256>,
	/// Residuals that were set aside.
	residuals: BTreeSet<H256>,
	store: Option<PathBuf>,
}

impl Redo {
	/// For what `jobs` redo, and with these checkpoints, which later inner steps start from. `store` is the folder of a content store, which another process may be using.
	///
	/// # Errors
	/// [`CheckpointError::Io`] if there can be no temporary folder.
	pub fn new<'a>(
		jobs: impl IntoIterator<Item = &'a OuterJob>,
		starts: impl IntoIterator<Item = H256>,
		store: Option<PathBuf>,
	) -> Result<Self, CheckpointError> {
		let wanted = wanted(jobs, starts);
		let folder = tempfile::tempdir().map_err(|source| CheckpointError::Io { path: std::env::temp_dir(), source })?;
		Ok(Self { folder, wanted, residuals: Default::default(), store })
	}

	/// Sets the encoded delta with this root aside, if it will be needed.
	///
	/// # Errors
	/// [`CheckpointError::Io`].
	pub fn keep_delta(&self, root: H256, bytes: &[u8]) -> Result<(), CheckpointError> {
		if !self.wanted.contains(&root) {
			return Ok(());
		}
		let path = self.path(root);
		fs::write(&path, bytes).map_err(|source| CheckpointError::Io { path, source })
	}

	/// Sets aside what a delta has left unsaid, if anything: the next round of that provider begins with it.
	///
	/// # Errors
	/// [`CheckpointError::Io`].
	pub fn keep_residual(&mut self, trained: &Trained) -> Result<(), CheckpointError> {
		let (Some(bytes), Some(root)) = (&trained.residual, trained.work.state_roots.last()) else { return Ok(()) };
		let path = self.path(*root);
		fs::write(&path, bytes).map_err(|source| CheckpointError::Io { path, source })?;
		self.residuals.insert(*root);
		Ok(())
	}

	/// Forgets all residuals but these.
	pub fn keep_residuals(&mut self, kept: &BTreeSet<H256>) {
		for root in self.residuals.difference(kept) {
			// One that stays only costs space, until the replay is over.
			let _ = fs::remove_file(self.path(*root));
		}
		self.residuals.retain(|root| kept.contains(root));
	}

	/// A residual that was set aside, or is in the content store: that of work which is false follows from nothing.
	pub fn residual(&self, layout: &ParamLayout, root: H256) -> Option<Vec<f32>> {
		let bytes = fs::read(self.path(root)).ok().or_else(|| self.revealed(root))?;
		tiles::decode(layout, &bytes).ok()
	}

	/// Sets a checkpoint aside, if it will be needed.
	///
	/// # Errors
	/// [`CheckpointError::DiskFull`] or [`CheckpointError::Io`].
	pub fn keep_checkpoint(&self, checkpoint: &Checkpoint, layout: &ParamLayout) -> Result<(), CheckpointError> {
		let root = checkpoint.header.root();
		match self.wanted.contains(&root) {
			true => checkpoint.save(&self.path(root), layout),
			false => Ok(()),
		}
	}

	/// A delta that was set aside.
	///
	/// # Errors
	/// [`CheckpointError`] if it was not, or is damaged.
	pub fn delta(&self, engine: &Engine, root: H256) -> Result<Vec<f32>, CheckpointError> {
		let path = self.path(root);
		let bytes = fs::read(&path).map_err(|source| CheckpointError::Io { path, source })?;
		decode_delta(engine, &bytes, root)
	}

	/// The encoded delta or residual with this root as the content store has it.
	pub fn revealed(&self, root: H256) -> Option<Vec<u8>> {
		read_blob(self.store.as_deref()?, root).ok()
	}

	/// A checkpoint of `run` that was set aside, or is in the content store; `None` if it is in neither.
	///
	/// # Errors
	/// [`CheckpointError`] if it is there, and damaged or of another model.
	pub fn checkpoint(&self, run: RunId, root: H256, layout: &ParamLayout, threads: usize) -> Result<Option<Checkpoint>, CheckpointError> {
		if let Some(kept) = Checkpoint::load(&self.path(root), layout, threads)? {
			return Ok(Some(kept));
		}
		let Some((header, [params, momentum])) = self.store.as_deref().and_then(|store| stored(store, root)) else { return Ok(None) };
		Checkpoint::from_blobs(Header { run, ..header }, layout, &params, &momentum, threads).map(Some)
	}

	/// The vector with this root and layout in the content store; `None` if it is not there, or another one.
	pub fn vector(&self, root: H256, layout: &ParamLayout) -> Option<Vec<f32>> {
		neuroshard_graph::tiles::decode(layout, &read_blob(self.store.as_deref()?, root).ok()?).ok()
	}

	fn path(&self, root: H256) -> PathBuf {
		self.folder.path().join(hex::encode(root))
	}
}

/// What `jobs` redo outer steps with, and the checkpoints `starts`.
pub(crate) fn wanted<'a>(jobs: impl IntoIterator<Item = &'a OuterJob>, starts: impl IntoIterator<Item = H256>) -> BTreeSet<H256> {
	let redone = |job: &OuterJob| {
		let steps = job.steps.split_last().map_or(&[][..], |(_, before)| before);
		let deltas = steps.iter().flatten().copied().collect::<Vec<_>>();
		(!steps.is_empty()).then_some(job.start).into_iter().chain(deltas).collect::<Vec<_>>()
	};
	jobs.into_iter().flat_map(redone).chain(starts).collect()
}

/// Header of a checkpoint in a content store.
pub(crate) fn stored_header(store: &Path, root: H256) -> Option<Header> {
	let note = read_note(store, root).ok()??;
	Header::decode_all(&mut note.as_slice()).ok().filter(|header| header.root() == root)
}

/// Header and blobs of a checkpoint in a content store.
fn stored(store: &Path, root: H256) -> Option<(Header, [Vec<u8>; 2])> {
	let header = stored_header(store, root)?;
	let [params, momentum] = [header.params, header.momentum].map(|blob| read_blob(store, blob).ok());
	Some((header, [params?, momentum?]))
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::presets;
	use codec::Encode;
	use neuroshard_store::Store;

	#[test]
	fn only_what_is_redone_is_kept_and_the_rest_comes_from_a_store_if_there_is_one() {
		let (model, train) = presets::tiny();
		let (layout, engine) = (ParamLayout::new(&model).unwrap(), Engine::new(&model, &train, 1).unwrap());
		let start = Checkpoint::genesis(7, &model, &train, 1).unwrap();
		let root = start.header.root();
		let bytes = tiles::encode(&layout, &start.params);
		let delta = H256(tiles::content_id(&bytes, 1));
		let single = OuterJob { first_round: 0, start: root, steps: vec![vec![delta]], inner_steps: vec![] };
		let redone = OuterJob { steps: vec![vec![delta], vec![]], ..single.clone() };
		let keep = |job: &OuterJob, store: Option<PathBuf>| {
			let redo = Redo::new([job], [], store).unwrap();
			redo.keep_delta(delta, &bytes).unwrap();
			redo.keep_checkpoint(&start, &layout).unwrap();
			redo
		};
		let redo = keep(&single, None);
		assert!(redo.delta(&engine, delta).is_err() && redo.revealed(delta).is_none());
		assert_eq!(redo.checkpoint(7, root, &layout, 1).unwrap(), None);

		let redo = keep(&redone, None);
		assert_eq!(redo.delta(&engine, delta).unwrap(), start.params);
		assert_eq!(redo.checkpoint(7, root, &layout, 1).unwrap(), Some(start.clone()));

		let folder = tempfile::tempdir().unwrap();
		let store = Store::open(folder.path(), 1 << 30).unwrap();
		start.to_blobs(&layout).iter().for_each(|blob| assert!(store.put(blob).unwrap().leaves > 0));
		// Another run may have the same checkpoint.
		store.set_note(root, &Header { run: 9, ..start.header }.encode()).unwrap();
		let redo = keep(&single, Some(folder.path().into()));
		assert_eq!(redo.checkpoint(7, root, &layout, 1).unwrap(), Some(start.clone()));
		assert_eq!(redo.revealed(start.header.params), Some(start.to_blobs(&layout)[0].clone()));
		assert_eq!(redo.revealed(H256::zero()), None);
	}
}
