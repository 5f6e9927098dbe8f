use super::*;
use crate::{
	build::{build, rebuild, Built},
	corpus::{mixed_corpus, paths_corpus},
	dataset::{shard_path, TOKENIZER_FILE},
	filter::Filter,
	manifest::MANIFEST_FILE,
	tokenizer::train,
};

fn options() -> BuildOptions {
	BuildOptions { tokens_per_shard: 2_000, held_out: 1, ..BuildOptions::default() }
}

/// A folder `text` of files, beside which a dataset may be.
struct Place(tempfile::TempDir);

impl Place {
	fn new() -> Self {
		let place = Self(tempfile::tempdir().unwrap());
		for name in ["a.txt", "b/c.txt", "b/d.jsonl"] {
			let line = |number: u32| match name.ends_with("jsonl") {
				true => format!("{{\"body\": \"<|endoftext|>{number} of {name}\"}}\n"),
				false => format!("line {number} of {name}\n"),
			};
			place.write(name, &(0..300).map(line).collect::<String>());
		}
		place
	}

	fn at(&self, name: &str) -> PathBuf {
		self.0.path().join(name)
	}

	fn text(&self) -> PathBuf {
		self.at("text")
	}

	fn write(&self, name: &str, text: &str) {
		let path = self.text().join(name);
		fs::create_dir_all(path.parent().unwrap()).unwrap();
		fs::write(path, text).unwrap();
	}

	fn build(&self, paths: &[&str]) -> Built {
		let paths: Vec<PathBuf> = paths.iter().map(|name| self.at(name)).collect();
		let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 100, ..CorpusLimits::default() };
		let corpus = paths_corpus(&paths, limits, Some(&self.at("ds"))).unwrap().with_column("body");
		rebuild(&corpus, &Tokenizer::bytes(), &options(), &self.at("ds")).unwrap()
	}

	fn verify(&self) -> Result<(), DataError> {
		verify(&self.at("ds"), &self.text(), &BuildOptions { memory_bytes: 5_000, threads: 3, ..BuildOptions::default() })
	}

	fn differences(&self) -> String {
		match self.verify() {
			Err(DataError::OtherSources { differences, .. }) => differences,
			other => panic!("{other:?}"),
		}
	}
}

#[test]
fn a_dataset_is_made_again_of_its_sources_with_less_memory_and_nothing_is_left_beside_it() {
	let place = Place::new();
	let built = place.build(&["text"]);
	let sources = Sources::read(&place.at("ds"), &built.dataset.manifest).unwrap();
	let names: Vec<&str> = sources.files.iter().map(|file| file.name.as_str()).collect();
	assert_eq!(names, ["a.txt", "b/c.txt", "b/d.jsonl"]);
	assert_eq!(sources.recipe.corpus, [Part { weight: None, paths: vec![".".into()] }]);
	let first = &sources.files[0];
	let text = fs::read(place.text().join("a.txt")).unwrap();
	assert_eq!((first.bytes, &first.sha256), (text.len() as u64, &sha256(&text)));
	place.verify().unwrap();
	assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 2);
	// Somewhere else, and without the shards.
	fs::rename(place.text(), place.at("moved")).unwrap();
	fs::remove_file(shard_path(&place.at("ds"), 0)).unwrap();
	verify(&place.at("ds"), &place.at("moved"), &BuildOptions::default()).unwrap();
}

#[test]
fn of_several_paths_the_order_counts_and_others_beside_them_do_not() {
	let place = Place::new();
	place.build(&["text/b/d.jsonl", "text/a.txt"]);
	place.write("other.txt", "not named\n");
	place.write("b/e.txt", "not named either\n");
	place.verify().unwrap();
}

