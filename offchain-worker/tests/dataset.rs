//! Datasets: built the same everywhere, refused when a byte differs, read only within bounds.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_data::{
	blake2_256,
	build::{build, rebuild, BuildOptions},
	chats::{Chats, Conversations},
	corpus::{paths_corpus, Amount, Corpus, CorpusLimits, Reason},
	dataset::{dataset_root, entropy, shard_path, verify, verify_against, Dataset, LEAVES_FILE},
	loader::{Assignment, Loader},
	manifest::{DatasetManifest, MANIFEST_FILE},
	tokenizer::{bytes, Tokenizer},
	DataError,
};
use neuroshard_graph::corpus::{TokenWidth, MASK};
use neuroshard_types::{
	assignment::{training_windows, Draw, Window},
	dataset::DatasetShape,
	H256,
};
use proptest::prelude::*;
use std::{
	collections::{BTreeMap, BTreeSet},
	fs,
	path::Path,
	sync::Arc,
};

fn texts(documents: u32) -> Vec<String> {
	(0..documents).map(|number| format!("document {number} says {} and {}\n", number * 7919, number ^ 0x5a5a)).collect()
}

fn corpus(documents: u32) -> Corpus {
	Corpus::given("numbered lines", texts(documents))
}

fn options(tokens_per_shard: u32, held_out: u32) -> BuildOptions {
	BuildOptions { name: "lines".into(), licence: "CC0-1.0".into(), tokens_per_shard, held_out, ..BuildOptions::default() }
}

/// Shards of 5,000 tokens: two full chunks and a padded one.
fn small(folder: &Path) -> Dataset {
	build(&corpus(1000), &Tokenizer::bytes(), &options(5_000, 2), folder).unwrap().dataset
}

#[test]
fn a_dataset_does_not_depend_on_the_order_of_its_documents() {
	let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
	let reversed = Corpus::given("numbered lines", texts(1000).into_iter().rev().collect());
	let first = small(a.path());
	let second = build(&reversed, &Tokenizer::bytes(), &options(5_000, 2), b.path()).unwrap().dataset;
	assert_eq!(first.manifest, second.manifest);
}

/// Words are targets if they have digits, and records that end in seven are none.
#[derive(Debug)]
struct Digits;

impl Conversations for Digits {
	fn encode(&self, record: &str, tokens: &mut Vec<u32>) -> Result<(), String> {
		tokens.extend(record.bytes().map(|byte| u32::from(byte) | if byte.is_ascii_digit() { 0 } else { MASK }));
		match record.trim_end().ends_with('7') {
			true => Err("it ends in seven".into()),
			false => Ok(()),
		}
	}
}

