//! Building a dataset from a corpus.
//!
//! The corpus is read once, and never held: its documents are sorted by the hashes of their contents within a bounded memory (`sorter`), become
//! tokens on all cores, and are written to shards (`shards`). Neither the memory nor the number of threads changes a byte of the dataset.

use super::{
	chats::Chats,
	corpus::{Corpus, Found},
	dataset::{dataset_root, Dataset, TOKENIZER_FILE},
	manifest::{self, DatasetManifest, MANIFEST_FILE},
	meter::Meter,
	place,
	shards::{held_out_entropy, Shards},
	sorter::{Merge, Sorter},
	tokenizer::{Tokenizer, TokenizerError},
	DataError,
};
use neuroshard_types::{
	dataset::{DatasetShape, MAX_VOCAB},
	H256,
};
use std::{
	fs,
	path::Path,
	sync::{
		mpsc::{sync_channel, Receiver, SyncSender},
		Arc, Mutex, PoisonError,
	},
	thread,
};

/// Memory that documents are sorted in, unless told otherwise.
pub const DEFAULT_MEMORY_BYTES: u64 = 1 << 30;
/// Folder of what does not fit in memory, while a dataset is built.
const RUNS_FOLDER: &str = "runs";
/// Bytes of documents that a thread takes at once.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that wait for each thread.
const BATCHES: usize = 4;

/// Options that a builder decides.
#[derive(Clone, Debug)]
pub struct BuildOptions {
	/// Name of the dataset.
	pub name: String,
	/// SPDX licence expression.
	pub licence: String,
	/// Tokens of every shard.
	pub tokens_per_shard: u32,
	/// Shards held out for validation.
	pub held_out: u32,
	/// Rows of the embedding of models that are trained on it, where that is more than the tokenizer needs; 0 for what it needs.
	pub vocab: u32,
	/// Bytes of documents, about, that are held in memory to sort them.
	pub memory_bytes: u64,
	/// Threads that make tokens of text.
	pub threads: usize,
	/// Makes a masked dataset of conversations, if documents are those.
	pub chats: Option<Arc<Chats>>,
	/// Tells how far the build is.
	pub meter: Arc<Meter>,
}

impl Default for BuildOptions {
	/// 128 KiB shards, four of them held out, made by all cores.
	fn default() -> Self {
		Self {
			name: "local text".into(),
			licence: "LicenseRef-mixed".into(),
			tokens_per_shard: 65_536,
			held_out: 4,
			vocab: 0,
			memory_bytes: DEFAULT_MEMORY_BYTES,
			threads: thread::available_parallelism().map_or(1, usize::from),
			chats: None,
			meter: Arc::default(),
		}
	}
}

/// A dataset, and what of the corpus is in it.
#[derive(Clone, Debug)]
pub struct Built {
	/// The dataset.
	pub dataset: Dataset,
	/// What was read of the corpus, and what was left out.
	pub found: Found,
	/// Tokens that do not fill another shard.
	pub unused_tokens: u64,
}

/// Tokenizes `corpus` into shards in the new or empty `folder`. Documents are ordered by their content's hash, so that
/// held-out text (the last shards) has the distribution of the rest; of those that are equal but for blanks at their ends, the shortest is
/// taken; tokens that do not fill the last shard are left out. The folder appears complete or not at all.
///
/// # Errors
/// [`DataError::Occupied`] and [`DataError::Exists`] if there is something in `folder`, [`DataError::CorpusTooSmall`],
/// [`DataError::Invalid`] for options out of bounds, what [`Corpus::read`] says, or [`DataError::Io`].
pub fn build(corpus: &Corpus, tokenizer: &Tokenizer, options: &BuildOptions, folder: &Path) -> Result<Built, DataError> {
	let written = place::create(folder, |folder| write_files(corpus, tokenizer, options, folder))?;
	Ok(written.at(folder))
}

/// As [`build`], but a dataset in `folder` is replaced. It stays as it is until the new one is complete.
///
/// # Errors
/// As [`build`], except for [`DataError::Exists`].
pub fn rebuild(corpus: &Corpus, tokenizer: &Tokenizer, options: &BuildOptions, folder: &Path) -> Result<Built, DataError> {
	let written = place::replace(folder, |folder| write_files(corpus, tokenizer, options, folder))?;
	Ok(written.at(folder))
}

struct Written {
	manifest: DatasetManifest,
	found: Found,
	unused_tokens: u64,
}

impl Written {
	fn at(self, folder: &Path) -> Built {
		let Self { manifest, found, unused_tokens } = self;
		Built { dataset: Dataset { folder: folder.to_path_buf(), manifest }, found, unused_tokens }
	}
}