#[test]
fn a_mixture_has_the_shares_of_its_weights_whatever_the_memory_and_is_made_again() {
	let place = Place::new();
	let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 100, ..CorpusLimits::default() };
	let sources = [(3, place.text().join("b/*.txt")), (1, place.text().join("a.txt"))];
	let sources: Vec<_> = sources.iter().map(|(weight, path)| (*weight, vec![path.clone()])).collect();
	let corpus = mixed_corpus(&sources, limits, Some(&place.at("ds"))).unwrap();
	let [first, second] = [(1 << 30, 1), (1 << 10, 3)].map(|(memory_bytes, threads)| {
		let options = BuildOptions { tokens_per_shard: 500, memory_bytes, threads, ..options() };
		rebuild(&corpus, &Tokenizer::bytes(), &options, &place.at("ds")).unwrap()
	});
	assert_eq!(first.dataset.manifest, second.dataset.manifest);
	assert_eq!(first.mixture, second.mixture);
	let [c, a] = first.mixture[..] else { panic!("{:?}", first.mixture) };
	assert!(c.left == 0 && a.left > 0 && a.tokens.abs_diff(c.tokens / 3) <= 101, "{c:?} {a:?}");
	assert_eq!(first.dataset.manifest.bytes, c.bytes + a.bytes);
	place.verify().unwrap();
	let listed = Sources::read(&place.at("ds"), &first.dataset.manifest).unwrap();
	let part = |weight, path: &str| Part { weight: Some(weight), paths: vec![path.into()] };
	assert_eq!(listed.recipe.corpus, [part(3, "b/c.txt"), part(1, "a.txt")]);
	place.write("b/f.txt", "beside\n");
	place.verify().unwrap();
	// A text of both is of the first one.
	fs::copy(place.text().join("a.txt"), place.text().join("b/c.txt")).unwrap();
	let error = build(&corpus, &Tokenizer::bytes(), &options(), &place.at("none")).unwrap_err().to_string();
	assert!(error.contains("source 2 of the mixture has no document"), "{error}");
}

/// A text of sentences, which has but a few words with others in common.
fn sentences(number: usize) -> String {
	let word = |line: usize, place: usize| {
		let hash = crate::blake2_256(format!("{number} {line} {place}").as_bytes());
		hash.0.iter().take(7).map(|byte| char::from(b'a' + byte % 26)).collect::<String>()
	};
	let line = |line: usize| format!("the {} of that.", (0..9).map(|place| word(line, place)).collect::<Vec<_>>().join(" "));
	(0..12).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn texts_that_filters_leave_out_are_counted_by_reason_and_left_out_again() {
	let place = Place::new();
	let record = |text: &str| serde_json::json!({ "body": text }).to_string() + "\n";
	let texts: String = (0..40)
		.map(|number| record(&sentences(number)))
		.chain([record("too short"), record(&"same line again and again.\n".repeat(40))])
		.collect();
	place.write("b/d.jsonl", &texts);
	let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 300, ..CorpusLimits::default() };
	fs::remove_file(place.text().join("b/c.txt")).unwrap();
	let corpus = paths_corpus(&[place.text().join("b")], limits, None).unwrap().with_column("body");
	let filters = vec![Filter::GopherRepetition, Filter::GopherQuality];
	let built = [(1 << 30, 1), (1 << 10, 3)].map(|(memory_bytes, threads)| {
		let options = BuildOptions { filters: filters.clone(), memory_bytes, threads, ..options() };
		rebuild(&corpus, &Tokenizer::bytes(), &options, &place.at("ds")).unwrap()
	});
	assert_eq!(built[0].dataset.manifest, built[1].dataset.manifest);
	assert_eq!(built[0].found, built[1].found);
	let expected = [
		"9 bytes of 1 text that a filter leaves out as gopher-repetition says, top_2_gram, (d.jsonl)",
		"1080 bytes of 1 text that a filter leaves out as gopher-repetition says, dup_line_frac, (d.jsonl)",
	];
	let mut lines = built[0].found.left_out.lines();
	lines.sort_by_key(|line| line.len());
	assert_eq!(lines, expected);
	// Of the rest, all is there: split as it is without filters.
	assert_eq!(built[0].dataset.manifest.bytes, (0..40).map(|number| sentences(number).len() as u64).sum::<u64>());
	verify(&place.at("ds"), &place.text().join("b"), &options()).unwrap();
	let error = rebuild(&corpus, &Tokenizer::bytes(), &BuildOptions { filters, ..options() }, &place.at("ds"));
	assert_eq!(error.unwrap().dataset.manifest, built[0].dataset.manifest);
}

