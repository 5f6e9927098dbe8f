//! Notices for an operator about a run although nothing keeps this worker from its part. Pure, like the planner.

use super::view::{ChainView, LocalState};
use neuroshard_types::{run::RunStatus, RoundIndex, RunId};
use std::fmt;

/// Something to say once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::participant) enum Notice {
	/// The run is over, and its last checkpoint is here.
	Finished {
		/// The run.
		run: RunId,
	},
	/// The chain has a commitment of this account that this worker did not make.
	Stranger {
		/// The run.
		run: RunId,
		/// The round that it belongs to.
		round: RoundIndex,
	},
}

impl fmt::Display for Notice {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			Self::Finished { run } => write!(formatter, "run {run} is finished; serving its checkpoint (Ctrl-C ends)"),
			Self::Stranger { run, round } => write!(
				formatter,
				"another worker uses this account: round {round} of run {run} has a commitment that is not in this worker's journal; \
				stop one of the two (or, if the journal was moved away: this round is lost)"
			),
		}
	}
}

/// Notice that was given last.
#[derive(Debug, Default)]
pub(in crate::participant) struct Noticed(Option<Notice>);

impl Noticed {
	/// Says what was `found`, once.
	pub(in crate::participant) fn tell(&mut self, found: Option<Notice>) {
		match found.filter(|_| self.0 != found) {
			Some(stranger @ Notice::Stranger { .. }) => tracing::warn!("{stranger}"),
			Some(finished @ Notice::Finished { .. }) => tracing::info!("{finished}"),
			None => {}
		}
		self.0 = found;
	}
}

/// Returns the notice to give now, if there is any.
pub(in crate::participant) fn notice(chain: &ChainView, local: &LocalState) -> Option<Notice> {
	let run = chain.run.as_ref()?;
	if run.view.status == RunStatus::Finished {
		return (local.checkpoint == Some(run.view.checkpoint)).then_some(Notice::Finished { run: run.id });
	}
	let round = run.round.as_ref()?;
	let sealed = round.participants.iter().find(|one| one.account == chain.me).and_then(|me| me.sealed)?;
	// The journal has a commitment before the chain can have it.
	let own = local.pending.iter().any(|work| work.run == run.id && work.seal == sealed);
	(!own).then_some(Notice::Stranger { run: run.id, round: round.round })
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		journal::PendingWork,
		participant::decide::{
			plan::tests::{plan, training},
			task::Task,
		},
	};
	use neuroshard_types::H256;

	const SEAL: H256 = H256::repeat_byte(0x5a);

	#[test]
	fn a_finished_run_is_served_and_says_so_once_its_checkpoint_is_here() {
		let (mut chain, mut local) = training();
		assert_eq!(notice(&chain, &local), None);
		let run = chain.run.as_mut().unwrap();
		(run.view.status, run.round) = (RunStatus::Finished, None);
		// Its dataset may be gone by now: neither the plan nor the notice ask for it.
		local.dataset = None;
		let said = notice(&chain, &local).unwrap();
		assert_eq!((said, plan(&chain, &local)), (Notice::Finished { run: 7 }, None));
		assert_eq!(said.to_string(), "run 7 is finished; serving its checkpoint (Ctrl-C ends)");
		let last = local.checkpoint.take().unwrap();
		assert_eq!((notice(&chain, &local), plan(&chain, &local)), (None, Some(Task::FetchCheckpoint { root: last })));
	}

	#[test]
	fn a_commitment_that_the_journal_does_not_know_is_somebody_elses() {
		let (mut chain, mut local) = training();
		let round = chain.run.as_mut().unwrap().round.as_mut().unwrap();
		let (index, seed) = (round.round, round.seed);
		round.participants[1].sealed = Some(SEAL);
		let stranger = Some(Notice::Stranger { run: 7, round: index });
		assert_eq!(notice(&chain, &local), stranger);
		local.pending = vec![PendingWork { run: 7, round: index, seed, seal: SEAL, bridged: None }];
		assert_eq!(notice(&chain, &local), None);
		local.pending = vec![PendingWork { run: 7, round: index, seed, seal: H256::zero(), bridged: None }];
		assert_eq!(notice(&chain, &local), stranger, "both trained, and the other one was first");
	}

	#[test]
	fn what_others_commit_to_is_their_business() {
		let (mut chain, local) = training();
		chain.run.as_mut().unwrap().round.as_mut().unwrap().participants[0].sealed = Some(SEAL);
		assert_eq!(notice(&chain, &local), None);
	}
}
