use super::*;
use std::io::Write;

fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
	let root = tempfile::tempdir().unwrap();
	for (path, text) in files {
		let path = root.path().join(path);
		fs::create_dir_all(path.parent().unwrap()).unwrap();
		fs::write(path, text).unwrap();
	}
	root
}

fn read(corpus: &Corpus) -> Result<(Vec<String>, Found), DataError> {
	let mut texts = Vec::new();
	let found = corpus.read(&Meter::default(), &mut |document| {
		texts.push(document.text.to_owned());
		Ok(())
	})?;
	assert_eq!(found.documents(), texts.len() as u64);
	assert_eq!(found.bytes(), texts.iter().map(|text| text.len() as u64).sum::<u64>());
	Ok((texts, found))
}

fn texts(path: &Path, limits: CorpusLimits) -> Vec<String> {
	read(&path_corpus(path, limits).unwrap()).unwrap().0
}

fn found(path: &Path, limits: CorpusLimits) -> Found {
	read(&path_corpus(path, limits).unwrap()).unwrap().1
}

/// The words that one file is refused or left out with.
fn refused(name: &str, bytes: &[u8]) -> String {
	let root = tree(&[(name, bytes)]);
	read(&path_corpus(&root.path().join(name), ALL).unwrap()).unwrap_err().to_string()
}

const LIMITS: CorpusLimits = CorpusLimits { total_bytes: 1000, document_bytes: 20, record_bytes: 1000 };
const ALL: CorpusLimits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 1 << 20, record_bytes: 1 << 20 };

mod formats;
mod hostile;

#[test]
fn a_folder_is_read_in_path_order_without_binaries() {
	let root = tree(&[("b.txt", b"bee\n"), ("a/z.txt", b"zed\n"), ("c.bin", b"\xff\xfe\x00")]);
	assert_eq!(texts(root.path(), LIMITS), ["zed\n", "bee\n"]);
	assert_eq!(
		found(root.path(), LIMITS).left_out.lines(),
		["3 bytes of 1 file in UTF-16 or UTF-32 (c.bin): convert them to UTF-8, as with `iconv -f UTF-16 -t UTF-8`"]
	);
}

#[test]
fn a_long_file_becomes_documents_that_end_with_a_line_and_nothing_of_it_is_lost() {
	let text = "0123456789\n012345678901234567890\nthe end\n";
	let root = tree(&[("a.txt", text.as_bytes()), ("b.txt", b"b2345\nb8901\n")]);
	let read = texts(root.path(), LIMITS);
	assert_eq!(read, ["0123456789\n", "01234567890123456789", "0\nthe end\n", "b2345\nb8901\n"]);
	assert_eq!(read[..3].concat(), text);
	assert_eq!(found(root.path(), LIMITS).left_out, LeftOut::default());
}

#[test]
fn what_the_limit_of_the_corpus_leaves_out_is_counted_in_bytes_and_files() {
	let root = tree(&[("a.txt", b"0123456789\n012345678901234567890\n"), ("b.txt", b"b2345\nb8901\n"), ("c.txt", b"")]);
	let limits = CorpusLimits { total_bytes: 18, ..LIMITS };
	assert_eq!(texts(root.path(), limits), ["0123456789\n", "0123456"]);
	// 33 bytes less 18 of the first file, all 12 of the second.
	let left_out = found(root.path(), limits).left_out;
	assert_eq!((left_out.amount(Reason::Beyond), left_out.lines().len()), (Amount { count: 2, bytes: 27 }, 1));
	let found = found(&root.path().join("a.txt"), limits);
	assert_eq!((found.bytes(), found.left_out.amount(Reason::Beyond)), (18, Amount { count: 1, bytes: 15 }));
}

