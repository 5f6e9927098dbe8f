//! Datasets: the operator's folder if it holds the one that the chain states, else shards from peers.

use super::Content;
use crate::{actor::blocking::blocking, WorkerError};
use neuroshard_atomic_write::write_atomically;
use neuroshard_data::{
	dataset::{dataset_root, shard_bytes, shard_path, verify_against, SHARDS_FOLDER, TOKENIZER_FILE},
	loader::Loader,
	manifest::MANIFEST_FILE,
	DataError,
};
use neuroshard_disputes::cases::library::Shards;
use neuroshard_graph::{corpus::Corpus, tiles::content_id};
use neuroshard_network::{FetchError, PeerAddress};
use neuroshard_store::{ContentDescriptor, Store, StoreError, LEAF_BYTES, LINKING, MAX_NOTE_BYTES};
use neuroshard_types::{
	dataset::{Manifest, Tokenizer, CHUNK_BYTES},
	DatasetId, H256,
};
use std::{
	collections::BTreeSet,
	io,
	path::{Path, PathBuf},
	sync::{Arc, Mutex, PoisonError},
	time::Instant,
};

/// A dataset whose shards arrive when they are needed.
#[derive(Clone, Debug)]
pub struct Dataset {
	id: DatasetId,
	folder: PathBuf,
	/// True if the folder is the operator's: then nothing is ever written into it.
	pub foreign: bool,
	shard_roots: Arc<[H256]>,
	corpus: Corpus,
	/// Shards whose files were compared with their roots since the start.
	checked: Arc<Mutex<BTreeSet<u32>>>,
	/// Reads windows from shards that are here.
	pub loader: Loader,
}

impl Dataset {
	fn new(id: DatasetId, folder: PathBuf, foreign: bool, shard_roots: Vec<H256>, manifest: &Manifest) -> Result<Self, WorkerError> {
		let loader = Loader::new(&folder, manifest.shape, manifest.width())?;
		Ok(Self { id, folder, foreign, shard_roots: shard_roots.into(), corpus: manifest.corpus(), checked: Arc::default(), loader })
	}

	/// Chunks of the shards that are here, for witnesses.
	pub fn library(&self) -> Shards {
		Shards::new(self.folder.clone(), self.corpus, self.shard_roots.clone())
	}

