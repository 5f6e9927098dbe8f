//! Building a dataset from a corpus.
//!
//! The corpus is read once, and never held: its documents are sorted by the hashes of their contents within a bounded memory (`sorter`), become
//! tokens on all cores, and are written to shards (`shards`). Neither the memory nor the number of threads changes a byte of the dataset.

use super::{
	chats::Chats,
	corpus::{ids, Amount, Corpus, Found},
	dataset::{dataset_root, Dataset, TOKENIZER_FILE},
	filter::Filter,
	judge,
	manifest::{self, DatasetManifest, MANIFEST_FILE},
	meter::Meter,
	minhash::Numbers,
	mixture::{Given, Mixture},
	parallel::in_order,
	place,
	shards::{held_out_entropy, Shards},
	sorter::{Merge, Sorter},
	sources::{self, Sources, SOURCES_FILE},
	tokenizer::{Tokenizer, TokenizerError},
	DataError,
};
use neuroshard_types::{
	dataset::{DatasetShape, MAX_VOCAB},
	H256,
};
use std::{fs, path::Path, sync::Arc, thread};

/// Memory that documents are sorted in, unless told otherwise.
pub const DEFAULT_MEMORY_BYTES: u64 = 1 << 30;
/// Folder of what does not fit in memory, while a dataset is built.
const RUNS_FOLDER: &str = "runs";
/// Bytes of documents that a thread takes at once.
const BATCH_BYTES: usize = 256 << 10;

