//! Options about text that is read, and what is said of it.

use super::{hub::Fetching, CliError};
use clap::{Args, ValueEnum};
use neuroshard_data::{
	corpus::{
		mixed_corpus, paths_corpus, registry_corpus, Corpus, CorpusLimits, Found, InvalidUtf8, LineEnds, DEFAULT_CORPUS_BYTES,
		DEFAULT_DOCUMENT_BYTES, DEFAULT_RECORD_BYTES, LEAST_DOCUMENT_BYTES,
	},
	DataError,
};
use std::{
	path::{Path, PathBuf},
	str::FromStr,
};

#[derive(Debug, Args)]
pub(super) struct Reading {
	/// Files, folders, patterns such as 'texts/*.jsonl.gz', hf://datasets/OWNER/NAME[@REVISION][/PATH] for those of Hugging Face's hub, or - for standard
	/// input; without it, the sources and READMEs of the crates in the cargo registry. Text, JSON lines, JSON arrays, CSV, TSV and Parquet are read, also
	/// in gzip, Zstandard, xz and tar.
	#[arg(long, value_name = "PATH", num_args = 1..)]
	pub(super) corpus: Vec<PathBuf>,
	/// Column or field of records that has the text; without it, `text`. In JSON and Parquet, points lead into objects, as in meta.text.
	#[arg(long, value_name = "NAME")]
	column: Option<String>,
	/// What becomes of text that is not UTF-8.
	#[arg(long, value_name = "WHAT", value_enum, default_value_t = Invalid::Skip)]
	invalid_utf8: Invalid,
	/// What becomes of the ends of lines.
	#[arg(long, value_name = "WHAT", value_enum, default_value_t = Ends::Keep)]
	line_ends: Ends,
	/// Most bytes of text; without it, all of --corpus, or 8 MiB of the cargo registry.
	#[arg(long, value_name = "BYTES")]
	max_bytes: Option<u64>,
	/// Most bytes of a document: a longer text becomes several, split at ends of lines. Of the cargo registry, only the first one of each
	/// file is taken.
	#[arg(long, value_name = "BYTES", default_value_t = DEFAULT_DOCUMENT_BYTES, value_parser = clap::value_parser!(u64).range(LEAST_DOCUMENT_BYTES..))]
	document_bytes: u64,
	/// Most bytes of a line, row or object of JSON or CSV: a longer one is refused.
	#[arg(long, value_name = "BYTES", default_value_t = DEFAULT_RECORD_BYTES, value_parser = clap::value_parser!(u64).range(LEAST_DOCUMENT_BYTES..))]
	record_bytes: u64,
}

/// A source of a mixture.
#[derive(Clone, Debug)]
pub(super) struct Weighted {
	pub(super) weight: u64,
	pub(super) path: PathBuf,
}

impl FromStr for Weighted {
	type Err = String;

