//! What is read of each format, whatever it is packed in.

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
	let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
	encoder.write_all(bytes).unwrap();
	encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
	::zstd::stream::encode_all(bytes, 3).unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
	let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(6)).unwrap();
	encoder.write_all(bytes).unwrap();
	encoder.finish().unwrap()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
	let mut builder = ::tar::Builder::new(Vec::new());
	for (name, bytes) in files {
		let mut header = ::tar::Header::new_gnu();
		header.set_size(bytes.len() as u64);
		builder.append_data(&mut header, name, *bytes).unwrap();
	}
	builder.into_inner().unwrap()
}

/// Texts of a file with these bytes, and how many files there were of each format.
fn of(name: &str, bytes: &[u8], column: &str) -> (Vec<String>, Vec<(Format, u64)>) {
	let root = tree(&[(name, bytes)]);
	let corpus = path_corpus(&root.path().join(name), ALL).unwrap().with_column(column);
	let (texts, found) = read(&corpus).unwrap();
	let files = found.taken.iter().map(|(format, taken)| (*format, taken.files)).collect();
	(texts, files)
}

const LINES: &[u8] = b"{\"text\": \"one\\ntwo\", \"meta\": {\"body\": \"b1\"}}\r\n\n{\"id\": 2, \"text\": \"\\u00e4 three\"}\n{\"id\": 3}\n{\"text\": null}\n";

#[test]
fn json_lines_are_records_by_name_or_by_content() {
	for name in ["a.jsonl", "a.ndjson", "a"] {
		assert_eq!(of(name, LINES, "text"), (vec!["one\ntwo".into(), "\u{e4} three".into()], vec![(Format::JsonLines, 1)]), "{name}");
	}
	assert_eq!(of("a.jsonl", LINES, "meta.body").0, ["b1"]);
	assert_eq!(of("a.jsonl", b"\xef\xbb\xbf{\"text\": \"with a mark\"}", "text").0, ["with a mark"]);
	let root = tree(&[("a.jsonl", LINES)]);
	let left_out = found(root.path(), ALL).left_out;
	assert_eq!(left_out.lines(), ["2 records without text in the column (a.jsonl ..)"]);
}

#[test]
fn a_json_array_of_objects_is_records_and_other_json_is_text() {
	let array = b"\xef\xbb\xbf [ {\"text\": \"one\"},\n {\"x\": [1, {}], \"text\": \"two\"}, {\"text\": 3} ] \n";
	assert_eq!(of("a.json", array, "text"), (vec!["one".into(), "two".into()], vec![(Format::JsonArray, 1)]));
	assert_eq!(of("a.json", b"{\"text\": \"one\"}\n", "text").1, [(Format::Text, 1)]);
	assert_eq!(of("a.json", b"[1, 2]\n", "text").1, [(Format::Text, 1)]);
}

#[test]
fn tables_have_their_columns_in_the_first_row() {
	let csv = b"id,text,n\n1,\"a \"\"quoted\"\"\r\nvalue, with all\",3\n2,plain,4\n3\n4,,5\n";
	let expected = vec!["a \"quoted\"\r\nvalue, with all".to_owned(), "plain".into()];
	assert_eq!(of("a.csv", csv, "text"), (expected, vec![(Format::Table, 1)]));
	assert_eq!(of("a.csv", csv, "n").0, ["3", "4", "5"]);
	assert_eq!(of("a.tsv", b"\xef\xbb\xbftext\tid\na,b\t1\n", "text").0, ["a,b"]);
	let long = format!("text\n{}\nshort\n", "x".repeat(100_000));
	assert_eq!(of("a.csv", long.as_bytes(), "text").0, ["x".repeat(100_000), "short".into()]);
	let wide = format!("{}text\n{}last\n", "c,".repeat(1_000), ",".repeat(1_000));
	assert_eq!(of("a.csv", wide.as_bytes(), "text").0, ["last"]);
}

