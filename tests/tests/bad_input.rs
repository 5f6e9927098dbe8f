//! What a person reads when something is wrong before a network is even needed: the worker's own process, its exit code and its words.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_e2e::{Binaries, Ended, Ports};
use std::{path::Path, process::Command};

fn worker<'a>(base: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
	let mut command = Command::new(Binaries::find().unwrap().worker);
	command.args(arguments).arg("--base-path").arg(base);
	command
}

/// A command that must fail with an exit code, in words, without a panic.
async fn complaint(command: Command) -> String {
	let ended = Ended::of(command).await.unwrap();
	assert!(!ended.success, "{}", ended.output);
	assert!(ended.error.contains("error: ") && !ended.error.contains("panicked"), "{}", ended.error);
	ended.error
}

async fn with_keys(base: &Path) {
	let output = Ended::output_of(worker(base, ["key", "generate"])).await.unwrap();
	assert!(output.contains("account"), "{output}");
}

#[tokio::test]
async fn without_keys_a_worker_says_how_to_make_them() {
	let base = tempfile::tempdir().unwrap();
	let words = complaint(worker(base.path(), ["run"])).await;
	assert!(words.contains("key generate"), "{words}");
}

#[tokio::test]
async fn keys_are_not_made_twice() {
	let base = tempfile::tempdir().unwrap();
	with_keys(base.path()).await;
	let before = Ended::output_of(worker(base.path(), ["key", "show"])).await.unwrap();
	complaint(worker(base.path(), ["key", "generate"])).await;
	assert_eq!(Ended::output_of(worker(base.path(), ["key", "show"])).await.unwrap(), before);
}

#[tokio::test]
async fn a_damaged_key_file_is_named_and_left_alone() {
	let base = tempfile::tempdir().unwrap();
	with_keys(base.path()).await;
	let mut damaged = 0;
	for entry in std::fs::read_dir(base.path().join("keys")).unwrap() {
		let path = entry.unwrap().path();
		let good = std::fs::read(&path).unwrap();
		std::fs::write(&path, b"not a key").unwrap();
		let words = complaint(worker(base.path(), ["key", "show"])).await;
		assert!(words.contains(&*path.file_name().unwrap().to_string_lossy()), "{words}");
		assert_eq!(std::fs::read(&path).unwrap(), b"not a key");
		std::fs::write(&path, good).unwrap();
		damaged += 1;
	}
	assert_eq!(damaged, 3, "account, PoNW and network key");
	Ended::output_of(worker(base.path(), ["key", "show"])).await.unwrap();
}

#[tokio::test]
async fn a_node_that_is_away_is_named_with_a_way_out() {
	let base = tempfile::tempdir().unwrap();
	with_keys(base.path()).await;
	let port = Ports::reserve(None, 1).unwrap().take().unwrap();
	let url = format!("ws://127.0.0.1:{port}");
	for command in [["status", "--node", &url], ["register", "--node", &url]] {
		let words = complaint(worker(base.path(), command)).await;
		assert!(words.contains(&url) && words.contains("--node"), "{words}");
	}
	let words = complaint(worker(base.path(), ["status", "--node", "http://127.0.0.1"])).await;
	assert!(words.contains("ws://"), "{words}");
}

#[tokio::test]
async fn a_device_that_is_not_there_is_named_with_how_many_there_are() {
	let base = tempfile::tempdir().unwrap();
	let words = complaint(worker(base.path(), ["bench", "--preset", "tiny", "--device", "opencl:99"])).await;
	assert!(words.contains("no OpenCL device 99") && words.contains("this machine has"), "{words}");
	let words = complaint(worker(base.path(), ["bench", "--device", "gpu"])).await;
	assert!(words.contains("opencl:N"), "{words}");
}

#[tokio::test]
async fn a_shard_that_differs_from_its_manifest_is_named() {
	let base = tempfile::tempdir().unwrap();
	let (text, out) = (base.path().join("text.txt"), base.path().join("dataset"));
	std::fs::write(&text, "All happy families are alike; each unhappy family is unhappy in its own way.\n".repeat(200)).unwrap();
	let (text, out) = (text.to_string_lossy().into_owned(), out.to_string_lossy().into_owned());
	let build = ["dataset", "build", "--out", &out, "--corpus", &text, "--tokens-per-shard", "2048", "--held-out", "1"];
	Ended::output_of(worker(base.path(), build)).await.unwrap();
	let verify = ["dataset", "verify", "--dir", &out];
	Ended::output_of(worker(base.path(), verify)).await.unwrap();

	let shard = Path::new(&out).join("shards/00001.bin");
	let mut bytes = std::fs::read(&shard).unwrap();
	let byte = bytes.get_mut(1_000).unwrap();
	*byte ^= 1;
	std::fs::write(&shard, bytes).unwrap();
	let words = complaint(worker(base.path(), verify)).await;
	assert!(words.contains("shard 1"), "{words}");
}