/// Options that a builder decides.
#[derive(Clone, Debug)]
pub struct BuildOptions {
	/// Name of the dataset.
	pub name: String,
	/// SPDX licence expression.
	pub licence: String,
	/// Where others get the files of the corpus: an address that their places are below.
	pub url: Option<String>,
	/// Tokens of every shard.
	pub tokens_per_shard: u32,
	/// Shards held out for validation.
	pub held_out: u32,
	/// Rows of the embedding of models that are trained on it, where that is more than the tokenizer needs; 0 for what it needs.
	pub vocab: u32,
	/// Filters of texts.
	pub filters: Vec<Filter>,
	/// Whether of texts that are nearly the same one alone stays.
	pub near_duplicates: bool,
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
			url: None,
			tokens_per_shard: 65_536,
			held_out: 4,
			vocab: 0,
			filters: Vec::new(),
			near_duplicates: false,
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
	/// What each source of a mixture has given; nothing where there is none.
	pub mixture: Vec<Given>,
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

/// What was written to a folder.
pub(crate) struct Written {
	pub(crate) manifest: DatasetManifest,
	pub(crate) sources: Option<Sources>,
	found: Found,
	mixture: Vec<Given>,
	unused_tokens: u64,
}

impl Written {
	fn at(self, folder: &Path) -> Built {
		let Self { manifest, found, mixture, unused_tokens, .. } = self;
		Built { dataset: Dataset { folder: folder.to_path_buf(), manifest }, found, mixture, unused_tokens }
	}
}

/// Writes all files of a dataset to the new folder `folder`.
///
/// # Errors
/// As [`build`], but for what is said of `folder`.
pub(crate) fn write_files(corpus: &Corpus, tokenizer: &Tokenizer, options: &BuildOptions, folder: &Path) -> Result<Written, DataError> {
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
	let mut sources = Sources::of(corpus, tokenizer, options, manifest.vocab);
	// What is wrong with the options is said before hours of work.
	if sources.is_some() {
		manifest.source = sources::bound(corpus.source(), "");
	}
	manifest::check_shape(&manifest.shape)?;
	manifest.on_chain()?;

	let runs = folder.join(RUNS_FOLDER);
	let (documents, mut found) = match options.filters.is_empty() && !options.near_duplicates {
		true => {
			let mut sorter = Sorter::new(runs.clone(), options.memory_bytes);
			let found = corpus.read(&options.meter, &mut |document| sorter.add(document.into()))?;
			(Merge::new(sorter.finish()?, Numbers::default()), found)
		}
		false => judge::read(corpus, options, &runs)?,
	};
	options.meter.tokenize(found.bytes());
	let mut shards = Shards::new(folder, tokens_per_shard, manifest.width())?;
	let opened = std::mem::take(&mut found.opened);
	let mut mixture = Vec::new();
	let listed = thread::scope(|scope| {
		let hashed = sources.is_some().then(|| scope.spawn(|| sources::hashes(&opened)));
		let maker = match &options.chats {
			_ if corpus.pretokenized().is_some() => Maker::Tokens(tokenizer),
			Some(chats) => Maker::Chats(chats),
			None => Maker::Text(tokenizer),
		};
		(manifest.bytes, mixture) = match corpus.weights() {
			[] => (tokenize(documents, &maker, options, &mut found, &mut |encoded| shards.push(&encoded.tokens))?, Vec::new()),
			weights => mix(documents, &maker, options, &mut found, Mixture::new(&runs, weights)?, &mut shards)?,
		};
		let ended = || Err(DataError::Invalid("the thread that hashes the sources has ended".into()));
		hashed.map(|thread| thread.join().unwrap_or_else(|_| ended())).transpose()
	})?;
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
	if let (Some(sources), Some(listed)) = (&mut sources, listed) {
		sources.files = listed;
		let text = sources.text()?;
		manifest.source = sources::bound(corpus.source(), &sources::sha256(text.as_bytes()));
		write(&folder.join(SOURCES_FILE), text.as_bytes())?;
	}
	manifest.check()?;
	write(&folder.join(TOKENIZER_FILE), tokenizer.json())?;
	let text = serde_json::to_string_pretty(&manifest).map_err(|error| DataError::Invalid(error.to_string()))?;
	write(&folder.join(MANIFEST_FILE), text.as_bytes())?;
	Ok(Written { manifest, sources, found, mixture, unused_tokens })
}

/// A document, and the number of its part of the corpus.
type Text = (String, u32);

/// What makes tokens of a document.
enum Maker<'a> {
	Text(&'a Tokenizer),
	Chats(&'a Chats),
	/// It has them already, and the tokenizer says how much text they are.
	Tokens(&'a Tokenizer),
}

impl Maker<'_> {
	/// Appends the tokens of a document, and returns its bytes of text.
	fn make(&self, document: &str, tokens: &mut Vec<u32>) -> Result<usize, TokenizerError> {
		match self {
			Self::Text(tokenizer) => tokenizer.encode(document, tokens)?,
			Self::Chats(chats) => chats.encode(document, tokens),
			Self::Tokens(tokenizer) => {
				let start = tokens.len();
				tokens.extend(ids(document));
				let bytes = tokenizer.text_bytes(tokens.get(start..).unwrap_or_default())?;
				tokens.push(tokenizer.tokens().end);
				return Ok(bytes);
			}
		}
		Ok(document.len())
	}
}

/// Tokens of some documents.
struct Encoded {
	tokens: Vec<u32>,
	/// Of each document, its part of the corpus, its bytes if it has tokens, and how many tokens there are up to its end.
	documents: Vec<(u32, u64, usize)>,
}

/// Makes tokens of documents on several threads, hands them to `take` in the order of the documents, and returns the bytes of
/// those that have tokens.
fn tokenize(
	mut documents: Merge,
	maker: &Maker<'_>,
	options: &BuildOptions,
	found: &mut Found,
	take: &mut dyn FnMut(&Encoded) -> Result<(), DataError>,
) -> Result<u64, DataError> {
	let deal = |hand: &mut dyn FnMut(Vec<Text>) -> Result<(), DataError>| {
		let (mut batch, mut held) = (Vec::new(), 0usize);
		while let Some(document) = documents.next(&mut |reason, file, bytes| found.leave(reason, Amount { count: 1, bytes }, &[file]))? {
			held = held.saturating_add(document.text.len());
			batch.push((document.text, found.part(document.file)));
			if held >= BATCH_BYTES {
				hand(std::mem::take(&mut batch))?;
				held = 0;
			}
		}
		hand(batch)
	};
	let mut bytes = 0u64;
	in_order(options.threads, deal, |batch| encode(&batch, maker, options), &mut |encoded: Result<Encoded, TokenizerError>| {
		let encoded = encoded.map_err(|source| DataError::Tokenizer { path: TOKENIZER_FILE.into(), source })?;
		bytes = encoded.documents.iter().fold(bytes, |sum, (_, bytes, _)| sum.saturating_add(*bytes));
		take(&encoded)
	})?;
	Ok(bytes)
}

fn encode(batch: &[Text], maker: &Maker<'_>, options: &BuildOptions) -> Result<Encoded, TokenizerError> {
	let mut encoded = Encoded { tokens: Vec::new(), documents: Vec::with_capacity(batch.len()) };
	for (text, part) in batch {
		let start = encoded.tokens.len();
		let bytes = u64::try_from(maker.make(text, &mut encoded.tokens)?).unwrap_or(u64::MAX);
		let has_tokens = encoded.tokens.len() > start;
		encoded.documents.push((*part, if has_tokens { bytes } else { 0 }, encoded.tokens.len()));
		options.meter.add_tokenized(u64::try_from(text.len()).unwrap_or(u64::MAX));
	}
	Ok(encoded)
}

/// As [`tokenize`], of a mixture: into shards. Returns the bytes of the documents that are in it, and what each source has given.
fn mix(
	documents: Merge,
	maker: &Maker<'_>,
	options: &BuildOptions,
	found: &mut Found,
	mut mixture: Mixture,
	shards: &mut Shards,
) -> Result<(u64, Vec<Given>), DataError> {
	tokenize(documents, maker, options, found, &mut |encoded| {
		let mut start = 0;
		for (part, bytes, end) in &encoded.documents {
			mixture.push(*part, *bytes, encoded.tokens.get(start..*end).unwrap_or_default())?;
			start = *end;
		}
		Ok(())
	})?;
	let given = mixture.finish(&mut |tokens| shards.push(tokens))?;
	Ok((given.iter().map(|given| given.bytes).sum(), given))
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
