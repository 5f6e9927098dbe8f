//! Clients that others wrote, from the package registry of JavaScript, against one node. What each of them does is in `tests/clients`.

use neuroshard_e2e::{Binaries, Ended, Nodes, Start};
use std::{path::Path, process::Command, time::Duration};

/// Longest time for one client. It has a shorter limit of its own, and says then what it was about.
const LIMIT: Duration = Duration::from_secs(540);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_others_decode_everything_move_money_and_explain_errors() {
	let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
	assert!(clients.join("node_modules").is_dir(), "the clients are not installed: run scripts/clients.sh first");
	let mut folder = tempfile::Builder::new().prefix("neuroshard-clients-").tempdir().unwrap();
	// Logs and data of a failure stay.
	folder.disable_cleanup(true);
	println!("everything is in {}", folder.path().display());
	let node = Binaries::find().unwrap().node;
	let network = Nodes::start(&node, &folder.path().join("network"), 1, &Start::default()).await.unwrap();
	for client in ["polkadot-js/main.mjs", "papi/main.mjs", "snippets.mjs"] {
		let mut command = Command::new("node");
		command.arg(clients.join(client)).arg(network.validators[0].url());
		let shown = tokio::time::timeout(LIMIT, Ended::output_of(command)).await.expect("a client ends in time").unwrap();
		println!("{client}:\n{shown}");
	}
	network.stop().await;
	folder.disable_cleanup(false);
}
