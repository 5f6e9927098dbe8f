//! The devnet as people start it: the processes it leaves behind, which is none.

use neuroshard_e2e::{until, Ended, Process};
use std::{path::Path, process::Command, time::Duration};

/// Longest wait for processes to come and go.
const SOON: Duration = Duration::from_secs(60);

fn devnet(base: &Path) -> Command {
	let mut command = Command::new(env!("CARGO_BIN_EXE_neuroshard-devnet"));
	command.args(["--preset", "tiny", "--base-path"]).arg(base);
	command
}

/// How many processes have `base` in their command line, besides the devnet itself.
fn processes_below(base: &Path) -> usize {
	let below = format!("{}/", base.display());
	let command_line = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
	let entries = std::fs::read_dir("/proc").unwrap().flatten();
	entries.map(command_line).filter(|line| String::from_utf8_lossy(line).contains(&below)).count()
}

#[tokio::test]
async fn nothing_survives_a_devnet_that_is_killed() {
	let folder = tempfile::tempdir().unwrap();
	let base = folder.path().join("network");
	let mut process = Process::start("devnet", devnet(&base), &folder.path().join("log")).unwrap();
	until("two validators", SOON, async || {
		process.check()?;
		Ok((processes_below(&base) == 2).then_some(()))
	})
	.await
	.unwrap();
	process.kill();
	until("the validators to be gone", SOON, async || Ok((processes_below(&base) == 0).then_some(()))).await.unwrap();
}

#[tokio::test]
async fn nothing_survives_a_devnet_that_is_asked_to_stop() {
	let folder = tempfile::tempdir().unwrap();
	let base = folder.path().join("network");
	let mut process = Process::start("devnet", devnet(&base), &folder.path().join("log")).unwrap();
	until("two validators", SOON, async || {
		process.check()?;
		Ok((processes_below(&base) == 2).then_some(()))
	})
	.await
	.unwrap();
	process.ask_to_stop();
	let status = process.ended_by_itself(SOON).await.unwrap();
	assert!(status.success(), "{status}");
	assert_eq!(processes_below(&base), 0);
}

#[tokio::test]
async fn a_folder_in_use_is_not_touched() {
	let folder = tempfile::tempdir().unwrap();
	std::fs::write(folder.path().join("thesis.txt"), "dear").unwrap();
	let ended = Ended::of(devnet(folder.path())).await.unwrap();
	assert!(!ended.success && ended.error.contains("--base-path"), "{}", ended.error);
	assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