#[test]
fn a_masked_dataset_verifies_and_says_which_tokens_are_targets() {
	let (folder, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
	let masked = |threads, folder: &Path| {
		let chats = Arc::new(Chats::new(Digits));
		let options = BuildOptions { chats: Some(chats.clone()), threads, ..options(5_000, 2) };
		(build(&corpus(1000), &Tokenizer::bytes(), &options, folder).unwrap().dataset.manifest, chats.left_out())
	};
	let (manifest, left_out) = masked(1, folder.path());
	assert_eq!(masked(3, again.path()), (manifest.clone(), left_out.clone()));
	assert!(manifest.masked && manifest.width() == TokenWidth::Four && manifest.unigram_entropy > 1.0);
	assert_eq!(verify(folder.path(), Some(manifest.root)).unwrap().manifest, manifest);
	let sevens = texts(1000).iter().filter(|text| text.trim_end().ends_with('7')).count();
	let [line] = &left_out[..] else { panic!("{left_out:?}") };
	assert!(line.contains(&format!("of {sevens} conversations")) && line.contains("document ") && line.ends_with(": it ends in seven"));

	let loader = Loader::new(folder.path(), manifest.shape, manifest.width()).unwrap();
	let read = |loader: &Loader| {
		let mut tokens = vec![0; 5_000];
		loader.read(Window { shard: 1, start: 0 }, &mut tokens).unwrap();
		tokens
	};
	let tokens = read(&loader);
	assert!(tokens.iter().all(|&token| (token & MASK == 0) == (48..58).contains(&(token & !MASK))));
	assert!(read(&loader.without_mask()).into_iter().eq(tokens.iter().map(|token| token & !MASK)));
	// The mask is committed to like any other content.
	let path = shard_path(folder.path(), 0);
	let mut bytes = fs::read(&path).unwrap();
	bytes[3] ^= 0x80;
	fs::write(&path, bytes).unwrap();
	assert!(matches!(verify(folder.path(), None), Err(DataError::Chunk { shard: 0, chunk: 0 })));
	// A manifest without the mask is one of another dataset, whose tokens are narrower.
	let error = DatasetManifest { masked: false, ..manifest.clone() }.compare(&manifest.on_chain().unwrap(), "the chain").unwrap_err();
	assert!(error.to_string().contains("masked"), "{error}");
}

#[test]
fn lines_are_taken_as_whole_records_if_that_is_asked_for() {
	let folder = tempfile::tempdir().unwrap();
	let file = folder.path().join("chats.jsonl");
	let long = format!("{{\"messages\": [\"{}\"]}}", "word \\n".repeat(4_000));
	fs::write(&file, format!("{long}\n\n{{\"text\": 1}}\r\n")).unwrap();
	let corpus = paths_corpus(&[file], CorpusLimits::default(), None).unwrap().with_records();
	let (texts, _) = corpus.texts().unwrap();
	assert_eq!(texts, BTreeSet::from([long, "{\"text\": 1}".to_owned()]));
}

#[test]
fn what_was_built_verifies_and_reads_back() {
	let folder = tempfile::tempdir().unwrap();
	let built = small(folder.path());
	assert_eq!(verify(folder.path(), Some(built.manifest.root)).unwrap().manifest, built.manifest);
	let on_chain = built.manifest.on_chain().unwrap();
	assert_eq!((on_chain.shape, on_chain.root), (built.manifest.shape, built.manifest.root));
	assert!(built.manifest.shape.shard_count >= 6, "{:?}", built.manifest.shape);
}

#[test]
fn a_changed_byte_is_found_in_its_shard_and_chunk() {
	let folder = tempfile::tempdir().unwrap();
	small(folder.path());
	let path = shard_path(folder.path(), 3);
	let mut bytes = fs::read(&path).unwrap();
	bytes[4096 + 17] ^= 1;
	fs::write(&path, bytes).unwrap();
	let error = verify(folder.path(), None).unwrap_err();
	assert!(matches!(error, DataError::Chunk { shard: 3, chunk: 1 }), "{error}");
	assert_eq!(error.to_string(), "shard 3 differs from the manifest in chunk 1 (bytes 4096..8192 of its file): fetch it again");
}

#[test]
fn without_trustworthy_chunk_hashes_the_shard_is_still_named() {
	let folder = tempfile::tempdir().unwrap();
	small(folder.path());
	fs::write(folder.path().join(LEAVES_FILE), [0; 96]).unwrap();
	let path = shard_path(folder.path(), 4);
	let mut bytes = fs::read(&path).unwrap();
	bytes[0] ^= 1;
	fs::write(&path, bytes).unwrap();
	assert!(matches!(verify(folder.path(), None), Err(DataError::ShardRoot { shard: 4, .. })));
}

#[test]
fn short_and_missing_shards_are_named() {
	let folder = tempfile::tempdir().unwrap();
	small(folder.path());
	fs::write(shard_path(folder.path(), 1), [0; 100]).unwrap();
	assert!(matches!(verify(folder.path(), None), Err(DataError::ShardSize { shard: 1, found: 100, expected: 12_288 })));
	fs::remove_file(shard_path(folder.path(), 1)).unwrap();
	assert!(verify(folder.path(), None).unwrap_err().to_string().contains("00001.bin"));
}

#[test]
fn a_manifest_that_contradicts_itself_or_the_chain_is_refused() {
	let folder = tempfile::tempdir().unwrap();
	let built = small(folder.path());
	let wanted = H256([7; 32]);
	let error = verify(folder.path(), Some(wanted)).unwrap_err().to_string();
	let (manifest_says, asked) = (format!("manifest.json says {:?}", built.manifest.root), format!("asked for says {wanted:?}"));
	assert!(error.starts_with("root differs") && error.contains(&manifest_says) && error.contains(&asked), "{error}");

	let path = folder.path().join(MANIFEST_FILE);
	let mut forged = built.manifest.clone();
	forged.shard_roots[0] = H256([9; 32]);
	fs::write(&path, serde_json::to_string(&forged).unwrap()).unwrap();
	assert!(matches!(DatasetManifest::read(folder.path()), Err(DataError::DatasetRoot { .. })));

	forged = built.manifest.clone();
	forged.shard_roots.pop();
	fs::write(&path, serde_json::to_string(&forged).unwrap()).unwrap();
	assert!(matches!(DatasetManifest::read(folder.path()), Err(DataError::Invalid(_))));

	fs::write(&path, "{\"name\": 3}").unwrap();
	assert!(DatasetManifest::read(folder.path()).unwrap_err().to_string().contains("not a dataset manifest"));
}

#[test]
fn an_edited_shape_is_named_and_not_what_follows_from_it() {
	let folder = tempfile::tempdir().unwrap();
	let built = small(folder.path());
	let on_chain = built.manifest.on_chain().unwrap();
	verify_against(folder.path(), &on_chain, "dataset 3 on the chain").unwrap();
	let path = folder.path().join(MANIFEST_FILE);
	// 5,000 tokens take three chunks, as do 4,999 and 6,000; 7,000 take four.
	let tokens = [4_999, 6_000, 7_000].map(|tokens_per_shard| DatasetShape { tokens_per_shard, ..built.manifest.shape });
	for (shape, field) in tokens
		.map(|shape| (shape, "shape.tokens_per_shard"))
		.into_iter()
		.chain([(DatasetShape { held_out: 3, ..built.manifest.shape }, "shape.held_out")])
	{
		let edited = DatasetManifest { shape, ..built.manifest.clone() };
		fs::write(&path, serde_json::to_string(&edited).unwrap()).unwrap();
		let error = verify(folder.path(), Some(on_chain.root)).unwrap_err();
		assert!(error.to_string().contains(field), "{error}");
		let error = verify_against(folder.path(), &on_chain, "dataset 3 on the chain").unwrap_err();
		assert!(matches!(&error, DataError::Differs { field: named, .. } if *named == field), "{error}");
		assert!(error.to_string().contains("dataset 3 on the chain says"), "{error}");
	}
}

#[test]
fn a_smaller_dataset_leaves_nothing_of_the_one_that_it_replaces() {
	let base = tempfile::tempdir().unwrap();
	let folder = base.path().join("dataset");
	let old = small(&folder);
	assert!(matches!(build(&corpus(500), &Tokenizer::bytes(), &options(5_000, 1), &folder), Err(DataError::Exists { .. })));
	let error = rebuild(&corpus(1), &Tokenizer::bytes(), &options(5_000, 1), &folder).unwrap_err();
	assert!(matches!(error, DataError::CorpusTooSmall { .. }), "{error}");
	assert_eq!(verify(&folder, None).unwrap().manifest, old.manifest);
	let new = rebuild(&corpus(500), &Tokenizer::bytes(), &options(5_000, 1), &folder).unwrap().dataset;
	assert_eq!(verify(&folder, None).unwrap().manifest, new.manifest);
	let shards = fs::read_dir(folder.join("shards")).unwrap().count();
	assert_eq!(shards, new.manifest.shape.shard_count as usize);
	assert!(new.manifest.shape.shard_count < old.manifest.shape.shard_count);
}

#[test]
fn a_dataset_within_its_corpus_is_the_same_each_time_it_is_built() {
	let folder = tempfile::tempdir().unwrap();
	for (place, text) in texts(500).iter().enumerate() {
		fs::write(folder.path().join(format!("{place}.txt")), text).unwrap();
	}
	let out = folder.path().join("ds");
	let again = || {
		let corpus = paths_corpus(&[folder.path().to_path_buf()], CorpusLimits::default(), Some(&out)).unwrap();
		rebuild(&corpus, &Tokenizer::bytes(), &options(5_000, 1), &out).unwrap().dataset.manifest
	};
	let first = again();
	assert_eq!((again(), again()), (first.clone(), first));
}

#[test]
fn no_text_is_both_trained_on_and_held_out_however_its_files_are_saved() {
	let folder = tempfile::tempdir().unwrap();
	for (place, text) in texts(600).into_iter().enumerate() {
		let copies = [text.clone(), format!("\u{feff}{text}"), text.replace('\n', "\r\n"), text.trim_end().to_owned()];
		for (copy, text) in copies.into_iter().enumerate() {
			fs::write(folder.path().join(format!("{copy}-{place}.txt")), text).unwrap();
		}
	}
	let out = folder.path().join("ds");
	let corpus = paths_corpus(&[folder.path().to_path_buf()], CorpusLimits::default(), Some(&out)).unwrap();
	let built = build(&corpus, &Tokenizer::bytes(), &options(5_000, 1), &out).unwrap();
	assert_eq!((built.found.documents(), built.found.left_out.amount(Reason::Repeated).count), (4 * 600, 3 * 600));
	let tokens = |shard: u32| {
		let bytes = fs::read(shard_path(&out, shard)).unwrap();
		bytes.chunks_exact(2).take(5_000).map(|pair| u16::from_le_bytes([pair[0], pair[1]]).into()).collect::<Vec<u32>>()
	};
	let documents = |shards: std::ops::Range<u32>| {
		let all: Vec<u32> = shards.flat_map(tokens).collect();
		let texts = all.split(|token| *token == bytes::END_OF_TEXT);
		let mut texts: Vec<String> = texts.map(|text| text.iter().map(|token| *token as u8 as char).collect()).collect();
		// The first and the last may be cut.
		texts.pop();
		texts.into_iter().skip(1).collect::<BTreeSet<_>>()
	};
	let last = built.dataset.manifest.shape.shard_count - 1;
	let (trained, held_out) = (documents(0..last), documents(last..last + 1));
	assert!(trained.len() > 300 && held_out.len() > 50, "{} {}", trained.len(), held_out.len());
	assert!(trained.is_disjoint(&held_out));
}

/// All files below a folder, by name, with what they hold.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
	let mut all = BTreeMap::new();
	for entry in fs::read_dir(folder).unwrap() {
		let path = entry.unwrap().path();
		let name = path.file_name().unwrap().to_str().unwrap().to_owned();
		match path.is_dir() {
			true => all.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes))),
			false => drop(all.insert(name, fs::read(path).unwrap())),
		}
	}
	all
}

