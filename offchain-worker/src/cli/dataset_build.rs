//! `dataset build`.

use super::{
	dataset::describe,
	parse,
	reading::{notices, Reading, Weighted},
	CliError,
};
use clap::{Args, ValueEnum};
use neuroshard_data::{
	build::{build, rebuild, BuildOptions, DEFAULT_MEMORY_BYTES},
	chats::Chats,
	corpus::{Pretokenized, RawTokens},
	filter::Filter,
	meter::{Meter, Progress, Step},
	mixture::Given,
	tokenizer::Tokenizer,
	DataError,
};
use neuroshard_inference::{folder::speaker, Conversation};
use neuroshard_support::{counted::counted, printable::printable_line};
use std::{
	collections::BTreeSet,
	io::{stderr, IsTerminal, Write},
	path::{Path, PathBuf},
	sync::{
		mpsc::{channel, RecvTimeoutError, Sender},
		Arc,
	},
	thread::{self, JoinHandle},
	time::{Duration, Instant},
};

/// Time between two looks at how far a build is.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(super) struct Build {
	/// Where the dataset goes: a new or empty folder.
	#[arg(long, value_name = "DIR")]
	out: PathBuf,
	/// Replace the dataset that is there, once the new one is complete.
	#[arg(long)]
	force: bool,
	#[command(flatten)]
	reading: Reading,
	/// A source of a mixture, once for each: the tokens of all sources are by their weights, which are whole numbers. No document is taken twice, so that
	/// the mixture ends with the source that has too few.
	#[arg(long, value_name = "WEIGHT:PATH", conflicts_with_all = ["corpus", "max_bytes"])]
	mix: Vec<Weighted>,
	/// A filter of texts, once for each. A text is a file, a line, a row or an object; what each leaves out is counted by reason.
	#[arg(long, value_name = "NAME", value_enum)]
	filter: Vec<Named>,
	/// Leave out texts that are nearly another one, found by MinHash: shingles of 5 words, 14 bands of 8 hashes.
	#[arg(long)]
	near_duplicates: bool,
	/// Name.
	#[arg(long, default_value = "local text")]
	name: String,
	/// SPDX licence expression, such as Apache-2.0, or MIT OR Apache-2.0.
	#[arg(long, default_value = "LicenseRef-mixed", value_parser = parse::licence)]
	licence: String,
	/// Where others get the files of the corpus, for the list of sources: an address that their names are below.
	#[arg(long, value_name = "URL")]
	url: Option<String>,
	/// Tokens of every shard.
	#[arg(long, default_value_t = BuildOptions::default().tokens_per_shard)]
	tokens_per_shard: u32,
	/// Shards held out for validation.
	#[arg(long, default_value_t = BuildOptions::default().held_out)]
	held_out: u32,
	/// A Hugging Face `tokenizer.json`; without it, each byte is a token. `tokenizer train` makes one.
	#[arg(long, value_name = "FILE")]
	tokenizer: Option<PathBuf>,
	/// Token that ends each document; without it, the one that the files beside the tokenizer name, or the usual one.
	#[arg(long, value_name = "TOKEN", requires = "tokenizer")]
	end_token: Option<String>,
	/// Take special tokens that the text names as such; without it, they are text like any other.
	#[arg(long, requires = "tokenizer")]
	special_tokens: bool,
	/// Take files as tokens of this tokenizer, as they are: .npy of one dimension, and .bin as llm.c writes it, or nanoGPT. Each document is what is between
	/// two tokens that end one.
	#[arg(long, requires = "tokenizer", conflicts_with_all = ["chats", "special_tokens", "filter", "near_duplicates", "document_bytes", "column"])]
	pretokenized: bool,
	/// Width of the tokens in .bin files without a header.
	#[arg(long, value_name = "WIDTH", value_enum, requires = "pretokenized")]
	raw_tokens: Option<Width>,
	/// Take records as conversations, with `messages` of a `role` and a `content` each: lines of JSON lines, with `tools` if the template has a use for them,
	/// or the column `messages` or `conversations`, or --column, of Parquet and, as JSON, of CSV. Of the tokens that the tokenizer's chat template makes of them, only those that the assistant says are targets of the loss.
	#[arg(long, conflicts_with_all = ["special_tokens", "filter", "near_duplicates"])]
	chats: bool,
	/// A file of the chat template; without it, the one beside the tokenizer.
	#[arg(long, value_name = "FILE", requires = "chats")]
	chat_template: Option<PathBuf>,
	/// Rows of the embedding of models that are trained on it, a multiple of 32, where that is more than the tokenizer needs: that of a model that is
	/// trained further.
	#[arg(long, value_name = "ROWS", default_value_t = 0, hide_default_value = true)]
	vocab: u32,
	/// Memory in which documents are sorted, about; what does not fit goes to files beside the dataset until it is complete. The dataset is the same
	/// with any.
	#[arg(long, value_name = "BYTES", default_value_t = DEFAULT_MEMORY_BYTES, value_parser = clap::value_parser!(u64).range(1 << 20..))]
	memory: u64,
	/// Threads that make tokens; without it, one for each core.
	#[arg(long, value_parser = parse::threads)]
	threads: Option<usize>,
}

