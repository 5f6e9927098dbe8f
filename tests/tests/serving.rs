//! A worker that serves a model, as processes: the clients of the OpenAI API that others wrote, unchanged (`tests/clients/openai`), and its own page in a
//! browser's place (`tests/clients/page`).

#![allow(clippy::unwrap_used, clippy::expect_used)]

use neuroshard_e2e::{kept_unless_passed, lively_model, until, within, Binaries, Ended, Process, Question, Reply, Server};
use neuroshard_training::presets;
use std::{os::unix::fs::PermissionsExt, path::Path, process::Command, time::Duration};

/// Longest wait for the server, and for a client.
const SOON: Duration = Duration::from_secs(180);
const KEY: &str = "a-key-without-limit";
const LIMITED: &str = "a-key-with-a-limit";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn official_clients_chat_stream_stop_count_and_read_errors_and_the_page_chats() {
	let mut folder = kept_unless_passed("serving").unwrap();
	let (files, keys, log) = (folder.path().join("tiny"), folder.path().join("keys"), folder.path().join("log"));
	lively_model(&files, presets::tiny().0.max_seq).unwrap();
	std::fs::write(&keys, format!("{KEY}\n{LIMITED} 2\n")).unwrap();
	std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).unwrap();
	let mut command = Command::new(Binaries::find().unwrap().worker);
	command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "1", "--model"]).arg(&files).arg("--api-keys").arg(&keys);
	let mut server = Process::start("the server", command, &log).unwrap();
	let url = until("the server's address", SOON, async || {
		server.check()?;
		let said = std::fs::read_to_string(&log).unwrap();
		Ok(said.split_whitespace().find(|word| word.starts_with("http://")).map(|word| word.trim_end_matches(';').to_owned()))
	});
	let url = url.await.unwrap();
	let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
	for (program, script) in [("node".into(), "openai/main.mjs"), (clients.join("venv/bin/python"), "openai/main.py")] {
		let mut command = Command::new(program);
		command.arg(clients.join(script)).args([&url, "tiny", KEY, LIMITED]);
		let said = within(script, SOON, Ended::output_of(command)).await.unwrap().unwrap();
		println!("{said}");
	}
	let mut page = Command::new("node");
	page.arg(clients.join("page/main.mjs")).arg(format!("{}/", url.trim_end_matches("/v1")));
	let said = within("page/main.mjs", SOON, Ended::output_of(page)).await.unwrap().unwrap();
	println!("{said}");
	server.stop().await;
	folder.disable_cleanup(false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_in_int8_is_another_one_and_its_receipt_is_checked_in_int8() {
	let mut folder = kept_unless_passed("int8").unwrap();
	let (files, worker) = (folder.path().join("tiny"), Binaries::find().unwrap().worker);
	lively_model(&files, presets::tiny().0.max_seq).unwrap();
	let question = Question { receipt: true, ..Question::default() };
	let mut texts = Vec::new();
	for class in ["f32", "int8"] {
		let server = Server::start(&worker, &files, &folder.path().join(class), &["--class", class]).await.unwrap();
		let reply = Reply::to(server.address, question.path(), question.body("tiny").as_bytes()).await.unwrap();
		let body = reply.json().await.unwrap();
		assert!(body["system_fingerprint"].as_str().unwrap().starts_with(&format!("{class}-1-")), "{body}");
		let receipt = &body["choices"][0]["receipt"];
		assert_eq!(receipt["receipt"]["class"], format!("exact-{class}"));
		let file = folder.path().join(format!("{class}.json"));
		std::fs::write(&file, receipt.to_string()).unwrap();
		let mut command = Command::new(&worker);
		command.arg("check").arg(&file).arg("--model").arg(&files).args(["--threads", "1"]);
		let said = Ended::output_of(command).await.unwrap();
		assert!(said.starts_with("equal: tiny gives these 40 tokens"), "{said}");
		texts.push(body["choices"][0]["text"].clone());
		server.process.stop().await;
	}
	assert_ne!(texts[0], texts[1]);
	folder.disable_cleanup(false);
}
