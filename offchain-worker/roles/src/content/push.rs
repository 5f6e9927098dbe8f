//! Datasets and checkpoints are written to a mirror out of a folder.

use super::{
	dataset::{padded, shard_note},
	read_adapter,
};
use crate::WorkerError;
use codec::Encode;
use neuroshard_data::{
	dataset::{shard_bytes, shard_path, TOKENIZER_FILE},
	manifest::DatasetManifest,
};
use neuroshard_mirror::Target;
use neuroshard_store::{read_blob, ContentDescriptor, LEAF_BYTES};
use neuroshard_training::checkpoint::{data_path, Checkpoint, Header, HEADER_FILE};
use neuroshard_types::H256;
use std::{
	fs::File,
	io::{self, Cursor, Read, Seek, SeekFrom},
	path::Path,
	sync::Arc,
};

/// Progress of a push: what is on the mirror now, and the bytes that had to be sent for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pushed {
	/// What, in words.
	pub part: String,
	/// Its root.
	pub root: H256,
	/// Bytes that were sent; none if it was there.
	pub sent: u64,
}

/// Sends the dataset in `folder` to a mirror: its tokenizer, its shards, and last the note that names those. What is there is not sent again. `done` is told of
/// each part. Returns its root.
///
/// # Errors
/// [`WorkerError::Data`] if there is none, [`WorkerError::TooManyShards`], [`WorkerError::File`], [`WorkerError::Push`].
pub async fn push_dataset(target: &Target, folder: &Path, mut done: impl FnMut(Pushed)) -> Result<H256, WorkerError> {
	let manifest = DatasetManifest::read(folder)?;
	let count = manifest.shard_roots.len();
	let note = shard_note(&manifest.shard_roots).ok_or(WorkerError::TooManyShards(count))?;

	let (path, root) = (folder.join(TOKENIZER_FILE), manifest.tokenizer.root);
	let tokenizer = padded(std::fs::read(&path).map_err(|source| WorkerError::File { path, source })?);
	let content = ContentDescriptor { root, leaves: leaves(tokenizer.len() as u64) };
	let sent = target.blob(content, || Ok(Cursor::new(tokenizer.clone()))).await?;
	done(Pushed { part: "tokenizer".into(), root, sent });

	let leaves = leaves(shard_bytes(&manifest.corpus()));
	for (shard, root) in (0u32..).zip(&manifest.shard_roots) {
		let path = shard_path(folder, shard);
		let sent = target.blob(ContentDescriptor { root: *root, leaves }, || File::open(&path)).await?;
		done(Pushed { part: format!("shard {} of {count}", shard + 1), root: *root, sent });
	}
	// The note comes last: whoever gets it finds the blobs.
	let sent = target.note(manifest.root, &note).await?;
	done(Pushed { part: "list of shards".into(), root: manifest.root, sent });
	Ok(manifest.root)
}

/// Sends the checkpoint in `folder` to a mirror: its two blobs, and last the notes that name those, on its own root and on that of a first checkpoint with the
/// same content, which runs start from. What is there is not sent again. `done` is told of each part. Returns its root.
///
/// # Errors
/// [`WorkerError::Checkpoint`], [`WorkerError::File`] if there is none, [`WorkerError::Push`].
pub async fn push_checkpoint(target: &Target, folder: &Path, mut done: impl FnMut(Pushed)) -> Result<H256, WorkerError> {
	let none = || WorkerError::File { path: folder.join(HEADER_FILE), source: io::ErrorKind::NotFound.into() };
	let header = Checkpoint::header(folder)?.ok_or_else(none)?;
	let path = data_path(folder, &header);
	let size = std::fs::metadata(&path).map_err(|source| WorkerError::File { path: path.clone(), source })?.len();
	let half = size / 2;
	for (part, root, start) in [("parameters", header.params, 0), ("outer momentum", header.momentum, half)] {
		let open = || {
			let mut file = File::open(&path)?;
			file.seek(SeekFrom::Start(start))?;
			Ok(file.take(half))
		};
		let sent = target.blob(ContentDescriptor { root, leaves: leaves(half) }, open).await?;
		done(Pushed { part: part.into(), root, sent });
	}
	let first = Header::first(header.params, header.momentum);
	for (part, header) in [("header", header), ("header to start a run from", first)] {
		let sent = target.note(header.root(), &header.encode()).await?;
		done(Pushed { part: part.into(), root: header.root(), sent });
	}
	Ok(header.root())
}