	/// Those of `shards` that are not, or not undamaged, in the folder, and their roots. Blocks. Every file is read once after a start: work
	/// on a damaged one would be wrong work, and cost the bond.
	fn missing(&self, shards: &[u32]) -> Vec<(PathBuf, H256)> {
		if self.foreign {
			return Vec::new();
		}
		let length = shard_bytes(&self.corpus);
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

impl Content {
	/// Dataset `id` in the operator's folder, its shards offered to peers. `None` without a folder, or if that one does not hold what the
	/// chain states; what differs is said once. A folder that cannot be read is looked at again later.
	pub async fn local_dataset(&self, id: DatasetId, manifest: &Manifest) -> Result<Option<Dataset>, WorkerError> {
		let Some(folder) = self.local.of(id, Instant::now()).map(Path::to_path_buf) else { return Ok(None) };
		let (of_chain, at) = (manifest.clone(), folder.clone());
		let verified = blocking(move || Ok(verify_against(&at, &of_chain, &format!("dataset {id} on the chain")))).await?;
		let shard_roots = match verified {
			Ok(verified) => verified.manifest.shard_roots,
			Err(error) => {
				self.local.note(id, &error, Instant::now());
				match error {
					DataError::Io { .. } => {
						tracing::warn!("{error}. It is tried again later; until then shards of dataset {id} come from peers")
					}
					_ => {
						tracing::warn!("{} is not dataset {id} of the chain: {error}. Its shards come from peers instead", folder.display())
					}
				}
				return Ok(None);
			}
		};
		let (store, root) = (self.store.clone(), manifest.root);
		let dataset = Dataset::new(id, folder, true, shard_roots, manifest)?;
		let offered = dataset.clone();
		let done = blocking(move || {
			for (shard, shard_root) in (0u32..).zip(offered.shard_roots.iter()) {
				if !store.contains(*shard_root) {
					let path = shard_path(&offered.folder, shard);
					let bytes = std::fs::read(&path).map_err(|source| WorkerError::File { path, source })?;
					store.put_pinned(&bytes, &dataset_label(id))?;
				}
			}
			let path = offered.folder.join(TOKENIZER_FILE);
			let file = std::fs::read(&path).map_err(|source| WorkerError::File { path, source })?;
			store.put_pinned(&padded(file), &dataset_label(id))?;
			note_shard_roots(&store, root, &offered.shard_roots)
		})
		.await;
		match done {
			// What this worker trains on, or defends, it reads from the folder.
			Err(WorkerError::Store(error @ (StoreError::DiskFull { .. } | StoreError::OverLimit { .. }))) => {
				tracing::warn!("not all shards of dataset {id} are offered to peers: {error}");
			}
			done => done?,
		}
		Ok(Some(dataset))
	}

	/// The file of a dataset's tokenizer, from the store or peers.
	pub(super) async fn tokenizer(&self, id: DatasetId, tokenizer: Tokenizer, peers: &[PeerAddress]) -> Result<Vec<u8>, WorkerError> {
		let (store, label) = (self.store.clone(), dataset_label(id));
		let Tokenizer { root, bytes, .. } = tokenizer;
		blocking(move || Ok(store.pin(root, &label)?)).await?;
		let leaves = bytes.div_ceil(CHUNK_BYTES);
		let blob = self.net.fetch(ContentDescriptor { root, leaves }, peers).await?;
		let mut file = blocking(move || Ok(blob.bytes()?)).await?;
		file.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
		Ok(file)
	}

	/// Dataset `id` in a folder of our own, which peers fill. The list of its shards is at hand or fetched now.
	pub async fn remote_dataset(&self, id: DatasetId, manifest: &Manifest, peers: &[PeerAddress]) -> Result<Dataset, WorkerError> {
		let path = self.fetched_folder().join(id.to_string());
		if self.is_foreign(&path) {
			return Err(WorkerError::OthersFolder { dataset: id, path });
		}
		let roots = self.shard_roots(id, manifest, peers).await?;
		Dataset::new(id, path, false, roots, manifest)
	}

	/// Returns whether a folder is the operator's: named with `--dataset`, or built there. What peers fill has no manifest.
	fn is_foreign(&self, folder: &Path) -> bool {
		self.local.holds(folder) || folder.join(MANIFEST_FILE).exists()
	}

	/// Folder of the datasets whose shards came from peers, by number.
	fn fetched_folder(&self) -> PathBuf {
		self.base.join("datasets")
	}

	/// Lets go of all datasets but those that are `kept`: deletes shards that came from peers, then lets the store evict theirs. Blocks.
	pub fn release_datasets(&self, kept: &BTreeSet<DatasetId>) -> Result<(), WorkerError> {
		let folder = self.fetched_folder();
		let entries = match std::fs::read_dir(&folder) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
			entries => entries.and_then(Iterator::collect).map_err(|source| WorkerError::File { path: folder, source })?,
		};
		for entry in entries {
			let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
			let foreign = self.is_foreign(&entry.path());
			if id.is_some_and(|id| !kept.contains(&id)) && entry.file_type().is_ok_and(|kind| kind.is_dir()) && !foreign {
				delete_shards(&entry.path()).map_err(|source| WorkerError::File { path: entry.path(), source })?;
			}
		}
		for label in self.store.labels() {
			if labelled_dataset(&label).is_some_and(|id| !kept.contains(&id)) {
				self.store.unpin_label(&label)?;
			}
		}
		Ok(())
	}

	/// The roots of a dataset's shards, from the store or peers, checked against the dataset's root.
	async fn shard_roots(&self, id: DatasetId, manifest: &Manifest, peers: &[PeerAddress]) -> Result<Vec<H256>, WorkerError> {
		let root = manifest.root;
		let count = usize::try_from(manifest.shape.shard_count).map_err(|_| WorkerError::DatasetTooLarge(id))?;
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
		let roots = self.net.note(root, peers, accept).await.map_err(|error| match asked(&error) {
			Some(peers) => {
				// Who named mirrors wants to know what they say.
				match error {
					FetchError::Nowhere { .. } => tracing::warn!("the list of shards of dataset {id}: {error}"),
					_ => tracing::debug!("the list of shards of dataset {id}: {error}"),
				}
				WorkerError::NoShardList { dataset: id, peers }
			}
			None => error.into(),
		})?;
		note_shard_roots(&self.store, root, &roots)?;
		Ok(roots)
	}

	/// Sees to it that `shards` of `dataset` are in its folder.
	pub async fn shards(&self, dataset: &Dataset, shards: &[u32], peers: &[PeerAddress]) -> Result<(), WorkerError> {
		let leaves = dataset.corpus.chunks();
		let (wanted, of) = (shards.to_vec(), dataset.clone());
		for (path, root) in blocking(move || Ok(of.missing(&wanted))).await? {
			let (store, label) = (self.store.clone(), dataset_label(dataset.id));
			blocking(move || Ok(store.pin(root, &label)?)).await?;
			let blob = self.net.fetch(ContentDescriptor { root, leaves }, peers).await?;
			blocking(move || {
				let folder = path.parent().unwrap_or(Path::new("."));
				std::fs::create_dir_all(folder).map_err(|source| WorkerError::File { path: folder.to_path_buf(), source })?;
				let bytes = blob.bytes()?;
				// A second name of the stored file takes no room beyond the limit. Not every file system has such names.
				blob.link_to(&path).or_else(|_| write_atomically(&path, &bytes)).map_err(|source| WorkerError::File { path, source })
			})
			.await?;
		}
		Ok(())
	}
}

/// Peers that were asked for a note which nobody had; `None` for another error.
fn asked(error: &FetchError) -> Option<usize> {
	match error {
		FetchError::NoPeers { .. } => Some(0),
		FetchError::NoNote { failures, .. } => Some(failures.len()),
		FetchError::Nowhere { peers, .. } => asked(peers),
		_ => None,
	}
}

/// A file as a blob: whole leaves.
pub(super) fn padded(mut file: Vec<u8>) -> Vec<u8> {
	file.resize(file.len().next_multiple_of(LEAF_BYTES), 0);
	file
}

fn dataset_label(id: DatasetId) -> String {
	format!("dataset-{id}")
}

/// Dataset of a label that [`dataset_label`] made.
fn labelled_dataset(label: &str) -> Option<DatasetId> {
	let id = label.strip_prefix("dataset-")?.parse().ok()?;
	(dataset_label(id) == label).then_some(id)
}

/// Deletes the shards in a dataset folder, and the folder if nothing else is in it.
fn delete_shards(folder: &Path) -> io::Result<()> {
	let shards = folder.join(SHARDS_FOLDER);
	match std::fs::read_dir(&shards) {
		Err(error) if error.kind() == io::ErrorKind::NotFound => {}
		entries => {
			for entry in entries? {
				let path = entry?.path();
				// A crash while a shard gets its name leaves another one of it behind.
				if path.extension().is_some_and(|extension| extension == "bin" || extension == LINKING) {
					std::fs::remove_file(path)?;
				}
			}
			// Fails if somebody put something else there, which is not ours to delete.
			let _ = std::fs::remove_dir(&shards);
		}
	}
	let _ = std::fs::remove_dir(folder);
	Ok(())
}

fn note_shard_roots(store: &Store, root: H256, roots: &[H256]) -> Result<(), WorkerError> {
	if let Some(note) = shard_note(roots) {
		store.set_note(root, &note)?;
	}
	Ok(())
}

/// The note on a dataset with these shards; `None` for more than one holds: such a dataset is read from its folder, and not offered.
pub(super) fn shard_note(roots: &[H256]) -> Option<Vec<u8>> {
	let note: Vec<u8> = roots.iter().flat_map(|root| root.0).collect();
	(note.len() <= MAX_NOTE_BYTES).then_some(note)
}

#[cfg(test)]
mod tests;
