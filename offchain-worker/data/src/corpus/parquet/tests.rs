use super::super::{path_corpus, CorpusLimits, Reason};
use crate::{meter::Meter, DataError};
use parquet::{
	basic::{BrotliLevel, Compression, Encoding, GzipLevel},
	data_type::{ByteArray, ByteArrayType, Int64Type},
	file::{
		properties::{WriterProperties, WriterVersion},
		writer::SerializedFileWriter,
	},
	schema::{parser::parse_message_type, types::ColumnPath},
};
use std::{fs, os::unix::fs::FileExt, path::Path, sync::Arc};

const SCHEMA: &str = "message rows { REQUIRED INT64 id; OPTIONAL BYTE_ARRAY text (UTF8); \
	OPTIONAL GROUP meta { OPTIONAL BYTE_ARRAY body (UTF8); REQUIRED BYTE_ARRAY kind (UTF8); } \
	OPTIONAL GROUP tags (LIST) { REPEATED GROUP list { OPTIONAL BYTE_ARRAY element (UTF8); } } }";

/// Text of a row; every seventh has none.
fn text(row: usize) -> Option<String> {
	(row % 7 != 3).then(|| format!("row {} of \u{e4}, {}", row, "more ".repeat(row % 11)))
}

/// A file of row groups of so many rows.
fn file(properties: WriterProperties, groups: &[usize]) -> Vec<u8> {
	let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
	let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
	let mut first = 0;
	for count in groups {
		let rows: Vec<usize> = (first..first + count).collect();
		first += count;
		let mut group = writer.next_row_group().unwrap();
		let mut column = group.next_column().unwrap().unwrap();
		let ids: Vec<i64> = rows.iter().map(|row| *row as i64).collect();
		column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
		column.close().unwrap();
		let texts = |present: &dyn Fn(usize) -> Option<String>| -> Vec<ByteArray> {
			rows.iter().filter_map(|row| present(*row)).map(|text| ByteArray::from(text.into_bytes())).collect()
		};
		// Levels of meta: 0 where there is none of it, 1 where it has no body, 2 where it has one.
		let levels = |present: &dyn Fn(usize) -> i16| -> Vec<i16> { rows.iter().map(|row| present(*row)).collect() };
		let columns = [
			(texts(&text), levels(&|row| i16::from(text(row).is_some()))),
			(texts(&|row| (row % 3 == 2).then(|| format!("body {row}"))), levels(&|row| (row % 3) as i16)),
			(texts(&|row| (row % 3 > 0).then(|| "kind".to_owned())), levels(&|row| i16::from(row % 3 > 0))),
			(Vec::new(), levels(&|_| 0)),
		];
		for (index, (values, levels)) in columns.into_iter().enumerate() {
			let mut column = group.next_column().unwrap().unwrap();
			let repetitions = vec![0; levels.len()];
			let repetitions = (index == 3).then_some(repetitions.as_slice());
			column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), repetitions).unwrap();
			column.close().unwrap();
		}
		group.close().unwrap();
	}
	writer.into_inner().unwrap()
}

fn read_at(path: &Path, column: &str) -> Result<(Vec<String>, u64), DataError> {
	let limits = CorpusLimits { total_bytes: u64::MAX, document_bytes: 1 << 20, ..CorpusLimits::default() };
	let mut texts = Vec::new();
	let found = path_corpus(path, limits)?.with_column(column).read(&Meter::default(), &mut |document| {
		texts.push(document.text.to_owned());
		Ok(())
	})?;
	Ok((texts, found.left_out.amount(Reason::NoText).count))
}

fn read(bytes: &[u8], column: &str) -> Result<(Vec<String>, u64), DataError> {
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("a.parquet");
	fs::write(&path, bytes).unwrap();
	read_at(&path, column)
}

#[test]
fn texts_are_read_whatever_they_are_written_with() {
	let expected: Vec<String> = (0..2_500).filter_map(text).collect();
	let codecs = [
		Compression::UNCOMPRESSED,
		Compression::SNAPPY,
		Compression::GZIP(GzipLevel::default()),
		Compression::BROTLI(BrotliLevel::default()),
	];
	for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
		for codec in codecs {
			// Small pages, so that there are several in a chunk.
			let properties =
				WriterProperties::builder().set_writer_version(version).set_compression(codec).set_data_page_row_count_limit(300);
			let properties = properties.set_write_batch_size(100).build();
			let (texts, without) = read(&file(properties, &[1_000, 0, 1_500]), "text").unwrap();
			assert_eq!((texts.len(), without), (expected.len(), 357), "{version:?} {codec}");
			assert_eq!(texts, expected, "{version:?} {codec}");
		}
	}
}