/// How a token is written, little-endian.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Width {
	/// In two bytes.
	U16,
	/// In four bytes.
	U32,
}

/// A filter, as datatrove calls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Named {
	/// Gopher's rules on repetition: lines, paragraphs and n-grams of words.
	GopherRepetition,
	/// Gopher's rules on quality: length, words, symbols, lines, stop words of English.
	GopherQuality,
	/// FineWeb's own rules: ends of lines, short lines, repeated lines, lists.
	Fineweb,
}

impl Named {
	/// Each once, in the order in which they are asked.
	fn filters(named: Vec<Self>) -> Vec<Filter> {
		let filter = |name| match name {
			Self::GopherRepetition => Filter::GopherRepetition,
			Self::GopherQuality => Filter::GopherQuality,
			Self::Fineweb => Filter::Fineweb,
		};
		named.into_iter().map(filter).collect::<BTreeSet<_>>().into_iter().collect()
	}
}

impl Build {
	pub(super) async fn run(self) -> Result<u8, CliError> {
		if self.pretokenized && self.reading.corpus.is_empty() && self.mix.is_empty() {
			return Err(CliError::Invalid("--pretokenized: name the files of tokens with --corpus or --mix".into()));
		}
		let corpus = self.reading.corpus(&self.mix, Some(&self.out)).await?;
		let corpus = if self.chats { corpus.with_records() } else { corpus };
		let tokenizer = match &self.tokenizer {
			None => Tokenizer::bytes(),
			Some(path) => Tokenizer::open(path, self.end_token.as_deref(), self.special_tokens)
				.map_err(|source| DataError::Tokenizer { path: path.clone(), source })?,
		};
		let raw = self.raw_tokens.map(|width| match width {
			Width::U16 => RawTokens::U16,
			Width::U32 => RawTokens::U32,
		});
		let corpus = match self.pretokenized {
			true => corpus.with_pretokenized(Pretokenized { raw }, tokenizer.tokens()),
			false => corpus,
		};
		let chats = self.chats.then(|| self.conversations(&tokenizer)).transpose()?.map(Arc::new);
		let defaults = BuildOptions::default();
		let options = BuildOptions {
			name: self.name,
			licence: self.licence,
			url: self.url,
			tokens_per_shard: self.tokens_per_shard,
			held_out: self.held_out,
			vocab: self.vocab,
			filters: Named::filters(self.filter),
			near_duplicates: self.near_duplicates,
			memory_bytes: self.memory,
			threads: self.threads.unwrap_or(defaults.threads),
			chats: chats.clone(),
			..defaults
		};
		let watch = Watch::start(&options.meter);
		let built = match self.force {
			true => rebuild(&corpus, &tokenizer, &options, &self.out),
			false => build(&corpus, &tokenizer, &options, &self.out),
		};
		drop(watch);
		let malformed = chats.iter().flat_map(|chats| chats.left_out()).map(|line| format!("left out  {line}"));
		let malformed: Vec<String> = malformed.map(|line| printable_line(&line).to_string()).collect();
		let built = built.inspect_err(|_| malformed.iter().for_each(|line| eprintln!("{line}")))?;
		describe(&built.dataset.manifest);
		let unused = built.unused_tokens;
		let unused = (unused > 0).then(|| {
			let verb = if unused == 1 { "does" } else { "do" };
			format!("left out  {} that {verb} not fill another shard", counted(unused, "token"))
		});
		for line in notices(&built.found).into_iter().chain(shares(&self.mix, &built.mixture)).chain(unused) {
			println!("{}", printable_line(&line));
		}
		malformed.iter().for_each(|line| println!("{line}"));
		Ok(0)
	}

	/// What makes conversations of records.
	fn conversations(&self, tokenizer: &Tokenizer) -> Result<Chats, CliError> {
		let folder = self.tokenizer.as_ref().map(|path| path.parent().unwrap_or(Path::new("")));
		let refused = |error: &dyn std::fmt::Display| CliError::Invalid(error.to_string());
		let (text, chat) = speaker(tokenizer.json(), folder, self.chat_template.as_deref()).map_err(|error| refused(&error))?;
		let conversation = Conversation::new(text, chat, tokenizer.tokens().end).map_err(|error| refused(&error))?;
		Ok(Chats::new(conversation))
	}
}

