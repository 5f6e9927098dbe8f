//! What a dataset was made of, and how: so that anybody who has the files can make it again, and see that it is that dataset.
//!
//! The file `sources.json` has it. The manifest's source ends with the SHA-256 of that file, so that who knows the manifest, as from the chain, knows
//! that the list is the one that the proposer meant. Whether it is true shows when the dataset is made again ([`verify`]).

use super::{
	build::{write_files, BuildOptions},
	corpus::{below, Corpus, CorpusLimits, InvalidUtf8, LineEnds, Part, Pretokenized},
	dataset::tokenizer_of,
	filter::Filter,
	manifest::{hash_text, DatasetManifest},
	place,
	tokenizer::Tokenizer,
	DataError,
};
use neuroshard_support::json_file;
use neuroshard_types::{dataset::TextTokens, H256};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
	collections::{BTreeMap, BTreeSet},
	fs::{self, File},
	io::{self, Read},
	path::{Path, PathBuf},
};

/// File name of the list of sources in a dataset folder.
pub const SOURCES_FILE: &str = "sources.json";
/// Version of what a recipe does: the same text gives another dataset by another one.
const RECIPE: u32 = 1;
/// Most bytes of the list.
const MOST_BYTES: u64 = 256 << 20;
/// What is between the origin of the text and the hash of the list in a manifest.
const BETWEEN: &str = "; sources.json SHA-256 ";
/// Digits of a hash.
const DIGITS: usize = 64;
/// Bytes that are read at once.
const BLOCK: usize = 1 << 20;
/// So many files that differ are named.
const MOST_NAMED: usize = 20;

/// Content of `sources.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
	/// How the files became the dataset.
	pub recipe: Recipe,
	/// SPDX licence expression of the files.
	pub licence: String,
	/// Address that the names of the files are below.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub url: Option<String>,
	/// Files that were read, in that order.
	pub files: Vec<SourceFile>,
}

/// A file that was read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
	/// Its place below the folder that has all of the corpus, with `/` between names.
	pub name: String,
	/// Its bytes.
	pub bytes: u64,
	/// SHA-256 of it, in hexadecimal digits.
	pub sha256: String,
}

/// All that decides which dataset the files become.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
	/// Version of what the other fields mean.
	pub version: u32,
	/// What was named of the folder that has all of the corpus.
	pub corpus: Vec<Part>,
	/// Column or field of records that has the text.
	pub column: String,
	/// What became of text that is not UTF-8.
	pub invalid_utf8: InvalidUtf8,
	/// What became of the ends of lines; without it, line feeds.
	#[serde(default = "line_feeds", skip_serializing_if = "is_line_feeds")]
	pub line_ends: LineEnds,
	/// How tokens were read, if files held tokens.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub pretokenized: Option<Pretokenized>,
	/// Most bytes of text; without it, all.
	#[serde(default, skip_serializing_if = "Option::is_none")]
	pub max_bytes: Option<u64>,
	/// Most bytes of a document.
	pub document_bytes: u64,
	/// Most bytes of a record.
	pub record_bytes: u64,
	/// Filters of texts.
	#[serde(default, skip_serializing_if = "Vec::is_empty")]
	pub filters: Vec<Filter>,
	/// Whether of texts that are nearly the same one alone stayed.
	#[serde(default, skip_serializing_if = "std::ops::Not::not")]
	pub near_duplicates: bool,
	/// Root of the tokenizer's file.
	#[serde(with = "hash_text")]
	pub tokenizer: H256,
	/// Number of the token that ends each document.
	pub end: u32,
	/// Whether special tokens that a text names were meant.
	pub special_tokens: bool,
	/// Rows of the embedding of models.
	pub vocab: u32,
	/// Tokens of every shard.
	pub tokens_per_shard: u32,
	/// Shards held out for validation.
	pub held_out: u32,
}

fn line_feeds() -> LineEnds {
	LineEnds::Lf
}

fn is_line_feeds(line_ends: &LineEnds) -> bool {
	*line_ends == LineEnds::Lf
}

