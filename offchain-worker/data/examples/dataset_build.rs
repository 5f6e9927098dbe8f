//! `dataset_build [MEGABYTES|FILE] [TOKENIZER]`: speed of building a dataset of so many MB of JSON lines, or those of a file, with each byte as a token or
//! with a `tokenizer.json`.

use neuroshard_data::{
	build::{build, BuildOptions},
	corpus::{path_corpus, CorpusLimits},
	tokenizer::Tokenizer,
};
use std::{
	error::Error,
	fs::File,
	io::{BufWriter, Write},
	path::{Path, PathBuf},
	time::Instant,
};

fn main() -> Result<(), Box<dyn Error>> {
	let mut arguments = std::env::args().skip(1);
	let text = arguments.next().unwrap_or_else(|| "200".into());
	let tokenizer = match arguments.next() {
		Some(path) => Tokenizer::open(Path::new(&path), None, false)?,
		None => Tokenizer::bytes(),
	};
	let folder = tempfile::tempdir()?;
	let path = match text.parse::<u64>() {
		Ok(megabytes) => write(megabytes, folder.path().join("text.jsonl"))?,
		Err(_) => text.into(),
	};
	let bytes = path.metadata()?.len();
	let corpus = path_corpus(&path, CorpusLimits { total_bytes: u64::MAX, ..CorpusLimits::default() })?;
	for memory_bytes in [1 << 30, 32 << 20] {
		let options = BuildOptions { tokens_per_shard: 1 << 22, held_out: 1, memory_bytes, ..BuildOptions::default() };
		let started = Instant::now();
		let built = build(&corpus, &tokenizer, &options, &folder.path().join(format!("{memory_bytes}")))?;
		let seconds = started.elapsed().as_secs_f64();
		let shards = built.dataset.manifest.shape.shard_count;
		let speed = bytes as f64 / 1e6 / seconds;
		println!("{:.0} MB in {} MiB of memory: {seconds:.1} s, {speed:.0} MB/s, {shards} shards", bytes as f64 / 1e6, memory_bytes >> 20);
	}
	Ok(())
}

/// Writes so many MB of lines.
fn write(megabytes: u64, path: PathBuf) -> Result<PathBuf, Box<dyn Error>> {
	let mut file = BufWriter::new(File::create(&path)?);
	let (mut bytes, mut number) = (0u64, 0u64);
	while bytes < megabytes.saturating_mul(1_000_000) {
		let sentence = |place: u64| {
			let word = |salt: u64| (number ^ place.wrapping_mul(salt)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
			format!("Worker {} trains step {} of shard {}, and what it says of {} is checked.\\n", word(3), word(5), word(7), word(11))
		};
		let line = format!("{{\"id\": {number}, \"text\": \"{}\"}}\n", (0..20).map(sentence).collect::<String>());
		bytes = bytes.saturating_add(line.len() as u64);
		number = number.saturating_add(1);
		file.write_all(line.as_bytes())?;
	}
	file.flush()?;
	Ok(path)
}