/// What each source of a mixture has given, a line for each.
fn shares(mix: &[Weighted], given: &[Given]) -> Vec<String> {
	let all: u64 = given.iter().map(|given| given.tokens).sum();
	let line = |(source, given): (&Weighted, &Given)| {
		let share = given.tokens as f64 / all.max(1) as f64 * 100.0;
		let (documents, tokens) = (counted(given.documents, "document"), counted(given.tokens, "token"));
		format!("mixture   {} of {}: {documents}, {tokens} ({share:.2} %), {} left", given.weight, source.path.display(), given.left)
	};
	mix.iter().zip(given).map(line).collect()
}

/// A line on the terminal that says how far a build is, until it is dropped.
pub(super) struct Watch {
	end: Option<Sender<()>>,
	thread: Option<JoinHandle<()>>,
}

impl Watch {
	/// Begins to show it, if somebody looks at the terminal.
	pub(super) fn start(meter: &Arc<Meter>) -> Option<Self> {
		let meter = stderr().is_terminal().then(|| Arc::clone(meter))?;
		let (end, ended) = channel();
		let show = move || {
			let mut since = (meter.now(), Instant::now());
			while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
				let now = meter.now();
				if now.step != since.0.step {
					since = (Progress { done: 0, ..now }, Instant::now());
				}
				// Nobody is to be told that the terminal is gone.
				let _ = write!(stderr(), "\r\x1b[K{}", words(now, since.1.elapsed()));
			}
			let _ = write!(stderr(), "\r\x1b[K");
		};
		Some(Self { end: Some(end), thread: Some(thread::spawn(show)) })
	}
}

impl Drop for Watch {
	fn drop(&mut self) {
		self.end.take();
		if let Some(thread) = self.thread.take() {
			let _ = thread.join();
		}
	}
}

/// How far a build is after so much time of this step.
fn words(progress: Progress, elapsed: Duration) -> String {
	let Progress { step, done, total } = progress;
	let mb = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
	let (done, seconds) = (done as f64, elapsed.as_secs_f64());
	let what = match step {
		Step::Reading => "read",
		Step::Tokenizing => "tokenized",
	};
	let speed = if seconds > 0.0 { done / seconds } else { 0.0 };
	let mut line = match total {
		Some(total) => format!("{what} {} of {}, {}/s", mb(done), mb(total as f64), mb(speed)),
		None => format!("{what} {}, {}/s", mb(done), mb(speed)),
	};
	if let Some(total) = total.filter(|_| speed > 0.0) {
		let left = ((total as f64 - done).max(0.0) / speed).ceil();
		line.push_str(&format!(", {left:.0} s left"));
	}
	line
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn filters_are_asked_in_one_order_and_once() {
		use Named::{Fineweb, GopherQuality, GopherRepetition};
		let all = [Filter::GopherRepetition, Filter::GopherQuality, Filter::Fineweb];
		assert_eq!(Named::filters(vec![Fineweb, GopherQuality, Fineweb, GopherRepetition]), all);
		// They are called as in recipes.
		let names = [GopherRepetition, GopherQuality, Fineweb].map(|named| named.to_possible_value().unwrap().get_name().to_owned());
		assert_eq!(names, all.map(|filter| filter.name().to_owned()));
	}

	#[test]
	fn what_each_source_has_given_is_a_line() {
		let mix: Vec<Weighted> = ["3:wiki", "1:a:b"].iter().map(|text| text.parse().unwrap()).collect();
		let given = [
			Given { weight: 3, documents: 2, bytes: 9, tokens: 75, left: 4 },
			Given { weight: 1, documents: 1, bytes: 9, tokens: 25, left: 0 },
		];
		let expected = [
			"mixture   3 of wiki: 2 documents, 75 tokens (75.00 %), 4 left",
			"mixture   1 of a:b: 1 document, 25 tokens (25.00 %), 0 left",
		];
		assert_eq!(shares(&mix, &given), expected);
	}

	#[test]
	fn progress_has_speed_and_where_the_end_is_known_time_left() {
		let at = |step, done, total, seconds| words(Progress { step, done, total }, Duration::from_secs(seconds));
		assert_eq!(at(Step::Reading, 30_000_000, Some(100_000_000), 3), "read 30.0 MB of 100.0 MB, 10.0 MB/s, 7 s left");
		assert_eq!(at(Step::Tokenizing, 5_000_000, None, 10), "tokenized 5.0 MB, 0.5 MB/s");
		assert_eq!(at(Step::Reading, 0, Some(10), 0), "read 0.0 MB of 0.0 MB, 0.0 MB/s");
	}
}