#[test]
fn neither_memory_nor_threads_change_a_byte() {
	let base = tempfile::tempdir().unwrap();
	// Each three times, so that what is repeated is in different runs.
	let corpus = Corpus::given("numbered lines", [texts(700), texts(700), texts(700)].concat());
	let built = |name: &str, memory_bytes, threads| {
		let options = BuildOptions { memory_bytes, threads, ..options(5_000, 2) };
		let built = build(&corpus, &Tokenizer::bytes(), &options, &base.path().join(name)).unwrap();
		assert_eq!(built.found.left_out.amount(Reason::Repeated).count, 1_400);
		files(&base.path().join(name))
	};
	let (first, second, third) = (built("a", 1 << 30, 1), built("b", 1 << 10, 7), built("c", 100 << 10, 2));
	assert!(first == second && first == third);
	assert!(first.keys().all(|name| name.starts_with("shards/") || !name.contains('/')), "{:?}", first.keys());
	assert_eq!(fs::read_dir(base.path()).unwrap().count(), 3);
}

#[test]
fn shards_hold_the_documents_in_the_order_of_their_hashes() {
	let folder = tempfile::tempdir().unwrap();
	let built = build(&corpus(300), &Tokenizer::bytes(), &options(1_000, 1), folder.path()).unwrap();
	let mut documents = texts(300);
	documents.sort_by_key(|text| blake2_256(text.trim_end().as_bytes()));
	let expected: Vec<u32> = documents.iter().flat_map(|text| text.bytes().map(u32::from).chain([bytes::END_OF_TEXT])).collect();
	let manifest = &built.dataset.manifest;
	let mut tokens = Vec::new();
	for shard in 0..manifest.shape.shard_count {
		let shard = fs::read(shard_path(folder.path(), shard)).unwrap();
		tokens.extend(shard.chunks_exact(2).take(1_000).map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]]))));
	}
	assert_eq!(tokens, expected[..tokens.len()]);
	assert_eq!(built.unused_tokens, (expected.len() - tokens.len()) as u64);
	assert_eq!(manifest.bytes, documents.iter().map(|text| text.len() as u64).sum::<u64>());
	let last = &expected[tokens.len() - 1_000..tokens.len()];
	let counts: Vec<u64> = (0..288).map(|token| last.iter().filter(|found| **found == token).count() as u64).collect();
	assert!((manifest.unigram_entropy - entropy(&counts)).abs() < 1e-12);
}

