//! The operator's folder with a dataset: what it holds, and its chunks.

use crate::{
	actor::{aside::Aside, blocking::blocking},
	WorkerError,
};
use neuroshard_compute::recorder::{Chunk, Library};
use neuroshard_data::{
	dataset::{shard_path, verify, Dataset},
	manifest::DatasetManifest,
	DataError,
};
use neuroshard_disputes::cases::library::Shards;
use neuroshard_types::{
	dataset::{ChunkOpening, ChunkPlace, Manifest},
	BlockNumber, H256,
};
use std::{
	path::{Path, PathBuf},
	sync::Arc,
};

/// Blocks until a folder that could not be read is read again.
const LOOK_AGAIN: BlockNumber = 10;
/// Blocks until a folder with a damaged file is read again: that reads all of it.
const CHECK_AGAIN: BlockNumber = 200;

/// A folder. Its manifest is enough to open chunks of it, each of which is checked by itself; what is attested is checked as a whole before.
pub(super) struct Folder {
	path: PathBuf,
	/// Its manifest, and the roots of all shards.
	said: Option<(DatasetManifest, Arc<[H256]>)>,
	/// True if every file is as the manifest says.
	whole: bool,
	checking: Aside<Result<Dataset, DataError>>,
	/// First block in which it is read again.
	look_at: BlockNumber,
}

impl Folder {
	pub(super) fn new(path: PathBuf) -> Self {
		Self { path, said: None, whole: false, checking: Aside::default(), look_at: 0 }
	}

	pub(super) fn path(&self) -> &Path {
		&self.path
	}

	/// Reads the manifest, and all files if it is to be known whether they are `whole`. That goes on while other things are done.
	///
	/// # Errors
	/// [`WorkerError::Folder`] once for each attempt. It is read again some blocks later.
	pub(super) async fn look(&mut self, now: BlockNumber, whole: bool) -> Result<(), WorkerError> {
		if let Some(checked) = self.checking.take().await {
			match checked? {
				Ok(dataset) => {
					self.say(dataset.manifest);
					self.whole = true;
				}
				Err(error) => return Err(self.failed(error, now)),
			}
		}
		if self.checking.is_busy() || now < self.look_at {
			return Ok(());
		}
		if self.said.is_none() {
			if let Err(error) = self.read().await? {
				return Err(self.failed(error, now));
			}
		}
		if whole && !self.whole {
			let path = self.path.clone();
			self.checking.start(async move {
				let checked = tokio::task::spawn_blocking(move || verify(&path, None)).await;
				checked.unwrap_or_else(|error| Err(DataError::Invalid(error.to_string())))
			});
		}
		Ok(())
	}

	async fn read(&mut self) -> Result<Result<(), DataError>, WorkerError> {
		let path = self.path.clone();
		let manifest = blocking(move || Ok(DatasetManifest::read(&path))).await?;
		Ok(manifest.map(|manifest| self.say(manifest)))
	}

	fn say(&mut self, manifest: DatasetManifest) {
		let roots = manifest.shard_roots.clone().into();
		self.said = Some((manifest, roots));
	}

	fn failed(&mut self, error: DataError, now: BlockNumber) -> WorkerError {
		self.whole = false;
		let rest = if matches!(error, DataError::Io { .. }) { LOOK_AGAIN } else { CHECK_AGAIN };
		self.look_at = now.saturating_add(rest);
		WorkerError::Folder { what: in_file(&self.path, &error), blocks: rest }
	}

	/// Returns whether what it says to hold opens chunks of the dataset with this manifest.
	pub(super) fn opens(&self, manifest: &Manifest) -> bool {
		let commits = |said: &DatasetManifest| (said.root, said.shape, said.width()) == (manifest.root, manifest.shape, manifest.width());
		self.said.as_ref().is_some_and(|(said, _)| commits(said))
	}

	/// Returns whether every file was compared with the manifest.
	pub(super) fn is_whole(&self) -> bool {
		self.whole
	}

	/// The chunk at `place` of the dataset that the manifest names, or in words why it cannot be opened.
	///
	/// # Errors
	/// [`WorkerError::Stopped`].
	pub(super) async fn open(&mut self, place: ChunkPlace) -> Result<Result<ChunkOpening, String>, WorkerError> {
		let Some((manifest, roots)) = self.said.clone() else { return Ok(Err(format!("{} could not be read", self.path.display()))) };
		let path = self.path.clone();
		let found = blocking(move || {
			let corpus = manifest.corpus();
			let chunk = Shards::new(path, corpus, roots).chunk(place.shard, place.chunk);
			let is_right = |chunk: &Chunk| corpus.holds(place.shard, place.chunk, &chunk.leaf, &chunk.in_shard, &chunk.in_corpus);
			Ok(chunk.filter(is_right).and_then(opening))
		});
		if let Some(found) = found.await? {
			return Ok(Ok(found));
		}
		self.whole = false;
		// Another dataset may be there by now.
		let _ = self.read().await?;
		let file = shard_path(&self.path, place.shard);
		Ok(Err(format!("{} is missing, or differs from the manifest: put the right file there", file.display())))
	}
}

/// A chunk as the chain reads it; `None` if it is longer than any can be.
fn opening(chunk: Chunk) -> Option<ChunkOpening> {
	let hashes = |proof: Vec<[u8; 32]>| proof.into_iter().map(H256).collect::<Vec<_>>().try_into().ok();
	let Chunk { leaf, in_shard, in_corpus } = chunk;
	Some(ChunkOpening { data: leaf.to_vec().try_into().ok()?, in_shard: hashes(in_shard)?, in_dataset: hashes(in_corpus)? })
}