fn write_files(corpus: &Corpus, tokenizer: &Tokenizer, options: &BuildOptions, folder: &Path) -> Result<Written, DataError> {
	let BuildOptions { tokens_per_shard, held_out, .. } = *options;
	let mut manifest = DatasetManifest {
		name: options.name.clone(),
		licence: options.licence.clone(),
		source: corpus.source().to_owned(),
		tokenizer: tokenizer.id(),
		vocab: vocabulary(tokenizer, options.vocab)?,
		masked: options.chats.is_some(),
		shape: DatasetShape { tokens_per_shard, shard_count: held_out.saturating_add(1), held_out },
		root: H256::zero(),
		bytes: 0,
		unigram_entropy: 0.0,
		shard_roots: Vec::new(),
	};
	// What is wrong with the options is said before hours of work.
	manifest::check_shape(&manifest.shape)?;
	manifest.on_chain()?;

	let runs = folder.join(RUNS_FOLDER);
	let mut sorter = Sorter::new(runs.clone(), options.memory_bytes);
	let mut found = corpus.read(&options.meter, &mut |document| sorter.add(document))?;
	options.meter.tokenize(found.bytes());
	let mut shards = Shards::new(folder, tokens_per_shard, manifest.width())?;
	manifest.bytes = tokenize(sorter.finish()?, tokenizer, options, &mut found, &mut |tokens| shards.push(tokens))?;
	let (shard_roots, unused_tokens) = shards.finish()?;
	if runs.exists() {
		fs::remove_dir_all(&runs).map_err(|error| DataError::io(&runs, error))?;
	}

	let shard_count = u32::try_from(shard_roots.len()).unwrap_or(u32::MAX);
	if shard_count <= held_out {
		let of_shards = |count: u32| u64::from(tokens_per_shard).saturating_mul(count.into());
		let tokens = of_shards(shard_count).saturating_add(unused_tokens);
		return Err(DataError::CorpusTooSmall { tokens, needed: of_shards(held_out.saturating_add(1)) });
	}
	manifest.shape.shard_count = shard_count;
	manifest.root = dataset_root(&shard_roots);
	manifest.unigram_entropy = held_out_entropy(folder, [shard_count, held_out, tokens_per_shard, manifest.vocab], manifest.masked)?;
	manifest.shard_roots = shard_roots;
	manifest.check()?;
	write(&folder.join(TOKENIZER_FILE), tokenizer.json())?;
	let text = serde_json::to_string_pretty(&manifest).map_err(|error| DataError::Invalid(error.to_string()))?;
	write(&folder.join(MANIFEST_FILE), text.as_bytes())?;
	Ok(Written { manifest, found, unused_tokens })
}

/// Documents, and where their tokens go.
type Batch = (Vec<String>, SyncSender<Tokens>);

/// Tokens of a batch.
type Tokens = Result<Vec<u32>, TokenizerError>;

/// Makes tokens of documents on several threads, hands them to `take` in the order of the documents, and returns the documents' bytes.
fn tokenize(
	documents: Merge,
	tokenizer: &Tokenizer,
	options: &BuildOptions,
	found: &mut Found,
	take: &mut dyn FnMut(&[u32]) -> Result<(), DataError>,
) -> Result<u64, DataError> {
	let threads = options.threads.max(1);
	let (work, jobs) = sync_channel::<Batch>(threads.saturating_mul(BATCHES));
	let (order, results) = sync_channel::<Receiver<Tokens>>(threads.saturating_mul(BATCHES));
	let jobs = Mutex::new(jobs);
	thread::scope(|scope| {
		for _ in 0..threads {
			scope.spawn(|| loop {
				let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
				let Ok((texts, result)) = job else { break };
				let mut tokens = Vec::new();
				let encoded = texts.iter().try_for_each(|text| match &options.chats {
					Some(chats) => {
						chats.encode(text, &mut tokens);
						Ok(())
					}
					None => tokenizer.encode(text, &mut tokens),
				});
				options.meter.add_tokenized(texts.iter().map(|text| text.len() as u64).sum());
				// Nobody wants it if something else has failed.
				let _ = result.send(encoded.map(|()| tokens));
			});
		}
		let reader = scope.spawn(move || deal(documents, found, &work, &order));
		for result in results {
			let tokens = result.recv().map_err(|_| DataError::Invalid("a thread that makes tokens has ended".into()))?;
			take(&tokens.map_err(|source| DataError::Tokenizer { path: TOKENIZER_FILE.into(), source })?)?;
		}
		reader.join().unwrap_or_else(|_| Err(DataError::Invalid("the thread that reads sorted documents has ended".into())))
	})
}

/// Hands out documents, until there are no more or nobody wants them.
fn deal(mut documents: Merge, found: &mut Found, work: &SyncSender<Batch>, order: &SyncSender<Receiver<Tokens>>) -> Result<u64, DataError> {
	let (mut batch, mut held, mut bytes) = (Vec::new(), 0usize, 0u64);
	loop {
		let next = documents.next(&mut |file, bytes| found.repeated(file, bytes))?;
		let ended = next.is_none();
		if let Some(document) = next {
			held = held.saturating_add(document.text.len());
			batch.push(document.text);
		}
		if held < BATCH_BYTES && !ended {
			continue;
		}
		bytes = bytes.saturating_add(u64::try_from(held).unwrap_or(u64::MAX));
		let (result, tokens) = sync_channel(1);
		if order.send(tokens).is_err() || work.send((std::mem::take(&mut batch), result)).is_err() || ended {
			return Ok(bytes);
		}
		held = 0;
	}
}

/// Returns the vocabulary of models on a dataset: what the tokenizer needs, or `asked` for.
///
/// # Errors
/// [`DataError::Invalid`] for fewer, or a number that is no multiple of 32 or too large.
fn vocabulary(tokenizer: &Tokenizer, asked: u32) -> Result<u32, DataError> {
	let needed = tokenizer.vocab();
	match asked {
		0 => Ok(needed),
		_ if (needed..=MAX_VOCAB).contains(&asked) && asked.is_multiple_of(32) => Ok(asked),
		_ => Err(DataError::Invalid(format!(
			"the vocabulary is a multiple of 32 from {needed}, which the tokenizer needs, to {MAX_VOCAB}, not {asked}"
		))),
	}
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
	fs::write(path, bytes).map_err(|error| DataError::io(path, error))
}