#[test]
fn a_build_that_fails_leaves_nothing_behind() {
	let base = tempfile::tempdir().unwrap();
	let text = base.path().join("text");
	fs::create_dir(&text).unwrap();
	fs::write(text.join("a.txt"), texts(500).concat()).unwrap();
	fs::write(text.join("b.jsonl"), "{\"text\": \"right\"}\n{broken\n").unwrap();
	let corpus =
		paths_corpus(std::slice::from_ref(&text), CorpusLimits { total_bytes: u64::MAX, ..CorpusLimits::default() }, None).unwrap();
	let options = BuildOptions { memory_bytes: 1_000, ..options(1_000, 1) };
	let error = build(&corpus, &Tokenizer::bytes(), &options, &base.path().join("ds")).unwrap_err();
	assert!(matches!(&error, DataError::Broken { place, reason } if place == "b.jsonl" && reason.starts_with("line 2")), "{error}");
	assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
	fs::remove_file(text.join("b.jsonl")).unwrap();
	let built = build(&corpus, &Tokenizer::bytes(), &options, &base.path().join("ds")).unwrap();
	assert_eq!(built.found.left_out.amount(Reason::Repeated), Amount::default());
	verify(&base.path().join("ds"), None).unwrap();
}

#[test]
fn options_out_of_bounds_and_small_corpora_are_refused_in_words() {
	let folder = tempfile::tempdir().unwrap();
	let error = build(&corpus(10), &Tokenizer::bytes(), &options(5_000, 2), folder.path()).unwrap_err();
	assert!(error.to_string().contains("15000 are needed"), "{error}");
	for (tokens_per_shard, held_out) in [(0, 1), (1, 1), (5_000, 0), (u32::MAX, 1)] {
		assert!(
			build(&corpus(1000), &Tokenizer::bytes(), &options(tokens_per_shard, held_out), folder.path()).is_err(),
			"{tokens_per_shard} {held_out}"
		);
	}
	let long = BuildOptions { name: "n".repeat(65), ..options(5_000, 2) };
	assert!(build(&corpus(1000), &Tokenizer::bytes(), &long, folder.path())
		.unwrap_err()
		.to_string()
		.contains("name is longer than 64 bytes"));
	assert!(!folder.path().join(MANIFEST_FILE).exists());
}