#[test]
fn whole_texts_end_with_the_one_that_the_limit_of_the_corpus_cuts() {
	let text = b"one\ntwo two\nthree\n";
	let line = serde_json::json!({ "text": "one\ntwo two\nthree\n" }).to_string() + "\n";
	for (name, bytes) in [("a.txt", &text[..]), ("a.jsonl", line.as_bytes())] {
		let root = tree(&[(name, bytes), ("b.txt", b"z\n")]);
		for (total_bytes, expected) in [(6, "one\n"), (12, "one\ntwo two\n"), (17, "one\ntwo two\n"), (2, "on")] {
			let corpus = path_corpus(root.path(), CorpusLimits { total_bytes, ..LIMITS }).unwrap();
			let mut texts = Vec::new();
			let taken = corpus.read_whole(&Meter::default(), &mut |document| {
				texts.push(document.text.to_owned());
				Ok(())
			});
			assert_eq!(texts, [expected], "{name} {total_bytes}");
			assert_eq!(taken.unwrap().left_out.amount(Reason::Beyond).count, 2, "{name} {total_bytes}");
		}
	}
}

#[test]
fn documents_never_split_a_character() {
	let root = tree(&[("a.txt", "äöüßäöüéäöüñ".as_bytes())]);
	let limits = CorpusLimits { document_bytes: 5, ..LIMITS };
	assert_eq!(texts(root.path(), limits), ["äö", "üß", "äö", "üé", "äö", "üñ"]);
	let none = CorpusLimits { document_bytes: 0, total_bytes: 5, ..LIMITS };
	let left_out = found(root.path(), none).left_out;
	assert_eq!((texts(root.path(), none), left_out.amount(Reason::Beyond)), (vec!["äö".into()], Amount { count: 1, bytes: 20 }));
}

#[test]
fn a_binary_file_that_begins_like_text_is_no_text() {
	let root = tree(&[("a.bin", b"ELF\x02\xff\xfe and more that is not text")]);
	for path in [root.path().join("a.bin"), root.path().to_path_buf()] {
		let error = read(&path_corpus(&path, LIMITS).unwrap()).unwrap_err().to_string();
		assert!(error.contains("1 file or document that is not UTF-8 text") && error.contains("a.bin at byte 4"), "{error}");
	}
}

#[test]
fn what_is_not_utf8_is_left_out_refused_or_replaced_and_its_place_is_told() {
	let mut long = "line of text\n".repeat(10_000).into_bytes();
	long[100_005] = 0xff;
	let root = tree(&[("a.txt", b"text\n"), ("b.bin", b"\xff\xff\x01"), ("c.bin", b"cut \xe2\x82"), ("d.txt", &long)]);
	let limits = CorpusLimits { document_bytes: 1300, ..ALL };
	let corpus = path_corpus(root.path(), limits).unwrap();
	let (texts, found) = read(&corpus).unwrap();
	// Of the long file, the first 64 KiB are text, so that one of its hundred documents alone is left out.
	assert_eq!(texts.len(), 1 + 99);
	assert_eq!(found.left_out.amount(Reason::NotUtf8), Amount { count: 3, bytes: 3 + 6 + 1300 });
	assert!(found.left_out.to_string().contains("(b.bin at byte 0, c.bin at byte 4, d.txt at byte 100005)"), "{}", found.left_out);
	let refusing = corpus.clone().with_invalid_utf8(InvalidUtf8::Refuse);
	assert!(matches!(read(&refusing), Err(DataError::NotUtf8 { place, part }) if place == "b.bin" && part == "byte 0"));
	let (texts, found) = read(&corpus.with_invalid_utf8(InvalidUtf8::Replace)).unwrap();
	assert_eq!((texts.len(), found.left_out), (103, LeftOut::default()));
	assert_eq!(&texts[1..3], ["\u{fffd}\u{fffd}\u{1}", "cut \u{fffd}"]);
	assert_eq!(texts.iter().filter(|text| text.contains("of\u{fffd}text") || text.contains('\u{fffd}')).count(), 3);
}

#[test]
fn the_registry_is_read_round_robin_over_crates_without_repeats() {
	let root = tree(&[
		("registry/src/x/aa-1.0/CHANGELOG.md", b"aa changes\n"),
		("registry/src/x/aa-1.0/README.md", b"aa readme\n"),
		("registry/src/x/aa-1.0/src/lib.rs", b"aa lib\n"),
		("registry/src/x/aa-1.0/image.svg", b"<svg/>"),
		("registry/src/x/bb-1.0/src/lib.rs", b"bb lib\n"),
		("registry/src/x/bb-1.0/src/other.rs", b"aa lib"),
	]);
	let registry = |limits| read(&registry_corpus(root.path(), limits)).unwrap();
	let (texts, found) = registry(LIMITS);
	assert_eq!(texts, ["aa readme\n", "bb lib\n", "aa lib\n", "aa changes\n"]);
	assert_eq!(found.left_out.amount(Reason::Repeated), Amount { count: 1, bytes: 6 });
	// Of each the first document only: 4 bytes of 10, 4 of 7, 4 of 7; then there is no room.
	let (texts, found) = registry(CorpusLimits { total_bytes: 12, document_bytes: 4, ..LIMITS });
	assert_eq!(
		(texts, found.left_out.amount(Reason::Beyond)),
		(vec!["aa r".into(), "bb l".into(), "aa l".into()], Amount { count: 5, bytes: 6 + 3 + 3 + 6 + 11 })
	);
}

