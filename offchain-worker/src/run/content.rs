//! Checkpoints and deltas: from disk if they are there, else from peers; everything checked against the chain's roots.

use super::{local_folder::LocalFolder, WorkerError};
use crate::{
	engine::Engine,
	files::write_atomically,
	net::{FetchWatch, Handle, PeerAddress, PeerId},
	store::{ContentDescriptor, Store},
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

	/// The two blobs of checkpoint `root` of `run`, each of `leaves` leaves, and the header that names them.
	pub(super) async fn checkpoint(&self, run: RunId, root: H256, leaves: u32, peers: &[PeerAddress]) -> Result<Header, WorkerError> {
		let accept = move |note: &[u8]| {
			let header = Header::decode_all(&mut &*note).ok()?;
			// The run is not part of the root: a peer may hold the same checkpoint of another one.
			(header.root() == root).then_some(Header { run, ..header })
		};
		let header = match self.store.note(root)?.and_then(|note| accept(&note)) {
			Some(header) => header,
			None => self.net.note(root, peers, accept).await?,
		};
		// Pinned first: the second blob must not push the first one out.
		self.store.pin_all([header.params, header.momentum], &round_label(run, header.round))?;
		for blob in [header.params, header.momentum] {
			self.net.fetch(ContentDescriptor { root: blob, leaves }, peers).await?;
		}
		self.store.set_note(root, &header.encode())?;
		Ok(header)
	}

	/// Brings a delta into the store. `owner` made it, and is asked first.
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
	fn labels_of_rounds_are_read_back_and_others_are_not() {
		assert_eq!(labelled_round(&round_label(3, 14)), Some((3, 14)));
		for other in ["dataset-3", "run-3", "run-3-round-", "run--round-4", "run-3-round-4-", "run-+3-round-4", ""] {
			assert_eq!(labelled_round(other), None, "{other}");
		}
	}
}
