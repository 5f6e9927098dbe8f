//! Liveness of the other participants of a round, as this worker hears of them.

use super::{observe::Observed, Participant};
use crate::WorkerError;
use neuroshard_network::{Pulse, DEAD_AFTER};
use neuroshard_types::AccountId;
use std::{collections::BTreeSet, time::Duration};

/// A worker that is killed is back within so long, and goes on with its round: until then it is waited for. Not only as long as it is asked for content first
/// ([`DEAD_AFTER`]): whoever two thirds report as missing loses its place in the round, and a point of reputation, and a machine that computes with all that
/// it has can be silent for some seconds.
const RESTART: Duration = Duration::from_secs(30);

/// Returns whether somebody is not waited for any more: who said farewell needs no time for a restart.
fn is_missing(pulse: Pulse) -> bool {
	pulse.silent_for >= if pulse.left { DEAD_AFTER } else { RESTART }
}

impl Participant {
	/// Participants of the round at hand that are not waited for any more. One of whom nothing is known is none of them.
	pub(super) async fn missing(&self, seen: &Observed) -> Result<BTreeSet<AccountId>, WorkerError> {
		let Some(round) = seen.chain.run.as_ref().and_then(|run| run.round.as_ref()) else { return Ok(BTreeSet::new()) };
		let pulses = self.tasks.content.net.pulses().await?;
		let is_missing =
			|who: &AccountId| self.book.peer_of(who).and_then(|peer| pulses.get(&peer)).is_some_and(|pulse| is_missing(*pulse));
		let others = round.participants.iter().map(|one| &one.account).filter(|who| **who != seen.chain.me);
		Ok(others.filter(|who| is_missing(who)).cloned().collect())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn who_falls_silent_has_the_time_of_a_restart_and_who_said_farewell_has_not() {
		let missing = |silent: u64, left| is_missing(Pulse { silent_for: Duration::from_secs(silent), left });
		assert!(!missing(0, false) && !missing(29, false) && missing(30, false));
		assert!(!missing(5, true) && missing(6, true));
	}
}