#[test]
fn each_way_of_writing_texts_gives_the_same() {
	let expected: Vec<String> = (0..700).filter_map(text).collect();
	for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
		for encoding in [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
			let properties = WriterProperties::builder()
				.set_writer_version(version)
				.set_dictionary_enabled(false)
				.set_column_encoding(ColumnPath::from("text"), encoding)
				.build();
			assert_eq!(read(&file(properties, &[700]), "text").unwrap().0, expected, "{version:?} {encoding}");
		}
		// The dictionary ends where it is full, and what is behind is written without it.
		let properties = WriterProperties::builder().set_writer_version(version).set_dictionary_page_size_limit(2_000);
		let properties = properties.set_write_batch_size(64).build();
		assert_eq!(read(&file(properties, &[700]), "text").unwrap().0, expected, "{version:?}");
	}
}

#[test]
fn points_lead_into_groups_and_other_columns_are_named() {
	let bytes = file(WriterProperties::builder().build(), &[10]);
	assert_eq!(read(&bytes, "meta.body").unwrap(), (vec!["body 2".into(), "body 5".into(), "body 8".into()], 7));
	assert_eq!(read(&bytes, "meta.kind").unwrap(), (vec!["kind".to_owned(); 6], 4));
	for column in ["id", "tags.list.element"] {
		let words = read(&bytes, column).unwrap_err().to_string();
		assert!(words.contains("has no texts, but numbers or lists"), "{words}");
	}
	let words = read(&bytes, "body").unwrap_err().to_string();
	assert!(words.contains("which may be id, text, meta.body, meta.kind, tags.list.element"), "{words}");
}

#[test]
fn a_file_that_is_cut_or_encrypted_is_refused() {
	let bytes = file(WriterProperties::builder().build(), &[100]);
	for cut in [4, 11, bytes.len() / 2, bytes.len() - 1] {
		let words = read(&bytes[..cut], "text").unwrap_err().to_string();
		assert!(words.contains("a.parquet") && words.contains("cut"), "{words}");
	}
	let mut encrypted = bytes.clone();
	let end = encrypted.len() - 1;
	encrypted[end] = b'E';
	assert!(read(&encrypted, "text").unwrap_err().to_string().contains("encrypted"));
	let mut longer = bytes;
	let place = longer.len() - 8;
	longer[place..place + 4].copy_from_slice(&u32::MAX.to_le_bytes());
	assert!(read(&longer, "text").unwrap_err().to_string().contains("footer"));
}

/// Every byte of a small file is changed in several ways: nothing ends the process, or takes long.
#[test]
fn a_file_with_any_byte_changed_is_read_or_refused() {
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("a.parquet");
	for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
		for encoding in [None, Some(Encoding::DELTA_LENGTH_BYTE_ARRAY), Some(Encoding::DELTA_BYTE_ARRAY)] {
			let builder = WriterProperties::builder().set_writer_version(version).set_compression(Compression::SNAPPY);
			let builder = match encoding {
				Some(encoding) => builder.set_dictionary_enabled(false).set_column_encoding(ColumnPath::from("text"), encoding),
				None => builder,
			};
			let bytes = file(builder.build(), &[30]);
			let (mut right, mut refused) = (0, 0);
			for place in 0..bytes.len() {
				for change in [0x01, 0x80, 0xff] {
					let mut changed = bytes.clone();
					changed[place] ^= change;
					fs::write(&path, changed).unwrap();
					match read_at(&path, "text") {
						Ok(_) => right += 1,
						Err(_) => refused += 1,
					}
				}
			}
			assert!(right > 0 && refused > 0, "{right} {refused}");
		}
	}
}

/// The footer of a file with one required column `text` of `values` values, whose chunk has so many bytes from the fourth on.
fn footer(values: u64, length: u64) -> Vec<u8> {
	let varint = |mut value: u64| {
		let mut bytes = Vec::new();
		while value >= 0x80 {
			bytes.push((value & 0x7f) as u8 | 0x80);
			value >>= 7;
		}
		bytes.push(value as u8);
		bytes
	};
	let number = |value: u64| varint(value << 1);
	let mut bytes = vec![0x15, 2, 0x19, 0x2c, 0x48, 4];
	bytes.extend(b"rows\x15\x02\x00\x15\x0c\x25\x00\x18\x04text\x00\x16");
	bytes.extend(number(values));
	// One row group of one column: its kind, encodings, name, no compression, and numbers.
	bytes.extend(b"\x19\x1c\x19\x1c\x3c\x15\x0c\x19\x15\x00\x19\x18\x04text\x15\x00\x16");
	bytes.extend(number(values));
	bytes.push(0x16);
	bytes.extend(number(length));
	bytes.push(0x16);
	bytes.extend(number(length));
	bytes.extend([0x26, 8, 0, 0, 0, 0]);
	bytes
}

