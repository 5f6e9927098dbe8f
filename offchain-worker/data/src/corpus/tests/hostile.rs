//! Files that are broken, or made to harm, are refused in words, in little time and memory.

use super::*;
use std::io::Read;

#[test]
fn what_becomes_a_thousand_times_as_large_is_refused() {
	let zeros = std::io::repeat(b'\n').take(64 << 20);
	let bomb = ::zstd::stream::encode_all(zeros, 3).unwrap();
	assert!(bomb.len() < 10_000, "{}", bomb.len());
	for name in ["a.txt.zst", "a.jsonl.zst", "a.csv.zst"] {
		let words = refused(name, &bomb);
		assert!(words.contains("more than 1000 times as large") && words.contains(name), "{words}");
	}
}

#[test]
fn compressed_files_that_are_cut_or_changed_are_refused() {
	let text = (0..10_000).map(|number| format!("{number} is a number\n")).collect::<String>();
	let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
	gzip.write_all(text.as_bytes()).unwrap();
	let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
	xz.write_all(text.as_bytes()).unwrap();
	let mut zstd = ::zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
	zstd.include_checksum(true).unwrap();
	zstd.write_all(text.as_bytes()).unwrap();
	let packed = [gzip.finish().unwrap(), zstd.finish().unwrap(), xz.finish().unwrap()];
	for (name, bytes) in ["a.gz", "a.zst", "a.xz"].into_iter().zip(packed) {
		for cut in [20, bytes.len() / 2, bytes.len() - 1] {
			let words = refused(name, &bytes[..cut]);
			assert!(words.contains(name), "{words}");
		}
		let mut changed = bytes.clone();
		let middle = changed.len() / 2;
		changed[middle..middle + 8].copy_from_slice(&[0xaa; 8]);
		refused(name, &changed);
	}
}

#[test]
fn an_xz_file_that_asks_for_gigabytes_is_refused() {
	let mut options = lzma_rust2::XzOptions::with_preset(0);
	options.lzma_options.dict_size = 1 << 30;
	let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
	xz.write_all(b"text").unwrap();
	let words = refused("a.xz", &xz.finish().unwrap());
	assert!(words.contains("mem"), "{words}");
}

#[test]
fn packages_within_packages_end_somewhere() {
	let mut bytes = b"text".to_vec();
	for _ in 0..9 {
		bytes = ::zstd::stream::encode_all(bytes.as_slice(), 1).unwrap();
	}
	let words = refused("a.zst", &bytes);
	assert!(words.contains("more than 8 compressed files"), "{words}");
}

#[test]
fn a_line_row_or_object_without_end_is_refused() {
	let long = "x".repeat(2 << 20);
	for (name, text) in [
		("a.jsonl", format!("{{\"text\": \"a\"}}\n{{\"text\": \"{long}\"}}\n")),
		("a.csv", format!("text\na\n\"{long}")),
		("a.json", format!("[{{\"text\": \"a\"}}, {{\"text\": \"{long}\"}}]")),
		("a.csv", format!("text\n{}", ",".repeat(2 << 20))),
	] {
		let words = refused(name, text.as_bytes());
		assert!(words.contains("more than 1048576 bytes") && words.contains("--record-bytes"), "{words}");
	}
}

#[test]
fn broken_json_is_refused_with_its_line_however_deep_it_is() {
	let words = refused("a.jsonl", b"{\"text\": \"a\"}\n{\"text\": \"b\"\n");
	assert!(words.contains("line 2 is no JSON"), "{words}");
	assert!(refused("a.json", b"[{\"text\": \"a\"},").contains("no JSON"));
	assert!(refused("a.json", b"[{\"text\": \"a\"}] and more").contains("no JSON"));
	let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
	// Deep values of other fields cost nothing; where the column should be, they are too deep.
	let root = tree(&[("a.jsonl", format!("{{\"x\": {deep}, \"text\": \"a\"}}\n").as_bytes())]);
	assert_eq!(texts(root.path(), ALL), ["a"]);
	let columns = format!("{}1{}", "{\"text\":".repeat(500_000 / 8), "}".repeat(500_000 / 8));
	let root = tree(&[("a.jsonl", columns.as_bytes())]);
	let corpus = path_corpus(root.path(), ALL).unwrap().with_column(&"text.".repeat(1_000));
	assert!(read(&corpus).unwrap_err().to_string().contains("recursion limit"));
}

#[test]
fn pointers_of_git_lfs_are_named_in_place_of_data() {
	let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
	for name in ["a.txt", "a.jsonl", "a.parquet", "a.csv.gz"] {
		let words = refused(name, pointer);
		assert!(words.contains("1 Git LFS pointer in place of a file") && words.contains("git lfs pull"), "{name}: {words}");
	}
}

fn header(name: &[u8], size: &[u8; 12], kind: u8) -> [u8; 512] {
	let mut block = [0; 512];
	block[..name.len()].copy_from_slice(name);
	block[124..136].copy_from_slice(size);
	block[156] = kind;
	block[257..263].copy_from_slice(b"ustar\0");
	block[148..156].copy_from_slice(b"        ");
	let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
	block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
	block
}

#[test]
fn sizes_in_archives_that_lie_are_found_and_names_lead_nowhere() {
	let huge = header(b"a.txt", b"77777777777\0", b'0');
	let words = refused("a.tar", &[&huge[..], b"text"].concat());
	assert!(words.contains("ends within a file"), "{words}");
	let binary = header(b"a.txt", b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", b'0');
	assert!(refused("a.tar", &binary).contains("a.tar"));
	let name = header(b"././@LongLink", b"77777777777\0", b'L');
	assert!(refused("a.tar", &name).contains("more than 1048576 bytes"));
	let mut wrong = header(b"a.txt", b"00000000004\0", b'0');
	wrong[0] = b'b';
	assert!(refused("a.tar", &wrong).contains("no archive"));
	let text = |name: &[u8]| [&header(name, b"00000000004\0", b'0')[..], b"text", &[0; 508]].concat();
	let root = tree(&[("a.tar", &[text(b"/etc/passwd"), text(b"../../up.txt")].concat())]);
	let (texts, found) = read(&path_corpus(&root.path().join("a.tar"), ALL).unwrap()).unwrap();
	assert_eq!((texts.len(), found.left_out), (2, LeftOut::default()));
	assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn parquet_that_is_packed_is_refused_with_what_to_do() {
	let packed = ::zstd::stream::encode_all(&b"PAR1\xff and so on"[..], 1).unwrap();
	assert!(refused("a.parquet.zst", &packed).contains("unpack it"));
}
