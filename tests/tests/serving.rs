//! A worker that serves a model, as processes: the clients of the OpenAI API that others wrote, unchanged. What each of them does is in
//! `tests/clients/openai`.

use neuroshard_e2e::{kept_unless_passed, lively_model, until, Binaries, Ended, Process};
use neuroshard_worker::train::presets;
use std::{os::unix::fs::PermissionsExt, path::Path, process::Command, time::Duration};

/// Longest wait for the server, and for a client, which has a shorter limit of its own.
const SOON: Duration = Duration::from_secs(180);
const KEY: &str = "a-key-without-limit";
const LIMITED: &str = "a-key-with-a-limit";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn official_clients_chat_stream_stop_count_and_read_errors() {
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
		let said = tokio::time::timeout(SOON, Ended::output_of(command)).await.unwrap().unwrap();
		println!("{said}");
	}
	server.stop().await;
	folder.disable_cleanup(false);
}