/// Returns the error, with the file that it is about.
fn in_file(folder: &Path, error: &DataError) -> String {
	match error {
		DataError::ShardSize { shard, .. }
		| DataError::Chunk { shard, .. }
		| DataError::ShardRoot { shard, .. }
		| DataError::Token { shard, .. } => format!("{}: {error}", shard_path(folder, *shard).display()),
		DataError::Io { .. } | DataError::NotAManifest { .. } => error.to_string(),
		_ => format!("{}: {error}", folder.display()),
	}
}

#[cfg(test)]
pub(super) mod tests {
	use super::*;
	use neuroshard_data::tokenizer::Tokenizer;
	use neuroshard_data::{
		build::{build, BuildOptions},
		corpus::{path_corpus, CorpusLimits},
	};

	/// A dataset of a few small shards below `base`.
	pub(in crate::holder) fn built(base: &Path) -> (PathBuf, Manifest) {
		let (text, folder) = (base.join("text"), base.join("dataset"));
		std::fs::write(&text, "first".repeat(6_000)).unwrap();
		let corpus = path_corpus(&text, CorpusLimits::default()).unwrap();
		let options = BuildOptions { tokens_per_shard: 2_048, held_out: 1, ..Default::default() };
		let manifest = build(&corpus, &Tokenizer::bytes(), &options, &folder).unwrap().dataset.manifest.on_chain().unwrap();
		(folder, manifest)
	}

	/// Changes a byte of a shard, or changes it back.
	pub(in crate::holder) fn flip(folder: &Path, shard: u32) {
		let path = shard_path(folder, shard);
		let mut bytes = std::fs::read(&path).unwrap();
		bytes[7] ^= 1;
		std::fs::write(&path, bytes).unwrap();
	}

	/// Looks at block `now`, until the files were compared if they are.
	async fn compared(folder: &mut Folder, now: BlockNumber) -> Result<(), WorkerError> {
		loop {
			folder.look(now, true).await?;
			if !folder.checking.is_busy() {
				return Ok(());
			}
			tokio::task::yield_now().await;
		}
	}

	fn holds(manifest: &Manifest, place: ChunkPlace, opening: &ChunkOpening) -> bool {
		let corpus = manifest.corpus();
		let leaf = opening.data.as_slice().try_into().unwrap();
		let hashes = |proof: &[H256]| proof.iter().map(|hash| hash.0).collect::<Vec<_>>();
		corpus.holds(place.shard, place.chunk, leaf, &hashes(&opening.in_shard), &hashes(&opening.in_dataset))
	}

	#[tokio::test]
	async fn chunks_are_opened_before_the_files_were_compared_and_each_is_checked_by_itself() {
		let base = tempfile::tempdir().unwrap();
		let (path, manifest) = built(base.path());
		flip(&path, 0);
		let mut folder = Folder::new(path.clone());
		folder.look(1, false).await.unwrap();
		assert!(folder.opens(&manifest) && !folder.is_whole());
		let error = folder.open(ChunkPlace { shard: 0, chunk: 0 }).await.unwrap().unwrap_err();
		assert!(error.contains(&shard_path(&path, 0).display().to_string()) && error.contains("right file"), "{error}");
		let place = ChunkPlace { shard: 1, chunk: 0 };
		assert!(holds(&manifest, place, &folder.open(place).await.unwrap().unwrap()));
		flip(&path, 0);
		let place = ChunkPlace { shard: 0, chunk: 0 };
		assert!(holds(&manifest, place, &folder.open(place).await.unwrap().unwrap()), "the file was put right");
	}

	#[tokio::test]
	async fn a_damaged_file_is_named_and_the_folder_is_whole_again_when_it_was_mended() {
		let base = tempfile::tempdir().unwrap();
		let (path, manifest) = built(base.path());
		flip(&path, 1);
		let mut folder = Folder::new(path.clone());
		let words = compared(&mut folder, 1).await.unwrap_err().to_string();
		assert!(words.contains(&shard_path(&path, 1).display().to_string()) && words.contains("dataset verify"), "{words}");
		assert!(!folder.is_whole() && folder.opens(&manifest), "what is right in it is still opened");
		flip(&path, 1);
		compared(&mut folder, CHECK_AGAIN).await.unwrap();
		assert!(!folder.is_whole(), "comparing reads all of it: it waits");
		compared(&mut folder, CHECK_AGAIN + 1).await.unwrap();
		assert!(folder.is_whole());
	}

	#[tokio::test]
	async fn a_folder_that_cannot_be_read_is_read_again_soon() {
		let base = tempfile::tempdir().unwrap();
		let (path, manifest) = built(base.path());
		let away = base.path().join("away");
		std::fs::rename(&path, &away).unwrap();
		let mut folder = Folder::new(path.clone());
		let words = compared(&mut folder, 5).await.unwrap_err().to_string();
		assert!(words.contains(&path.display().to_string()) && words.contains("10 blocks"), "{words}");
		std::fs::rename(&away, &path).unwrap();
		compared(&mut folder, 14).await.unwrap();
		assert!(!folder.opens(&manifest));
		compared(&mut folder, 15).await.unwrap();
		assert!(folder.opens(&manifest) && folder.is_whole());
	}

	#[tokio::test]
	async fn a_manifest_of_other_text_opens_nothing() {
		let base = tempfile::tempdir().unwrap();
		let (path, manifest) = built(base.path());
		let mut folder = Folder::new(path);
		assert!(!folder.opens(&manifest), "it was not read yet");
		folder.look(1, false).await.unwrap();
		assert!(folder.opens(&Manifest { vocab: 32, bytes: 1, ..manifest.clone() }), "what it is called does not matter");
		assert!(!folder.opens(&Manifest { root: H256::zero(), ..manifest.clone() }));
		let mut longer = manifest;
		longer.shape.tokens_per_shard += 1;
		assert!(!folder.opens(&longer));
	}
}
