//! Checkpoint of a run that is served, and detection of a newer one.

use neuroshard_types::{RoundIndex, RunId};
use serde_json::{json, Value};
use std::{fmt, sync::Arc, time::Duration};
use tokio::time::{interval, MissedTickBehavior};

/// Interval at which it is looked for a newer one.
const PERIOD: Duration = Duration::from_secs(60);

/// A checkpoint of a run.
#[derive(Clone)]
pub struct Served {
	run: RunId,
	round: RoundIndex,
	newest: Arc<dyn Fn() -> Option<RoundIndex> + Send + Sync>,
}

impl Served {
	/// The one that `round` of `run` starts from; `newest` tells the round of the newest one on disk.
	pub fn new(run: RunId, round: RoundIndex, newest: impl Fn() -> Option<RoundIndex> + Send + Sync + 'static) -> Self {
		Self { run, round, newest: Arc::new(newest) }
	}

	/// The round of one that has come since.
	fn newer(&self) -> Option<RoundIndex> {
		(self.newest)().filter(|newest| *newest > self.round)
	}

	/// For whoever watches the server.
	pub fn json(&self) -> Value {
		json!({ "run": self.run, "round": self.round, "newer_round": self.newer() })
	}

	/// Tells the log of each that comes.
	pub(super) async fn watch(self) {
		let (mut told, mut ticks) = (self.round, interval(PERIOD));
		ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
		loop {
			ticks.tick().await;
			let served = self.clone();
			// It reads a file.
			let Ok(Some(newer)) = tokio::task::spawn_blocking(move || served.newer()).await else { continue };
			if newer > told {
				told = newer;
				tracing::warn!("{}", self.words(newer));
			}
		}
	}

	fn words(&self, newer: RoundIndex) -> String {
		let Self { run, round, .. } = self;
		format!("the checkpoint of round {newer} of run {run} is here, and answers still come from that of round {round}: stop and start `serve` to serve the newer one")
	}
}

impl fmt::Display for Served {
	fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
		let Self { run, round, .. } = self;
		write!(to, "answers come from the checkpoint that round {round} of run {run} starts from, until this is started again")
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::sync::atomic::{AtomicU32, Ordering};

	#[test]
	fn a_newer_checkpoint_is_told_with_what_to_do() {
		let newest = Arc::new(AtomicU32::new(0));
		let read = newest.clone();
		let served = Served::new(3, 0, move || Some(read.load(Ordering::Relaxed)));
		assert_eq!(served.json(), json!({ "run": 3, "round": 0, "newer_round": null }));
		newest.store(2, Ordering::Relaxed);
		assert_eq!(served.json(), json!({ "run": 3, "round": 0, "newer_round": 2 }));
		let words = served.words(2);
		assert!(words.contains("round 2 of run 3") && words.contains("start `serve`"), "{words}");
	}
}