#[test]
fn filters_that_leave_out_nothing_change_nothing() {
	let place = Place::new();
	(0..40).for_each(|number| place.write(&format!("c/{number}.txt"), &sentences(number)));
	let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 100, ..CorpusLimits::default() };
	let corpus = paths_corpus(&[place.text().join("c")], limits, None).unwrap();
	let roots = [(vec![], false), (vec![Filter::GopherQuality], true)].map(|(filters, near_duplicates)| {
		let options = BuildOptions { filters, near_duplicates, ..options() };
		let built = rebuild(&corpus, &Tokenizer::bytes(), &options, &place.at("ds")).unwrap();
		assert_eq!(built.found.left_out.lines(), [""; 0]);
		built.dataset.manifest.root
	});
	assert_eq!(roots[0], roots[1]);
}

#[test]
fn of_near_duplicates_the_same_one_stays_in_any_order_and_whatever_the_memory() {
	let place = Place::new();
	let texts: Vec<String> = (0..40).map(sentences).collect();
	let near: Vec<String> = texts.iter().map(|text| text.replacen("the ", "THE: ", 3).replacen("of that", "of it", 1)).collect();
	let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 300, ..CorpusLimits::default() };
	let written = |texts: &[&Vec<String>], memory_bytes, threads| {
		let lines: String = texts.iter().copied().flatten().map(|text| serde_json::json!({ "body": text }).to_string() + "\n").collect();
		place.write("b/d.jsonl", &lines);
		let corpus = paths_corpus(&[place.text().join("b/d.jsonl")], limits, None).unwrap().with_column("body");
		let options = BuildOptions { near_duplicates: true, memory_bytes, threads, ..options() };
		let built = rebuild(&corpus, &Tokenizer::bytes(), &options, &place.at("ds")).unwrap();
		verify(&place.at("ds"), &place.text().join("b"), &BuildOptions::default()).unwrap();
		(built.dataset.manifest.root, built.dataset.manifest.bytes, built.found.left_out.lines().len())
	};
	let first = written(&[&texts, &near, &texts], 1 << 30, 1);
	assert_eq!(first, written(&[&near, &texts, &near], 1 << 10, 3));
	let lowest =
		|pair: (&String, &String)| [pair.0, pair.1].into_iter().min_by_key(|text| crate::blake2_256(text.as_bytes())).unwrap().len() as u64;
	assert_eq!(first.1, texts.iter().zip(&near).map(lowest).sum::<u64>());
	assert_eq!(first.2, 2, "near and equal ones are told apart");
}

#[test]
fn texts_that_cannot_be_looked_at_as_a_whole_are_refused() {
	let place = Place::new();
	let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 100, record_bytes: 1_000 };
	for (name, column) in [("a.txt", "text"), ("b/d.jsonl", "body")] {
		place.write("b/d.jsonl", &serde_json::json!({ "body": "\u{e4}".repeat(600) }).to_string());
		let corpus = paths_corpus(&[place.text().join(name)], limits, None).unwrap().with_column(column);
		let options = BuildOptions { near_duplicates: true, ..options() };
		let error = build(&corpus, &Tokenizer::bytes(), &options, &place.at("none")).unwrap_err().to_string();
		assert!(error.contains("more than 1000 bytes"), "{error}");
	}
}