fn of_pages(pages: &[u8], values: u64) -> Vec<u8> {
	let footer = footer(values, pages.len() as u64);
	let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
	[b"PAR1", pages, &footer, &length, b"PAR1"].concat()
}

#[test]
fn a_dictionary_that_is_named_again_and_again_is_refused_before_it_fills_the_disk() {
	// A dictionary of one text of 4,000 bytes, and a page that names it 60 million times in a few bytes.
	let dictionary = [&4_000u32.to_le_bytes()[..], &[b'x'; 4_000]].concat();
	let mut pages = vec![0x15, 4, 0x15, 0xc8, 0x3e, 0x15, 0xc8, 0x3e, 0x4c, 0x15, 2, 0x15, 0, 0, 0];
	pages.extend(&dictionary);
	let count = 60_000_000u64;
	let run = {
		let mut value = count << 1;
		let mut bytes = vec![0];
		while value >= 0x80 {
			bytes.push((value & 0x7f) as u8 | 0x80);
			value >>= 7;
		}
		bytes.push(value as u8);
		bytes
	};
	let size = (run.len() as u8) << 1;
	pages.extend([0x15, 0, 0x15, size, 0x15, size, 0x2c, 0x15]);
	pages.extend({
		let mut value = count << 1;
		let mut bytes = Vec::new();
		while value >= 0x80 {
			bytes.push((value & 0x7f) as u8 | 0x80);
			value >>= 7;
		}
		bytes.push(value as u8);
		bytes
	});
	pages.extend([0x15, 16, 0x15, 6, 0x15, 6, 0, 0]);
	pages.extend(&run);
	let words = read(&of_pages(&pages, count), "text").unwrap_err().to_string();
	assert!(words.contains("1,000 times as much text"), "{words}");
	// The same of three values is read, so that the file is right.
	let three = [0, 6];
	let start = 15 + dictionary.len();
	let mut few = pages[..start].to_vec();
	few.extend([0x15, 0, 0x15, 4, 0x15, 4, 0x2c, 0x15, 6, 0x15, 16, 0x15, 6, 0x15, 6, 0, 0]);
	few.extend(three);
	assert_eq!(read(&of_pages(&few, 3), "text").unwrap().0, vec!["x".repeat(4_000); 3]);
}

#[test]
fn a_page_that_is_too_large_is_refused_before_room_is_made_for_it() {
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("a.parquet");
	// One of 2 GiB, of a file that has as much, but on no disk.
	let most = 2u64 << 30;
	let size = [0x80, 0x80, 0x80, 0x80, 0x10];
	let page = [&[0x15, 0, 0x15][..], &size, &[0x15], &size, &[0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]].concat();
	let length = page.len() as u64 + most;
	let footer = footer(1, length);
	let tail = [&footer[..], &u32::try_from(footer.len()).unwrap().to_le_bytes(), b"PAR1"].concat();
	let file = fs::File::create(&path).unwrap();
	file.write_all_at(&[b"PAR1", &page[..]].concat(), 0).unwrap();
	file.write_all_at(&tail, 4 + length).unwrap();
	let words = read_at(&path, "text").unwrap_err().to_string();
	assert!(words.contains("a page has more than 1073741824 bytes"), "{words}");
}

/// A conversation: nothing, or messages whose role and content may be missing.
type Chat = Option<Vec<(Option<&'static str>, Option<&'static str>)>>;

