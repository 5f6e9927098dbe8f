//! The operator's folder, and shards from peers, on this machine.

use super::*;
use crate::content::local_folder::LocalFolder;
use neuroshard_data::{
	build::{build, BuildOptions},
	corpus::{path_corpus, CorpusLimits},
	tokenizer::Tokenizer,
};
use neuroshard_graph::corpus::TokenWidth;
use neuroshard_network::{Handle, Network, NetworkConfig};
use neuroshard_types::dataset::DatasetShape;
use std::{os::unix::fs::MetadataExt, time::Duration};
use tokio_util::sync::{CancellationToken, DropGuard};

fn dataset(folder: &Path, foreign: bool) -> Dataset {
	// 3,000 tokens are 6,000 bytes, in a file of two chunks.
	let shape = DatasetShape { tokens_per_shard: 3_000, shard_count: 2, held_out: 1 };
	let corpus = Corpus { root: [0; 32], shards: 2, tokens_per_shard: 3_000, width: TokenWidth::Two };
	let loader = Loader::new(folder, shape, TokenWidth::Two).unwrap();
	let shard_roots = [root(0), root(1)].into();
	Dataset { id: 0, folder: folder.to_path_buf(), foreign, shard_roots, corpus, checked: Arc::default(), loader }
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
	let keys = neuroshard_network::keypair_from_secret(&mut [seed; 32]).unwrap();
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
	let manifest = build(&corpus, &Tokenizer::bytes(), &options, &folder).unwrap().dataset.manifest.on_chain().unwrap();
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
	let words = "nobody among 1 peer has the list of shards of dataset 3; give it with --dataset DIR";
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
