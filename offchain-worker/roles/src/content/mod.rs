//! Content: what a worker keeps, and hands out to peers. Checkpoints and deltas are here, from disk if they are there, else from peers; everything
//! is checked against the chain's roots.
//!
//! - [`dataset`]: the operator's folder if it holds the one that the chain states, else shards from peers. [`supply`]: the one that a run takes.
//! - [`push`]: writes a dataset or a checkpoint to a mirror, which is read where no peer has it.
//! - [`rounds`]: what belongs to which round, and what of it can go; [`old`]: when. [`filed`]: vectors that stay in their files. [`start`]: what a run starts from, offered by its sponsor.

pub(super) mod dataset;
pub(super) mod filed;
mod local_folder;
pub(super) mod old;
pub mod push;
pub(super) mod rounds;
pub mod start;
pub(super) mod supply;

use super::{
	actor::blocking::{blocking, within},
	WorkerError,
};
use codec::{DecodeAll, Encode};
use local_folder::LocalFolder;
use neuroshard_atomic_write::write_atomically;
use neuroshard_data::{dataset::TOKENIZER_FILE, tokenizer::Tokenizer, DataError};
use neuroshard_disputes::cases::case::CaseError;
use neuroshard_graph::{
	tiles::{self, content_id},
	Adapter, ModelConfig, ParamLayout,
};
use neuroshard_network::{FetchWatch, Handle, PeerAddress, PeerId};
use neuroshard_store::{ContentDescriptor, Store, StoreError, Usage, LEFT_FREE};
use neuroshard_training::{
	checkpoint::{Checkpoint, Header},
	engine::Engine,
	need::RoundLeaves,
};
use neuroshard_types::{dataset::Tokenizer as TokenizerId, run::RunConfig, RunId, H256};
use rounds::{base_label, round_label};
use serde::de::DeserializeOwned;
use std::{
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

impl Content {
	pub(super) fn new(store: Store, net: Handle, base: &Path, local_dataset: Option<PathBuf>) -> Self {
		Self { store, net, base: base.to_path_buf(), local: LocalFolder::new(local_dataset) }
	}

	/// Folder of the newest checkpoint of `run`.
	pub(super) fn checkpoint_folder(&self, run: RunId) -> PathBuf {
		neuroshard_training::checkpoint::checkpoint_folder(&self.base, run)
	}

	/// Checks that there is room for what a round leaves behind that takes this many deltas and makes a checkpoint, of so many leaves: below
	/// the store's limit, and on its file system. What is there and must stay is never pushed out for it.
	///
	/// # Errors
	/// [`WorkerError::NoRoom`], [`WorkerError::DiskFull`].
	pub(super) fn check_room(store: &Store, leaves: RoundLeaves, deltas: usize) -> Result<(), WorkerError> {
		let (Usage { bytes, kept, limit, .. }, free) = (store.usage(), store.free());
		let needed = leaves.bytes(u64::try_from(deltas).unwrap_or(u64::MAX));
		if kept.saturating_add(needed) > limit {
			return Err(WorkerError::NoRoom { needed, kept, limit });
		}
		let evictable = bytes.saturating_sub(kept);
		match needed.saturating_add(LEFT_FREE) > free.saturating_add(evictable) {
			true => Err(WorkerError::DiskFull { needed, free, evictable }),
			false => Ok(()),
		}
	}

	/// Brings checkpoint `root` of `run` into the store like [`Self::checkpoint`]. What the run starts from, if it is given, is known by its parts, which whoever
	/// has them for the sake of another run can hand out as well.
	pub(super) async fn checkpoint_of(
		&self,
		(run, config): (RunId, &RunConfig),
		root: H256,
		leaves: u32,
		peers: &[PeerAddress],
	) -> Result<Header, WorkerError> {
		match Header::given(run, config).filter(|given| given.root() == root) {
			Some(given) => {
				let noted = Self::stored_header(&self.store, run, root)?.is_some();
				self.bring(given, noted, leaves, peers, &round_label(run, given.round)).await?;
				Ok(given)
			}
			None => self.checkpoint(run, root, leaves, peers).await,
		}
	}

	/// Brings the model into the store that the run's adapter is beside, if it trains one, and keeps it with the run.
	pub(super) async fn base(&self, (run, config): (RunId, &RunConfig), peers: &[PeerAddress]) -> Result<(), WorkerError> {
		let Some(adapter) = config.train.adapter else { return Ok(()) };
		let layout = ParamLayout::new(&config.model).map_err(CaseError::from)?;
		let (root, leaves) = (H256(adapter.base), u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?);
		self.store.pin(root, &base_label(run))?;
		self.net.fetch(ContentDescriptor { root, leaves }, peers).await?;
		Ok(())
	}

	/// Its parameters, out of `store`, where [`Self::base`] left them; `None` for a run without an adapter. Blocks.
	pub(super) fn read_base(store: &Store, config: &RunConfig) -> Result<Option<Vec<f32>>, WorkerError> {
		let Some(adapter) = config.train.adapter else { return Ok(None) };
		let (layout, root) = (ParamLayout::new(&config.model).map_err(CaseError::from)?, H256(adapter.base));
		let params = tiles::decode(&layout, &read(store, root)?);
		params.map(Some).map_err(|source| WorkerError::NoBase { root, source })
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
		self.checkpoint_for(run, root, leaves, peers, |header| round_label(run, header.round)).await
	}

	/// The same, kept for the sake of another label.
	pub(super) async fn checkpoint_for(
		&self,
		run: RunId,
		root: H256,
		leaves: u32,
		peers: &[PeerAddress],
		label: impl FnOnce(&Header) -> String,
	) -> Result<Header, WorkerError> {
		let stored = Self::stored_header(&self.store, run, root)?;
		let header = match stored {
			Some(header) => header,
			None => self.net.note(root, peers, |note| header(run, root, note)).await?,
		};
		self.bring(header, stored.is_some(), leaves, peers, &label(&header)).await?;
		Ok(header)
	}

	/// Brings the two blobs that `header` names into the store, and then the note on its root unless that is there.
	async fn bring(&self, header: Header, noted: bool, leaves: u32, peers: &[PeerAddress], label: &str) -> Result<(), WorkerError> {
		// Pinned first: the second blob must not push the first one out.
		self.store.pin_all([header.params, header.momentum], label)?;
		for blob in [header.params, header.momentum] {
			self.net.fetch(ContentDescriptor { root: blob, leaves }, peers).await?;
		}
		// What is there already is not written again: on a full disk, disputes about it can still be defended.
		if !noted {
			self.store.set_note(header.root(), &header.encode())?;
		}
		Ok(())
	}

	/// Returns the header of checkpoint `root` of `run`, if `store` has it. Blocks.
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
		let watch = FetchWatch { first: owner, peers_only: true, ..Default::default() };
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

/// File beside a checkpoint that holds the model, so that it can be used without the chain.
const MODEL_FILE: &str = "model.json";
/// File beside it that says of which adapter it is, if it is no model's. The model in the file above is then the one that the adapter is beside.
const ADAPTER_FILE: &str = "adapter.json";
/// File beside it that says which tokenizer the run has, if that is not the byte-level one. The tokenizer's own file is beside that.
const TOKENIZER_ID_FILE: &str = "tokenizer_id.json";

/// Writes `checkpoint` and its model into `folder`, in place of what was there.
pub(super) fn save(folder: &Path, checkpoint: &Checkpoint, engine: &Engine) -> Result<(), WorkerError> {
	checkpoint.save(folder, engine.layout())?;
	let path = folder.join(ADAPTER_FILE);
	let told = match &engine.train_config().adapter {
		Some(adapter) => write_atomically(&path, &serde_json::to_vec_pretty(adapter).unwrap_or_default()),
		// Another chain had another run of this number here.
		None => match std::fs::remove_file(&path) {
			Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
			_ => Ok(()),
		},
	};
	told.map_err(|source| WorkerError::File { path, source })?;
	write_model(folder, engine.model())
}

/// The adapter that the checkpoint in `folder` is one of; `None` if it is a model's.
///
/// # Errors
/// [`WorkerError::File`] if the file cannot be read or is none.
pub fn read_adapter(folder: &Path) -> Result<Option<Adapter>, WorkerError> {
	read_json(&folder.join(ADAPTER_FILE))
}

/// What is written in a file; `None` if there is none.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, WorkerError> {
	let failed = |source| WorkerError::File { path: path.to_path_buf(), source };
	match std::fs::read(path) {
		Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
		Err(error) => Err(failed(error)),
		Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
	}
}

/// Writes that the checkpoint in `folder` is one of this model.
///
/// # Errors
/// [`WorkerError::File`].
pub fn write_model(folder: &Path, model: &ModelConfig) -> Result<(), WorkerError> {
	let path = folder.join(MODEL_FILE);
	let model = serde_json::to_vec_pretty(model).unwrap_or_default();
	write_atomically(&path, &model).map_err(|source| WorkerError::File { path, source })
}

/// The model of the checkpoint in `folder`; `None` if there is none.
///
/// # Errors
/// [`WorkerError::File`] if the file cannot be read or is no model.
pub fn read_model(folder: &Path) -> Result<Option<ModelConfig>, WorkerError> {
	read_json(&folder.join(MODEL_FILE))
}

/// Notes beside the checkpoint in `folder` that its run has this tokenizer, which is not the byte-level one.
fn name_tokenizer(folder: &Path, tokenizer: &TokenizerId) -> Result<(), WorkerError> {
	let path = folder.join(TOKENIZER_ID_FILE);
	let failed = |source| WorkerError::File { path: path.clone(), source };
	std::fs::create_dir_all(folder).map_err(failed)?;
	write_atomically(&path, &serde_json::to_vec_pretty(tokenizer).unwrap_or_default()).map_err(failed)
}

/// The tokenizer of the checkpoint in `folder`: the byte-level one where nothing names another; `None` if the one that is named is not here.
///
/// # Errors
/// [`WorkerError::File`] if a file cannot be read; [`WorkerError::Data`] for a tokenizer that cannot be used.
pub fn read_tokenizer(folder: &Path) -> Result<Option<Tokenizer>, WorkerError> {
	let read = |name: &str| {
		let path = folder.join(name);
		match std::fs::read(&path) {
			Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
			read => read.map(Some).map_err(|source| WorkerError::File { path, source }),
		}
	};
	let Some(named) = read(TOKENIZER_ID_FILE)? else { return Ok(Some(Tokenizer::bytes())) };
	let failed = |source| WorkerError::File { path: folder.join(TOKENIZER_ID_FILE), source };
	let named: TokenizerId = serde_json::from_slice(&named).map_err(|error| failed(error.into()))?;
	let Some(file) = read(TOKENIZER_FILE)?.filter(|file| content_id(file, 1) == named.root.0) else { return Ok(None) };
	let failed = |source| DataError::Tokenizer { path: folder.join(TOKENIZER_FILE), source };
	Ok(Some(Tokenizer::stated(file, named.tokens).map_err(failed)?))
}

#[cfg(test)]
pub(super) mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;
	use neuroshard_graph::{Projections, TrainConfig, F32};
	use neuroshard_network::{keypair_from_secret, Network, NetworkConfig};
	use neuroshard_store::{Disk, LocalDisk};
	use std::{
		fs::File,
		io,
		os::unix::fs::MetadataExt,
		sync::{
			atomic::{AtomicU64, Ordering},
			Arc,
		},
	};
	use tokio_util::sync::{CancellationToken, DropGuard};

	/// Content in `dir` of a worker without peers.
	pub async fn alone(dir: &Path) -> (Content, DropGuard) {
		let stop = CancellationToken::new();
		let store = Store::open(&dir.join("store"), 1 << 24).unwrap();
		let keys = keypair_from_secret(&mut [1; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), keys, store.clone(), stop.clone()).await.unwrap();
		(Content::new(store, net, dir, None), stop.drop_guard())
	}

	/// A run that trains an adapter beside a model in `store`, and the root of that.
	pub fn beside(store: &Store) -> (RunConfig, H256) {
		let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
		let params = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
		let root = store.put(&tiles::encode(&ParamLayout::new(&model).unwrap(), &params)).unwrap().root;
		let adapter = Adapter { base: root.0, rank: 4, alpha: F32::new(8.0), projections: Projections::ALL };
		let train = TrainConfig { adapter: Some(adapter), ..train };
		(RunConfig { model, train, ..training().0.run.unwrap().view.config }, root)
	}

	#[tokio::test]
	async fn the_model_beside_an_adapter_is_kept_with_the_run_and_read_from_the_store() {
		let dir = tempfile::tempdir().unwrap();
		let (content, _stop) = alone(dir.path()).await;
		let (config, root) = beside(&content.store);
		content.base((3, &config), &[]).await.unwrap();
		assert_eq!(content.store.pinned(&base_label(3)), [root]);
		let params = Checkpoint::genesis(0, &config.model, &TrainConfig::tiny(), 1).unwrap().params;
		assert_eq!(Content::read_base(&content.store, &config).unwrap(), Some(params));

		let of_model = RunConfig { train: TrainConfig::tiny(), ..config.clone() };
		content.base((4, &of_model), &[]).await.unwrap();
		assert_eq!((content.store.pinned(&base_label(4)), Content::read_base(&content.store, &of_model).unwrap()), (vec![], None));

		// Whatever has that root, it is none of the model's kind.
		let other = RunConfig { model: ModelConfig { layers: 2, ..config.model.clone() }, ..config };
		assert!(matches!(Content::read_base(&content.store, &other), Err(WorkerError::NoBase { .. })));
	}

	#[tokio::test]
	async fn a_checkpoint_that_is_here_is_had_without_writing_anything() {
		let dir = tempfile::tempdir().unwrap();
		let (content, _stop) = alone(dir.path()).await;
		let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
		let (layout, checkpoint) = (ParamLayout::new(&model).unwrap(), Checkpoint::genesis(3, &model, &train, 1).unwrap());
		Content::publish(&content.store, &checkpoint, &layout).unwrap();
		// Whatever is written atomically is another file afterwards.
		let files = || {
			let files = walk(&dir.path().join("store"));
			files.into_iter().map(|path| (std::fs::metadata(&path).unwrap().ino(), path)).collect::<Vec<_>>()
		};
		let before = files();
		let (root, leaves) = (checkpoint.header.root(), u32::try_from(layout.tile_count()).unwrap());
		assert_eq!(content.checkpoint(3, root, leaves, &[]).await.unwrap(), checkpoint.header);
		assert_eq!(files(), before);
	}

	/// All files below a folder, in some order that stays.
	fn walk(folder: &Path) -> Vec<PathBuf> {
		let mut files = Vec::new();
		for entry in std::fs::read_dir(folder).unwrap() {
			let path = entry.unwrap().path();
			match path.is_dir() {
				true => files.extend(walk(&path)),
				false => files.push(path),
			}
		}
		files.sort();
		files
	}

	/// A round whose vectors and deltas have so many leaves.
	fn of(leaves: u32) -> RoundLeaves {
		RoundLeaves { vector: leaves, delta: leaves, residual: false }
	}

	#[test]
	fn a_round_finds_room_beside_what_must_stay() {
		let dir = tempfile::tempdir().unwrap();
		let leaf = ContentDescriptor { root: H256::zero(), leaves: 1 }.disk_bytes();
		let store = Store::open(dir.path(), 6 * leaf).unwrap();
		store.put(&[1; 4096]).unwrap();
		Content::check_room(&store, of(1), 4).unwrap();
		assert!(Content::check_room(&store, of(1), 5).is_err() && Content::check_room(&store, of(u32::MAX), usize::MAX).is_err());
		store.put_pinned(&[1; 4096], "kept").unwrap();
		let error = Content::check_room(&store, of(1), 4).unwrap_err();
		assert!(matches!(error, WorkerError::NoRoom { needed, kept, limit } if (needed, kept, limit) == (6 * leaf, leaf, 6 * leaf)));
		assert!(error.to_string().contains("--max-disk"), "{error}");
		Content::check_room(&store, of(1), 3).unwrap();
	}

	#[test]
	fn a_full_disk_lets_a_worker_sit_rounds_out_and_use_what_it_has() {
		let dir = tempfile::tempdir().unwrap();
		let free = Arc::new(AtomicU64::new(1 << 40));
		let store = Store::open_on(dir.path(), 1 << 40, Arc::new(Full(free.clone()))).unwrap();
		let leaf = ContentDescriptor { root: H256::zero(), leaves: 1 }.disk_bytes();
		let label = round_label(3, 5);
		let [params, momentum] = [1, 2].map(|byte| store.put_pinned(&[byte; 4096], &label).unwrap().root);
		let evictable = store.put(&[3; 4096]).unwrap().root;
		let header = Header { run: 3, round: 5, adopted_steps: 50, params, momentum };
		store.set_note(header.root(), &header.encode()).unwrap();

		free.store(LEFT_FREE + 3 * leaf, Ordering::Relaxed);
		Content::check_room(&store, of(1), 2).unwrap();
		let error = Content::check_room(&store, of(1), 3).unwrap_err();
		assert!(matches!(error, WorkerError::DiskFull { needed, evictable, .. } if (needed, evictable) == (5 * leaf, leaf)), "{error}");
		assert!(error.to_string().contains("goes on to defend") && !error.is_fatal(), "{error}");

		// Not a byte is left: what a claim is defended with is named and kept as before, and what is not needed any more can go.
		free.store(0, Ordering::Relaxed);
		store.pin_all([params, momentum], &round_label(3, 6)).unwrap();
		store.set_note(header.root(), &header.encode()).unwrap();
		assert!(read(&store, params).is_ok() && Content::stored_header(&store, 3, header.root()).unwrap() == Some(header));
		assert!(matches!(store.put(&[4; 2 * 4096]), Err(StoreError::DiskFull { .. })));
		assert!(store.contains(evictable), "nothing is thrown away in vain");
		store.unpin_label(&label).unwrap();
		assert!(store.pinned(&label).is_empty());
	}

	/// A disk with so much free, of which writing takes nothing; with nothing, it cannot be written to.
	struct Full(Arc<AtomicU64>);

	impl Full {
		fn full(&self) -> io::Result<()> {
			match self.0.load(Ordering::Relaxed) {
				0 => Err(io::ErrorKind::StorageFull.into()),
				_ => Ok(()),
			}
		}
	}

	impl Disk for Full {
		fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
			self.full().and_then(|()| LocalDisk.reserve(file, bytes))
		}
		fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
			self.full().and_then(|()| LocalDisk.write_at(file, bytes, offset))
		}
		fn sync(&self, file: &File) -> io::Result<()> {
			LocalDisk.sync(file)
		}
		fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
			LocalDisk.rename(from, to)
		}
		fn free(&self, _: &Path) -> io::Result<u64> {
			Ok(self.0.load(Ordering::Relaxed))
		}
	}
}