/// A file of conversations in a column of this name, by this schema of a list with roles and contents that may be missing, or by one of its levels.
fn chats(column: &str, properties: WriterProperties, rows: &[Chat], swapped: bool) -> Vec<u8> {
	let fields = ["OPTIONAL BYTE_ARRAY role (UTF8);", "OPTIONAL BYTE_ARRAY content (UTF8);"];
	let fields = if swapped { [fields[1], fields[0]] } else { fields }.concat();
	let schema = format!(
		"message rows {{ OPTIONAL BYTE_ARRAY prompt (UTF8); OPTIONAL GROUP {column} (LIST) {{ REPEATED GROUP list {{ OPTIONAL GROUP element {{ {fields} }} }} }} }}"
	);
	let schema = Arc::new(parse_message_type(&schema).unwrap());
	let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
	for rows in rows.chunks(700) {
		let mut group = writer.next_row_group().unwrap();
		let mut next = |values: Vec<ByteArray>, levels: Vec<(i16, i16)>, is_list: bool| {
			let (definitions, repetitions): (Vec<i16>, Vec<i16>) = levels.into_iter().unzip();
			let mut column = group.next_column().unwrap().unwrap();
			let repetitions = is_list.then_some(repetitions.as_slice());
			column.typed::<ByteArrayType>().write_batch(&values, Some(&definitions), repetitions).unwrap();
			column.close().unwrap();
		};
		next(Vec::new(), rows.iter().map(|_| (0, 0)).collect(), false);
		for is_content in [swapped, !swapped] {
			let (mut values, mut levels) = (Vec::new(), Vec::new());
			for row in rows {
				match row.as_deref() {
					None => levels.push((0, 0)),
					Some([]) => levels.push((1, 0)),
					Some(messages) => {
						for (place, (role, content)) in messages.iter().enumerate() {
							let text = if is_content { content } else { role };
							levels.push((if text.is_some() { 4 } else { 3 }, i16::from(place > 0)));
							values.extend(text.map(ByteArray::from));
						}
					}
				}
			}
			next(values, levels, true);
		}
		group.close().unwrap();
	}
	writer.into_inner().unwrap()
}

/// The conversations of a file, and how many rows have none.
fn conversations(bytes: &[u8], column: Option<&str>) -> Result<(Vec<String>, u64), DataError> {
	let folder = tempfile::tempdir().unwrap();
	let path = folder.path().join("a.parquet");
	fs::write(&path, bytes).unwrap();
	let corpus =
		path_corpus(&path, CorpusLimits { total_bytes: u64::MAX, record_bytes: 10_000, ..CorpusLimits::default() })?.with_records();
	let corpus = match column {
		Some(column) => corpus.with_column(column),
		None => corpus,
	};
	let mut texts = Vec::new();
	let found = corpus.read(&Meter::default(), &mut |document| {
		texts.push(document.text.to_owned());
		Ok(())
	})?;
	Ok((texts, found.left_out.amount(Reason::NoText).count))
}

#[test]
fn conversations_are_rows_of_roles_and_contents_whatever_they_are_written_with() {
	let message = |role, content| (Some(role), Some(content));
	let kinds: [Chat; 5] = [
		Some(vec![message("user", "2 + 2 = \"?\"\n"), message("assistant", "4 \u{e4}"), message("user", "")]),
		None,
		Some(vec![]),
		Some(vec![(Some("assistant"), None), (None, Some("x"))]),
		Some(vec![message("user", "a"), message("assistant", "b")]),
	];
	let rows: Vec<Chat> = (0..2_000).map(|row| kinds[row % 5].clone()).collect();
	let texts = [
		r#"{"messages":[{"role":"user","content":"2 + 2 = \"?\"\n"},{"role":"assistant","content":"4 \u{e4}"},{"role":"user","content":""}]}"#,
		r#"{"messages":[{"role":"assistant","content":null},{"role":null,"content":"x"}]}"#,
		r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#,
	];
	let texts = texts.map(|text| text.replace(r"\u{e4}", "\u{e4}"));
	let expected: Vec<&String> =
		(0..2_000).filter_map(|row| [Some(0), None, None, Some(1), Some(2)][row % 5]).map(|text: usize| &texts[text]).collect();
	for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
		for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
			for (swapped, column) in [(false, "messages"), (true, "conversations")] {
				let properties = WriterProperties::builder().set_writer_version(version).set_compression(codec);
				// Pages of other lengths in the two columns.
				let properties = properties.set_data_page_size_limit(500).set_write_batch_size(64).build();
				let (found, without) = conversations(&chats(column, properties, &rows, swapped), None).unwrap();
				assert_eq!((found.len(), without), (expected.len(), 800), "{version:?} {codec} {column}");
				assert!(found.iter().eq(expected.iter().copied()), "{version:?} {codec} {column}");
			}
		}
	}
}

#[test]
fn a_conversation_that_is_longer_than_a_record_is_refused_and_not_cut() {
	let of = |length: usize| {
		let text = [&u32::try_from(length).unwrap().to_le_bytes()[..], &vec![b'x'; length]].concat();
		let varint = |value: usize| [(value << 1) as u8 | 0x80, (value >> 6) as u8 | 0x80, (value >> 13) as u8];
		let mut page = vec![0x15, 0, 0x15];
		page.extend(varint(text.len()));
		page.push(0x15);
		page.extend(varint(text.len()));
		page.extend([0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]);
		page.extend(text);
		conversations(&of_pages(&page, 1), Some("text"))
	};
	assert_eq!(of(10_000).unwrap().0, ["x".repeat(10_000)]);
	let words = of(10_001).unwrap_err().to_string();
	assert!(words.contains("a conversation has more than 10000 bytes: raise --record-bytes"), "{words}");
}

