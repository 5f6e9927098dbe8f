//! The process around a command, as the system sees it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{fs::File, process::Command};

/// `/dev/full` answers every write as a full disk does. Nobody listens at port 9, so that the command fails after it has logged a lot.
#[test]
fn a_log_on_a_full_disk_ends_nothing() {
	let full = File::options().write(true).open("/dev/full").unwrap();
	let command = Command::new(env!("CARGO_BIN_EXE_neuroshard-worker"))
		.args(["train", "list", "--node", "ws://127.0.0.1:9"])
		.env("RUST_LOG", "trace")
		.stderr(full)
		.status();
	// A panic would be 101.
	assert_eq!(command.unwrap().code(), Some(1));
}
