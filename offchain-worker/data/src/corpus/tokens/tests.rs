use super::*;
use crate::{
	build::{build, rebuild, BuildOptions},
	corpus::{mixed_corpus, path_corpus, paths_corpus, Corpus, CorpusLimits},
	meter::Meter,
	sources::verify,
	tokenizer::Tokenizer,
};
use std::{fs, path::PathBuf};

const ALL: CorpusLimits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 8, record_bytes: 400 };
const KNOWN: TextTokens = TextTokens { usable: 50_257, end: 50_256 };

fn header(words: &str) -> Vec<u8> {
	let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
	bytes.extend(u16::try_from(words.len()).unwrap().to_le_bytes());
	bytes.extend(words.as_bytes());
	bytes
}

fn numpy(kind: &str, tokens: &[u8], count: usize) -> Vec<u8> {
	let mut bytes = header(&format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}          \n"));
	bytes.extend(tokens);
	bytes
}

fn u16s(tokens: &[u16]) -> Vec<u8> {
	tokens.iter().flat_map(|token| token.to_le_bytes()).collect()
}

fn llm_c(magic: u32, version: u32, count: u32, tokens: &[u8]) -> Vec<u8> {
	let mut bytes: Vec<u8> = [magic, version, count].iter().flat_map(|number| number.to_le_bytes()).collect();
	bytes.resize(1024, 0);
	bytes.extend(tokens);
	bytes
}

/// The documents of a file, or the words that it is refused with.
fn documents(name: &str, bytes: &[u8], raw: Option<RawTokens>) -> Result<Vec<Vec<u32>>, String> {
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join(name);
	fs::write(&path, bytes).unwrap();
	read(path_corpus(&path, ALL).unwrap().with_pretokenized(Pretokenized { raw }, KNOWN))
}

fn read(corpus: Corpus) -> Result<Vec<Vec<u32>>, String> {
	let mut documents = Vec::new();
	let taken = corpus.read(&Meter::default(), &mut |document| {
		documents.push(ids(document.text).collect());
		Ok(())
	});
	taken.map(|_| documents).map_err(|error| error.to_string())
}

#[test]
fn every_width_gives_the_documents_between_end_tokens() {
	let tokens = [50_256i64, 1, 2, 50_256, 50_256, 40_000, 50_256, 13, 10];
	let expected = vec![vec![1, 2], vec![40_000], vec![13, 10]];
	let bytes = |width: usize| -> Vec<u8> { tokens.iter().flat_map(|token| token.to_le_bytes()[..width].to_vec()).collect() };
	for (kind, width) in [("<u2", 2), ("<u4", 4), ("<i4", 4), ("<i8", 8)] {
		assert_eq!(documents("a.npy", &numpy(kind, &bytes(width), tokens.len()), None).unwrap(), expected, "{kind}");
	}
	assert_eq!(documents("a.bin", &bytes(2), Some(RawTokens::U16)).unwrap(), expected);
	assert_eq!(documents("a.BIN", &bytes(4), Some(RawTokens::U32)).unwrap(), expected);
	assert_eq!(documents("a.bin", &llm_c(20_240_520, 1, 9, &bytes(2)), None).unwrap(), expected);
	assert_eq!(documents("a.bin", &llm_c(20_240_801, 7, 9, &bytes(4)), None).unwrap(), expected);
	// A header says more than the option.
	assert_eq!(documents("a.bin", &llm_c(20_240_520, 1, 9, &bytes(2)), Some(RawTokens::U32)).unwrap(), expected);
}

#[test]
fn headers_are_read_in_any_order_and_in_versions_1_to_3() {
	let tokens = u16s(&[7, 8]);
	for words in [
		"{'shape': (2,), 'fortran_order': False, 'descr': '<u2'}\n",
		"{'descr':'<u2','fortran_order':False,'shape':( 2 , )}",
		"{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }                   \n",
	] {
		assert_eq!(documents("a.npy", &[header(words), tokens.clone()].concat(), None).unwrap(), [[7, 8]], "{words}");
	}
	let words = "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }\n";
	for version in [2, 3] {
		let length = u32::try_from(words.len()).unwrap().to_le_bytes();
		let bytes = [b"\x93NUMPY", &[version, 0][..], &length, words.as_bytes(), &tokens].concat();
		assert_eq!(documents("a.npy", &bytes, None).unwrap(), [[7, 8]]);
	}
}