/// Sends the model that the adapter in `folder` is beside to a mirror, out of the store of the worker whose `runs/ID` that folder is. `done` is told of it.
/// Returns the root of one that is not there and was not sent; `None` also of a checkpoint that is no adapter's.
///
/// # Errors
/// [`WorkerError::File`], [`WorkerError::Push`].
pub async fn push_base(target: &Target, folder: &Path, done: impl FnOnce(Pushed)) -> Result<Option<H256>, WorkerError> {
	let Some(adapter) = read_adapter(folder)? else { return Ok(None) };
	let (root, failed) = (H256(adapter.base), |source| WorkerError::File { path: folder.to_path_buf(), source });
	let store = std::fs::canonicalize(folder).map_err(failed)?.ancestors().nth(2).map(|base| base.join("store"));
	let Some(blob) = store.and_then(|store| read_blob(&store, root).ok()) else { return Ok(Some(root)) };
	let (content, blob) = (ContentDescriptor { root, leaves: leaves(blob.len() as u64) }, Arc::<[u8]>::from(blob));
	let sent = target.blob(content, || Ok(Cursor::new(blob.clone()))).await?;
	done(Pushed { part: "model beside the adapter".into(), root, sent });
	Ok(None)
}

/// Whole leaves of a file; one that is too long for a blob differs from its root.
fn leaves(bytes: u64) -> u32 {
	u32::try_from(bytes / LEAF_BYTES as u64).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::content::{tests::beside, Content};
	use neuroshard_data::{
		build::{build, BuildOptions},
		corpus::{path_corpus, CorpusLimits},
		tokenizer::Tokenizer,
	};
	use neuroshard_graph::{Adapter, ModelConfig, ParamLayout, TrainConfig};
	use neuroshard_mirror::{Location, Mirrors, Timing};
	use neuroshard_network::{keypair_from_secret, Network, NetworkConfig};
	use neuroshard_store::Store;
	use tokio_util::sync::{CancellationToken, DropGuard};

	fn location(folder: &Path) -> Location {
		format!("file://{}", folder.display()).parse().unwrap()
	}

	/// A worker without peers that reads from the mirror in `folder`.
	async fn reader(base: &Path, folder: &Path) -> (Content, DropGuard) {
		let stop = CancellationToken::new();
		let store = Store::open(&base.join("store"), 1 << 26).unwrap();
		let mirrors = Mirrors::open([location(folder)], Timing::default()).unwrap();
		let config = NetworkConfig { mirrors, ..Default::default() };
		let (net, _) = Network::start(config, keypair_from_secret(&mut [1; 32]).unwrap(), store.clone(), stop.clone()).await.unwrap();
		(Content::new(store, net, base, None), stop.drop_guard())
	}

	/// Text of which no two shards are alike.
	fn text_of_numbers() -> String {
		(0..6_000).map(|number| format!("{number} ")).collect()
	}

	/// Parts of a push that had to be sent, out of all.
	fn sent(pushed: &[Pushed]) -> (usize, usize) {
		(pushed.iter().filter(|pushed| pushed.sent > 0).count(), pushed.len())
	}

	#[tokio::test(flavor = "multi_thread")]
	async fn a_dataset_that_was_pushed_is_had_without_a_peer_and_is_sent_once() {
		let base = tempfile::tempdir().unwrap();
		let (text, folder, mirror) = (base.path().join("text.txt"), base.path().join("dataset"), base.path().join("mirror"));
		std::fs::write(&text, text_of_numbers()).unwrap();
		let corpus = path_corpus(&text, CorpusLimits::default()).unwrap();
		let options = BuildOptions { tokens_per_shard: 2_048, held_out: 1, ..Default::default() };
		let built = build(&corpus, &Tokenizer::bytes(), &options, &folder).unwrap().dataset.manifest;
		let shards = built.shard_roots.len();
		assert!(shards > 2);

		let target = Target::open(location(&mirror)).unwrap();
		let mut pushed = Vec::new();
		assert_eq!(push_dataset(&target, &folder, |part| pushed.push(part)).await.unwrap(), built.root);
		assert_eq!(sent(&pushed), (shards + 2, shards + 2), "tokenizer and note as well: {pushed:?}");
		assert_eq!(pushed[2].part, format!("shard 2 of {shards}"));

		let (worker, _stop) = reader(&base.path().join("worker"), &mirror).await;
		let dataset = worker.remote_dataset(3, &built.on_chain().unwrap(), &[]).await.unwrap();
		worker.shards(&dataset, &[0, 1], &[]).await.unwrap();
		let fetched = base.path().join("worker/datasets/3");
		for shard in [0, 1] {
			assert_eq!(std::fs::read(shard_path(&fetched, shard)).unwrap(), std::fs::read(shard_path(&folder, shard)).unwrap());
		}
		let tokenizer = worker.tokenizer(3, built.tokenizer, &[]).await.unwrap();
		assert_eq!(tokenizer, std::fs::read(folder.join(TOKENIZER_FILE)).unwrap());

		let mut again = Vec::new();
		push_dataset(&target, &folder, |part| again.push(part)).await.unwrap();
		assert_eq!(sent(&again), (0, shards + 2));
	}

	#[tokio::test(flavor = "multi_thread")]
	async fn a_damaged_shard_is_not_pushed_nor_the_note_that_would_name_it() {
		let base = tempfile::tempdir().unwrap();
		let (text, folder, mirror) = (base.path().join("text.txt"), base.path().join("dataset"), base.path().join("mirror"));
		std::fs::write(&text, text_of_numbers()).unwrap();
		let corpus = path_corpus(&text, CorpusLimits::default()).unwrap();
		let options = BuildOptions { tokens_per_shard: 2_048, held_out: 1, ..Default::default() };
		build(&corpus, &Tokenizer::bytes(), &options, &folder).unwrap();
		let path = shard_path(&folder, 1);
		let mut bytes = std::fs::read(&path).unwrap();
		bytes[9] ^= 1;
		std::fs::write(&path, bytes).unwrap();
		let error = push_dataset(&Target::open(location(&mirror)).unwrap(), &folder, |_| {}).await.unwrap_err();
		assert!(error.to_string().contains("it is damaged"), "{error}");
		assert!(!mirror.join("notes").exists());
	}

	#[tokio::test(flavor = "multi_thread")]
	async fn the_model_beside_an_adapter_is_pushed_out_of_the_workers_store_or_named() {
		let base = tempfile::tempdir().unwrap();
		let (folder, mirror) = (base.path().join("runs/7"), base.path().join("mirror"));
		std::fs::create_dir_all(&folder).unwrap();
		let target = Target::open(location(&mirror)).unwrap();
		let push = async || {
			let mut pushed = Vec::new();
			let lacking = push_base(&target, &folder, |part| pushed.push(part)).await.unwrap();
			(lacking, sent(&pushed))
		};
		assert_eq!(push().await, (None, (0, 0)), "it is no adapter's");
		let store = Store::open(&base.path().join("store"), 1 << 26).unwrap();
		let (config, root) = beside(&store);
		let adapter = config.train.adapter.unwrap();
		std::fs::write(folder.join("adapter.json"), serde_json::to_vec(&Adapter { base: [1; 32], ..adapter }).unwrap()).unwrap();
		assert_eq!(push().await, (Some(H256::repeat_byte(1)), (0, 0)));
		std::fs::write(folder.join("adapter.json"), serde_json::to_vec(&adapter).unwrap()).unwrap();
		assert_eq!(push().await, (None, (1, 1)));
		assert_eq!(push().await, (None, (0, 1)), "it is there");

		let (worker, _stop) = reader(&base.path().join("worker"), &mirror).await;
		worker.base((7, &config), &[]).await.unwrap();
		assert!(Content::read_base(&worker.store, &config).unwrap().is_some());
		assert!(worker.store.contains(root));
	}

	#[tokio::test(flavor = "multi_thread")]
	async fn a_checkpoint_that_was_pushed_is_had_without_a_peer_as_it_is_and_to_start_a_run_from() {
		let base = tempfile::tempdir().unwrap();
		let (folder, mirror) = (base.path().join("checkpoint"), base.path().join("mirror"));
		let (model, train) = (ModelConfig::tiny(), TrainConfig::tiny());
		let layout = ParamLayout::new(&model).unwrap();
		let target = Target::open(location(&mirror)).unwrap();
		std::fs::create_dir(&folder).unwrap();
		assert!(matches!(push_checkpoint(&target, &folder, |_| {}).await, Err(WorkerError::File { .. })));
		let mut checkpoint = Checkpoint::genesis(7, &model, &train, 1).unwrap();
		let genesis = checkpoint.header;
		(checkpoint.header.round, checkpoint.header.adopted_steps) = (3, 12);
		checkpoint.save(&folder, &layout).unwrap();
		let mut pushed = Vec::new();
		let root = push_checkpoint(&target, &folder, |part| pushed.push(part)).await.unwrap();
		assert_eq!((root, sent(&pushed)), (checkpoint.header.root(), (4, 4)));

		let (worker, _stop) = reader(&base.path().join("worker"), &mirror).await;
		let tiles = u32::try_from(layout.tile_count()).unwrap();
		for expected in [checkpoint.header, genesis] {
			assert_eq!(worker.checkpoint(7, expected.root(), tiles, &[]).await.unwrap(), expected);
			let read = Content::read_checkpoint(&worker.store, 7, expected.root(), &layout, 1).unwrap();
			assert_eq!((read.params, read.momentum), (checkpoint.params.clone(), checkpoint.momentum.clone()));
		}
		let mut again = Vec::new();
		push_checkpoint(&target, &folder, |part| again.push(part)).await.unwrap();
		assert_eq!(sent(&again), (0, 4));
	}
}
