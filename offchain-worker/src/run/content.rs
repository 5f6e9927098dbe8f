//! Checkpoints and deltas: from disk if they are there, else from peers; everything checked against the chain's roots.

use super::{local_folder::LocalFolder, WorkerError};
use crate::{
	engine::Engine,
	files::write_atomically,
	net::{FetchWatch, Handle, PeerAddress, PeerId},
	store::{ContentDescriptor, Store, StoreError, Usage},
	train::checkpoint::{Checkpoint, Header},
};
use codec::{DecodeAll, Encode};
use neuroshard_graph::{ModelConfig, ParamLayout};
use neuroshard_types::{RoundIndex, RunId, H256};
use std::{
	future::Future,
	path::{Path, PathBuf},
	time::Duration,
};

/// Longest attempt to fetch one delta: a block or two of a vote's time.
const DELTA_TIMEOUT: Duration = Duration::from_secs(20);

/// Store, network and folders.
#[derive(Clone)]
pub(super) struct Content {
	pub(super) store: Store,
	pub(super) net: Handle,
	pub(super) base: PathBuf,
	/// The operator's dataset.
	pub(super) local: LocalFolder,
}

/// Runs `work`, which uses the disk, where it may block.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, WorkerError> + Send + 'static) -> Result<T, WorkerError> {
	tokio::task::spawn_blocking(work).await.map_err(|_| WorkerError::Stopped)?
}

/// What `work` gives if that takes no longer than `limit`.
pub(super) async fn within<T>(limit: Duration, what: &str, work: impl Future<Output = T>) -> Result<T, WorkerError> {
	let slow = |_| WorkerError::Slow { what: what.to_owned(), seconds: limit.as_secs() };
	tokio::time::timeout(limit, work).await.map_err(slow)
}

/// Label under which the blobs of a round are kept.
pub(super) fn round_label(run: RunId, round: RoundIndex) -> String {
	format!("run-{run}-round-{round}")
}

/// Run and round of a label that [`round_label`] made.
pub(super) fn labelled_round(label: &str) -> Option<(RunId, RoundIndex)> {
	let (run, round) = label.strip_prefix("run-")?.split_once("-round-")?;
	let (run, round) = (run.parse().ok()?, round.parse().ok()?);
	(round_label(run, round) == label).then_some((run, round))
}

impl Content {
	pub(super) fn new(store: Store, net: Handle, base: &Path, local_dataset: Option<PathBuf>) -> Self {
		Self { store, net, base: base.to_path_buf(), local: LocalFolder::new(local_dataset) }
	}

	/// Folder of the newest checkpoint of `run`.
	pub(super) fn checkpoint_folder(&self, run: RunId) -> PathBuf {
		checkpoint_folder(&self.base, run)
	}

	/// Whether there is room for what a round leaves behind that takes this many deltas, of so many leaves each, and makes a checkpoint.
	/// What is there and must stay is never pushed out for it.
	///
	/// # Errors
	/// [`WorkerError::NoRoom`].
	pub(super) fn check_room(store: &Store, leaves: u32, deltas: usize) -> Result<(), WorkerError> {
		let Usage { kept, limit, .. } = store.usage();
		let blobs = u64::try_from(deltas).unwrap_or(u64::MAX).saturating_add(2);
		let needed = blobs.saturating_mul(ContentDescriptor { root: H256::zero(), leaves }.disk_bytes());
		match kept.saturating_add(needed) <= limit {
			true => Ok(()),
			false => Err(WorkerError::NoRoom { needed, kept, limit }),
		}
	}

	/// Makes `checkpoint` available to peers. Blocks.
	pub(super) fn publish(store: &Store, checkpoint: &Checkpoint, layout: &ParamLayout) -> Result<(), WorkerError> {
		let header = checkpoint.header;
		let label = round_label(header.run, header.round);
		for blob in checkpoint.to_blobs(layout) {
			store.put_pinned(&blob, &label)?;
		}
		// The note comes last: whoever gets it finds the blobs.
		store.set_note(header.root(), &header.encode())?;
		Ok(())
	}

	/// Brings the two blobs of checkpoint `root` of `run`, each of `leaves` leaves, into the store, unless they are there, and keeps them
	/// with the round that starts from it; with the header that names them. Whoever has the note on the root is asked.
	pub(super) async fn checkpoint(&self, run: RunId, root: H256, leaves: u32, peers: &[PeerAddress]) -> Result<Header, WorkerError> {
		let header = match Self::stored_header(&self.store, run, root)? {
			Some(header) => header,
			None => self.net.note(root, peers, |note| header(run, root, note)).await?,
		};
		// Pinned first: the second blob must not push the first one out.
		self.store.pin_all([header.params, header.momentum], &round_label(run, header.round))?;
		for blob in [header.params, header.momentum] {
			self.net.fetch(ContentDescriptor { root: blob, leaves }, peers).await?;
		}
		self.store.set_note(root, &header.encode())?;
		Ok(header)
	}

	/// What `store` knows that checkpoint `root` of `run` is made of. Blocks.
	pub(super) fn stored_header(store: &Store, run: RunId, root: H256) -> Result<Option<Header>, WorkerError> {
		Ok(store.note(root)?.and_then(|note| header(run, root, &note)))
	}