#[test]
fn the_tokenizer_file_gives_hugging_faces_library_the_same_tokens() {
	let tokenizer: tokenizers::Tokenizer = bytes::tokenizer_json().parse().unwrap();
	let text = "fn main() {\n\tprintln!(\"Gr\u{fc}\u{df}e, \u{4e16}\u{754c}  \u{1f980}\"); // two  spaces\r\n}\u{0}";
	let ours: Vec<u32> = bytes::encode(text.as_bytes()).collect();
	let encoding = tokenizer.encode(text, false).unwrap();
	assert_eq!(encoding.get_ids(), ours);
	assert_eq!(tokenizer.decode(&ours, false).unwrap(), text);
	assert_eq!(tokenizer.token_to_id(bytes::END_OF_TEXT_TEXT), Some(bytes::END_OF_TEXT));
	assert_eq!(tokenizer.get_vocab_size(true), bytes::VOCAB as usize);
}

#[test]
fn one_shard_is_the_root_of_its_dataset() {
	// An odd last node moves up unchanged, so a single root stands for itself.
	assert_eq!(dataset_root(&[H256([5; 32])]), H256([5; 32]));
}

#[test]
fn unigram_entropy_of_known_counts() {
	assert_eq!(entropy(&[]), 0.0);
	assert_eq!(entropy(&[9, 0]), 0.0);
	assert!((entropy(&[1, 1, 1, 1]) - 4f64.ln()).abs() < 1e-12);
	// 3/4 ln(4/3) + 1/4 ln 4
	assert!((entropy(&[3, 1]) - 0.562_335_144_618_808_4).abs() < 1e-12);
}