impl Sources {
	/// What is known before anything is read; nothing for a corpus that is not files alone.
	pub(crate) fn of(corpus: &Corpus, tokenizer: &Tokenizer, options: &BuildOptions, vocab: u32) -> Option<Self> {
		let CorpusLimits { total_bytes, document_bytes, record_bytes } = corpus.limits();
		// A recipe has no chat template.
		if options.chats.is_some() {
			return None;
		}
		let recipe = Recipe {
			version: RECIPE,
			corpus: corpus.parts()?,
			column: corpus.column().to_owned(),
			invalid_utf8: corpus.invalid_utf8(),
			line_ends: corpus.line_ends(),
			pretokenized: corpus.pretokenized(),
			max_bytes: (total_bytes < u64::MAX).then_some(total_bytes),
			document_bytes,
			record_bytes,
			filters: options.filters.clone(),
			near_duplicates: options.near_duplicates,
			tokenizer: tokenizer.id().root,
			end: tokenizer.tokens().end,
			special_tokens: tokenizer.takes_special_tokens(),
			vocab,
			tokens_per_shard: options.tokens_per_shard,
			held_out: options.held_out,
		};
		Some(Self { recipe, licence: options.licence.clone(), url: options.url.clone(), files: Vec::new() })
	}

	pub(crate) fn text(&self) -> Result<String, DataError> {
		let text = serde_json::to_string_pretty(self).map_err(|error| DataError::Invalid(error.to_string()))?;
		Ok(text + "\n")
	}

	/// Reads the list of the dataset in `folder`, which must be the one that its manifest names.
	///
	/// # Errors
	/// [`DataError::NoSources`], [`DataError::Io`].
	pub fn read(folder: &Path, manifest: &DatasetManifest) -> Result<Self, DataError> {
		let path = folder.join(SOURCES_FILE);
		let refused = |reason: String| DataError::NoSources { path: path.clone(), reason };
		let (_, expected) = manifest.source.rsplit_once(BETWEEN).ok_or_else(|| {
			refused("the manifest names no list of sources: the dataset was built of standard input, the cargo registry or chats, or by an earlier release".into())
		})?;
		let mut bytes = Vec::new();
		let file = File::open(&path).map_err(|error| DataError::io(&path, error))?;
		file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| DataError::io(&path, error))?;
		if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
			return Err(refused(format!("it has more than {MOST_BYTES} bytes, and no such list is read")));
		}
		let found = sha256(&bytes);
		if found != expected {
			return Err(refused(format!("it has SHA-256 {found}, the manifest's source says {expected}: get the list again")));
		}
		let sources: Self = json_file::parse(&bytes).map_err(|reason| refused(format!("it is no list of sources: {reason}")))?;
		match sources.recipe.version {
			RECIPE => Ok(sources),
			version => {
				Err(refused(format!("its recipe has version {version}, and this release knows {RECIPE}: take the release that it is of")))
			}
		}
	}

	fn corpus(&self, folder: &Path, tokens: TextTokens) -> Result<Corpus, DataError> {
		let Recipe { corpus, column, invalid_utf8, line_ends, pretokenized, max_bytes, document_bytes, record_bytes, .. } = &self.recipe;
		let limits =
			CorpusLimits { total_bytes: max_bytes.unwrap_or(u64::MAX), document_bytes: *document_bytes, record_bytes: *record_bytes };
		let corpus =
			Corpus::of_parts(folder, corpus, limits)?.with_column(column).with_invalid_utf8(*invalid_utf8).with_line_ends(*line_ends);
		Ok(match pretokenized {
			Some(pretokenized) => corpus.with_pretokenized(*pretokenized, tokens),
			None => corpus,
		})
	}
}

/// Makes the dataset in `folder` again of the files in `sources` by its recipe, and compares it with its manifest. Of `options`, memory, threads and
/// meter count. It takes as much room beside `folder` as a build. The shards in `folder` are not read.
///
/// # Errors
/// [`DataError::OtherSources`] names files that are missing, changed, or more than were listed; [`DataError::Differs`] if the files are those of the list
/// and give another dataset; [`DataError::NoSources`]; otherwise as a build.
pub fn verify(folder: &Path, sources: &Path, options: &BuildOptions) -> Result<(), DataError> {
	let manifest = DatasetManifest::read(folder)?;
	let listed = Sources::read(folder, &manifest)?;
	let Recipe { special_tokens, vocab, tokens_per_shard, held_out, record_bytes, .. } = listed.recipe;
	let most = options.memory_bytes.max(super::corpus::DEFAULT_RECORD_BYTES);
	if record_bytes > most {
		return Err(DataError::Invalid(format!(
			"the recipe takes records of {record_bytes} bytes, which is more than {most}: raise --memory"
		)));
	}
	let tokenizer = tokenizer_of(folder, &manifest, special_tokens)?;
	check_files(sources, &listed.files)?;
	let (name, licence) = (manifest.name.clone(), manifest.licence.clone());
	let (filters, near_duplicates) = (listed.recipe.filters.clone(), listed.recipe.near_duplicates);
	let options = BuildOptions { filters, near_duplicates, name, licence, tokens_per_shard, held_out, vocab, ..options.clone() };
	let made = place::aside(folder, |aside| write_files(&listed.corpus(sources, tokenizer.tokens())?, &tokenizer, &options, aside))?;
	let mut found = made.manifest;
	let Some(again) = made.sources else { return Err(DataError::Invalid("only what was made of files alone is made again".into())) };
	if again.files != listed.files {
		return Err(other(sources, differences(&listed.files, &again.files)));
	}
	// In words, it is what whoever built it called it.
	found.source = manifest.source.clone();
	found.compare(&manifest.on_chain()?, "the manifest")?;
	// The same dataset may become of another recipe, which is not the one that the list tells.
	if (&again.recipe, &again.licence) != (&listed.recipe, &listed.licence) {
		let words = |sources: &Sources| format!("{} {:?}", sources.licence, sources.recipe);
		let (found, expected) = (words(&again), words(&listed));
		return Err(DataError::Differs { field: "recipe or licence", found, other: SOURCES_FILE.into(), expected });
	}
	Ok(())
}

