//! Datasets: the operator's folder if it holds the one that the chain states, else shards from peers.

use super::{
	content::{blocking, Content},
	WorkerError,
};
use crate::{
	data::{
		dataset::{dataset_root, shard_bytes, shard_path, verify_against, SHARDS_FOLDER},
		loader::Loader,
		manifest::MANIFEST_FILE,
		DataError,
	},
	files::write_atomically,
	net::{FetchError, PeerAddress},
	store::{ContentDescriptor, Store, LINKING, MAX_NOTE_BYTES},
	verify::library::Shards,
};
use neuroshard_graph::tiles::content_id;
use neuroshard_types::{
	dataset::{DatasetShape, Manifest, TOKENS_PER_CHUNK},
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
pub(super) struct Dataset {
	id: DatasetId,
	folder: PathBuf,
	/// Whether the folder is the operator's: then nothing is ever written into it.
	pub(super) foreign: bool,
	shard_roots: Arc<[H256]>,
	shape: DatasetShape,
	/// Shards whose files were compared with their roots since the start.
	checked: Arc<Mutex<BTreeSet<u32>>>,
	/// Reads windows from shards that are here.
	pub(super) loader: Loader,
}

impl Dataset {
	fn new(id: DatasetId, folder: PathBuf, foreign: bool, shard_roots: Vec<H256>, manifest: &Manifest) -> Result<Self, WorkerError> {
		let loader = Loader::new(&folder, manifest.shape)?;
		Ok(Self { id, folder, foreign, shard_roots: shard_roots.into(), shape: manifest.shape, checked: Arc::default(), loader })
	}

	/// Chunks of the shards that are here, for witnesses.
	pub(super) fn library(&self) -> Shards {
		Shards::new(self.folder.clone(), self.shape, self.shard_roots.clone())
	}

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

impl Content {
	/// Dataset `id` in the operator's folder, its shards offered to peers. `None` without a folder, or if that one does not hold what the
	/// chain states; what differs is said once. A folder that cannot be read is looked at again later.
	pub(super) async fn local_dataset(&self, id: DatasetId, manifest: &Manifest) -> Result<Option<Dataset>, WorkerError> {
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
		blocking(move || {
			for (shard, shard_root) in (0u32..).zip(offered.shard_roots.iter()) {
				if !store.contains(*shard_root) {
					let path = shard_path(&offered.folder, shard);
					let bytes = std::fs::read(&path).map_err(|source| WorkerError::File { path, source })?;
					store.put_pinned(&bytes, &dataset_label(id))?;
				}
			}
			note_shard_roots(&store, root, &offered.shard_roots)
		})
		.await?;
		Ok(Some(dataset))
	}

	/// Dataset `id` in a folder of our own, which peers fill. The list of its shards is at hand or fetched now.
	pub(super) async fn remote_dataset(&self, id: DatasetId, manifest: &Manifest, peers: &[PeerAddress]) -> Result<Dataset, WorkerError> {
		let path = self.fetched_folder().join(id.to_string());
		if self.is_foreign(&path) {
			return Err(WorkerError::OthersFolder { dataset: id, path });
		}
		let roots = self.shard_roots(id, manifest, peers).await?;
		Dataset::new(id, path, false, roots, manifest)
	}

	/// Whether a folder is the operator's: named with `--dataset`, or built there. What peers fill has no manifest.
	fn is_foreign(&self, folder: &Path) -> bool {
		self.local.holds(folder) || folder.join(MANIFEST_FILE).exists()
	}

	/// Folder of the datasets whose shards came from peers, by number.
	fn fetched_folder(&self) -> PathBuf {
		self.base.join("datasets")
	}

	/// Lets go of all datasets but those that are `kept`: deletes shards that came from peers, then lets the store evict theirs. Blocks.
	pub(super) fn release_datasets(&self, kept: &BTreeSet<DatasetId>) -> Result<(), WorkerError> {
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
		let roots = self.net.note(root, peers, accept).await.map_err(|error| match error {
			FetchError::NoPeers { .. } => WorkerError::NoShardList { dataset: id, peers: 0 },
			FetchError::NoNote { failures, .. } => {
				tracing::debug!("the list of shards of dataset {id}: {failures:?}");
				WorkerError::NoShardList { dataset: id, peers: failures.len() }
			}
			other => other.into(),
		})?;
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
				let bytes = blob.bytes()?;
				// A second name of the stored file takes no room beyond the limit. Not every file system has such names.
				blob.link_to(&path).or_else(|_| write_atomically(&path, &bytes)).map_err(|source| WorkerError::File { path, source })
			})
			.await?;
		}
		Ok(())
	}
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
	let note: Vec<u8> = roots.iter().flat_map(|root| root.0).collect();
	// A dataset with more shards than a note holds is read from its folder, and not offered.
	if note.len() <= MAX_NOTE_BYTES {
		store.set_note(root, &note)?;
	}
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		data::{
			corpus::{path_corpus, CorpusLimits},
			dataset::{build, BuildOptions},
		},
		net::{Handle, Network, NetworkConfig},
		run::local_folder::LocalFolder,
	};
	use std::{os::unix::fs::MetadataExt, time::Duration};
	use tokio_util::sync::{CancellationToken, DropGuard};

	fn dataset(folder: &Path, foreign: bool) -> Dataset {
		// 3,000 tokens are 6,000 bytes, in a file of two chunks.
		let shape = DatasetShape { tokens_per_shard: 3_000, shard_count: 2, held_out: 1 };
		let loader = Loader::new(folder, shape).unwrap();
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

	/// A worker's store and network on this machine, and the folder named with `--dataset`.
	async fn node(base: &Path, seed: u8, local: Option<PathBuf>) -> (Content, DropGuard) {
		let stop = CancellationToken::new();
		let store = Store::open(&base.join("store"), 1 << 24).unwrap();
		let keys = crate::net::keypair_from_secret(&mut [seed; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), keys, store.clone(), stop.clone()).await.unwrap();
		(Content::new(store, net, base, local), stop.drop_guard())
	}

	async fn address(net: &Handle) -> PeerAddress {
		PeerAddress::new(net.peer_id(), net.status().await.unwrap().listening)
	}

	/// A dataset of a few small shards made of text that begins with `word`.
	fn built(base: &Path, word: &str) -> (PathBuf, Manifest) {
		let (text, folder) = (base.join(format!("{word}.txt")), base.join(word));
		std::fs::write(&text, word.repeat(6_000)).unwrap();
		let corpus = path_corpus(&text, CorpusLimits::default()).unwrap();
		let options = BuildOptions { tokens_per_shard: 2_048, held_out: 1, ..Default::default() };
		let manifest = build(&corpus, &options, &folder).unwrap().manifest.on_chain().unwrap();
		(folder, manifest)
	}

	#[tokio::test]
	async fn the_operators_dataset_is_used_and_its_list_of_shards_handed_to_peers() {
		let base = tempfile::tempdir().unwrap();
		let (folder, manifest) = built(base.path(), "first");
		let (has, _stop) = node(&base.path().join("has"), 1, Some(folder.clone())).await;
		let dataset = has.local_dataset(3, &manifest).await.unwrap().unwrap();
		assert_eq!((dataset.folder.as_path(), dataset.foreign), (folder.as_path(), true));

		let (lacks, _stop) = node(&base.path().join("lacks"), 2, None).await;
		assert!(lacks.local_dataset(3, &manifest).await.unwrap().is_none());
		let fetched = lacks.remote_dataset(3, &manifest, &[address(&has.net).await]).await.unwrap();
		assert_eq!(fetched.shard_roots, dataset.shard_roots);
	}

	#[tokio::test]
	async fn a_list_of_shards_that_nobody_has_is_missing_in_words() {
		let base = tempfile::tempdir().unwrap();
		let (_, manifest) = built(base.path(), "first");
		let (lacks, _stop) = node(&base.path().join("lacks"), 2, None).await;
		let error = lacks.remote_dataset(3, &manifest, &[]).await.unwrap_err();
		assert!(matches!(error, WorkerError::NoShardList { dataset: 3, peers: 0 }), "{error}");
		let (other, _stop) = node(&base.path().join("other"), 1, None).await;
		let error = lacks.remote_dataset(3, &manifest, &[address(&other.net).await]).await.unwrap_err();
		let words = "nobody among 1 peers has the list of shards of dataset 3; give it with --dataset DIR";
		assert_eq!(error.to_string(), words);
	}

	#[tokio::test]
	async fn a_folder_that_differs_from_the_chain_is_looked_at_once_and_peers_are_asked_instead() {
		let base = tempfile::tempdir().unwrap();
		let ((_, manifest), (other, _)) = (built(base.path(), "first"), built(base.path(), "second"));
		let (worker, _stop) = node(&base.path().join("worker"), 1, Some(other)).await;
		assert!(worker.local_dataset(3, &manifest).await.unwrap().is_none());
		assert_eq!(worker.local.of(3, Instant::now()), None, "it is not read again for this dataset");
		assert!(worker.local.of(4, Instant::now()).is_some(), "it may be another one of the chain");
		let error = worker.remote_dataset(3, &manifest, &[]).await.unwrap_err();
		assert!(matches!(error, WorkerError::NoShardList { .. }), "{error}");
	}

	#[tokio::test]
	async fn a_damaged_shard_in_the_operators_folder_is_no_reason_to_stop() {
		let base = tempfile::tempdir().unwrap();
		let (folder, manifest) = built(base.path(), "first");
		let path = shard_path(&folder, 0);
		let mut bytes = std::fs::read(&path).unwrap();
		bytes[7] ^= 1;
		std::fs::write(&path, bytes).unwrap();
		let (worker, _stop) = node(&base.path().join("worker"), 1, Some(folder)).await;
		assert!(worker.local_dataset(3, &manifest).await.unwrap().is_none());
		assert!(worker.store.contents().is_empty(), "nothing of it is offered");
	}

	#[tokio::test]
	async fn a_file_that_cannot_be_read_now_bars_the_folder_for_a_while_only() {
		let base = tempfile::tempdir().unwrap();
		let (folder, manifest) = built(base.path(), "first");
		std::fs::remove_file(shard_path(&folder, 0)).unwrap();
		let (worker, _stop) = node(&base.path().join("worker"), 1, Some(folder)).await;
		assert!(worker.local_dataset(3, &manifest).await.unwrap().is_none());
		let now = Instant::now();
		assert!(worker.local.of(3, now).is_none() && worker.local.of(3, now + Duration::from_secs(3_600)).is_some());
	}

	#[tokio::test]
	async fn shards_from_peers_take_no_room_beyond_the_limit_and_go_with_their_run() {
		let base = tempfile::tempdir().unwrap();
		let (folder, manifest) = built(base.path(), "first");
		let (has, _stop) = node(&base.path().join("has"), 1, Some(folder.clone())).await;
		has.local_dataset(3, &manifest).await.unwrap().unwrap();
		let (worker, _stop) = node(&base.path().join("lacks"), 2, None).await;
		let peers = [address(&has.net).await];
		let dataset = worker.remote_dataset(3, &manifest, &peers).await.unwrap();
		worker.shards(&dataset, &[0, 1], &peers).await.unwrap();
		let path = shard_path(&dataset.folder, 0);
		assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(shard_path(&folder, 0)).unwrap());
		assert_eq!(std::fs::metadata(&path).unwrap().nlink(), 2, "it is the stored file under a second name");
		let pinned = worker.store.usage().kept;
		assert!(pinned > 0);

		// As a crash between the two leaves it behind.
		std::fs::hard_link(&path, path.with_extension("linking")).unwrap();
		worker.release_datasets(&BTreeSet::from([1, 3])).unwrap();
		assert!(path.exists() && worker.store.usage().kept == pinned, "the run goes on");
		worker.release_datasets(&BTreeSet::new()).unwrap();
		assert!(!path.exists() && !dataset.folder.exists());
		assert_eq!(worker.store.usage().kept, 0);
		// What is needed again comes again.
		worker.shards(&dataset, &[0], &peers).await.unwrap();
		assert!(path.exists());
	}

	#[tokio::test]
	async fn nothing_of_the_operators_is_deleted() {
		let base = tempfile::tempdir().unwrap();
		let (folder, manifest) = built(base.path(), "first");
		let worker_base = base.path().join("worker");
		std::fs::create_dir_all(worker_base.join("datasets/notes")).unwrap();
		// Even if it named a folder where our own would be.
		let inside = worker_base.join("datasets/3");
		std::fs::rename(&folder, &inside).unwrap();
		let foreign = worker_base.join("datasets/4/shards");
		std::fs::create_dir_all(&foreign).unwrap();
		std::fs::write(foreign.join("readme.txt"), "mine").unwrap();
		let (worker, _stop) = node(&worker_base, 1, Some(inside.clone())).await;
		worker.local_dataset(3, &manifest).await.unwrap().unwrap();
		worker.release_datasets(&BTreeSet::new()).unwrap();
		assert!(shard_path(&inside, 0).exists());
		assert!(foreign.join("readme.txt").exists() && worker_base.join("datasets/notes").exists());
		assert_eq!(worker.store.usage().kept, 0, "what was offered of it may be evicted");
		// Nor if it is not named any more.
		Content { local: LocalFolder::default(), ..worker }.release_datasets(&BTreeSet::new()).unwrap();
		assert!(shard_path(&inside, 0).exists());
	}

	#[tokio::test]
	async fn shards_from_peers_replace_none_of_the_operators() {
		let base = tempfile::tempdir().unwrap();
		let ((_, manifest), (other, _)) = (built(base.path(), "first"), built(base.path(), "second"));
		let worker_base = base.path().join("worker");
		let inside = worker_base.join("datasets/3");
		std::fs::create_dir_all(worker_base.join("datasets")).unwrap();
		std::fs::rename(other, &inside).unwrap();
		let (worker, _stop) = node(&worker_base, 1, Some(inside.clone())).await;
		for local in [worker.local.clone(), LocalFolder::default()] {
			let worker = Content { local, ..worker.clone() };
			assert!(worker.local_dataset(3, &manifest).await.unwrap().is_none());
			let error = worker.remote_dataset(3, &manifest, &[]).await.unwrap_err();
			assert!(matches!(&error, WorkerError::OthersFolder { dataset: 3, path } if *path == inside), "{error}");
		}
	}
}
