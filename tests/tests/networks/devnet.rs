//! The devnet as people start it: what is audited in it, and the processes it leaves behind, which is none.

use crate::room::Load;
use neuroshard_e2e::{pace, until, Binaries, Ended, Process};
use serde_json::Value;
use std::{net::TcpListener, path::Path, process::Command, time::Duration};

/// Longest wait for processes to come and go.
const SOON: Duration = Duration::from_secs(60);

fn devnet(base: &Path) -> Command {
	let mut command = Command::new(Binaries::find().unwrap().other("neuroshard-devnet").unwrap());
	// It would measure it beside another network.
	command.args(["--preset", "tiny", "--pace", &pace().to_string(), "--base-path"]).arg(base);
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
async fn a_devnet_ends_by_itself_when_work_of_it_was_audited_and_paid() {
	let _room = Load::Heavy.room().await;
	let folder = tempfile::tempdir().unwrap();
	let (base, path) = (folder.path().join("network"), folder.path().join("summary.json"));
	let mut command = devnet(&base);
	command.args(["--rounds", "4", "--summary"]).arg(&path);
	let told = Ended::output_of(command).await.unwrap();
	assert_eq!(processes_below(&base), 0);

	let summary: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
	let audits = summary["audits"].as_array().unwrap();
	let first = audits.first().expect("an audit was drawn");
	let said = |auditor: &Value| ["who", "report", "outcome"].map(|field| auditor[field].as_str().unwrap_or_default().to_owned());
	let auditors: Vec<_> = first["auditors"].as_array().unwrap().iter().map(said).collect();
	let [[one, sample, paid], [other, same, also_paid]] = &auditors[..] else { panic!("{first}") };
	assert!(one != other && *one != first["subject"] && *other != first["subject"], "{first}");
	// Both ran the round again, each for itself, and nobody disputed the state that they came to.
	assert!(sample.starts_with("0x") && sample == same && [paid, also_paid] == ["paid"; 2], "{first}");
	assert_eq!(summary["disputes"].as_array().map(Vec::len), Some(0));
	let reports = audits.iter().flat_map(|audit| audit["auditors"].as_array().unwrap()).filter(|auditor| auditor["report"].is_string());
	let (drawn, reported, expected) = (audits.len(), reports.count(), 2 * audits.len());
	assert!(told.contains(&format!("audits: {drawn} drawn, {reported} of {expected} reports")), "{told}");
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

/// Asks a devnet with these further options to stop as soon as its validators are there, and returns its exit code.
async fn exit_code_when_stopped(options: &[&str]) -> Option<i32> {
	let folder = tempfile::tempdir().unwrap();
	let base = folder.path().join("network");
	let mut command = devnet(&base);
	command.args(options);
	let mut process = Process::start("devnet", command, &folder.path().join("log")).unwrap();
	until("two validators", SOON, async || {
		process.check()?;
		Ok((processes_below(&base) == 2).then_some(()))
	})
	.await
	.unwrap();
	process.ask_to_stop();
	let status = process.ended_by_itself(SOON).await.unwrap();
	assert_eq!(processes_below(&base), 0);
	status.code()
}

#[tokio::test]
async fn nothing_survives_a_devnet_that_is_asked_to_stop() {
	assert_eq!(exit_code_when_stopped(&[]).await, Some(0));
}

#[tokio::test]
async fn a_devnet_that_is_stopped_before_its_rounds_are_done_says_so() {
	assert_eq!(exit_code_when_stopped(&["--rounds", "1"]).await, Some(130));
}

#[tokio::test]
async fn what_cannot_be_used_is_named_before_anything_starts() {
	let folder = tempfile::tempdir().unwrap();
	let base = folder.path().join("network");
	let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
	let port = taken.local_addr().unwrap().port().to_string();
	let missing = folder.path().join("missing/file").display().to_string();
	let small = folder.path().join("small.txt");
	std::fs::write(&small, "Too little to learn from.").unwrap();
	let cases = [
		(vec!["--rounds", "1", "--summary", &missing], vec!["--summary", &missing]),
		(vec!["--rounds", "1", "--cheat", "noise"], vec!["--rounds", "--cheat noise"]),
		(vec!["--cheat", "wrong-base"], vec!["--cheat wrong-base", "no lie"]),
		(vec!["--corpus", &missing], vec![missing.as_str(), "No such file"]),
		(vec!["--corpus", small.to_str().unwrap()], vec!["add text"]),
		(vec!["--port-base", &port], vec!["--port-base", &port, "in use"]),
	];
	for (options, words) in cases {
		let mut command = devnet(&base);
		command.args(&options);
		let ended = Ended::of(command).await.unwrap();
		assert!(!ended.success && words.iter().all(|word| ended.error.contains(word)), "{options:?}: {}", ended.error);
		assert!(!base.exists() || std::fs::read_dir(&base).unwrap().count() == 0, "{options:?}");
	}
}

#[tokio::test]
async fn a_folder_in_use_is_not_touched() {
	let folder = tempfile::tempdir().unwrap();
	std::fs::write(folder.path().join("thesis.txt"), "dear").unwrap();
	let ended = Ended::of(devnet(folder.path())).await.unwrap();
	assert!(!ended.success && ended.error.contains("--base-path"), "{}", ended.error);
	assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
