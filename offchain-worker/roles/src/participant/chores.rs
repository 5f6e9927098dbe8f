//! Chores that a worker does beside its loop: extrinsics that a block takes sooner or later, and that no round waits for. Where blocks are full, that
//! is later, and the loop has deadlines.

use super::{
	decide::task::Task,
	observe::Observed,
	tasks::{Effect, Moment},
	Participant,
};
use crate::WorkerError;
use neuroshard_types::BlockNumber;

/// A task that went on aside, and what came of it.
pub(super) type Chore = (Task, Result<Effect, WorkerError>);

impl Participant {
	/// Takes over what came of the chore that was under way, if it is over, at block `best`.
	pub(super) async fn settle_chore(&mut self, best: BlockNumber) {
		let ended = match self.chore.take().await {
			None => return,
			Some(Ok((task, result))) => {
				if let Some(rest) = result.as_ref().err().and_then(WorkerError::rest) {
					self.refusals.note(task, rest, best);
				}
				result.and_then(|effect| self.remember(effect))
			}
			Some(Err(error)) => Err(error),
		};
		if let Err(error) = ended {
			self.report(&error);
		}
	}

	/// Returns the task to do now. A chore is begun aside, so that what comes after it is returned.
	pub(super) fn begin_chore(&mut self, seen: &Observed) -> Option<Task> {
		let planned = self.plan(seen);
		let Some(task) = planned.clone().filter(Task::is_chore) else { return planned };
		tracing::info!("{task}");
		let pending = self.pending_of(seen);
		let (cancel, stopping, best) = Default::default();
		let moment = Moment { seen: seen.clone(), book: self.book.clone(), pending, cancel, stopping, best };
		let tasks = self.tasks.clone();
		self.chore.start(async move {
			let result = tasks.chore(&task, &moment).await;
			(task, result)
		});
		self.plan(seen)
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{
		participant::decide::plan::tests::{trained, training, SEAL},
		parts::{Mode, Options, Parts, Shared},
		status::{Reporter, Status},
	};
	use neuroshard_chain_client::keys::Keys;
	use neuroshard_fixtures::Connect;
	use neuroshard_mock_node::{Fate, MockNode, Script};
	use neuroshard_network::{keypair_from_secret, Network, NetworkConfig};
	use neuroshard_store::Store;
	use neuroshard_types::{reward::Earnings, run::Phase, NEURO};
	use tokio_util::sync::{CancellationToken, DropGuard};

	/// A participant on a node whose pool does this with extrinsics.
	async fn participant(base: &std::path::Path, node: &MockNode) -> (Participant, DropGuard) {
		let stop = CancellationToken::new();
		let store = Store::open(&base.join("store"), 1 << 24).unwrap();
		let identity = keypair_from_secret(&mut [1; 32]).unwrap();
		let (net, _) = Network::start(NetworkConfig::default(), identity, store.clone(), stop.clone()).await.unwrap();
		let keys = Keys::load(base, Some("//Alice")).unwrap();
		let owner = keys.account.id();
		let parts = Parts {
			base: base.to_path_buf(),
			keys,
			owner,
			client: node.client().await,
			store,
			net,
			reporter: Reporter::new(Status::default()),
		};
		let options = Options {
			mode: Mode::Train,
			run: None,
			dataset: None,
			attest: false,
			threads: 1,
			device: neuroshard_training::engine::Device::Cpu,
			claim_from: 1,
			conduct: std::sync::Arc::new(crate::Honest),
			check: 0.0,
			audit_in_files: false,
		};
		let (shared, keys) = Shared::new(parts, &options);
		(Participant::new(shared, keys, &options).unwrap(), stop.drop_guard())
	}

	#[tokio::test]
	async fn earnings_that_no_block_mints_yet_do_not_keep_a_worker_from_what_its_round_asks_for() {
		// Blocks take nothing for some time, and then the claim.
		let node =
			MockNode::start(Script { blocks_a_look: 1, fate: |number| if number < 1 { Fate::Forgotten } else { Fate::Included } }).await;
		let base = tempfile::tempdir().unwrap();
		let (mut worker, _stop) = participant(base.path(), &node).await;
		let (mut chain, mut local) = training();
		trained(&mut local);
		local.claim_from = 1;
		worker.local = local;
		(chain.claimable, chain.best) = (NEURO, 1);
		let earnings = Earnings { claimed: 0, claimable: NEURO, current_era_estimate: 0 };
		let (at, heads) = (worker.client.now().await.unwrap(), worker.client.heads().await.unwrap());
		let mut seen = Observed { heads, at, chain, time: 0, provider: None, least_bond: None, earnings, eras: vec![3] };
		let me = seen.chain.me.clone();
		let participant = |seen: &mut Observed, change: fn(&mut neuroshard_types::run::ParticipantView)| {
			let round = seen.chain.run.as_mut().unwrap().round.as_mut().unwrap();
			change(round.participants.iter_mut().find(|one| one.account == me).unwrap());
		};

		// It has committed, and waits for others.
		participant(&mut seen, |one| one.sealed = Some(SEAL));
		let mut submitted = node.submitted();
		assert_eq!(worker.begin_chore(&seen), None);
		submitted.wait_for(|all| !all.is_empty()).await.unwrap();
		worker.settle_chore(2).await;
		assert!(worker.chore.is_busy(), "it waits for a block");

		// The next phase begins, and the claim, which is still owed, is not begun again.
		let run = seen.chain.run.as_mut().unwrap();
		run.finalized_seal = Some(SEAL);
		run.round.as_mut().unwrap().phase = Phase::Revealing;
		assert_eq!(worker.begin_chore(&seen), Some(Task::Reveal));
		let first = submitted.borrow().first().cloned();
		assert!(submitted.borrow().iter().all(|one| Some(one) == first.as_ref()), "it is handed over again as it is");
		worker.chore.stop().await;
	}
}
