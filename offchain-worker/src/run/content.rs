//! Checkpoints, deltas and shards: from disk if they are there, else from peers; everything checked against the chain's roots.

use super::WorkerError;
use crate::{
	data::{
		dataset::{dataset_root, shard_bytes, shard_path, verify},
		loader::Loader,
	},
	engine::Engine,
	files::write_atomically,
	net::{Handle, PeerAddress},
	store::{ContentDescriptor, Store, LEAF_BYTES, MAX_NOTE_BYTES},
	train::checkpoint::{Checkpoint, Header},
};
use codec::{DecodeAll, Encode};
use neuroshard_graph::{tiles::content_id, ModelConfig, ParamLayout};
use neuroshard_types::{
	dataset::{DatasetShape, DatasetView, TOKENS_PER_CHUNK},
	DatasetId, RoundIndex, RunId, H256,
};
use std::{
	collections::BTreeSet,
	future::Future,
	path::{Path, PathBuf},
	sync::{Arc, Mutex, PoisonError},
	time::Duration,
};

/// Longest attempt to fetch one delta: a block or two of a vote's time.
const DELTA_TIMEOUT: Duration = Duration::from_secs(20);

/// A dataset whose shards arrive when they are needed.
#[derive(Clone, Debug)]
pub(super) struct Dataset {
	id: DatasetId,
	folder: PathBuf,
	/// Whether the folder is the operator's: then nothing is ever written into it.
	foreign: bool,
	shard_roots: Arc<[H256]>,
	shape: DatasetShape,
	/// Shards whose files were compared with their roots since the start.
	checked: Arc<Mutex<BTreeSet<u32>>>,
	/// Reads windows from shards that are here.
	pub(super) loader: Loader,
}

impl Dataset {
	/// Those of `shards` that are not, or not undamaged, in the folder, and their roots. Blocks. Every file is read once after a start: work
	/// on a damaged one would be wrong work, and cost the bond.
	fn missing(&self, shards: &[u32]) -> Vec<(PathBuf, H256)> {
		if self.foreign {
			return Vec::new();
		}
		let length = shard_bytes(&self.shape);
		let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
		let mut is_here = |shard: u32, path: &Path, root: H256| {
			let here = std::fs::metadata(path).is_ok_and(|file| file.len() == length);
			let right = here && (checked.contains(&shard) || std::fs::read(path).is_ok_and(|bytes| content_id(&bytes, 1) == root.0));
			if right {
				checked.insert(shard);
			}
			right
		};
		shards
			.iter()
			.filter_map(|shard| {
				let root = self.shard_roots.get(usize::try_from(*shard).ok()?)?;
				let path = shard_path(&self.folder, *shard);
				(!is_here(*shard, &path, *root)).then_some((path, *root))
			})
			.collect()
	}
}

