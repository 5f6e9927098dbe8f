//! Status of a worker: for `status`, for metrics, and in `<base>/status.json` for whoever drives it.

pub mod metrics;

use neuroshard_atomic_write::write_atomically;
use neuroshard_chain_client::{ChainError, NodeReport, Watched};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tokio::sync::watch;

/// File name below the base folder.
pub const STATUS_FILE: &str = "status.json";
/// Rounds that are kept in the status.
const ROUNDS_KEPT: usize = 64;

/// A round that this worker saw adopted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RoundStatus {
	/// Its number.
	pub round: u32,
	/// Held-out loss of the checkpoint it ended with, nats per token.
	pub validation_loss: Option<f32>,
	/// Deltas in the checkpoint.
	pub included: u32,
	/// True if this worker's delta is among them.
	pub own_included: bool,
	/// Bytes received for it.
	pub bytes_in: u64,
	/// Bytes sent for it.
	pub bytes_out: u64,
}

/// Status of a worker in disputes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Disputes {
	/// Games that it defends or challenges in now.
	pub open: u32,
	/// Fewest blocks that are left for a move of this account; `None` while it has none to make.
	#[serde(default)]
	pub blocks_left: Option<u32>,
	/// Claims of others that it checked since the start of the process.
	pub checked: u64,
	/// Claims of others that it found false and disputed since the start of the process.
	pub challenged: u64,
}

/// Status of a worker in audits.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Audits {
	/// True if it can be drawn.
	pub enrolled: bool,
	/// Obstacle that keeps it from being drawn, and what to do about it.
	pub waiting: Option<String>,
	/// Audits that it was drawn for, and that wait for its seal or its report.
	pub open: u32,
	/// Those of them in which it has sealed.
	pub sealed: u32,
	/// Samples that it reported since the start of the process.
	pub reported: u64,
	/// Audits in which it reported since the start of the process that something could not be fetched, or that there is nothing to sample.
	pub unavailable: u64,
	/// Audits in which it reported since the start of the process that this machine is too slow.
	#[serde(default)]
	pub too_slow: u64,
	/// Samples of other auditors that it disputed since the start of the process.
	pub challenged: u64,
}

/// A worker's state. Amounts are planck as text, since JSON numbers end at 2^53.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
	/// Process.
	pub pid: u32,
	/// Account address.
	pub account: String,
	/// Address of the operator that signs and pays for it, if there is one.
	#[serde(default)]
	pub operator: Option<String>,
	/// libp2p peer id.
	pub peer_id: String,
	/// Address that its metrics are served at.
	pub metrics: Option<String>,
	/// Addresses it listens on.
	pub addresses: Vec<String>,
	/// Reachability of the worker by others, in words.
	pub reachability: String,
	/// Connected peers.
	pub peers: u32,
	/// Best block of the node.
	pub best_block: u32,
	/// Finalized block of the node.
	pub finalized_block: u32,
	/// Run.
	pub run: Option<u32>,
	/// Round under way.
	pub round: Option<u32>,
	/// Its phase.
	pub phase: Option<String>,
	/// Block at which the phase ends at the latest.
	#[serde(default)]
	pub phase_deadline: Option<u32>,
	/// Task of the worker.
	pub task: Option<String>,
	/// Obstacle that keeps it from taking part, and what to do about it.
	pub waiting: Option<String>,
	/// Runs that it does not take, and why.
	#[serde(default)]
	pub barred: Vec<String>,
	/// Why it trains no more; the defence of what it claimed goes on.
	#[serde(default)]
	pub ended: Option<String>,
	/// Root of the loaded checkpoint.
	pub checkpoint: Option<String>,
	/// Round that the loaded checkpoint starts.
	pub checkpoint_round: Option<u32>,
	/// Inner step under way, and the steps of a round.
	pub step: Option<(u32, u32)>,
	/// Mean training loss of the newest inner step, nats per token.
	pub training_loss: Option<f32>,
	/// Held-out loss of the newest checkpoint computed here, nats per token.
	pub validation_loss: Option<f32>,
	/// Training speed: tokens that this worker trained on in the newest round that it finished training, per second of wall time from the
	/// first inner step until its delta was ready. Fetching, votes, and waiting for others are not part of it.
	pub tokens_per_second: Option<f64>,
	/// The same as it would be with nothing beside it on the machine, by the time that its threads had a processor; `None` where the system does not say.
	#[serde(default)]
	pub tokens_per_second_alone: Option<f64>,
	/// Time in which the compute thread was at work since the start of the process, in seconds: inner and outer steps, validation, checks of deltas and
	/// the like, what is under way included.
	#[serde(default)]
	pub computing_seconds: f64,
	/// The time in which it did, up to the same moment, in seconds.
	#[serde(default)]
	pub running_seconds: f64,
	/// Tokens trained on since the start of the process.
	pub tokens: u64,
	/// Bytes received from peers since the start of the process.
	pub bytes_in: u64,
	/// Bytes sent to peers since the start of the process.
	pub bytes_out: u64,
	/// Claimed and minted so far, in planck.
	pub earned: String,
	/// Ready to be claimed, in planck.
	pub claimable: String,
	/// Adopted rounds that this process saw, oldest first.
	pub rounds: Vec<RoundStatus>,
	/// Disputes.
	#[serde(default)]
	pub disputes: Disputes,
	/// Audits.
	#[serde(default)]
	pub audits: Audits,
	/// Reports of several nodes; empty if there is one only.
	#[serde(default)]
	pub nodes: Vec<NodeReport>,
	/// Point that nodes contradict each other about, and what to do about it.
	#[serde(default)]
	pub contradiction: Option<String>,
	/// Newest failure in words; `None` after a success.
	pub last_error: Option<String>,
}