/// Checks that all files of the list are in `folder`, with what was in them.
fn check_files(folder: &Path, listed: &[SourceFile]) -> Result<(), DataError> {
	let mut found = Vec::new();
	for file in listed {
		let path = below(folder, &file.name)?;
		let bytes = fs::metadata(&path).ok().filter(|kind| kind.is_file()).map(|kind| kind.len());
		let Some(bytes) = bytes else { continue };
		// What has another length is another file.
		let sha256 = if bytes == file.bytes { hash(&path)?.1 } else { String::new() };
		found.push(SourceFile { name: file.name.clone(), bytes, sha256 });
	}
	match found[..] == *listed {
		true => Ok(()),
		false => Err(other(folder, differences(listed, &found))),
	}
}

fn other(folder: &Path, differences: String) -> DataError {
	DataError::OtherSources { folder: folder.to_path_buf(), differences }
}

/// Which files differ, in words.
fn differences(listed: &[SourceFile], found: &[SourceFile]) -> String {
	let by_name =
		|files: &[SourceFile]| -> BTreeMap<String, SourceFile> { files.iter().map(|file| (file.name.clone(), file.clone())).collect() };
	let (listed, found) = (by_name(listed), by_name(found));
	let names: BTreeSet<&String> = listed.keys().chain(found.keys()).collect();
	let words = names.iter().filter_map(|name| match (listed.get(*name), found.get(*name)) {
		(Some(_), None) => Some(format!("{name} is missing")),
		(None, Some(_)) => Some(format!("{name} is not in the list")),
		(Some(listed), Some(found)) if listed != found => Some(format!("{name} is another file")),
		_ => None,
	});
	let mut words: Vec<String> = words.collect();
	let more = words.len().saturating_sub(MOST_NAMED);
	words.truncate(MOST_NAMED);
	if more > 0 {
		words.push(format!("{more} more differ"));
	}
	match words.is_empty() {
		true => "they are read in another order".into(),
		false => words.join(", "),
	}
}

/// The source of a manifest: `origin`, and the hash of the list. An empty hash has the room of one.
pub(crate) fn bound(origin: &str, hash: &str) -> String {
	format!("{origin}{BETWEEN}{hash:0>DIGITS$}")
}

/// The list of these files, which have been read: places and paths.
///
/// # Errors
/// [`DataError::Io`].
pub(crate) fn hashes(opened: &[(String, PathBuf)]) -> Result<Vec<SourceFile>, DataError> {
	let listed = opened.iter().map(|(name, path)| {
		let (bytes, sha256) = hash(path)?;
		Ok(SourceFile { name: name.clone(), bytes, sha256 })
	});
	listed.collect()
}

/// Bytes of a file, and its SHA-256.
fn hash(path: &Path) -> Result<(u64, String), DataError> {
	let failed = |error: io::Error| DataError::io(path, error);
	let mut file = File::open(path).map_err(failed)?;
	let before = file.metadata().map_err(failed)?;
	let (mut hasher, mut block, mut bytes) = (Sha256::new(), vec![0; BLOCK], 0u64);
	loop {
		let read = file.read(&mut block).map_err(failed)?;
		if read == 0 {
			break;
		}
		hasher.update(block.get(..read).unwrap_or_default());
		bytes = bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
	}
	match bytes == before.len() {
		true => Ok((bytes, hex::encode(hasher.finalize()))),
		false => Err(DataError::Changed { path: path.to_path_buf() }),
	}
}

/// SHA-256 of `bytes`, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
	hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