#[test]
fn headers_that_are_broken_or_lie_are_refused_in_words() {
	let tokens = u16s(&[7, 8]);
	let described = |words: &str| documents("a.npy", &[header(words), tokens.clone()].concat(), None).unwrap_err();
	for (words, expected) in [
		("{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }\n", "its header says 3 tokens of 2 bytes behind 68"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }\n", "its header says 1 tokens"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (18446744073709551615,), }\n", "its header says 18446744073709551615 tokens"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,), }\n", "which is not one dimension"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2), }\n", "reshape(-1)"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (), }\n", "reshape(-1)"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (+2,), }\n", "reshape(-1)"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (-2,), }\n", "reshape(-1)"),
		("{'descr': '>u2', 'fortran_order': False, 'shape': (2,), }\n", "its numbers are '>u2'"),
		("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "its numbers are '<f4'"),
		("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", "its numbers are '|O'"),
		("{'descr': '<u2', 'fortran_order': True, 'shape': (2,), }\n", "Fortran"),
		("{'descr': '<u2', 'fortran_order': False, }\n", "its header is"),
		("{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (2,), }\n", "its header is"),
		("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), 'more': 1}\n", "its header is"),
		("{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2,), }\n", "its header is"),
		("{'descr' '<u2'}\n", "its header is"),
		("{'descr", "its header is"),
		("{", "its header is"),
		("", "its header is"),
		("{}", "its header is"),
		("\u{e4}", "no text"),
	] {
		let found = described(words);
		assert!(found.contains("a.npy") && found.contains(expected), "{words}: {found}");
	}
	for (bytes, expected) in [
		(&b""[..], "it is cut"),
		(b"\x93NUMPY\x01", "it is cut"),
		(b"\x93NUMPY\x01\x00\xff\xff{}", "it is cut"),
		(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "its header has 4294967295 bytes"),
		(b"\x93NUMPY\x04\x00\x00\x00", "version 4.0 is not known"),
		(b"PK\x03\x04 an npz, perhaps", "does not begin as one"),
	] {
		let found = documents("a.npy", bytes, None).unwrap_err();
		assert!(found.contains(expected), "{found}");
	}
	for (bytes, expected) in [
		(llm_c(20_240_520, 1, 3, &tokens), "its header says 3 tokens of 2 bytes behind 1024, and the file has 1028 bytes"),
		(llm_c(20_240_520, 1, u32::MAX, &tokens), "its header says 4294967295 tokens"),
		(llm_c(20_240_520, 2, 2, &tokens), "version 1 is read"),
		(llm_c(20_240_801, 1, 1, &tokens), "version 7 is read"),
		(llm_c(20_240_520, 1, 2, &tokens)[..500].to_vec(), "it is cut"),
		(tokens.clone(), "--raw-tokens"),
	] {
		let found = documents("a.bin", &bytes, None).unwrap_err();
		assert!(found.contains("a.bin") && found.contains(expected), "{found}");
	}
	let found = documents("a.bin", &[1, 2, 3, 4, 5, 6], Some(RawTokens::U32)).unwrap_err();
	assert!(found.contains("6 bytes, which is no whole number of tokens of 4"), "{found}");
}

#[test]
fn a_token_that_the_tokenizer_does_not_have_is_named_with_its_place() {
	let found = documents("a.bin", &u16s(&[1, 2, 50_257, 3]), Some(RawTokens::U16)).unwrap_err();
	assert!(found.contains("a.bin: token 2, at byte 4, is 50257, and the tokenizer has the tokens from 0 to 50256"), "{found}");
	let negative: Vec<u8> = [5i32, -1].iter().flat_map(|token| token.to_le_bytes()).collect();
	let bytes = numpy("<i4", &negative, 2);
	let found = documents("a.npy", &bytes, None).unwrap_err();
	assert!(found.contains(&format!("token 1, at byte {}, is -1,", bytes.len() - 4)), "{found}");
	for token in [i64::MIN, i64::MAX, 1 << 32, 0xd800_0000] {
		let bytes = numpy("<i8", &token.to_le_bytes(), 1);
		let found = documents("a.npy", &bytes, None).unwrap_err();
		assert!(found.contains(&format!("token 0, at byte {}, is {token},", bytes.len() - 8)), "{found}");
	}
	// Behind more than a block.
	let mut tokens = vec![50_256; 40_000];
	tokens[39_999] = 60_000;
	let found = documents("a.bin", &u16s(&tokens), Some(RawTokens::U16)).unwrap_err();
	assert!(found.contains("token 39999, at byte 79998, is 60000"), "{found}");
}