#[test]
fn conversations_in_other_columns_are_named_and_those_that_are_none_refused() {
	let plain = || WriterProperties::builder().build();
	let rows: Vec<Chat> = vec![Some(vec![(Some("user"), Some("a"))])];
	assert_eq!(conversations(&chats("turns", plain(), &rows, false), Some("turns")).unwrap().0.len(), 1);
	let words = conversations(&chats("turns", plain(), &rows, false), None).unwrap_err().to_string();
	assert!(words.contains("no column \"messages\"") && words.contains("turns.list.element.role"), "{words}");
	// A column of texts has them as JSON.
	let folder = "message rows { REQUIRED BYTE_ARRAY messages (UTF8); }";
	let write = |schema: &str, text: &[&str]| {
		let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(parse_message_type(schema).unwrap()), Arc::new(plain())).unwrap();
		let mut group = writer.next_row_group().unwrap();
		for text in text {
			let mut column = group.next_column().unwrap().unwrap();
			column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(*text)], None, None).unwrap();
			column.close().unwrap();
		}
		group.close().unwrap();
		writer.into_inner().unwrap()
	};
	assert_eq!(conversations(&write(folder, &[" [1]"]), None).unwrap().0, [r#"{"messages": [1]}"#]);
	for (schema, texts, expected) in [
		("message rows { REPEATED GROUP messages { REQUIRED BYTE_ARRAY role (UTF8); REQUIRED INT64 content; } }", &[][..], "has no texts"),
		("message rows { REPEATED GROUP messages { REQUIRED BYTE_ARRAY role (UTF8); } }", &[], "have no \"content\""),
		("message rows { REQUIRED GROUP messages { REQUIRED BYTE_ARRAY role (UTF8); REQUIRED BYTE_ARRAY content (UTF8); } }", &["a", "b"], "no column"),
		("message rows { REPEATED BYTE_ARRAY messages (UTF8); }", &[], "numbers or lists"),
		(
			"message rows { REPEATED GROUP messages { REQUIRED BYTE_ARRAY role (UTF8); REPEATED GROUP a { REQUIRED BYTE_ARRAY role (UTF8); } REPEATED GROUP content { REQUIRED BYTE_ARRAY text (UTF8); } } }",
			&[],
			"have no \"content\"",
		),
	] {
		let bytes = match texts.is_empty() {
			false => write(schema, texts),
			true => {
				let schema = Arc::new(parse_message_type(schema).unwrap());
				SerializedFileWriter::new(Vec::new(), schema, Arc::new(plain())).unwrap().into_inner().unwrap()
			}
		};
		let words = conversations(&bytes, None).unwrap_err().to_string();
		assert!(words.contains("a.parquet") && words.contains(expected), "{schema}: {words}");
	}
	// Longer than a record may be.
	let long: Chat = Some(vec![(Some("user"), Some("x")); 400]);
	let words = conversations(&chats("messages", plain(), &[long], false), None).unwrap_err().to_string();
	assert!(words.contains("the conversation in row 1 has more than 10000 bytes"), "{words}");
	// Groups within one another, more than anybody has.
	let deep =
		format!("message rows {{ {} REQUIRED BYTE_ARRAY role (UTF8); {} }}", "REPEATED GROUP messages { ".repeat(40), "}".repeat(40));
	let schema = Arc::new(parse_message_type(&deep).unwrap());
	let bytes = SerializedFileWriter::new(Vec::new(), schema, Arc::new(plain())).unwrap().into_inner().unwrap();
	let words = conversations(&bytes, None).unwrap_err().to_string();
	assert!(words.contains("nested too deep"), "{words}");
}

/// Every byte of a small file is changed in several ways: nothing ends the process, or takes long.
#[test]
fn a_file_of_conversations_with_any_byte_changed_is_read_or_refused() {
	let rows: Vec<Chat> =
		vec![Some(vec![(Some("user"), Some("a")), (Some("assistant"), None)]), None, Some(vec![(Some("user"), Some("b"))])];
	for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
		let bytes = chats("messages", WriterProperties::builder().set_writer_version(version).build(), &rows, false);
		let (mut right, mut refused) = (0, 0);
		for place in 0..bytes.len() {
			for change in [0x01, 0x80, 0xff] {
				let mut changed = bytes.clone();
				changed[place] ^= change;
				match conversations(&changed, None) {
					Ok(_) => right += 1,
					Err(_) => refused += 1,
				}
			}
		}
		assert!(right > 0 && refused > 0, "{right} {refused}");
	}
}