	fn from_str(text: &str) -> Result<Self, String> {
		// Whatever comes behind the first colon is the path.
		let parts = text.split_once(':').filter(|(_, path)| !path.is_empty());
		let parsed = parts.and_then(|(weight, path)| Some(Self { weight: weight.parse().ok()?, path: path.into() }));
		parsed.ok_or_else(|| format!("{text:?} is not WEIGHT:PATH: expected a whole number, a colon and a path, such as 3:texts"))
	}
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Invalid {
	/// End with an error that names the place.
	Refuse,
	/// Leave out the file, if it is in its beginning, or else the document, and say how many.
	Skip,
	/// Put U+FFFD in its place.
	Replace,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Ends {
	/// Nothing: they are part of the text.
	Keep,
	/// Each becomes a line feed.
	Lf,
}

impl Reading {
	/// The corpus that is asked for, or the mixture `mix` if it is one, without what is below `out`. What the hub has is fetched.
	pub(super) async fn corpus(&self, mix: &[Weighted], out: Option<&Path>) -> Result<Corpus, CliError> {
		let most = if self.corpus.is_empty() && mix.is_empty() { DEFAULT_CORPUS_BYTES } else { u64::MAX };
		let limits = CorpusLimits {
			total_bytes: self.max_bytes.unwrap_or(most),
			document_bytes: self.document_bytes,
			record_bytes: self.record_bytes,
		};
		let option = if mix.is_empty() { "--corpus" } else { "--mix" };
		let mut hub = Fetching::default();
		let mut named = Vec::new();
		for path in &self.corpus {
			named.extend(hub.paths(path).await?);
		}
		let mut mixed = Vec::new();
		for Weighted { weight, path } in mix {
			mixed.push((*weight, hub.paths(path).await?));
		}
		named.extend(mixed.iter().flat_map(|(_, paths)| paths).cloned());
		let corpus = match (named.is_empty(), mixed.is_empty()) {
			(true, _) => Ok(registry_corpus(&cargo_home()?, limits)),
			(_, true) => paths_corpus(&named, limits, out),
			_ => mixed_corpus(&mixed, limits, out),
		};
		let corpus = corpus.map_err(|error| match error {
			DataError::Io { path, source } if named.contains(&path) => CliError::Invalid(format!("{option} {}: {source}", path.display())),
			error => error.into(),
		})?;
		let corpus = match hub.source() {
			Some(source) => corpus.with_source(source),
			None => corpus,
		};
		let line_ends = match self.line_ends {
			Ends::Keep => LineEnds::Keep,
			Ends::Lf => LineEnds::Lf,
		};
		let invalid_utf8 = match self.invalid_utf8 {
			Invalid::Refuse => InvalidUtf8::Refuse,
			Invalid::Skip => InvalidUtf8::Skip,
			Invalid::Replace => InvalidUtf8::Replace,
		};
		let corpus = match &self.column {
			Some(column) => corpus.with_column(column),
			None => corpus,
		};
		Ok(corpus.with_invalid_utf8(invalid_utf8).with_line_ends(line_ends))
	}
}

/// What was read, what of the text that was found was left out, and what is in it that is hardly text, a line for each.
pub(super) fn notices(found: &Found) -> Vec<String> {
	let read = found.lines().into_iter().map(|line| format!("read      {line}"));
	let left_out = found.left_out.lines().into_iter().map(|line| format!("left out  {line}"));
	let raw = (found.raw.amount.count > 0).then(|| {
		format!("as it is  {} bytes of JSON or markup {}: all of their marks are text", found.raw.amount.bytes, found.raw.named())
	});
	read.chain(left_out).chain(raw).collect()
}

fn cargo_home() -> Result<PathBuf, CliError> {
	let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
	named("CARGO_HOME")
		.or_else(|| named("HOME").map(|home| home.join(".cargo")))
		.ok_or_else(|| CliError::Invalid("there is no cargo registry on this machine: name text with --corpus PATH".into()))
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_data::{corpus::path_corpus, meter::Meter};

	#[test]
	fn the_first_colon_ends_a_weight() {
		let parsed = |text: &str| text.parse::<Weighted>().map(|Weighted { weight, path }| (weight, path));
		assert_eq!(parsed("3:a:b=1").unwrap(), (3, PathBuf::from("a:b=1")));
		for wrong in ["texts", "x:texts", "3:", "1.5:texts", "-1:texts", ""] {
			assert!(parsed(wrong).unwrap_err().contains("is not WEIGHT:PATH"), "{wrong}");
		}
	}

	#[test]
	fn all_that_is_read_and_left_out_is_said_with_its_reason_and_paths() {
		let folder = tempfile::tempdir().unwrap();
		let files: [(&str, &[u8]); 7] = [
			("a.txt", b"0123456789"),
			("b.avro", b"Obj"),
			("c.jsonl", b"{\"text\": \"abc\"}\n{}\n"),
			("d.csv", b"id,text\n1,x\n"),
			("e.html", b"<p>"),
			(".env", b"x"),
			("f.bin", b"a\xff"),
		];
		for (name, text) in files {
			std::fs::write(folder.path().join(name), text).unwrap();
		}
		let corpus = path_corpus(folder.path(), CorpusLimits::default()).unwrap();
		let found = corpus.read(&Meter::default(), &mut |_| Ok(())).unwrap();
		let expected = [
			"read      2 files of text: 2 documents, 13 bytes",
			"read      1 file of JSON lines: 1 document, 3 bytes",
			"read      1 file of CSV or TSV: 1 document, 1 bytes",
			"left out  2 bytes of 1 file or document that is not UTF-8 text (f.bin at byte 1)",
			"left out  3 bytes of 1 file of records in a format that is not read (b.avro): convert them to Parquet or JSON lines",
			"left out  1 record without text in the column (c.jsonl)",
			"left out  1 byte of 1 hidden file or folder (.env)",
			"as it is  3 bytes of JSON or markup (e.html): all of their marks are text",
		];
		assert_eq!(notices(&found), expected);
	}
}