#[test]
fn a_document_longer_than_a_record_is_refused_and_other_files_are_left_out() {
	// 400 bytes are 100 tokens.
	assert_eq!(documents("a.bin", &u16s(&[9; 100]), Some(RawTokens::U16)).unwrap(), [[9; 100]]);
	let found = documents("a.bin", &u16s(&[9; 101]), Some(RawTokens::U16)).unwrap_err();
	assert!(found.contains("before token 100 has more than 100 tokens") && found.contains("--end-token"), "{found}");
	let found = documents("README.md", b"text", Some(RawTokens::U16)).unwrap_err();
	assert!(found.contains("4 bytes of 1 file that is neither .npy nor .bin ("), "{found}");
}

#[test]
fn the_limit_of_the_corpus_cuts_the_last_document() {
	let folder = tempfile::tempdir().unwrap();
	fs::write(folder.path().join("a.bin"), u16s(&[1, 2, 50_256, 3, 4, 5, 50_256, 6])).unwrap();
	let limits = CorpusLimits { total_bytes: 16, ..ALL };
	let corpus = path_corpus(folder.path(), limits).unwrap();
	let raw = Some(RawTokens::U16);
	assert_eq!(read(corpus.with_pretokenized(Pretokenized { raw }, KNOWN)).unwrap(), [vec![1, 2], vec![3, 4]]);
}

/// A dataset's tokens in order.
fn dataset_tokens(folder: &Path) -> Vec<u32> {
	let dataset = crate::dataset::verify(folder, None).unwrap();
	let shape = dataset.manifest.shape;
	let width = dataset.manifest.width();
	(0..shape.shard_count)
		.flat_map(|shard| {
			let bytes = fs::read(crate::dataset::shard_path(folder, shard)).unwrap();
			width.read(&bytes).take(shape.tokens_per_shard as usize).collect::<Vec<_>>()
		})
		.collect()
}

#[test]
fn a_dataset_of_tokens_is_that_of_the_text_that_they_are_of_and_is_made_again_of_its_sources() {
	let folder = tempfile::tempdir().unwrap();
	let at = |name: &str| folder.path().join(name);
	let texts: Vec<String> = (0..200).map(|number| format!("text {number} of \u{e4}{}", "x".repeat(number % 9))).collect();
	fs::create_dir(at("tokens")).unwrap();
	let tokens: Vec<u16> = texts.iter().flat_map(|text| text.bytes().map(u16::from).chain([256])).collect();
	fs::write(at("tokens/a.bin"), llm_c(20_240_520, 1, u32::try_from(tokens.len()).unwrap(), &u16s(&tokens))).unwrap();
	let tokenizer = Tokenizer::bytes();
	let options = BuildOptions { tokens_per_shard: 300, held_out: 1, ..BuildOptions::default() };
	let limits = CorpusLimits { total_bytes: u64::MAX, ..CorpusLimits::default() };
	let corpus = paths_corpus(&[at("tokens")], limits, None).unwrap().with_pretokenized(Pretokenized::default(), tokenizer.tokens());
	let built = build(&corpus, &tokenizer, &options, &at("ds")).unwrap();
	assert_eq!(built.dataset.manifest.bytes, texts.iter().map(|text| text.len() as u64).sum::<u64>());
	assert_eq!(built.found.lines(), [format!("1 file of tokens: 200 documents, {} tokens", tokens.len() - 200)]);
	verify(&at("ds"), &at("tokens"), &options).unwrap();
	// The order is another one, of other hashes; the documents are the same.
	let documents = |folder: &Path| -> Vec<Vec<u32>> {
		let mut documents: Vec<_> = dataset_tokens(folder).split(|token| *token == 256).map(<[u32]>::to_vec).collect();
		documents.pop();
		documents
	};
	let mut found: Vec<Vec<u32>> = documents(&at("ds"));
	found.sort();
	let expected: Vec<Vec<u32>> = texts.iter().map(|text| text.bytes().map(u32::from).collect()).collect();
	assert!(found.len() > 180 && found.iter().all(|document| expected.contains(document)), "{}", found.len());
	// In a mixture, each source has its share.
	let sources: Vec<(u64, Vec<PathBuf>)> = vec![(1, vec![at("tokens/a.bin")]), (1, vec![at("b.npy")])];
	let others: Vec<u16> = (0..100).flat_map(|number| [number, 65, 66, 256]).collect();
	fs::write(at("b.npy"), numpy("<u2", &u16s(&others), others.len())).unwrap();
	let corpus = mixed_corpus(&sources, limits, None).unwrap().with_pretokenized(Pretokenized::default(), tokenizer.tokens());
	let options = BuildOptions { tokens_per_shard: 100, ..options };
	let mixed = rebuild(&corpus, &tokenizer, &options, &at("ds")).unwrap().mixture;
	assert_eq!((mixed[1].documents, mixed[1].tokens, mixed[1].left), (100, 400, 0));
	assert!(mixed[0].tokens.abs_diff(400) < 30, "{mixed:?}");
}