#[test]
fn nothing_to_read_is_said_in_words() {
	let root = tree(&[("c.bin", b"\xff\xfe\x00")]);
	let error = read(&path_corpus(root.path(), LIMITS).unwrap()).unwrap_err();
	assert!(error.to_string().starts_with("no text was found in "), "{error}");
	assert!(error.to_string().contains("1 file in UTF-16 or UTF-32 (c.bin)"), "{error}");
	let registry = read(&registry_corpus(root.path(), LIMITS));
	assert!(matches!(registry, Err(DataError::NoText { left_out, .. }) if left_out == LeftOut::default()));
	assert!(matches!(path_corpus(&root.path().join("gone"), LIMITS), Err(DataError::Io { .. })));
	let pattern = [root.path().join("*.gone")];
	assert!(matches!(paths_corpus(&pattern, LIMITS, None), Err(DataError::Invalid(words)) if words.contains("no file matches")));
}

/// Texts, in the encodings that editors write them in.
fn encoded(count: usize) -> Vec<(String, Vec<u8>)> {
	let text = |index: usize| format!("text {index} of many\nwith two lines, \u{e4}{index}\n");
	let utf16 = |text: String| [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
	let each = |index| {
		let text = text(index);
		[
			(format!("plain/{index}"), text.clone().into_bytes()),
			(format!("mark/{index}"), format!("\u{feff}{text}").into_bytes()),
			(format!("windows/{index}"), text.replace('\n', "\r\n").into_bytes()),
			(format!("both/{index}"), format!("\u{feff}{}", text.replace('\n', "\r\n")).into_bytes()),
			(format!("mac/{index}"), text.replace('\n', "\r").into_bytes()),
			(format!("open/{index}"), text.trim_end().as_bytes().to_vec()),
			(format!("wide/{index}"), utf16(text)),
		]
	};
	(0..count).flat_map(each).collect()
}

#[test]
fn a_text_is_the_same_however_its_file_is_encoded() {
	let files = encoded(20);
	let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
	let root = tree(&files);
	// Of two or of one document each.
	for document_bytes in [25, 8 << 10] {
		let limits = CorpusLimits { document_bytes, ..CorpusLimits::default() };
		let sorted =
			|texts: Vec<String>| texts.iter().map(|text| text.trim_end().to_owned()).collect::<std::collections::BTreeSet<String>>();
		let read = |path: &Path, ends| read(&path_corpus(path, limits).unwrap().with_line_ends(ends)).unwrap().0;
		let plain = read(&root.path().join("plain"), LineEnds::Keep);
		let all = read(root.path(), LineEnds::Lf);
		assert_eq!((all.len(), sorted(all.clone())), (6 * plain.len(), sorted(plain)));
		assert!(all.iter().all(|text| !text.contains(['\r', '\u{feff}', '\0'])));
		let left_out = found(root.path(), limits).left_out;
		assert_eq!((left_out.amount(Reason::Wide).count, left_out.lines().len()), (20, 1));
	}
}

#[test]
fn line_ends_stay_as_they_are_unless_they_are_to_be_line_feeds() {
	let text = "one\r\ntwo\rthree\n\r\nfour\r\n";
	let root = tree(&[("a.txt", text.as_bytes()), ("b.jsonl", b"{\"text\": \"five\\r\\nsix\"}\r\n")]);
	let limits = CorpusLimits { document_bytes: 10, ..LIMITS };
	let corpus = |ends| path_corpus(root.path(), limits).unwrap().with_line_ends(ends);
	let read_by = |ends| read(&corpus(ends)).unwrap().0;
	assert_eq!(read_by(LineEnds::Keep), ["one\r\ntwo\r", "three\n\r\n", "four\r\n", "five\r\nsix"]);
	assert_eq!(read_by(LineEnds::Lf), ["one\ntwo\n", "three\n\n", "four\n", "five\nsix"]);
	assert_eq!(read_by(LineEnds::Keep)[..3].concat(), text);
	// Texts that are looked at as a whole are split as others.
	for ends in [LineEnds::Keep, LineEnds::Lf] {
		let mut split = Vec::new();
		corpus(ends)
			.read_whole(&Meter::default(), &mut |document| {
				split.extend(pieces(document.text, 10, ends).map(str::to_owned));
				Ok(())
			})
			.unwrap();
		assert_eq!(split, read_by(ends));
	}
}

#[test]
fn what_is_no_text_is_known_by_its_beginning_and_not_read_to_its_end() {
	let root = tree(&[("a.txt", b"text\n"), ("disk.img", b"")]);
	// Nobody has memory for all of it, and none of it takes room on the disk.
	fs::File::options().write(true).open(root.path().join("disk.img")).unwrap().set_len(1 << 36).unwrap();
	assert_eq!(texts(root.path(), ALL), ["text\n"]);
	assert_eq!(found(root.path(), ALL).left_out.amount(Reason::Null), Amount { count: 1, bytes: 1 << 36 });
	// A character that the first look breaks off is none that is missing.
	let long = "\u{e4}".repeat(100_000);
	for text in [long.clone(), format!("x{long}")] {
		let root = tree(&[("a.txt", text.as_bytes())]);
		assert_eq!(texts(root.path(), ALL), [text.as_str()]);
	}
}

#[test]
fn the_place_of_the_dataset_is_not_in_it() {
	let root = tree(&[("proj/a.txt", b"text\n"), ("proj/ds/notes.txt", b"other\n"), ("proj/.git/config", b"token = secret\n")]);
	let at = |name: &str| root.path().join(name);
	let corpus = paths_corpus(&[at("proj")], LIMITS, Some(&at("proj/ds"))).unwrap();
	let (texts, found) = read(&corpus).unwrap();
	assert_eq!(texts, ["text\n"]);
	assert_eq!(found.left_out.lines(), ["1 hidden file or folder (.git)", "1 folder of a dataset (ds)"]);
	for out in ["proj", "proj/ds/..", ""] {
		let error = paths_corpus(&[at("proj")], LIMITS, Some(&at(out))).unwrap_err();
		assert!(matches!(error, DataError::Invalid(_)), "{error}");
	}
	let corpus = paths_corpus(&[at("proj")], LIMITS, Some(&at("new"))).unwrap();
	assert_eq!(read(&corpus).unwrap().0.len(), 2);
}

#[test]
fn several_paths_and_patterns_are_one_corpus() {
	let root = tree(&[("a/one.txt", b"one"), ("a/two.txt", b"two"), ("b/three.md", b"three"), ("b/.four.txt", b"four")]);
	let at = |name: &str| root.path().join(name);
	let corpus = paths_corpus(&[at("b/*"), at("a/two.txt"), at("a")], LIMITS, None).unwrap();
	assert_eq!(read(&corpus).unwrap().0, ["three", "two", "one", "two"]);
	assert_eq!(corpus.source(), "text of *, two.txt, a");
	assert_eq!(path_corpus(&at("a"), LIMITS).unwrap().source(), "text files of a");
	let many: Vec<PathBuf> = (0..100).map(|_| at("a/one.txt")).collect();
	assert_eq!(paths_corpus(&many, LIMITS, None).unwrap().source(), "text of 100 files and folders");
}

#[test]
fn whoever_watches_sees_all_bytes_of_the_files() {
	let root = tree(&[("a.txt", &[b'a'; 5000]), ("b.zip", &[b'b'; 700]), ("c.txt", &[b'c'; 300])]);
	let meter = Meter::default();
	let limits = CorpusLimits { total_bytes: 1000, ..ALL };
	path_corpus(root.path(), limits).unwrap().read(&meter, &mut |_| Ok(())).unwrap();
	let now = meter.now();
	assert_eq!((now.done, now.total), (5000, Some(5300)));
}