#[test]
fn windows_stay_within_their_shard() {
	let folder = tempfile::tempdir().unwrap();
	let built = small(folder.path());
	let loader = Loader::new(folder.path(), built.manifest.shape, built.manifest.width()).unwrap();
	let mut tokens = [0; 33];
	let last = Window { shard: 0, start: 5_000 - 33 };
	loader.read(last, &mut tokens).unwrap();
	let file = fs::read(shard_path(folder.path(), 0)).unwrap();
	assert_eq!(tokens[32].to_le_bytes()[..2], file[9_998..10_000]);
	for window in [
		Window { start: last.start + 1, ..last },
		Window { shard: built.manifest.shape.shard_count, start: 0 },
		Window { shard: 0, start: u32::MAX },
	] {
		assert!(matches!(loader.read(window, &mut tokens), Err(DataError::Window { .. })), "{window:?}");
	}
}

#[test]
fn a_token_beyond_the_vocabulary_is_read_as_it_is() {
	let folder = tempfile::tempdir().unwrap();
	let built = small(folder.path());
	let path = shard_path(folder.path(), 0);
	let mut bytes = fs::read(&path).unwrap();
	bytes[20..22].copy_from_slice(&288u16.to_le_bytes());
	fs::write(&path, bytes).unwrap();
	let loader = Loader::new(folder.path(), built.manifest.shape, built.manifest.width()).unwrap();
	let mut tokens = [0; 33];
	loader.read(Window { shard: 0, start: 0 }, &mut tokens).unwrap();
	assert_eq!(tokens[10], 288);
}

proptest! {
	#[test]
	fn participants_never_share_a_window(seed: [u8; 32], participants in 1u32..4, batch in 1u32..4, inner_steps in 1u32..5) {
		let shape = DatasetShape { tokens_per_shard: 321, shard_count: 7, held_out: 2 };
		let loader = Loader::new(Path::new("unused"), shape, TokenWidth::Two).unwrap();
		let mut seen = BTreeSet::new();
		for position in 0..participants {
			let assignment = Assignment { position, draw: Draw::of_all(H256(seed)), inner_steps, batch, seq_len: 32 };
			for step in 0..inner_steps {
				for window in loader.step_windows(&assignment, step).unwrap() {
					prop_assert!(window.shard < 5, "held-out shard assigned");
					prop_assert!(seen.insert((window.shard, window.start)));
				}
			}
		}
		prop_assert_eq!(seen.len() as u32, participants * batch * inner_steps);
		prop_assert!(seen.len() as u64 <= training_windows(&shape, 32));
	}
}