impl Status {
	/// Notes an adopted round, once.
	pub fn note_round(&mut self, round: RoundStatus) {
		if self.rounds.iter().any(|known| known.round == round.round) {
			return;
		}
		self.rounds.push(round);
		let excess = self.rounds.len().saturating_sub(ROUNDS_KEPT);
		self.rounds.drain(..excess);
	}

	/// Reads the status file below `base`; `None` if there is none or it is no status.
	pub fn read(base: &Path) -> Option<Self> {
		serde_json::from_slice(&std::fs::read(base.join(STATUS_FILE)).ok()?).ok()
	}
}

/// Reporter that actors report to. Clones share the status.
#[derive(Clone, Debug)]
pub struct Reporter(watch::Sender<Status>);

impl Reporter {
	/// A reporter that starts with `status`.
	pub fn new(status: Status) -> Self {
		Self(watch::Sender::new(status))
	}

	/// Changes the status; receivers hear of it only if it differs.
	pub fn update(&self, change: impl FnOnce(&mut Status)) {
		self.0.send_if_modified(|status| {
			let before = status.clone();
			change(status);
			*status != before
		});
	}

	/// The status now.
	pub fn current(&self) -> Status {
		self.0.borrow().clone()
	}

	/// Notes the node's absence as the newest problem, as often as it is told what the node said last: a failure, or nothing while it
	/// is there. With its return the problem vanishes.
	pub(super) fn node_notes(&self) -> impl FnMut(Option<&ChainError>) + Send + 'static {
		let (reporter, mut away) = (self.clone(), false);
		move |problem| {
			let was_away = std::mem::replace(&mut away, problem.is_some());
			if was_away || away {
				reporter.update(|status| status.last_error = problem.map(ToString::to_string));
			}
		}
	}

	/// Notes what each node says, until nobody watches them any more.
	pub async fn follow_nodes(self, mut nodes: watch::Receiver<Watched>) {
		loop {
			let Watched { nodes: reports, contradiction, .. } = nodes.borrow_and_update().clone();
			self.update(|status| (status.nodes, status.contradiction) = (reports, contradiction));
			if nodes.changed().await.is_err() {
				return;
			}
		}
	}

	/// Follows changes.
	pub fn subscribe(&self) -> watch::Receiver<Status> {
		self.0.subscribe()
	}

	/// Writes the status file below `base` at each change, until the last reporter is gone.
	pub fn write_to(&self, base: &Path) -> tokio::task::JoinHandle<()> {
		let mut changes = self.subscribe();
		let path: PathBuf = base.join(STATUS_FILE);
		tokio::spawn(async move {
			loop {
				let status = changes.borrow_and_update().clone();
				let path = path.clone();
				let written = tokio::task::spawn_blocking(move || {
					let mut bytes = serde_json::to_vec_pretty(&status).unwrap_or_default();
					bytes.push(b'\n');
					write_atomically(&path, &bytes)
				});
				if let Ok(Err(error)) = written.await {
					tracing::warn!("cannot write {STATUS_FILE}: {error}");
				}
				if changes.changed().await.is_err() {
					return;
				}
			}
		})
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn the_last_status_is_in_the_file_when_the_worker_ends() {
		let base = tempfile::tempdir().unwrap();
		let reporter = Reporter::new(Status { pid: 7, ..Default::default() });
		let writer = reporter.write_to(base.path());
		reporter.update(|status| status.earned = "340282366920938463463374607431768211455".into());
		drop(reporter);
		writer.await.unwrap();
		let read = Status::read(base.path()).unwrap();
		assert_eq!((read.pid, read.earned.as_str()), (7, "340282366920938463463374607431768211455"));
	}

	#[test]
	fn a_node_that_is_away_stands_in_the_status_until_it_is_back() {
		let reporter = Reporter::new(Status { last_error: Some("refused".into()), ..Default::default() });
		let mut node = reporter.node_notes();
		node(None);
		assert_eq!(reporter.current().last_error.as_deref(), Some("refused"), "the node was there all the time");
		let away = ChainError::NodeAway { url: "ws://node".into(), reason: "the connection was lost".into() };
		node(Some(&away));
		assert_eq!(reporter.current().last_error, Some(away.to_string()));
		// Something succeeds meanwhile, such as training; the node is away all the same.
		reporter.update(|status| status.last_error = None);
		node(Some(&away));
		assert_eq!(reporter.current().last_error, Some(away.to_string()));
		node(None);
		assert_eq!(reporter.current().last_error, None);
	}

	#[test]
	fn a_round_is_noted_once_and_old_ones_are_forgotten() {
		let mut status = Status::default();
		for round in 0..100 {
			status.note_round(RoundStatus { round, ..Default::default() });
			status.note_round(RoundStatus { round, included: 9, ..Default::default() });
		}
		assert_eq!(status.rounds.len(), 64);
		assert_eq!(status.rounds.first().map(|round| (round.round, round.included)), Some((36, 0)));
	}

	#[test]
	fn what_is_no_status_is_not_read() {
		let base = tempfile::tempdir().unwrap();
		assert_eq!(Status::read(base.path()), None);
		std::fs::write(base.path().join(STATUS_FILE), b"{").unwrap();
		assert_eq!(Status::read(base.path()), None);
	}
}