	/// Checkpoint `root` of `run` out of `store`, where [`Self::checkpoint`] or [`Self::publish`] left it. Blocks.
	pub(super) fn read_checkpoint(
		store: &Store,
		run: RunId,
		root: H256,
		layout: &ParamLayout,
		threads: usize,
	) -> Result<Checkpoint, WorkerError> {
		let header = Self::stored_header(store, run, root)?.ok_or(StoreError::Unknown { root })?;
		let (params, momentum) = (read(store, header.params)?, read(store, header.momentum)?);
		Ok(Checkpoint::from_blobs(header, layout, &params, &momentum, threads)?)
	}

	/// Brings a delta into the store, unless it is there, and keeps it for the sake of `label`; its bytes. `owner` made it, and is asked
	/// first, then whoever else may have it.
	pub(super) async fn delta(
		&self,
		label: String,
		content: ContentDescriptor,
		owner: Option<PeerId>,
		peers: &[PeerAddress],
	) -> Result<Vec<u8>, WorkerError> {
		let root = content.root;
		// Pinned first: what has come must not be evicted for what comes next.
		let store = self.store.clone();
		blocking(move || Ok(store.pin(root, &label)?)).await?;
		let watch = FetchWatch { first: owner, ..Default::default() };
		let fetched = self.net.fetch_watched(content, peers, &watch);
		let blob = within(DELTA_TIMEOUT, &format!("delta {root:?}"), fetched).await??;
		blocking(move || Ok(blob.bytes()?)).await
	}
}

/// The header in the note on `root`, if it is one that hashes to it. The run is not part of the root: the note may be about the same
/// checkpoint of another one.
fn header(run: RunId, root: H256, note: &[u8]) -> Option<Header> {
	let header = Header::decode_all(&mut &*note).ok()?;
	(header.root() == root).then_some(Header { run, ..header })
}

/// All bytes of blob `root`. Blocks.
pub(super) fn read(store: &Store, root: H256) -> Result<Vec<u8>, WorkerError> {
	let blob = store.get(root)?.ok_or(StoreError::Unknown { root })?;
	Ok(blob.bytes()?)
}

/// Folder of the newest checkpoint of `run` below a base folder.
pub fn checkpoint_folder(base: &Path, run: RunId) -> PathBuf {
	base.join("runs").join(run.to_string())
}

/// File beside a checkpoint that holds the model, so that it can be used without the chain.
const MODEL_FILE: &str = "model.json";

/// Writes `checkpoint` and its model into `folder`, in place of what was there.
pub(super) fn save(folder: &Path, checkpoint: &Checkpoint, engine: &Engine) -> Result<(), WorkerError> {
	checkpoint.save(folder, engine.layout())?;
	let path = folder.join(MODEL_FILE);
	let model = serde_json::to_vec_pretty(engine.model()).unwrap_or_default();
	write_atomically(&path, &model).map_err(|source| WorkerError::File { path, source })
}

/// The model of the checkpoint in `folder`; `None` if there is none.
///
/// # Errors
/// [`WorkerError::File`] if the file cannot be read or is no model.
pub fn read_model(folder: &Path) -> Result<Option<ModelConfig>, WorkerError> {
	let path = folder.join(MODEL_FILE);
	let failed = |source| WorkerError::File { path: path.clone(), source };
	match std::fs::read(&path) {
		Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
		Err(error) => Err(failed(error)),
		Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn what_never_ends_is_given_up_and_named() {
		let error = within(Duration::ZERO, "delta 7", std::future::pending::<()>()).await.unwrap_err();
		assert!(matches!(&error, WorkerError::Slow { .. }) && error.to_string().contains("delta 7"), "{error}");
		assert_eq!(within(Duration::ZERO, "nothing", async { 7 }).await.unwrap(), 7);
	}

	#[test]
	fn a_round_finds_room_beside_what_must_stay() {
		let dir = tempfile::tempdir().unwrap();
		let leaf = ContentDescriptor { root: H256::zero(), leaves: 1 }.disk_bytes();
		let store = Store::open(dir.path(), 6 * leaf).unwrap();
		store.put(&[1; 4096]).unwrap();
		Content::check_room(&store, 1, 4).unwrap();
		assert!(Content::check_room(&store, 1, 5).is_err() && Content::check_room(&store, u32::MAX, usize::MAX).is_err());
		store.put_pinned(&[1; 4096], "kept").unwrap();
		let error = Content::check_room(&store, 1, 4).unwrap_err();
		assert!(matches!(error, WorkerError::NoRoom { needed, kept, limit } if (needed, kept, limit) == (6 * leaf, leaf, 6 * leaf)));
		assert!(error.to_string().contains("--max-disk"), "{error}");
		Content::check_room(&store, 1, 3).unwrap();
	}

	#[test]
	fn labels_of_rounds_are_read_back_and_others_are_not() {
		assert_eq!(labelled_round(&round_label(3, 14)), Some((3, 14)));
		for other in ["dataset-3", "run-3", "run-3-round-", "run--round-4", "run-3-round-4-", "run-+3-round-4", ""] {
			assert_eq!(labelled_round(other), None, "{other}");
		}
	}
}