#[tokio::test]
async fn a_text_too_small_for_a_dataset_is_refused() {
	let base = tempfile::tempdir().unwrap();
	let text = base.path().join("text.txt");
	std::fs::write(&text, "too little").unwrap();
	let (text, out) = (text.to_string_lossy().into_owned(), base.path().join("dataset").to_string_lossy().into_owned());
	complaint(worker(base.path(), ["dataset", "build", "--out", &out, "--corpus", &text])).await;
	assert!(!Path::new(&out).join("manifest.json").exists());
}

#[tokio::test]
async fn a_binary_file_is_not_said_to_be_a_little_text() {
	let base = tempfile::tempdir().unwrap();
	let file = base.path().join("program");
	std::fs::write(&file, b"ELF\x02\xff\xfe\x00 and so on").unwrap();
	let (file, out) = (file.to_string_lossy().into_owned(), base.path().join("dataset").to_string_lossy().into_owned());
	let words = complaint(worker(base.path(), ["dataset", "build", "--out", &out, "--corpus", &file])).await;
	assert!(words.contains("no text was found") && words.contains("1 file or document with null characters"), "{words}");
}

#[tokio::test]
async fn a_dataset_is_built_into_no_folder_with_other_files() {
	let base = tempfile::tempdir().unwrap();
	let (text, out) = (base.path().join("text.txt"), base.path().join("notes"));
	std::fs::write(&text, "Every line of this is as good as the one before.\n".repeat(200)).unwrap();
	std::fs::create_dir(&out).unwrap();
	std::fs::write(out.join("diary.txt"), "dear diary").unwrap();
	let (text, out) = (text.to_string_lossy().into_owned(), out.to_string_lossy().into_owned());
	let build = ["dataset", "build", "--out", &out, "--corpus", &text, "--tokens-per-shard", "2048", "--held-out", "1"];
	for force in [None, Some("--force")] {
		let words = complaint(worker(base.path(), build.into_iter().chain(force))).await;
		assert!(words.contains("diary.txt"), "{words}");
	}
	assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
}

#[tokio::test]
async fn a_field_of_a_run_file_that_cannot_be_is_named() {
	let base = tempfile::tempdir().unwrap();
	with_keys(base.path()).await;
	let template = Ended::output_of(worker(base.path(), ["train", "template"])).await.unwrap();
	let path = base.path().join("run.json");
	let file = path.to_string_lossy().into_owned();
	std::fs::write(&path, template.replace("\"heads\": 6", "\"heads\": \"six\"")).unwrap();
	let words = complaint(worker(base.path(), ["train", "create-run", "--file", &file, "--dataset", "0"])).await;
	assert!(words.contains("heads: invalid type"), "{words}");
	std::fs::write(&path, template.replace("\"heads\": 6", "\"heads\": 5")).unwrap();
	let words = complaint(worker(base.path(), ["train", "create-run", "--file", &file, "--dataset", "0"])).await;
	assert!(words.contains("model.heads is 5"), "{words}");
}

#[tokio::test]
async fn a_limit_of_memory_that_the_process_itself_outgrows_is_refused_with_what_it_takes() {
	let base = tempfile::tempdir().unwrap();
	with_keys(base.path()).await;
	let words = complaint(worker(base.path(), ["key", "show", "--max-memory", "0.001"])).await;
	assert!(words.contains("--max-memory") && words.contains("MiB of memory before it has begun"), "{words}");
	let words = complaint(worker(base.path(), ["key", "show", "--max-memory", "much"])).await;
	assert!(words.contains("name GiB"), "{words}");
	Ended::output_of(worker(base.path(), ["key", "show", "--max-memory", "1"])).await.unwrap();
}

/// The last resort, where nobody has asked before what is free: the system refuses the process the memory.
#[tokio::test]
async fn a_process_that_takes_more_memory_than_its_limit_is_ended() {
	let base = tempfile::tempdir().unwrap();
	// Its parameters and momentum alone are 105 MiB.
	let bench = ["bench", "--preset", "large", "--threads", "1", "--max-memory", "0.1"];
	let ended = Ended::of(worker(base.path(), bench)).await.unwrap();
	assert!(!ended.success && ended.error.contains("memory allocation of"), "{}{}", ended.output, ended.error);
}
