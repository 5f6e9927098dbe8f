//! Clients that others wrote, from the package registry of JavaScript, against nodes. What each of them does is in `tests/clients`.

use crate::room::Load;
use neuroshard_e2e::{kept_unless_passed, slot, within, Binaries, Ended, Error, Nodes, Start};
use std::{path::Path, process::Command, time::Duration};

/// Longest time for one client, on a machine of reference speed that gets three times slower. It is told a shorter limit, and says then what it was about.
const LIMIT: Duration = Duration::from_secs(540);
const OWN_LIMIT: f64 = 3.0 * 480.0;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_others_decode_everything_move_money_and_explain_errors() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("clients").unwrap();
	let (one, other) = (folder.path().join("polkadot-js"), folder.path().join("papi"));
	// They wait for blocks most of the time, and count every planck: so beside each other, each on a chain of its own.
	let (one, other) = tokio::join!(say(&one, &["polkadot-js/main.mjs"]), say(&other, &["papi/main.mjs", "snippets.mjs"]));
	for said in [one, other] {
		println!("{}", said.unwrap());
	}
	folder.disable_cleanup(false);
}

/// What these clients say, one after the other, to a chain in `folder`.
async fn say(folder: &Path, clients: &[&str]) -> Result<String, Error> {
	let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
	assert!(scripts.join("node_modules").is_dir(), "the clients are not installed: run scripts/clients.sh first");
	let start = Start { slot: Some(slot()), ..Start::default() };
	let network = Nodes::start(&Binaries::find()?.node, folder, 1, &start).await?;
	let mut said = String::new();
	for client in clients {
		let mut command = Command::new("node");
		command.arg(scripts.join(client)).arg(network.validators[0].url());
		command.env("CLIENT_SECONDS", format!("{:.0}", OWN_LIMIT * slot().as_secs_f64()));
		let shown = within(client, LIMIT, Ended::output_of(command)).await??;
		said.push_str(&format!("{client}:\n{shown}\n"));
	}
	network.stop().await;
	Ok(said)
}