/// Store, network and folders.
#[derive(Clone)]
pub(super) struct Content {
	pub(super) store: Store,
	pub(super) net: Handle,
	base: PathBuf,
	local_dataset: Option<PathBuf>,
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
		Self { store, net, base: base.to_path_buf(), local_dataset }
	}

	/// Whether the operator named a folder with a dataset.
	pub(super) fn has_local_dataset(&self) -> bool {
		self.local_dataset.is_some()
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

	/// Brings a delta into the store.
	pub(super) async fn delta(&self, label: String, root: H256, leaves: u32, peers: &[PeerAddress]) -> Result<Vec<u8>, WorkerError> {
		// Pinned first: what has come must not be evicted for what comes next.
		let store = self.store.clone();
		blocking(move || Ok(store.pin(root, &label)?)).await?;
		let fetched = self.net.fetch(ContentDescriptor { root, leaves }, peers);
		let blob = within(DELTA_TIMEOUT, &format!("delta {root:?}"), fetched).await??;
		blocking(move || Ok(blob.bytes()?)).await
	}

	/// Dataset `id` as the chain states it: the folder named by the operator if it is that one, else one of our own, filled by peers.
	pub(super) async fn dataset(&self, id: DatasetId, view: &DatasetView, peers: &[PeerAddress]) -> Result<Dataset, WorkerError> {
		let manifest = view.manifest.clone();
		let local = self.local_dataset(id, manifest.root).await?;
		let foreign = local.is_some();
		let (folder, shard_roots) = match local {
			Some(found) => found,
			None => {
				let roots = self.shard_roots(id, manifest.root, manifest.shape.shard_count, peers).await?;
				(self.base.join("datasets").join(id.to_string()), roots)
			}
		};
		let shape = manifest.shape;
		let loader = Loader::new(&folder, shape, manifest.vocab)?;
		Ok(Dataset { id, folder, foreign, shard_roots: shard_roots.into(), shape, checked: Arc::default(), loader })
	}

	/// Checks the operator's folder against the chain's root and offers its shards to peers.
	async fn local_dataset(&self, id: DatasetId, root: H256) -> Result<Option<(PathBuf, Vec<H256>)>, WorkerError> {
		let (Some(folder), store) = (self.local_dataset.clone(), self.store.clone()) else { return Ok(None) };
		blocking(move || {
			let found = verify(&folder, None)?;
			if found.manifest.root != root {
				tracing::warn!(folder = %folder.display(), "this is not dataset {id} of the chain; fetching that from peers");
				return Ok(None);
			}
			let roots = found.manifest.shard_roots;
			for (shard, shard_root) in (0u32..).zip(&roots) {
				if !store.contains(*shard_root) {
					let path = shard_path(&folder, shard);
					let bytes = std::fs::read(&path).map_err(|source| WorkerError::File { path, source })?;
					store.put_pinned(&padded(bytes), &dataset_label(id))?;
				}
			}
			note_shard_roots(&store, root, &roots)?;
			Ok(Some((folder, roots)))
		})
		.await
	}

	/// The roots of a dataset's shards, from the store or peers.
	async fn shard_roots(&self, id: DatasetId, root: H256, count: u32, peers: &[PeerAddress]) -> Result<Vec<H256>, WorkerError> {
		let count = usize::try_from(count).map_err(|_| WorkerError::DatasetTooLarge(id))?;
		if count.saturating_mul(32) > MAX_NOTE_BYTES {
			return Err(WorkerError::DatasetTooLarge(id));
		}
		let accept = move |note: &[u8]| {
			let roots: Vec<H256> = note.chunks_exact(32).map(H256::from_slice).collect();
			(note.len() == count.saturating_mul(32) && dataset_root(&roots) == root).then_some(roots)
		};
		if let Some(roots) = self.store.note(root)?.and_then(|note| accept(&note)) {
			return Ok(roots);
		}
		let roots = self.net.note(root, peers, accept).await?;
		note_shard_roots(&self.store, root, &roots)?;
		Ok(roots)
	}

	/// Sees to it that `shards` of `dataset` are in its folder.
	pub(super) async fn shards(&self, dataset: &Dataset, shards: &[u32], peers: &[PeerAddress]) -> Result<(), WorkerError> {
		let leaves = dataset.shape.tokens_per_shard.div_ceil(TOKENS_PER_CHUNK);
		let (wanted, of) = (shards.to_vec(), dataset.clone());
		for (path, root) in blocking(move || Ok(of.missing(&wanted))).await? {
			let (store, label) = (self.store.clone(), dataset_label(dataset.id));
			blocking(move || Ok(store.pin(root, &label)?)).await?;
			let blob = self.net.fetch(ContentDescriptor { root, leaves }, peers).await?;
			blocking(move || {
				let folder = path.parent().unwrap_or(Path::new("."));
				std::fs::create_dir_all(folder).map_err(|source| WorkerError::File { path: folder.to_path_buf(), source })?;
				write_atomically(&path, &blob.bytes()?).map_err(|source| WorkerError::File { path, source })
			})
			.await?;
		}
		Ok(())
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

fn dataset_label(id: DatasetId) -> String {
	format!("dataset-{id}")
}

fn note_shard_roots(store: &Store, root: H256, roots: &[H256]) -> Result<(), WorkerError> {
	let note: Vec<u8> = roots.iter().flat_map(|root| root.0).collect();
	// A dataset with more shards than a note holds is read from its folder, and not offered.
	if note.len() <= MAX_NOTE_BYTES {
		store.set_note(root, &note)?;
	}
	Ok(())
}

/// A shard file as a blob: whole leaves, zero-padded, as its root is defined.
fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
	bytes.resize(bytes.len().div_ceil(LEAF_BYTES).saturating_mul(LEAF_BYTES), 0);
	bytes
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

	fn dataset(folder: &Path, foreign: bool) -> Dataset {
		// 3,000 tokens are 6,000 bytes, in a file of two chunks.
		let shape = DatasetShape { tokens_per_shard: 3_000, shard_count: 2, held_out: 1 };
		let loader = Loader::new(folder, shape, 288).unwrap();
		let shard_roots = [root(0), root(1)].into();
		Dataset { id: 0, folder: folder.to_path_buf(), foreign, shard_roots, shape, checked: Arc::default(), loader }
	}

	fn content(byte: u8) -> Vec<u8> {
		vec![byte; 8_192]
	}

	fn root(byte: u8) -> H256 {
		H256(content_id(&content(byte), 1))
	}

	#[test]
	fn only_shards_that_are_not_whole_in_the_folder_are_missing() {
		let folder = tempfile::tempdir().unwrap();
		let write = |shard, bytes: &[u8]| std::fs::write(shard_path(folder.path(), shard), bytes).unwrap();
		std::fs::create_dir(folder.path().join("shards")).unwrap();
		let second = (shard_path(folder.path(), 1), root(1));
		write(0, &content(0));
		assert_eq!(dataset(folder.path(), false).missing(&[0, 1, 2]), std::slice::from_ref(&second));
		write(1, &content(1)[..6_000]);
		assert_eq!(dataset(folder.path(), false).missing(&[1]), std::slice::from_ref(&second));
		let mut damaged = content(1);
		damaged[5_000] ^= 1;
		write(1, &damaged);
		assert_eq!(dataset(folder.path(), false).missing(&[1]), [second]);
		write(1, &content(1));
		assert_eq!(dataset(folder.path(), false).missing(&[0, 1]), []);
	}

	#[test]
	fn nothing_is_fetched_into_the_folder_of_an_operator() {
		let folder = tempfile::tempdir().unwrap();
		assert_eq!(dataset(folder.path(), true).missing(&[0, 1]), []);
	}

	#[test]
	fn a_shard_is_padded_to_whole_leaves() {
		assert_eq!(padded(vec![1; LEAF_BYTES]).len(), LEAF_BYTES);
		let bytes = padded(vec![1; LEAF_BYTES + 1]);
		assert_eq!(bytes.len(), 2 * LEAF_BYTES);
		assert_eq!(bytes.get(LEAF_BYTES..LEAF_BYTES + 2), Some([1, 0].as_slice()));
	}
}