#[test]
fn a_limit_of_the_corpus_cuts_the_last_text_where_texts_are_looked_at_as_a_whole() {
	let place = Place::new();
	// Lines have 17 bytes from the 100th on.
	let limits = CorpusLimits { total_bytes: 4_509, document_bytes: 100, ..CorpusLimits::default() };
	let corpus = paths_corpus(&[place.text()], limits, Some(&place.at("ds"))).unwrap();
	let built = rebuild(&corpus, &Tokenizer::bytes(), &BuildOptions { near_duplicates: true, ..options() }, &place.at("ds")).unwrap();
	let text = fs::read_to_string(place.text().join("a.txt")).unwrap();
	let expected = text[..4_509].rfind('\n').unwrap() + 1;
	assert!(expected < 4_509);
	assert_eq!(built.dataset.manifest.bytes, expected as u64);
	place.verify().unwrap();
}

#[test]
fn mixtures_out_of_bounds_are_refused() {
	let place = Place::new();
	let refused = |sources: &[(u64, PathBuf)]| {
		let sources: Vec<_> = sources.iter().map(|(weight, path)| (*weight, vec![path.clone()])).collect();
		mixed_corpus(&sources, CorpusLimits::default(), None).unwrap_err().to_string()
	};
	assert!(refused(&[(0, place.text())]).contains("a weight from 1 to 1000000, not 0"));
	assert!(refused(&[]).contains("1 to 64 sources"));
	assert!(refused(&vec![(1, place.text()); 65]).contains("not 65"));
	assert!(refused(&[(1, "-".into())]).contains("standard input is no source"));
}

#[test]
fn a_missing_a_changed_and_an_extra_file_are_named() {
	let place = Place::new();
	place.build(&["text"]);
	place.write("b/new.txt", "more\n");
	assert_eq!(place.differences(), "b/new.txt is not in the list");
	fs::remove_file(place.text().join("b/new.txt")).unwrap();
	let text = fs::read_to_string(place.text().join("a.txt")).unwrap();
	place.write("a.txt", &text.replacen("line 7", "line 8", 1));
	fs::remove_file(place.text().join("b/c.txt")).unwrap();
	assert_eq!(place.differences(), "a.txt is another file, b/c.txt is missing");
}

#[test]
fn a_manifest_that_is_not_of_its_sources_is_found_out() {
	let place = Place::new();
	let built = place.build(&["text"]);
	let stated = |edit: &dyn Fn(&mut Sources, &mut DatasetManifest)| {
		let mut manifest = built.dataset.manifest.clone();
		let mut sources: Sources = serde_json::from_slice(&fs::read(place.at("ds").join(SOURCES_FILE)).unwrap()).unwrap();
		edit(&mut sources, &mut manifest);
		let text = sources.text().unwrap();
		manifest.source = bound("edited", &sha256(text.as_bytes()));
		let edited = place.at("edited");
		fs::create_dir_all(&edited).unwrap();
		fs::copy(place.at("ds").join(TOKENIZER_FILE), edited.join(TOKENIZER_FILE)).unwrap();
		fs::write(edited.join(SOURCES_FILE), text).unwrap();
		fs::write(edited.join(MANIFEST_FILE), serde_json::to_string(&manifest).unwrap()).unwrap();
		verify(&edited, &place.text(), &BuildOptions::default())
	};
	stated(&|_, _| ()).unwrap();
	let error = stated(&|sources, _| sources.recipe.document_bytes = 90).unwrap_err();
	assert!(matches!(&error, DataError::Differs { field: "root", .. }), "{error}");
	// What gives the same dataset by another recipe, or under another licence.
	for edit in [|sources: &mut Sources| sources.recipe.tokenizer = H256::zero(), |sources: &mut Sources| sources.licence = "MIT".into()] {
		let error = stated(&|sources, _| edit(sources)).unwrap_err();
		assert!(matches!(&error, DataError::Differs { field: "recipe or licence", .. }), "{error}");
	}
	let error = stated(&|_, manifest| manifest.bytes += 1).unwrap_err();
	assert!(matches!(&error, DataError::Differs { field: "bytes", .. }), "{error}");
	for name in ["../text/a.txt", "/etc/hostname"] {
		let error = stated(&|sources, _| sources.files[0].name = name.into()).unwrap_err().to_string();
		assert!(error.contains("no place in a folder"), "{error}");
		let error = stated(&|sources, _| sources.recipe.corpus[0].paths = vec![name.into()]).unwrap_err().to_string();
		assert!(error.contains("no place in a folder"), "{error}");
	}
	let error = stated(&|sources, _| sources.recipe.version = 99).unwrap_err().to_string();
	assert!(error.contains("recipe has version 99"), "{error}");
	let error = stated(&|sources, _| sources.recipe.record_bytes = u64::MAX).unwrap_err().to_string();
	assert!(error.contains("raise --memory"), "{error}");
}