#[test]
fn tables_may_have_conversations_as_json() {
	let csv =
		b"id,conversations,messages\n1,x,\"[{\"\"role\"\": \"\"user\"\"}]\"\n2,y,\"{\"\"messages\"\": []}\"\n3,z,\n4,w,\"['single']\"\n";
	let root = tree(&[("a.csv", csv)]);
	let corpus = path_corpus(root.path(), ALL).unwrap().with_records();
	let expected = [r#"{"messages":[{"role": "user"}]}"#, r#"{"messages": []}"#, r#"{"messages":['single']}"#];
	assert_eq!(read(&corpus).unwrap().0, expected);
	assert_eq!(read(&corpus.with_column("conversations")).unwrap().0, ["x", "y", "z", "w"]);
	let root = tree(&[("a.csv", b"id,text,messages\n1,x,y\n")]);
	assert_eq!(read(&path_corpus(root.path(), ALL).unwrap().with_records().with_column("text")).unwrap().0, ["x"], "as it is named");
	// A row is held with some room to spare, and a conversation of it is not cut.
	let long = format!("messages\n{}\n", "x".repeat((1 << 20) + 1));
	let root = tree(&[("a.csv", long.as_bytes())]);
	let limits = CorpusLimits { record_bytes: 1 << 20, ..ALL };
	let words = read(&path_corpus(root.path(), limits).unwrap().with_records()).unwrap_err().to_string();
	assert!(words.contains("more than 1048576 bytes") && words.contains("--record-bytes"), "{words}");
	let root = tree(&[("a.csv", b"id,text\n1,x\n")]);
	let words = read(&path_corpus(root.path(), ALL).unwrap().with_records()).unwrap_err().to_string();
	assert!(words.contains("no column \"messages\"") && words.contains("which may be id, text"), "{words}");
}

#[test]
fn compressed_files_are_read_as_what_is_in_them() {
	for (ending, packed) in [("gz", gzip(LINES)), ("zst", zstd(LINES)), ("xz", xz(LINES))] {
		// The name is of use, and not needed.
		for name in [format!("a.jsonl.{ending}"), "a.bin".into()] {
			let (texts, files) = of(&name, &packed, "text");
			assert_eq!((texts.len(), files), (2, vec![(Format::JsonLines, 1)]), "{name}");
		}
	}
	assert_eq!(of("a.csv.gz", &gzip(b"text\nvalue\n"), "text").0, ["value"]);
	// Files that were put one behind another.
	for packed in [[gzip(b"one "), gzip(b"two")], [zstd(b"one "), zstd(b"two")], [xz(b"one "), xz(b"two")]] {
		assert_eq!(of("a.txt.gz", &packed.concat(), "text").0, ["one two"]);
	}
}

#[test]
fn archives_are_read_with_all_that_is_in_them() {
	let long = format!("{}/long.txt", "folder/".repeat(30));
	let inner = tar(&[("deep.txt", b"deep")]);
	let files: Vec<(&str, &[u8])> = vec![
		("a.txt", b"text"),
		("b.jsonl", LINES),
		("c.csv", b"text\nvalue\n"),
		(&long, b"long"),
		(".hidden/x.txt", b"x"),
		("d.zip", b"PK"),
	];
	let inner = zstd(&inner);
	let archive = tar(&[files.as_slice(), &[("e.tar.zst", inner.as_slice())]].concat());
	for (name, bytes) in [("x.tar", archive.clone()), ("x.tgz", gzip(&archive)), ("x.tar.xz", xz(&archive)), ("x", archive)] {
		let root = tree(&[(name, &bytes)]);
		let (texts, found) = read(&path_corpus(root.path(), ALL).unwrap()).unwrap();
		assert_eq!(texts, ["text", "one\ntwo", "\u{e4} three", "value", "long", "deep"], "{name}");
		let lines = found.left_out.lines();
		for left in [format!("2 bytes of 1 file that is packed in a way that is not read ({name}/d.zip)"), format!("{name}/.hidden/x.txt")]
		{
			assert!(lines.iter().any(|line| line.contains(&left)), "{left}: {lines:?}");
		}
	}
}

#[test]
fn a_record_is_a_document_unless_it_is_long() {
	let root = tree(&[("a.jsonl", b"{\"text\": \"first line\\nsecond line\\nx\"}\n{\"text\": \"short\"}\n{\"text\": \" \"}\n")]);
	assert_eq!(texts(root.path(), LIMITS), ["first line\n", "second line\nx", "short"]);
	let limits = CorpusLimits { total_bytes: 15, ..LIMITS };
	assert_eq!(texts(root.path(), limits), ["first line\n", "seco"]);
	assert_eq!(found(root.path(), limits).left_out.amount(Reason::Beyond).count, 2);
}

#[test]
fn records_that_are_not_utf8_are_left_out_alone() {
	let root = tree(&[("a.jsonl", b"{\"text\": \"a\"}\n{\"text\": \"\xff\"}\n{\"text\": \"b\"}\n"), ("b.csv", b"text\na\n\xff\nb\n")]);
	let (texts, found) = read(&path_corpus(root.path(), ALL).unwrap()).unwrap();
	assert_eq!(texts, ["a", "b", "a", "b"]);
	assert!(
		found.left_out.to_string().contains("2 files or documents that are not UTF-8 text (a.jsonl at line 2, b.csv at row 2)"),
		"{found:?}"
	);
	let replacing = path_corpus(root.path(), ALL).unwrap().with_invalid_utf8(InvalidUtf8::Replace);
	assert_eq!(read(&replacing).unwrap().0, ["a", "\u{fffd}", "b", "a", "\u{fffd}", "b"]);
}

#[test]
fn records_without_the_column_are_refused_with_the_names_that_there_are() {
	for (name, bytes) in [
		("a.jsonl", &b"{\"body\": \"a\", \"id\": 1}\n{\"id\": 1}\n"[..]),
		("a.json", b"[{\"body\": \"a\", \"id\": 1}]"),
		("a.csv", b"body,id\na,1\n"),
	] {
		let words = refused(name, bytes);
		assert!(words.contains("no column \"text\"") && words.contains("--column, which may be body, id"), "{words}");
	}
	// It is clear long before the end.
	let endless = format!("{}{{ broken", "{\"body\": 1}\n".repeat(1_000));
	assert!(refused("a.jsonl", endless.as_bytes()).contains("no column"));
	assert!(refused("a.csv", b"body\n").contains("no column"));
}