#[test]
fn a_list_that_the_manifest_does_not_name_counts_for_nothing() {
	let place = Place::new();
	let built = place.build(&["text"]);
	let list = place.at("ds").join(SOURCES_FILE);
	let text = fs::read_to_string(&list).unwrap();
	fs::write(&list, text.replacen("a.txt", "z.txt", 1)).unwrap();
	assert!(place.verify().unwrap_err().to_string().contains("get the list again"));
	let given = Corpus::given("lines", (0..900).map(|number| format!("line {number}\n")).collect());
	let built = build(&given, &Tokenizer::bytes(), &options(), &place.at("given")).map(|given| (given, built)).unwrap();
	assert!(!place.at("given").join(SOURCES_FILE).exists());
	assert_eq!(built.0.dataset.manifest.source, "lines");
	let error = verify(&place.at("given"), &place.text(), &options()).unwrap_err();
	assert!(error.to_string().contains("names no list of sources"), "{error}");
	let hash = sha256(text.as_bytes());
	assert_eq!(built.1.dataset.manifest.source, format!("text files of text; sources.json SHA-256 {hash}"));
}

#[test]
fn a_tokenizer_that_takes_special_tokens_does_so_again() {
	let place = Place::new();
	let path = place.at("tokenizer.json");
	fs::write(&path, train::train(["one text", "another text"].into_iter(), 300).unwrap()).unwrap();
	let limits = CorpusLimits { total_bytes: u64::MAX, ..CorpusLimits::default() };
	let corpus = paths_corpus(&[place.text()], limits, None).unwrap().with_column("body");
	let roots = [true, false].map(|special| {
		let tokenizer = Tokenizer::open(&path, None, special).unwrap();
		let built = rebuild(&corpus, &tokenizer, &options(), &place.at("ds")).unwrap();
		place.verify().unwrap();
		built.dataset.manifest.root
	});
	assert_ne!(roots[0], roots[1]);
}

#[test]
fn sha256_of_a_file_and_of_bytes_are_the_known_ones() {
	// FIPS 180-2, appendix B.
	let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	let folder = tempfile::tempdir().unwrap();
	fs::write(folder.path().join("a"), "abc").unwrap();
	assert_eq!(hash(&folder.path().join("a")).unwrap(), (3, known.into()));
	assert_eq!(sha256(b"abc"), known);
}

#[test]
fn files_that_differ_are_named_with_how() {
	let file = |name: &str, bytes| SourceFile { name: name.into(), bytes, sha256: String::new() };
	let listed = [file("a", 1), file("b", 2), file("c", 3)];
	assert_eq!(differences(&listed, &[file("b", 9), file("c", 3), file("d", 4)]), "a is missing, b is another file, d is not in the list");
	let many: Vec<SourceFile> = (0..30).map(|number| file(&format!("{number:02}"), 1)).collect();
	assert!(differences(&[], &many).ends_with("19 is not in the list, 10 more differ"));
	assert_eq!(differences(&listed, &[file("b", 2), file("a", 1), file("c", 3)]), "they are read in another order");
}

#[test]
fn the_longest_origin_and_a_hash_fit_into_a_manifest() {
	let words = bound(&"n".repeat(169), "");
	assert_eq!(words.len(), 256);
	assert!(words.ends_with(&format!("; sources.json SHA-256 {}", "0".repeat(64))));
}
